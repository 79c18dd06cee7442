"""How well systems predict, and histories made up to test them."""

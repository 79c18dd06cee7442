"""How well systems predict, and simulated histories to test them on."""

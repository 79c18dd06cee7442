"""Performance ratings of tournaments."""

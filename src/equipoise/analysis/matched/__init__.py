"""Matched parties: their ratings from tables and saved states, as attributes of a request."""

"""Typed shapes of the JSON of the command line and of the API."""

"""Readers of PGN, which read tags and results and skip moves."""

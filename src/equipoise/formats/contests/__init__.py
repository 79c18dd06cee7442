"""Contests in the formats of their platforms, turned into one long table."""

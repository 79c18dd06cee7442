"""Contests as platforms publish them, turned into one long table."""

"""Contests as platforms publish them."""

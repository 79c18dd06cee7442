"""Pools themselves: created, configured, deleted, and who may use them."""

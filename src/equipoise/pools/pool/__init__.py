"""Pools themselves: their rules and settings, creation, deletion and access."""

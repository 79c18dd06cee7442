"""Matches into a pool: checked, logged, rated and stored in one transaction."""

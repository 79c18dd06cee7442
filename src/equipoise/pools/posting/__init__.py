"""Matches into a pool: checked, logged, rated, stored in one transaction."""

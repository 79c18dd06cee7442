"""Derived from logs and ratings, so that large pools are read quickly: places, totals, states."""

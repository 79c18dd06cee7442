"""Metrics of predictions: which matches are scored, and how scores add up."""

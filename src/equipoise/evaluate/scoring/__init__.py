"""Metrics of predictions: what is scored, and how scores add up."""

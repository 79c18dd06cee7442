"""Immutable values: histories, ratings, predictions, teams, tournaments."""

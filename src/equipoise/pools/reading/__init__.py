"""Reads: leaderboards, players, predictions and explanations of a pool."""

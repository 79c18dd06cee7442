"""Elo, Glicko and Glicko-2."""

"""Elo, Glicko and Glicko-2: every opponent is a game."""

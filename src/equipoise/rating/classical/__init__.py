"""Elo, Glicko, Glicko-2, and Glicko-2 for teams."""

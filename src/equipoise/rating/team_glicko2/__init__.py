"""Glicko-2 for two teams, scaled by each player's performance in the team."""

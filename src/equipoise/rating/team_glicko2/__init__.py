"""Glicko-2 for two teams, with each player's performance within the team."""

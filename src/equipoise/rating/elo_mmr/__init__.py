"""Elo-MMR and Elo-MMX, for contests of any size."""

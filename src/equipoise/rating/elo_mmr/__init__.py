"""Elo-MMR: Bayesian ratings for contests of any size."""

"""Immutable values of tournaments: games, rounds, tie-breaks, performance ratings."""

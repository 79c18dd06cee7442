"""Matchmaking rebalance: its three worked examples as requests, and its rules."""

"""Incentive audit: whether a player would have gained by doing worse."""

"""Splits a lobby into the most even teams."""

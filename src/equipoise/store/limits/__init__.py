"""Limits that all processes share: how much of its rate limit each caller has used."""

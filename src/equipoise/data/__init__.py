"""Immutable values that every layer above shares."""

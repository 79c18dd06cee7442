"""Replays of the log of a pool, and the checkpoints they start from."""

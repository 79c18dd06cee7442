"""Replays of a pool's log, and the checkpoints from which they start."""

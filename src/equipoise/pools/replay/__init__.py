"""Replays of a pool's log, and the checkpoints they begin with."""

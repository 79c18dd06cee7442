"""Histories larger than memory: rated block after block."""

"""Pools as files: export and import of logs, ratings and changes."""

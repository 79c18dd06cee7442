"""Readers and writers of files, which report every problem with its line."""

from equipoise.formats.histories import read_history, scan_history
from equipoise.formats.writing import write_history, write_table

__all__ = ["read_history", "scan_history", "write_history", "write_table"]

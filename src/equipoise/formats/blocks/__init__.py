"""Histories larger than memory: Parquet files in blocks of complete matches, sorted on disk."""

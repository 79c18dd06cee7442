"""Posting matches: checked, recorded, rated and stored in one transaction."""

"""Histories and games in the formats that other tools read: tables of games, and FIDE reports."""

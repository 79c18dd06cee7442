"""PGN: tags and results are read, moves are skipped."""

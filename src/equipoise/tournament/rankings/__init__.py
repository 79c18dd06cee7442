"""Maximum likelihood strengths from rankings and top-1 choices (Plackett-Luce)."""

"""The rating systems of Codeforces, Lichess and TopCoder."""

"""The rating systems of Codeforces and TopCoder."""

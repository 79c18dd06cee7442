"""The documents that the package carries out: each statement beside what is computed."""

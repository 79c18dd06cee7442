"""Fair teams of players."""

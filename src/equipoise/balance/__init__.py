"""Players in, teams out."""

"""Players in, fair teams out."""

"""Whether a player would have ended higher by doing worse."""

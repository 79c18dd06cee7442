"""Even teams made of matched parties, by the method of a ruleset."""

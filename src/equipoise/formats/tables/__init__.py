"""Tables of matches from any kind of file, checked and turned into a history."""

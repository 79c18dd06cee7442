"""Tables of matches, whatever file they come from, checked and turned into a history."""

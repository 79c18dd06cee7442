"""Charts of what is believed of the skill of one player."""

"""What a rating comes from, match by match, and what is believed of a skill."""

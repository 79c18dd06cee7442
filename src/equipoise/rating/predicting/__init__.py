"""What a coming match may bring: expected scores, win and draw, match quality, what-if."""

"""One file in, one answer out: ratings, predictions, teams, tournaments."""

"""One file in, an answer out: ratings, predictions, teams, tournaments."""

"""Files in, one answer out: ratings, predictions, teams, tournaments, comparisons."""

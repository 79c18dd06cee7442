"""Reading a pool: leaderboard, players, matches, overview, explanations and predictions."""

"""Mathematics that knows no players: functions, roots, sums and graphs."""

"""Charts of leaderboards: several systems side by side."""

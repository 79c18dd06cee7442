"""Studies of a whole history: backtests, tuning, drift and incentive audits."""

"""Questions to a whole history: backtest, search for parameters, audits."""

"""Performance rating equilibrium: its tables, retyped, the games behind them, its statements."""

"""The performance rating equilibrium: its solution and its uncertainty."""

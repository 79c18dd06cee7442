"""Performance rating equilibrium: solution, additive constant, advantage and draws, errors."""

"""Performance rating equilibrium: solving, its constant, what is estimated beside it."""

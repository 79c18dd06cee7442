"""Elo-MMR: its equations, tables, theorems as experiments, options and claims."""

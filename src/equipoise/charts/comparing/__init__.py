"""Charts of two tables of ratings beside each other."""

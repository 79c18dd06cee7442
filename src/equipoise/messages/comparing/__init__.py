"""Messages on two tables of ratings beside each other."""

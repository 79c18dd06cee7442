"""Systems of other packages: how they are found, and what they import."""

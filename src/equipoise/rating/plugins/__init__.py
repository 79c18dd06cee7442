"""Systems of other packages: how they are found, what they import, how they are explained."""

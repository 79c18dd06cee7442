"""The rating systems, a file each: the mathematics, the parameters, the explanation."""

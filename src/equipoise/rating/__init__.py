"""Rating systems: a history in, ratings out."""

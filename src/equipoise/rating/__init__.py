"""Rating systems, and ratings of histories."""

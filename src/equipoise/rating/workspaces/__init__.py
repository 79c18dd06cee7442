"""Memory in which single matches are rated, made once and used again."""

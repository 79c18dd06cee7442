"""A lobby split into the most even teams."""

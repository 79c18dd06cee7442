"""Values in, figures out: image files, text for a terminal, SVG for pages."""

"""Charts as image files, as text for a terminal, and as SVG for pages."""

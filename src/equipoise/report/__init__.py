"""HTML reports: pages that need no other files."""

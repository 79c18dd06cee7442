"""HTML reports: one file that needs nothing beside itself."""

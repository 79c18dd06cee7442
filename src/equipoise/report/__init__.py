"""Values and charts in, pages out: HTML that needs nothing beside itself."""

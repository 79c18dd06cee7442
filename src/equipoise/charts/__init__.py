"""Values in, figures out: files by matplotlib, and text for a terminal without it."""

"""Messages on files: what one holds, and what it was converted to."""

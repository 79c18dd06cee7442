"""Opening of any source: files of every format, compressed or not, many at once, and addresses."""

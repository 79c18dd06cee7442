"""The HTTP service: reads requests, calls one use case for each, and answers."""

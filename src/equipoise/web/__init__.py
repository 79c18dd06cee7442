"""The HTTP service: requests in, one workflow called, answers out. Loaded only to serve."""

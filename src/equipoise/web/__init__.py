"""The service over HTTP: a request in, one use case called, an answer out."""

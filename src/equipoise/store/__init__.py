"""What the service keeps: pools, their logs of matches, ratings and keys. Persists, never rates."""

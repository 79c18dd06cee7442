"""Use cases of the service: the pools, their matches and their seasons."""

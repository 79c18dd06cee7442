"""The page: what the service shows to people, rendered on the server."""

"""The database: logs of matches, ratings, keys, webhooks. It never rates."""

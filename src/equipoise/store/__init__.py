"""What the service stores: match logs, ratings, keys and webhooks."""

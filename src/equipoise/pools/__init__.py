"""What the service does with pools: use cases of posting, replaying, reading and exchanging."""

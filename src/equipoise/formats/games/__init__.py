"""Games between two players: lists, pairs, cross tables, and their way to and from histories."""

"""Tables of games between two players: lists, pairs, cross tables, duels."""

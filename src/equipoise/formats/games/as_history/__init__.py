"""Games as the matches of a history: from PGN, reports, cross tables and pairs."""

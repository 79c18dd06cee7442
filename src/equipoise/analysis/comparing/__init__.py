"""Two tables of ratings compared: from files to tables, charts and messages."""

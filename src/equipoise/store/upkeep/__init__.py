"""Care of a database: backups, checks, and the erasure of names."""

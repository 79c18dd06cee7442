"""One pool: created, configured, deleted, and who may use it."""

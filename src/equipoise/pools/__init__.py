"""Use cases of the service: posting to pools, amending, replaying, reading, export and import."""

"""From one version of the schema to the next, and which versions may use one database."""

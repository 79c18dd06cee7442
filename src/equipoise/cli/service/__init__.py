"""Commands for the service and its database."""

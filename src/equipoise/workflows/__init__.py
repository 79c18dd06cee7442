"""The use cases that command line and HTTP share."""

"""Commands that read a file and answer."""

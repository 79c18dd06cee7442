"""Use cases of the command line: from reading files to writing results."""

"""What the command line does with files: use cases from reading to writing."""

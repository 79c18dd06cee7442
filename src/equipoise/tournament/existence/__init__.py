"""Whether finite performance ratings exist, and if not, why not."""

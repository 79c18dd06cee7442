"""What a source is made of: kinds of files, several of them as one, and addresses."""

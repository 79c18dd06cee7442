"""What a file holds, before it is rated; and the same content in another format."""

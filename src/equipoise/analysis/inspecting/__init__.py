"""What a file holds, before it is rated: its content, what is odd, and what to type next."""

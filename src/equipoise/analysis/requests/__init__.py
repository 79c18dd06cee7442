"""What commands are asked: requests, whose fields are the options of the command line."""

"""Typed shapes of what is said in JSON, on the command line and over HTTP."""

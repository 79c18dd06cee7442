"""Tables of any kind of file: what their columns mean, and a history of checked rows."""

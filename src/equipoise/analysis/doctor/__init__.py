"""`equipoise doctor`, and the list of rating systems."""

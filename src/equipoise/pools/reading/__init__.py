"""Questions that a pool answers without changing."""

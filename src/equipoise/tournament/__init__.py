"""Games in, performance ratings out."""

"""Games in, performance ratings out. Numbers only: names and files are for other layers."""

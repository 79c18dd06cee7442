"""Independent tasks on many cores or machines, on any executor, and large values they share."""

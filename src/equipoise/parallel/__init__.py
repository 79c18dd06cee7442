"""Independent tasks on many cores or machines: the embedded pool of processes, any executor."""

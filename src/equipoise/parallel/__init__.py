"""Independent tasks: on the embedded pool of processes, or on any executor."""

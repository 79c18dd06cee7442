"""Posts committed: the thread that writes, and the worker process that owns a pool."""

"""From a request to its answer: middleware, dispatch, access, reading, errors."""

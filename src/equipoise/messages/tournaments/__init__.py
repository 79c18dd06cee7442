"""Messages on tournaments and rankings: performance ratings and strengths."""

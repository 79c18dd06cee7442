"""Quality of predictions, audits, and simulated histories."""

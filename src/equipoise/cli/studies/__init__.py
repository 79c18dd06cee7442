"""Commands that study a whole history."""

"""Whether a tournament has finite performance ratings, and why not."""

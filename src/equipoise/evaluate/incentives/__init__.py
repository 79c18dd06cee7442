"""Whether a player could have a higher rating after doing worse."""

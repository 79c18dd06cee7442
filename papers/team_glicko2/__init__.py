"""Team Glicko-2: its equations, typical values, rules of balancing and design notes."""

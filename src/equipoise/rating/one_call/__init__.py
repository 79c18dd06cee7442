"""One match, one call: ratings as values, predictions from them, and pools of names."""

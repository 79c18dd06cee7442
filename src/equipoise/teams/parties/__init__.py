"""Matched parties rebalanced into even teams."""

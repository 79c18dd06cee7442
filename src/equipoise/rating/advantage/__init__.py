"""The advantage of the side at home: head starts in a match, what a pool learns, and why."""

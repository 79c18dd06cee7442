"""The differences that a verification finds."""

from __future__ import annotations

from dataclasses import dataclass, field

#: Differences that are listed; the others are counted.
_LISTED = 20


@dataclass(slots=True)
class Findings:
    """The differences found."""

    count: int = 0
    listed: list[str] = field(default_factory=list)

    def add(self, sentence: str) -> None:
        """Add a difference."""
        self.count += 1
        if len(self.listed) < _LISTED:
            self.listed.append(sentence)

    def check(self, holds: object, sentence: str) -> None:
        """Add a difference unless something holds."""
        if not holds:
            self.add(sentence)

    def and_then(self, others: Findings) -> Findings:
        """Return these differences and then others."""
        listed = (self.listed + others.listed)[:_LISTED]
        return Findings(self.count + others.count, listed)

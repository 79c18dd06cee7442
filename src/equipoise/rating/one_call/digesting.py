"""Digests of a pool's matches, calculated for many at once when they are asked for.

The digest of one match takes ten times as long as rating it. Of a hundred matches together it takes
about as long as of one, so a pool notes its matches and leaves the digests for later.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from equipoise.data.history import History
from equipoise.data.one_match import OneMatch, history_of
from equipoise.rating.match_digest import digests_of

#: Matches that are noted before their digests are calculated.
MOST_NOTED = 500


class Digesting:
    """The digests of matches in the order of rating.

    uses : columns that the system uses (`Capabilities.uses`)
    """

    __slots__ = ("_done", "_noted", "_players", "_uses")

    def __init__(self, done: list[int], uses: frozenset[str]) -> None:
        self._done, self._uses = done, uses
        self._noted: list[OneMatch] = []
        self._players: list[Sequence[Any]] = []

    def note(self, match: OneMatch, players: Sequence[Any]) -> None:
        """Note the next match, and the names of its players."""
        self._noted.append(match)
        self._players.append(players)
        if len(self._noted) >= MOST_NOTED:
            self.all()

    def add(self, history: History) -> None:
        """Calculate the digests of the next matches now."""
        self.all().extend(digests_of(history, self._uses).tolist())

    def all(self) -> list[int]:
        """Return the digests of all matches."""
        if self._noted:
            # Times, and the home side, are given for all matches of a pool or for none.
            history = history_of(self._noted, self._players)
            self._done += digests_of(history, self._uses).tolist()
            self._noted, self._players = [], []
        return self._done

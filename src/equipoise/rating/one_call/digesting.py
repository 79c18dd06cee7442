"""Digests of a pool's matches, calculated for many at once when they are asked for.

The digest of one match takes ten times as long as rating it. Of a hundred matches together it takes
about as long as of one, so a pool notes its matches and leaves the digests for later.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from equipoise.arrays import Ids
from equipoise.data.history import History
from equipoise.rating.match_digest import digests_of

#: Matches that are noted before their digests are calculated.
MOST_NOTED = 500


class NotedMatch(NamedTuple):
    """What the digest of a match is made of; sequences have one value for each player or none.

    time : microseconds since 1970
    ceiling : NaN for none
    """

    names: Sequence[Any]
    sizes: Sequence[int]
    ranks: Sequence[int]
    time: int | None
    weight: float
    ceiling: float
    performance: Sequence[float]
    share: Sequence[float]
    at_home: Sequence[bool]


class Digesting:
    """The digests of matches in the order of rating.

    uses : columns that the system uses (`Capabilities.uses`)
    """

    __slots__ = ("_done", "_noted", "_uses")

    def __init__(self, done: list[int], uses: frozenset[str]) -> None:
        self._done, self._uses = done, uses
        self._noted: list[NotedMatch] = []

    def note(self, match: NotedMatch) -> None:
        """Note the next match."""
        self._noted.append(match)
        if len(self._noted) >= MOST_NOTED:
            self.all()

    def add(self, history: History) -> None:
        """Calculate the digests of the next matches now."""
        self.all().extend(digests_of(history, self._uses).tolist())

    def all(self) -> list[int]:
        """Return the digests of all matches."""
        if self._noted:
            # Times, and the home side, are given for all matches of a pool or for none.
            self._done += digests_of(_history_of(self._noted), self._uses).tolist()
            self._noted = []
        return self._done


def _history_of(matches: Sequence[NotedMatch]) -> History:
    """Return these matches as a history; columns without a value have that of their absence."""
    row_of: dict[Any, int] = {}
    player, team, rank = [], [], []
    performance: list[float] = []
    share: list[float] = []
    at_home: list[bool] = []
    for one in matches:
        count = len(one.names)
        player += [row_of.setdefault(name, len(row_of)) for name in one.names]
        for number, (size, place) in enumerate(zip(one.sizes, one.ranks, strict=True)):
            team += [number] * size
            rank += [place] * size
        performance += one.performance or [np.nan] * count
        share += one.share or [1.0] * count
        at_home += one.at_home
    times = [one.time for one in matches]
    names = list(row_of)
    ids: Ids = np.empty(len(names), object)
    ids[:] = names
    return History(
        match_ids=np.arange(len(matches)),
        player_ids=ids if isinstance(names[0], str) else ids.astype(np.int64),
        offsets=np.cumsum([0, *(len(one.names) for one in matches)]),
        player=np.array(player),
        team=np.array(team),
        rank=np.array(rank),
        time=None if times[0] is None else np.array(times, np.int64),
        weight=np.array([float(one.weight) for one in matches]),
        performance_ceiling=np.array([one.ceiling for one in matches]),
        performance=np.array(performance, np.float64),
        share=np.array(share, np.float64),
        attributes={"at_home": np.array(at_home, np.float64)} if at_home else {},
    )

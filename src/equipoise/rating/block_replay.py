"""Rates a history block after block, as if it were rated at once; only the players are kept.

A block is a history of its own with complete matches, and no match of it is older than one of the
block before. Ratings are those of `replay`, bit for bit. The ids and digests of matches, 16 bytes
a match, are kept on request alone: a state is saved with them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from equipoise.arrays import Ids, Ints
from equipoise.data.history import History
from equipoise.data.times import TimeKind
from equipoise.errors import InvalidDataError
from equipoise.numeric.workers import Workers
from equipoise.rating.draws import start_counting
from equipoise.rating.match_digest import Digests, digests_of
from equipoise.rating.pool_state import PoolState
from equipoise.rating.replay import Replay, check_fit, pieces, ratings_of, unrated_matches
from equipoise.rating.system import RatingSystem


class BlockReplay:
    """Rates blocks of a history in order of time.

    keeps_matches : whether ids and digests of matches are kept, so that the state can be saved

    Examples
    --------
    >>> from equipoise.rating.block_replay import BlockReplay
    >>> league = eq.read_history("examples/league.csv")
    >>> blocks = BlockReplay(eq.Glicko2())
    >>> for start in (0, 360, 720):
    ...     blocks.add(league.slice(start, start + 360))
    >>> blocks.done().ratings.to_polars().equals(eq.replay(eq.Glicko2(), league).to_polars())
    True
    """

    def __init__(
        self, system: RatingSystem, *, keeps_matches: bool = False, threads: int = 1
    ) -> None:
        self._system = system
        self._keeps_matches = keeps_matches
        self._threads = threads
        self._state = system.initial(0)
        start_counting(self._state)
        self._players: _Players | None = None
        self._ids: list[Ids] = []
        self._digests: list[Digests] = []
        self._tied: list[Ids] = []
        self._last_time: int | None = None
        self._time_kind: TimeKind = "seconds"
        self._single = 0
        self.matches = 0
        self.participations = 0

    @property
    def players(self) -> int:
        """Number of players so far."""
        return 0 if self._players is None else len(self._players.ids)

    def add(self, history: History, progress: Callable[[int], None] | None = None) -> None:
        """Rate the next block.

        progress : called with the number of participations of the block that are rated
        Raises : InvalidDataError if the system cannot rate it; ConvergenceError
        """
        self._check_follows(history)
        check_fit(self._system, history)
        if self._keeps_matches:
            self._ids.append(history.match_ids.copy())
            self._digests.append(digests_of(history, self._system.capabilities.uses))
        if self._players is None:
            self._players = _Players(history.player_ids)
        rows = self._players.rows_of(history.player_ids)
        self._state.grow(len(self._players.ids))
        numbered = history.with_players(self._players.ids, rows[history.player])
        with Workers(self._threads) as workers:
            for low, high in pieces(numbered, 0, numbered.matches):
                self._system.run(self._state, numbered, low, high, None, workers)
                if hasattr(self._system, "check_ratings"):
                    self._system.check_ratings(self._state.column("rating"), numbered)
                if progress is not None:
                    progress(int(numbered.offsets[high]))
        tied, single = unrated_matches(self._system, history)
        self._tied.append(history.match_ids[tied])
        self._single += single
        self.matches += history.matches - len(tied) - single
        gone = int(history.sizes()[tied].sum())
        self.participations += history.participations - gone
        self._last_time = None if history.time is None else int(history.time[-1])
        self._time_kind = history.time_kind

    def done(self, at: float | None = None) -> Replay:
        """Return the result, with players in order of their ids.

        at : time for which ratings are read, in days since 1970; None: as of the last matches
        Raises : InvalidDataError without any block
        """
        if self._players is None:
            raise InvalidDataError([], "there must be at least one match")
        order = np.argsort(self._players.ids, kind="stable")
        kept = self._keeps_matches
        pool = PoolState(
            system=self._system,
            player_ids=self._players.ids[order],
            state=self._state.take(order),
            rated=_joined(self._ids) if kept else self._tied[0][:0],
            digests=_joined(self._digests) if kept else np.zeros(0, np.uint64),
            last_time=self._last_time,
            time_kind=self._time_kind,
        )
        self._state = pool.state
        return Replay(
            ratings=ratings_of(pool, at),
            state=pool,
            trace=None,
            rated_matches=self.matches,
            rated_participations=self.participations,
            known_matches=0,
            all_tied=np.concatenate(self._tied),
            single=self._single,
        )

    def _check_follows(self, history: History) -> None:
        """Refuse a block that does not continue the one before. Raises : InvalidDataError."""
        if history.order is not None:
            raise InvalidDataError([], "an order without dates cannot be rated in blocks")
        if self._players is None:
            return
        before = (self._last_time is None, self._time_kind)
        types = (self._players.ids.dtype, self._tied[0].dtype)
        if before != (history.time is None, history.time_kind):
            raise InvalidDataError([], "all blocks must have times of one kind, or none")
        if types != (history.player_ids.dtype, history.match_ids.dtype):
            raise InvalidDataError([], "ids must be numbers in all blocks, or text")
        last = self._last_time
        if last is not None and history.time is not None and history.time[0] < last:
            raise InvalidDataError(
                [], f"match {history.match_ids[0]} is older than a match of the block before"
            )


class _Players:
    """The players so far, in order of first appearance, and the row of each."""

    def __init__(self, like: Ids) -> None:
        self.ids: Ids = like[:0]
        # Whole numbers are searched in a sorted array, in 16 bytes for each.
        self._numbered = like.dtype != object
        self._sorted: Ints = np.zeros(0, np.int64)
        self._rows: Ints = np.zeros(0, np.int64)
        self._row_of: dict[object, int] = {}

    def rows_of(self, ids: Ids) -> Ints:
        """Return the rows of players, each of whom is given once; new ones are added."""
        return self._of_numbers(ids) if self._numbered else self._of_text(ids)

    def _of_numbers(self, ids: Ids) -> Ints:
        place = np.searchsorted(self._sorted, ids)
        near = np.minimum(place, max(0, len(self._sorted) - 1))
        known = self._sorted[near] == ids if len(self._sorted) else np.zeros(len(ids), bool)
        new = np.sort(ids[~known])
        if len(new):
            rows = np.arange(len(self.ids), len(self.ids) + len(new))
            at = np.searchsorted(self._sorted, new)
            self._sorted = np.insert(self._sorted, at, new)
            self._rows = np.insert(self._rows, at, rows)
            self.ids = np.concatenate([self.ids, new])
        found: Ints = self._rows[np.searchsorted(self._sorted, ids)]
        return found

    def _of_text(self, ids: Ids) -> Ints:
        new = [one for one in ids.tolist() if one not in self._row_of]
        self._row_of.update({one: len(self.ids) + at for at, one in enumerate(new)})
        if new:
            self.ids = np.concatenate([self.ids, np.array(new, dtype=object)])
        return np.array([self._row_of[one] for one in ids.tolist()], dtype=np.int64)


def _joined(parts: list[Ids]) -> Ids:
    """Return the concatenation of parts, which are emptied so that their memory is free."""
    joined = np.concatenate(parts)
    parts.clear()
    return joined

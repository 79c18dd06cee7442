"""One match as plain numbers: its history, and rating it without a pool, a file or a history.

`rate_match` returns what `replay` would write into the rows of the players' state, bit for bit. It
serves systems whose players are all there is to know. It knows no names, and it checks nothing
beyond what the systems check.

A system's kernel takes a `Job` of many arrays. Making them takes a thousand times as long as rating
a duel. A `Workspace` keeps the job of a match with teams of certain sizes, writes the numbers of a
match into its arrays, calls the kernel and reads the new numbers. It is the same compiled kernel
that rates histories, so the bits are the same. `Workspaces` lend each to one thread at a time. A
system that they do not serve is given a history of one match.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Hashable, Iterator, Sequence
from itertools import chain
from struct import Struct
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, cast

import numpy as np

from equipoise._jit import compiled_for
from equipoise.arrays import Floats, Ids
from equipoise.data.history import MICROSECONDS_PER_DAY, History
from equipoise.errors import ConvergenceError
from equipoise.numeric.workers import ONE_THREAD
from equipoise.rating.head_start import no_home_side
from equipoise.rating.loop import ABSENT
from equipoise.rating.state import PADDING, State

if TYPE_CHECKING:
    from equipoise.rating.base_system import System
    from equipoise.rating.rated_system import RatedSystem

#: Larger matches are rated by `System.update`, which may share them among threads.
LARGEST = 1000

#: Most systems that have workspaces. A program has few; one that makes thousands starts anew.
_SYSTEMS = 32


class OneMatch(NamedTuple):
    """A match between players who are listed team after team.

    sizes : number of players of each team
    ranks : of each team, dense from 0, lower is better, equal is a tie
    time : microseconds since 1970; None without times
    performance_ceiling, beta, gamma : NaN for none
    performance, share, at_home, score, role : one value for each player, or none at all; NaN is an
        absent performance; a score is that of the player's team
    context : of the match, such as its surface; None for none

    Other fields are those of a `History`.
    """

    sizes: Sequence[int]
    ranks: Sequence[int]
    weight: float = 1.0
    time: int | None = None
    performance_ceiling: float = math.nan
    beta: float = math.nan
    gamma: float = math.nan
    performance: Sequence[float] = ()
    share: Sequence[float] = ()
    at_home: Sequence[bool] = ()
    score: Sequence[float] = ()
    role: Sequence[str] = ()
    context: str | None = None

    @property
    def has_own_deviations(self) -> bool:
        """Whether a beta or a gamma counts instead of the system's."""
        # Only NaN differs from itself.
        return self.beta == self.beta or self.gamma == self.gamma


def history_of(
    matches: Sequence[OneMatch],
    players: Sequence[Sequence[Hashable]] | None = None,
    match_ids: Sequence[str | int] | None = None,
) -> History:
    """Return matches in this order as a history.

    matches : at least one; all have times, or none has
    players : ids of the players of each match; None numbers those of each match from 0
    match_ids : None numbers the matches from 0
    """
    # The fields of all matches: a tuple of what `OneMatch` has one of.
    columns: Any = OneMatch._make(zip(*matches, strict=True))
    counts = [sum(sizes) for sizes in columns.sizes]
    row_of: dict[Hashable, int] = {}
    named = [range(count) for count in counts] if players is None else players
    player = [row_of.setdefault(name, len(row_of)) for names in named for name in names]
    team, rank = [], []
    for sizes, ranks in zip(columns.sizes, columns.ranks, strict=True):
        for number, (size, place) in enumerate(zip(sizes, ranks, strict=True)):
            team += [number] * size
            rank += [place] * size

    def of_matches(values: Any) -> Floats | None:
        column = np.array(values, np.float64)
        return None if np.isnan(column).all() else column

    def of_players(values: Any, absent: float | None = None, kind: type[Any] = float) -> Ids | None:
        if not any(map(len, values)):
            return None
        each = zip(values, counts, strict=True)
        parts = [part or [absent] * count for part, count in each]
        return np.array([value for part in parts for value in part], dtype=kind)

    contexts = [
        () if name is None else [name] * count
        for name, count in zip(columns.context, counts, strict=True)
    ]
    kept = {
        "at_home": of_players(columns.at_home),
        "score": of_players(columns.score, math.nan),
        "role": of_players(columns.role, kind=object),
        "context": of_players(contexts, kind=object),
    }
    return History(
        match_ids=ids_of(range(len(matches)) if match_ids is None else match_ids),
        player_ids=ids_of(list(row_of)),
        offsets=np.cumsum([0, *counts]),
        player=np.array(player),
        team=np.array(team),
        rank=np.array(rank),
        time=None if matches[0].time is None else np.array(columns.time, np.int64),
        time_kind="datetime",
        weight=of_matches(columns.weight),
        performance_ceiling=of_matches(columns.performance_ceiling),
        beta=of_matches(columns.beta),
        gamma=of_matches(columns.gamma),
        performance=of_players(columns.performance, math.nan),
        share=of_players(columns.share, 1.0),
        attributes={name: column for name, column in kept.items() if column is not None},
    )


def ids_of(values: Sequence[Any]) -> Ids:
    """Return ids as a history has them: whole numbers, or Python objects."""
    if all(isinstance(value, int) for value in values):
        return np.array(values, np.int64)
    ids: Ids = np.empty(len(values), dtype=object)
    ids[:] = values
    return ids


#: A player's state: the row of `State.table`, and the records in use of `State.runs`, field after
#: field and each oldest first, as `pack_players` has them; () where there are none.
PlayerNumbers: TypeAlias = tuple[tuple[float, ...], tuple[float, ...]]


#: Most shapes of matches whose workspaces a system keeps, and most workspaces of a shape.
_SHAPES, _EACH = 64, 8


def rate_match(
    system: System, players: Sequence[PlayerNumbers], match: OneMatch
) -> list[PlayerNumbers]:
    """Return the players' states after a match, in their order; nothing given is changed.

    players : team after team; the same player only once
    match : of at least two teams
    Raises : ConvergenceError; InvalidDataError if the system needs `at_home`
    """
    workspaces = workspaces_of(system)
    # Few matches have deviations of their own, so there is no kept memory for them.
    if workspaces.usable and not match.has_own_deviations:
        shape = tuple(match.sizes)
        workspace = workspaces.take(shape)
        rated = workspace.rate(players, match)
        workspaces.give_back(shape, workspace)
        return rated
    return rate_once(system, players, match)


def rate_once(
    system: System, players: Sequence[PlayerNumbers], match: OneMatch
) -> list[PlayerNumbers]:
    """Return what `rate_match` does, in memory that is not kept: for a system of one match."""
    state = state_of(system, players)
    system.run(state, history_of([match]), 0, 1)
    return numbers_of(state)


def state_of(system: System, players: Sequence[PlayerNumbers]) -> State:
    """Return a state of these players alone."""
    state = system.initial(len(players))
    state.table[:] = [row for row, _ in players]
    if state.runs is not None:
        state.runs.write(np.arange(len(players)), [records for _, records in players])
    return state


def numbers_of(state: State) -> list[PlayerNumbers]:
    """Return the numbers of every player of a state, in order."""
    rows = [tuple(row) for row in state.table.tolist()]
    runs = state.runs
    if runs is None:
        return [(row, ()) for row in rows]
    ends = np.cumsum(runs.spans[:, 3]).tolist()
    fields = [runs.records(field).tolist() for field in range(runs.fields)]
    starts = [0, *ends[:-1]]
    return [
        (row, tuple(value for field in fields for value in field[start:end]))
        for row, start, end in zip(rows, starts, ends, strict=True)
    ]


class Workspaces:
    """The workspaces of one system, each lent to one thread at a time.

    usable : whether the players and the match are all that the system needs
    """

    __slots__ = ("_free", "_shared", "_system", "usable")

    def __init__(self, system: System, shared: dict[str, Floats] | None = None) -> None:
        """Begin without workspaces.

        shared : `State.shared` of a pool, to which kernels then write; a pool serves one thread
        """
        self._system, self._shared = system, shared
        self.usable = system.fits_workspaces and (shared is not None or not _learns(system))
        self._free: dict[tuple[int, ...], list[Workspace]] = {}

    @property
    def system(self) -> System:
        """The system."""
        return self._system

    def take(self, sizes: tuple[int, ...]) -> Workspace:
        """Return a workspace that nobody else uses."""
        try:
            # One operation, so that no other thread takes the same.
            return self._free[sizes].pop()
        except (KeyError, IndexError):
            return Workspace(cast("RatedSystem", self._system), sizes, self._shared)

    def give_back(self, sizes: tuple[int, ...], workspace: Workspace) -> None:
        """Keep a workspace for later matches. One of a match that failed is not given back."""
        free = self._free.get(sizes)
        if free is None:
            if len(workspace.state.table) > LARGEST:
                return
            if len(self._free) >= _SHAPES:
                self._free.clear()
            free = self._free.setdefault(sizes, [])
        if len(free) < _EACH:
            free.append(workspace)


#: Workspaces by the identity of their system, which they keep alive.
_known: dict[int, Workspaces] = {}


def workspaces_of(system: System) -> Workspaces:
    """Return the workspaces of a system."""
    # Equal systems would do as well, but comparing parameters takes longer than rating.
    workspaces = _known.get(id(system))
    if workspaces is None or workspaces.system is not system:
        if len(_known) >= _SYSTEMS:
            _known.clear()
        workspaces = _known[id(system)] = Workspaces(system)
    return workspaces


def _learns(system: System) -> bool:
    """Return whether matches change numbers of the pool, which then have to be given."""
    return system.changes_entry or system.learns_advantage


class Workspace:
    """The job of one match with teams of these sizes, and the memory of its arrays.

    state : of the players of the match, in the order of their teams
    """

    __slots__ = (
        "_ceiling",
        "_home",
        "_inputs",
        "_job",
        "_kernel",
        "_members",
        "_rank",
        "_rank_codes",
        "_ranks",
        "_room",
        "_row_codes",
        "_rows",
        "_sizes",
        "_system",
        "_table",
        "_time",
        "_values",
        "_weight",
        "state",
    )

    def __init__(
        self, system: RatedSystem, sizes: Sequence[int], shared: dict[str, Floats] | None = None
    ) -> None:
        """Make the memory.

        shared : `State.shared` of a pool, to which the kernel then writes
        """
        count = sum(sizes)
        self._system, self._sizes = system, tuple(sizes)
        self._members = all(size == 1 for size in sizes)
        self.state = system.initial(count)
        if shared is not None:
            self.state.shared = shared
        job = system.job(self.state, empty_match(sizes), 0, 1)
        self._rank, rank = _writable(job.matches.rank)
        self._time, time = _writable(job.matches.time)
        self._weight, weight = _writable(job.matches.weight)
        self._ceiling, ceiling = _writable(job.matches.ceiling)
        matches = job.matches._replace(rank=rank, time=time, weight=weight, ceiling=ceiling)
        self._job = job._replace(matches=matches)
        self._home = job.home
        columns = {name: getattr(job.inputs, name) for name in ABSENT}
        #: What a match says of its players, for `rating.loop`: name -> memory.
        self._inputs: dict[str, Floats] = {
            name: column for name, column in columns.items() if column is not None
        }
        self._table = self.state.table.data
        self._row_codes = Struct(f"{self.state.table.size}d")
        self._rows = Struct(f"{self.state.table.shape[1]}d")
        self._rank_codes = Struct(f"{count}q")
        self._ranks: tuple[int, ...] = ()
        self._room = 0
        self._values: memoryview[Any] = memoryview(b"")
        self._kernel: Callable[[Any, int, int], tuple[int, float]] | None = None

    def rate(self, players: Sequence[PlayerNumbers], match: OneMatch) -> list[PlayerNumbers]:
        """Return the players' states after a match; see `rate_match`."""
        self._row_codes.pack_into(self._table, 0, *chain.from_iterable([row for row, _ in players]))
        if self.state.runs is None:
            return [(row, ()) for row in self.rate_rows(match)]
        self._put_records([records for _, records in players])
        rows = self.rate_rows(match)
        return list(zip(rows, self._take_records(), strict=True))

    def rate_rows(self, match: OneMatch) -> Iterator[tuple[float, ...]]:
        """Rate a match between the players in `state`; yield their rows after it."""
        self._set_ranks(tuple(match.ranks))
        time, ceiling = match.time, match.performance_ceiling
        self._weight[0] = match.weight
        self._time[0] = math.nan if time is None else time / MICROSECONDS_PER_DAY
        self._ceiling[0] = math.inf if ceiling != ceiling else ceiling
        for name, column in self._inputs.items():
            column[:] = getattr(match, name) or ABSENT[name]
        if self._home is not None:
            if not match.at_home:
                raise no_home_side()
            self._home.at_home[:] = match.at_home
        self._run()
        return self._rows.iter_unpack(self._table)

    def _run(self) -> None:
        """Rate the match. Raises : ConvergenceError."""
        if self._kernel is None:
            if len(self.state.table) > LARGEST:
                failed, residual = self._system.update(self._job, ONE_THREAD)
            else:
                kernel = self._system.kernel(self._job)
                self._kernel = compiled_for(kernel, self._job, 0, 1)
        if self._kernel is not None:
            failed, residual = self._kernel(self._job, 0, 1)
        if failed >= 0:
            what = f"{self._system.sought}{self._system.name}"
            raise ConvergenceError(what, self._system.iterations, residual)

    def _set_ranks(self, ranks: tuple[int, ...]) -> None:
        """Write the ranks of the teams; most calls have those of the last one."""
        if ranks == self._ranks:
            return
        each = ranks
        if not self._members:
            pairs = zip(ranks, self._sizes, strict=True)
            each = tuple(chain.from_iterable([(rank,) * size for rank, size in pairs]))
        self._rank_codes.pack_into(self._rank.data, 0, *each)
        self._ranks = ranks

    def _put_records(self, records: Sequence[Sequence[float]]) -> None:
        """Write the players' remembered records, and room for one more."""
        runs = self.state.runs
        assert runs is not None
        fields = runs.fields
        counts = [len(record) // fields for record in records]
        if max(counts) + 1 + 2 * PADDING > self._room:
            self._make_room(2 * max(counts) + 4 * PADDING)
        room, values = self._room, self._values
        for player, (kept, count) in enumerate(zip(records, counts, strict=True)):
            begin = player * fields * room
            for field in range(fields if count else 0):
                start = begin + field * room
                part = array("d", kept[field * count : (field + 1) * count])
                values[start : start + count] = part
        spans = runs.spans
        spans[:, 2] = 0
        spans[:, 3] = counts

    def _take_records(self) -> list[tuple[float, ...]]:
        """Return the players' remembered records, and leave their memory empty."""
        runs = self.state.runs
        assert runs is not None
        values, records = self._values, []
        for begin, room, first, count in runs.spans.tolist():
            kept: list[float] = []
            for field in range(runs.fields if count else 0):
                start = begin + field * room + first
                kept += values[start : start + count].tolist()
            records.append(tuple(kept))
        runs.values.fill(0.0)
        return records

    def _make_room(self, room: int) -> None:
        """Make memory for `room` records of each player."""
        runs = self.state.runs
        assert runs is not None
        room = -(-room // PADDING) * PADDING
        players = len(runs.spans)
        size = runs.fields * room
        runs.values = np.zeros(players * size)
        runs.used = len(runs.values)
        runs.spans[:, 0] = np.arange(players) * size
        runs.spans[:, 1] = room
        runs.spans[:, 2:] = 0
        match = empty_match(self._sizes)
        self._job = self._job._replace(own=self._system.own(self.state, match, 0, 1))
        self._room, self._values = room, runs.values.data


def empty_match(sizes: Sequence[int]) -> History:
    """Return a history of one match of teams of these sizes, with a column for all it may say."""
    count = sum(sizes)
    nothing = [math.nan] * count
    match = OneMatch(sizes, [0] * len(sizes), performance=nothing, at_home=[False] * count)
    return history_of([match])


def _writable(column: Ids) -> tuple[Ids, Ids]:
    """Return (memory to write to, the same memory as the kernel takes it).

    The columns of a history are read-only, and Numba compiles a kernel once more for others.
    """
    memory = column.copy()
    view = memory.view()
    view.setflags(write=column.flags.writeable)
    return memory, view

"""The state of a pool in one system: columns, at most one ragged column, and sums of draws.

The columns of a player are contiguous in memory, because a match reads a few rows completely.

`pack_players` and `unpack_players` convert the state of each player to bytes, for tables with one
value for each player. The layout is little-endian 64-bit words: one word with version, number of
columns and number of records; then the columns; then the remembered records, field by field.

The sums are over the counted matches of two teams: their number, the draws among them, and the sum
of 4 E (1 - E), where E is the win probability of one team without draws, by `outlook` before the
match. Then

    r = draws / sum of 4 E (1 - E), at most 1,

is the draw probability of equals: draws become rarer as teams become less equal, in proportion to
4 E (1 - E).

The sums are in `State.shared` under `DRAWS`. A system counts matches only if the sums exist.
Kernels add matches to the total in the order of rating. So it has the same bits whether a history
is rated at once, in pieces, or after resuming.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from equipoise._jit import Option, inner_kernel
from equipoise.arguments import is_number
from equipoise.arrays import Floats, Ints
from equipoise.display import Displayed
from equipoise.errors import InvalidDataError, Problem, require
from equipoise.numeric.functions import exp, normal_cdf
from equipoise.wording import counted

if TYPE_CHECKING:
    from equipoise.rating.system import RatingSystem

#: Version of the bytes of a player; a reader refuses unknown versions.
_VERSION = 1
_RECORD_BITS, _VERSION_SHIFT, _WORD = 32, 48, 8

#: The memory of a run is a multiple of this many records, and this many at its end stay unused and
#: zero, so that kernels may read complete vectors.
PADDING = 4

#: Columns of `Runs.spans`.
BEGIN, ROOM, FIRST, COUNT = range(4)

#: Name in `State.shared` of (matches counted, draws, sum of 4 E (1 - E)); absent: not counted.
DRAWS = "draws"

#: Least number of matches for an estimate of the draw probability.
LEAST_MATCHES = 50


@dataclass(slots=True, eq=False, repr=False)
class Runs(Displayed):
    """A ragged column: for every player a run of records of several fields, oldest first.

    spans : shape (P, 4), int64: the beginning of the player's memory in `values`, the number of
        records it has room for, the first record in use, and the number in use
    values : shape (capacity,); field f of record k of a player is at begin + f * room + k
    fields : number of fields of a record
    used : number of values in use; later ones are free

    Examples
    --------
    >>> history = eq.read_history("examples/contests.csv")
    >>> eq.replay(eq.EloMMR(), history).state.state.runs
    <Runs: 2,189 records of 3 fields>
    """

    spans: Ints
    values: Floats
    fields: int
    used: int = 0

    def _in_words(self) -> str:
        return f"{counted(int(self.spans[:, COUNT].sum()), 'record')} of {self.fields} fields"

    @classmethod
    def empty(cls, players: int, fields: int) -> Runs:
        """Return runs without memory for `players` players."""
        return cls(np.zeros((players, 4), np.int64), np.zeros(0), fields)

    def is_sound(self, players: int) -> bool:
        """Return whether every run is within the memory; kernels rely on it without a check."""
        if self.spans.shape != (players, 4):
            return False
        begin, room, first, count = self.spans.T
        held = (count == 0) | (first + count <= room - PADDING)
        inside = begin + self.fields * room <= len(self.values)
        return bool(np.all((self.spans >= 0).all(axis=1) & held & inside))

    def lacks_room(self, rows: Ints, records: Ints) -> bool:
        """Return whether some player rows[i] has no memory for records[i] more."""
        spans = self.spans[rows]
        return bool(np.any(spans[:, COUNT] + records > spans[:, ROOM] - PADDING))

    def reserve(self, rows: Ints, records: Ints) -> None:
        """Reserve memory for records[i] more records of each player rows[i].

        Memory at least doubles each time, so that rating match by match stays linear.
        """
        needed = self.spans[rows, COUNT] + records
        short = needed > self.spans[rows, ROOM] - PADDING
        if not short.any():
            return
        rows = rows[short]
        room = np.maximum(_padded(needed[short]), 2 * self.spans[rows, ROOM])
        if self.used + self.fields * int(room.sum()) > len(self.values):
            rooms = self.spans[:, ROOM].copy()
            rooms[rows] = room
            # The first layout has no spare memory, because a replay knows all participations
            # beforehand.
            self._lay_out(rooms, spare=int(rooms.sum()) if self.used else 0)
        else:
            self._move(rows, self.used + self.fields * (np.cumsum(room) - room), room, self.values)
            self.used += self.fields * int(room.sum())

    def take(self, rows: Ints) -> Runs:
        """Return a copy of the runs of these players."""
        part = Runs(self.spans[rows], self.values, self.fields)
        part._lay_out(_padded(part.spans[:, COUNT]), spare=0)
        return part

    def put(self, rows: Ints, part: Runs) -> None:
        """Replace the runs of these players by those of `part`."""
        self.spans[rows, COUNT] = 0
        self.reserve(rows, part.spans[:, COUNT])
        for field in range(self.fields):
            room = _ranges(
                self.spans[rows, BEGIN] + field * self.spans[rows, ROOM], self.spans[rows, ROOM]
            )
            self.values[room] = 0.0
        self.spans[rows, FIRST] = 0
        self.spans[rows, COUNT] = part.spans[:, COUNT]
        for field in range(self.fields):
            self.values[self._places(rows, field)] = part.records(field)

    def write(self, rows: Ints, records: Sequence[Floats | Sequence[float]]) -> None:
        """Give players without records these: of each field after field, and oldest first."""
        counts = np.array([len(values) // self.fields for values in records], np.int64)
        self.reserve(rows, counts)
        spans = self.spans[rows, :FIRST].tolist()
        for (begin, room), values, count in zip(spans, records, counts.tolist(), strict=True):
            for field in range(self.fields if count else 0):
                at = begin + field * room
                self.values[at : at + count] = values[field * count : (field + 1) * count]
        self.spans[rows, COUNT] = counts

    def records(self, field: int, rows: Ints | None = None) -> Floats:
        """Return one field of the records in use, player after player; rows : None for all."""
        rows = np.arange(len(self.spans)) if rows is None else rows
        return self.values[self._places(rows, field)]

    def grow(self, players: int) -> None:
        """Add players without records up to a total of `players`."""
        extra = np.zeros((players - len(self.spans), 4), np.int64)
        self.spans = np.concatenate([self.spans, extra])

    def _places(self, rows: Ints, field: int) -> Ints:
        """Return the indices of one field of these players' records in use."""
        begin, room, first, count = self.spans[rows].T
        return _ranges(begin + field * room + first, count)

    def _move(self, rows: Ints, begin: Ints, room: Ints, values: Floats) -> None:
        """Copy the records of these players to new places, from their first record on."""
        holding = rows[self.spans[rows, COUNT] > 0]
        kept = [self.values[self._places(holding, field)] for field in range(self.fields)]
        self.spans[rows, BEGIN], self.spans[rows, ROOM], self.spans[rows, FIRST] = begin, room, 0
        for field, records in enumerate(kept):
            values[self._places(holding, field)] = records

    def _lay_out(self, room: Ints, spare: int) -> None:
        """Move all runs to new memory with this much room each, and room for `spare` records."""
        used = self.fields * int(room.sum())
        values = np.zeros(used + self.fields * spare)
        self._move(np.arange(len(self.spans)), self.fields * (np.cumsum(room) - room), room, values)
        self.values, self.used = values, used


def _padded(records: Ints) -> Ints:
    """Return the capacity for a number of records; 0 for 0 records."""
    room = (records + 2 * PADDING - 1) // PADDING * PADDING
    return np.where(records > 0, room, 0).astype(np.int64)


def _ranges(begin: Ints, count: Ints) -> Ints:
    """Return begin[0], begin[0] + 1, ... of every run, count[i] numbers each, one after another."""
    ends = np.cumsum(count)
    total = int(ends[-1]) if len(ends) else 0
    places: Ints = np.repeat(begin - (ends - count), count)
    return places + np.arange(total, dtype=np.int64)


@dataclass(slots=True, eq=False, repr=False)
class State(Displayed):
    """The state of P players under one system.

    initial : name -> value of every column for a player who has not played; fixes their order
    table : shape (P, columns)
    runs : the ragged column of systems that remember past performances
    shared : name -> numbers of the pool instead of a player: sums of draws, statistics of roles

    Examples
    --------
    >>> league = eq.read_history("examples/league.csv")
    >>> state = eq.replay(eq.Glicko2(), league).state.state
    >>> state.table.shape, list(state.initial)[:3]
    ((6, 8), ['rating', 'deviation', 'volatility'])
    """

    initial: Mapping[str, float]
    table: Floats
    runs: Runs | None = None
    shared: dict[str, Floats] = dataclasses.field(default_factory=dict)

    def _in_words(self) -> str:
        return f"{counted(self.players, 'player')}, columns {', '.join(self.initial)}"

    @classmethod
    def of_new_players(cls, players: int, initial: Mapping[str, float], record: int = 0) -> State:
        """Return the state of players who have not played; record: fields of the ragged column."""
        return cls(
            initial=dict(initial),
            table=np.tile(np.array(list(initial.values())), (players, 1)),
            runs=Runs.empty(players, record) if record else None,
        )

    @property
    def players(self) -> int:
        """Number of players."""
        return len(self.table)

    def column(self, name: str) -> Floats:
        """Return a column as a view of shape (P,). Raises : ValueError."""
        return self.table[:, list(self.initial).index(name)]

    def take(self, rows: Ints) -> State:
        """Return a copy of these players' state and of the shared numbers."""
        runs = None if self.runs is None else self.runs.take(rows)
        shared = {name: values.copy() for name, values in self.shared.items()}
        return State(self.initial, self.table[rows], runs, shared)

    def put(self, rows: Ints, part: State) -> None:
        """Replace these players' state and the shared numbers by those of `part`."""
        self.table[rows] = part.table
        self.shared = {name: values.copy() for name, values in part.shared.items()}
        if self.runs is not None and part.runs is not None:
            self.runs.put(rows, part.runs)

    def copy(self) -> State:
        """Return an independent copy."""
        return self.take(np.arange(self.players))

    def grow(self, players: int) -> None:
        """Add new players up to a total of `players`."""
        extra = np.tile(np.array(list(self.initial.values())), (players - self.players, 1))
        self.table = np.concatenate([self.table, extra])
        if self.runs is not None:
            self.runs.grow(players)


def pack_players(state: State) -> list[bytes]:
    """Return the state of every player, in order."""
    players, width = state.table.shape
    head = (_VERSION << _VERSION_SHIFT) | (width << _RECORD_BITS)
    if state.runs is None:
        words = np.empty((players, 1 + width), np.uint64)
        words[:, 0] = head
        words[:, 1:] = np.ascontiguousarray(state.table).view(np.uint64)
        data, size = words.tobytes(), _WORD * (1 + width)
        return [data[start : start + size] for start in range(0, len(data), size)]
    packed = state.runs.take(np.arange(players))
    counts = packed.spans[:, 3]
    fields = [packed.records(field) for field in range(packed.fields)]
    ends = np.cumsum(counts).tolist()
    table, found = np.ascontiguousarray(state.table), []
    for row, (end, count) in enumerate(zip(ends, counts.tolist(), strict=True)):
        word = (head | count).to_bytes(_WORD, "little")
        runs = [field[end - count : end].tobytes() for field in fields]
        found.append(b"".join([word, table[row].tobytes(), *runs]))
    return found


def unpack_players(system: RatingSystem, packed: Sequence[bytes | None]) -> State:
    """Return the state of players; None is a player who has not played.

    Raises : InvalidDataError for bytes that are not the state of a player under this system
    """
    state = system.initial(len(packed))
    rows = [row for row, words in enumerate(packed) if words is not None]
    known = [words for words in packed if words is not None]
    if not known:
        return state
    if any(len(words) % _WORD or not words for words in known):
        raise _foreign(system)
    words = np.frombuffer(b"".join(known), np.uint64)
    lengths = np.array([len(words) // _WORD for words in known])
    begins = np.cumsum(lengths) - lengths
    heads, width = words[begins], len(state.initial)
    records = (heads & np.uint64(2**_RECORD_BITS - 1)).astype(np.int64)
    fields = 0 if state.runs is None else state.runs.fields
    expected = np.uint64((_VERSION << _VERSION_SHIFT) | (width << _RECORD_BITS))
    if np.any(heads - records.astype(np.uint64) != expected) or np.any(
        lengths != 1 + width + fields * records
    ):
        raise _foreign(system)
    places = begins[:, None] + 1 + np.arange(width)
    state.table[rows] = words[places].view(np.float64)
    if state.runs is not None:
        values, ends = words.view(np.float64), (begins + lengths).tolist()
        starts = (begins + 1 + width).tolist()
        parts = [values[start:end] for start, end in zip(starts, ends, strict=True)]
        state.runs.write(np.array(rows), parts)
    return state


def _foreign(system: RatingSystem) -> InvalidDataError:
    """Return the error for bytes that are not the state of a player in a system."""
    rule = f"must be the state of a player in {system.name} (layout {_VERSION})"
    return InvalidDataError([Problem("database", None, "state", rule, "other bytes")])


@inner_kernel
def count_match(draws: Floats, tied: bool, z: float, normal: bool) -> None:
    """Add a match of two teams to the sums.

    z : the difference of the teams' centres over the scale of that difference, of either sign
    normal : whether the curve is the normal one, else the logistic one
    """
    # The smaller probability is computed from its own tail, so that it keeps its digits.
    if normal:
        tail = normal_cdf(-abs(z))
    else:
        tail = exp(-abs(z))
        tail /= 1.0 + tail
    _add_match(draws, tied, tail)


@inner_kernel
def count_draw(draws: Floats, tied: bool, z: float, normal: Option) -> None:
    """Add a match of two teams to the sums like `count_match`; only one curve is compiled."""
    if normal is not None:
        _add_match(draws, tied, normal_cdf(-abs(z)))
    if normal is None:
        tail = exp(-abs(z))
        _add_match(draws, tied, tail / (1.0 + tail))


@inner_kernel
def _add_match(draws: Floats, tied: bool, tail: float) -> None:
    """Add a match whose weaker side wins with probability `tail`, without draws."""
    if math.isnan(tail):
        return
    draws[0] += 1.0
    if tied:
        draws[1] += 1.0
    draws[2] += 4.0 * tail * (1.0 - tail)


def sums_of(state: State) -> Floats:
    """Return the sums of a state, which kernels add to; shape (0,) if draws are not counted."""
    return state.shared.get(DRAWS, np.empty(0))


def start_counting(state: State) -> None:
    """Make a state count draws from now on, unless it does already."""
    state.shared.setdefault(DRAWS, np.zeros(3))


def draw_rate(state: State) -> float | None:
    """Return r, the draw probability of equals; None with fewer than 50 counted matches."""
    counted = state.shared.get(DRAWS)
    if counted is None:
        return None
    matches, draws, spread = counted.tolist()
    if matches < LEAST_MATCHES or spread <= 0.0:
        return None
    return float(min(draws / spread, 1.0))


def counted_matches(state: State) -> int:
    """Return the number of matches of two teams in the sums."""
    counted = state.shared.get(DRAWS)
    return 0 if counted is None else int(counted[0])


def check_draw_rate(rate: object) -> None:
    """Refuse what is not a draw probability of equals. Raises : InvalidParameterError."""
    fits = is_number(rate) and 0 <= rate <= 1
    require(fits, "draw_rate", "a probability from 0 to 1, that equal teams draw", rate)

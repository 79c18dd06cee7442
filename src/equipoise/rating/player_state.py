"""States of players outside a replay: packed as bytes, or seeded for a season.

`pack_players` and `unpack_players` convert the state of each player to bytes, for tables with one
value for each player. The layout is little-endian 64-bit words: one word with version, number of
columns and number of records; then the columns; then the remembered records, field by field.

`seeded_state` makes the state of players who begin with given ratings, and `known_state` that of
players with known ratings. `soft_reset` computes ratings from those at the end of a season.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from equipoise.arrays import Floats
from equipoise.data.ratings import InitialRatings, Ratings
from equipoise.errors import InvalidDataError, InvalidParameterError, Problem
from equipoise.rating.advantage.head_start import ADVANTAGE
from equipoise.rating.entry.entering import (
    ENTRY,
    LEVEL,
    MU,
    SEEDED,
    TARGET,
    WEIGHT,
    EntryParameters,
)
from equipoise.rating.federations.facts import KNOWN
from equipoise.rating.state import State
from equipoise.rating.system import RatingSystem

#: Version of the layout; a reader refuses unknown versions.
VERSION = 1

_RECORD_BITS, _VERSION_SHIFT = 32, 48
_WORD = 8


def pack_players(state: State) -> list[bytes]:
    """Return the state of every player, in order."""
    players, width = state.table.shape
    head = (VERSION << _VERSION_SHIFT) | (width << _RECORD_BITS)
    if state.runs is None:
        words = np.empty((players, 1 + width), np.uint64)
        words[:, 0] = head
        words[:, 1:] = np.ascontiguousarray(state.table).view(np.uint64)
        return _cut(words.tobytes(), np.full(players, 1 + width))
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
    rows = [row for row, one in enumerate(packed) if one is not None]
    known = [one for one in packed if one is not None]
    if not known:
        return state
    if any(len(one) % _WORD or not one for one in known):
        raise _foreign(system)
    words = np.frombuffer(b"".join(known), np.uint64)
    lengths = np.array([len(one) // _WORD for one in known])
    begins = np.cumsum(lengths) - lengths
    heads, width = words[begins], len(state.initial)
    records = (heads & np.uint64(2**_RECORD_BITS - 1)).astype(np.int64)
    fields = 0 if state.runs is None else state.runs.fields
    expected = np.uint64((VERSION << _VERSION_SHIFT) | (width << _RECORD_BITS))
    if np.any(heads - records.astype(np.uint64) != expected) or np.any(
        lengths != 1 + width + fields * records
    ):
        raise _foreign(system)
    places = begins[:, None] + 1 + np.arange(width)
    state.table[rows] = words[places].view(np.float64)
    if state.runs is not None:
        _put_records(state, np.array(rows), words, begins + 1 + width, records)
    return state


def _foreign(system: RatingSystem) -> InvalidDataError:
    """Return the error for bytes that are not the state of a player in a system."""
    rule = f"must be the state of a player in {system.name} (layout {VERSION})"
    return InvalidDataError([Problem("database", None, "state", rule, "other bytes")])


def _put_records(
    state: State,
    rows: np.ndarray[tuple[int], np.dtype[np.int64]],
    words: np.ndarray[tuple[int], np.dtype[np.uint64]],
    begins: np.ndarray[tuple[int], np.dtype[np.int64]],
    records: np.ndarray[tuple[int], np.dtype[np.int64]],
) -> None:
    """Give the players at `rows` their remembered records, which begin at words[begins]."""
    runs = state.runs
    if runs is None:
        return
    runs.reserve(rows, records)
    values = words.view(np.float64)
    spans = runs.spans
    for row, begin, count in zip(rows.tolist(), begins.tolist(), records.tolist(), strict=True):
        start, room = int(spans[row, 0]), int(spans[row, 1])
        for field in range(runs.fields if count else 0):
            at = start + field * room
            runs.values[at : at + count] = values[
                begin + field * count : begin + (field + 1) * count
            ]
    spans[rows, 3] = records


def _cut(data: bytes, words: np.ndarray[tuple[int], np.dtype[np.int64]]) -> list[bytes]:
    """Return consecutive pieces of the data; words : shape (pieces,), length of each."""
    ends = (_WORD * np.cumsum(words)).tolist()
    starts = [0, *ends][:-1]
    return [data[start:end] for start, end in zip(starts, ends, strict=True)]


def seeded_state(system: RatingSystem, rating: Floats, deviation: Floats) -> State:
    """Return the state of players with these ratings who have not played.

    Where newcomers do not enter at the initial rating, the state says that these are none, and the
    level to hold is their mean.

    deviation : positive; ignored by systems without a deviation of each player
    Raises : InvalidParameterError
    """
    if not np.isfinite(rating).all():
        raise InvalidParameterError("every rating must be a finite number")
    state = system.initial(len(rating))
    state.column("rating")[:] = rating
    if "deviation" in state.initial:
        if not (np.isfinite(deviation) & (deviation > 0)).all():
            raise InvalidParameterError("every deviation must be a positive number")
        state.column("deviation")[:] = deviation
    if "rated" in state.initial:
        state.column("rated")[:] = KNOWN
    if "gaussian_weight" in state.initial:
        _set_gaussian(state, rating, deviation)
    if SEEDED in state.initial:
        state.column(SEEDED)[:] = 1.0
        if len(rating):
            # The exact sum does not depend on the order of the players.
            state.shared[ENTRY][[LEVEL, TARGET]] = math.fsum(rating.tolist()) / len(rating)
    return state


def known_state(system: RatingSystem, known: InitialRatings | Ratings) -> State:
    """Return the state of players who begin with known ratings, in their order.

    A player without a known deviation has that of newcomers.
    Raises : InvalidParameterError
    """
    # A system without deviations ignores the number.
    usual = float(getattr(system, "initial_deviation", 1.0))
    deviation = np.where(np.isnan(known.deviation), usual, known.deviation)
    return seeded_state(system, known.rating, deviation)


def carry_entry(
    seeded: State, before: State, was: EntryParameters, *, centre: float = 0.0, keep: float = 1.0
) -> None:
    """Give the state of seeded players the numbers of the pool that they come from.

    Entry, level and target move as ratings do in a soft reset; what is known of newcomers is kept.
    What the pool before did not learn or hold stays as `seeded_state` made it.

    What a pool has learned of its home advantage is kept as well.

    was : parameters of the pool before; centre, keep : as in `soft_reset`
    """
    if ADVANTAGE in seeded.shared and ADVANTAGE in before.shared:
        seeded.shared[ADVANTAGE][:] = before.shared[ADVANTAGE]
    if ENTRY not in seeded.shared or ENTRY not in before.shared:
        return
    old, new = before.shared[ENTRY], seeded.shared[ENTRY]
    moved = centre + keep * (old - centre) if keep != 1.0 else old
    if was.learns_entry:
        new[MU], new[WEIGHT] = moved[MU], old[WEIGHT]
    if was.holds_level:
        new[[LEVEL, TARGET]] = moved[[LEVEL, TARGET]]


def soft_reset(
    rating: Floats, deviation: Floats, *, centre: float, keep: float, widen: float, most: float
) -> tuple[Floats, Floats]:
    """Return ratings moved towards a centre, and larger deviations.

    keep : share of the distance to the centre that remains
    widen : added to a deviation as independent errors are added, sqrt(deviation^2 + widen^2)
    most : the largest deviation; players without one get it
    """
    moved = centre + keep * (rating - centre)
    grown = np.minimum(most, np.hypot(deviation, widen))
    return moved, np.where(np.isnan(grown), most, grown)


def _set_gaussian(state: State, rating: Floats, deviation: Floats) -> None:
    """Set the players' beliefs under Elo-MMR to one Gaussian, as before the first match."""
    weight = 1.0 / (deviation * deviation)
    state.column("gaussian_mean")[:] = rating
    state.column("gaussian_weight")[:] = weight
    state.column("curvature")[:] = weight

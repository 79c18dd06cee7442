"""A digest of every match: the columns that the system read, in one number of 64 bits.

A saved state keeps the digests of its matches, so that matches that were changed later are found
(docs/decisions/0010). The digest covers time, players, teams, ranks, and the other columns that the
system uses. It does not depend on the order of rows within the match, on the numbering of players
or on the file format: equal matches have equal digests, and different matches have different
digests, except with probability 2^-64. It does not protect against deliberate forgery.

Every value is mixed to 64 random-looking bits (the finalizer of SplitMix64, Steele, Lea and Flood
2014), and unordered values are added up: h(match) = mix(sum over teams of mix(sum over members) +
sum over the match's own values).
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from equipoise.arrays import Floats, Ids, Ints
from equipoise.data.history import History
from equipoise.rating.contexts import CONTEXT, numbered_contexts
from equipoise.rating.federation_columns import FACTS, facts_of
from equipoise.rating.system import OF_ROUNDS

#: uint64, one number for each match; 0 for a match that is not compared.
Digests: TypeAlias = NDArray[np.uint64]

#: Version of the digest; states with digests of another version are not compared.
VERSION = 1
#: The digest of a match that is not compared.
NOT_KNOWN = np.uint64(0)

#: Participations processed at once, so that they stay in the processor's cache.
_PIECE = 1 << 15
#: Constants of SplitMix64.
_GOLDEN, _FIRST, _SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
#: The bits of every NaN.
_NAN = np.uint64(0x7FF8000000000000)
#: The value mixed in for a history without times.
_NO_TIME = np.uint64(0x6E6F2074696D6573)
_MASK = (1 << 64) - 1


def digests_of(history: History, uses: frozenset[str]) -> Digests:
    """Return the digest of every match, shape (M,).

    uses : the columns that the system uses in addition to time, player, team and rank
        (`Capabilities.uses`)
    """
    players = _player_hashes(history)
    extra = _extra_of_rows(history, uses)
    digests = _extra_of_matches(history, uses)
    offsets = history.offsets
    first = 0
    while first < history.matches:
        last = int(np.searchsorted(offsets, offsets[first] + _PIECE, side="right")) - 1
        last = max(last, first + 1)
        low, high = int(offsets[first]), int(offsets[last])
        member = players[history.player[low:high]]
        if extra is not None:
            member += extra[low:high]
            _mix(member)
        sizes, begins = np.diff(offsets[first : last + 1]), offsets[first:last] - low
        team, rank = history.team[low:high], history.rank[low:high]
        teams = np.maximum.reduceat(team, begins) + 1
        if not np.array_equal(teams, sizes):
            member, rank, begins = _teams(member, team, rank, sizes, teams)
        member += _bits(rank) * np.uint64(_GOLDEN)
        digests[first:last] += np.add.reduceat(_mix(member), begins)
        first = last
    _mix(digests)
    digests[digests == NOT_KNOWN] = 1
    return digests


def _mix(values: Digests) -> Digests:
    """Mix every value in place to 64 bits that look random; return the array."""
    values += np.uint64(_GOLDEN)
    values ^= values >> np.uint64(30)
    values *= np.uint64(_FIRST)
    values ^= values >> np.uint64(27)
    values *= np.uint64(_SECOND)
    values ^= values >> np.uint64(31)
    return values


def _salted(values: Digests, name: str) -> Digests:
    """Return the values of a column mixed, so that equal values of two columns differ."""
    salt = int.from_bytes(name.encode(), "little") * _GOLDEN & _MASK
    return _mix(_mix(values + np.uint64(salt)))


def _bits(numbers: Ints) -> Digests:
    """Return the bits of whole numbers as unsigned numbers."""
    return np.ascontiguousarray(numbers, dtype=np.int64).view(np.uint64)


def _float_bits(numbers: Floats) -> Digests:
    """Return the bits of numbers; -0 is 0 and every NaN is the same."""
    # Adding 0 turns -0 into 0.
    plain = np.ascontiguousarray(numbers, dtype=np.float64) + 0.0
    bits = plain.view(np.uint64)
    bits[np.isnan(plain)] = _NAN
    return bits


def _text_hashes(texts: list[str]) -> Digests:
    """Return a number for every text: the sum of the mixed (position, byte) over its bytes."""
    parts = [text.encode("utf-8", "surrogatepass") for text in texts]
    sizes = np.fromiter(map(len, parts), np.int64, len(parts))
    ends = np.cumsum(sizes)
    data = np.frombuffer(b"".join(parts), np.uint8).astype(np.uint64)
    place = np.arange(len(data)) - np.repeat(ends - sizes, sizes)
    mixed = _mix(data + (_bits(place) << np.uint64(8)))
    total = np.concatenate([np.zeros(1, np.uint64), np.cumsum(mixed, dtype=np.uint64)])
    return _mix(total[ends] - total[ends - sizes] + _bits(sizes))


def _player_hashes(history: History) -> Digests:
    """Return a number for every player who takes part, from the id alone, shape (P,)."""
    taking_part = np.zeros(history.players, np.bool_)
    taking_part[history.player] = True
    rows = np.flatnonzero(taking_part)
    hashes = np.zeros(history.players, np.uint64)
    ids = history.player_ids[rows]
    if ids.dtype == object:
        hashes[rows] = _text_hashes([str(player) for player in ids.tolist()])
    else:
        hashes[rows] = _salted(_bits(ids), "id")
    return hashes


def _teams(
    member: Digests, team: Ints, rank: Ints, sizes: Ints, teams: Ints
) -> tuple[Digests, Ints, Ints]:
    """Return (sum over the members of every team, its rank, where every match's teams begin)."""
    begins = np.cumsum(teams) - teams
    number = np.repeat(begins, sizes) + team
    if np.any(np.diff(number) < 0):
        order = np.argsort(number, kind="stable")
        member, rank, number = member[order], rank[order], number[order]
    first = np.flatnonzero(np.diff(number, prepend=-1))
    return np.add.reduceat(member, first), rank[first], begins


def _extra_of_matches(history: History, uses: frozenset[str]) -> Digests:
    """Return the sums of mixed times, weights and other numbers of matches, shape (M,)."""
    if history.time is None:
        extra = np.full(history.matches, _NO_TIME)
        if history.order is not None:
            extra += _salted(_bits(history.order), "order")
    else:
        extra = _salted(_bits(history.time), "time")
    if "weight" in uses:
        extra += _salted(_float_bits(history.weights()), "weight")
    if "performance_ceiling" in uses:
        ceiling = _column(history.performance_ceiling, history.matches, np.nan)
        extra += _salted(_float_bits(ceiling), "performance_ceiling")
    for name in OF_ROUNDS:
        own = getattr(history, name)
        if name in uses and own is not None:
            # A match without one has the digest that it had before there were such columns.
            extra += np.where(np.isnan(own), np.uint64(0), _salted(_float_bits(own), name))
    return extra


def _extra_of_rows(history: History, uses: frozenset[str]) -> Digests | None:
    """Return the sums of the mixed columns of participations, shape (N,); None if none counts."""
    rows, columns = history.participations, []
    if "performance" in uses:
        performance = _column(history.performance, rows, np.nan)
        columns.append(_salted(_float_bits(performance), "performance"))
    if "share" in uses:
        columns.append(_salted(_float_bits(_column(history.share, rows, 1.0)), "share"))
    if "score" in uses:
        columns.append(_salted(_float_bits(_column(history.scores(), rows, np.nan)), "score"))
    if "at_home" in uses:
        home = history.at_home()
        if home is not None:
            columns.append(_salted(home.astype(np.uint64), "at_home"))
    if "role" in uses and "role" in history.attributes:
        columns.append(_role_hashes(history.attributes["role"]))
    if CONTEXT in uses and CONTEXT in history.attributes:
        codes, number = numbered_contexts(history)
        columns.append(_salted(_float_bits(codes), CONTEXT)[number])
    if used := [name for name in FACTS if name in uses]:
        facts = facts_of(history, uses)._asdict()
        columns += [_salted(_float_bits(facts[name]), name) for name in used]
    return sum(columns[1:], columns[0]) if columns else None


def _role_hashes(column: Ids) -> Digests:
    """Return a number for every role, from its name as the system reads it."""
    names, row = np.unique(column.astype(str), return_inverse=True)
    return _salted(_text_hashes(names.tolist()), "role")[row.reshape(-1)]


def _column(values: Floats | None, length: int, absent: float) -> Floats:
    """Return a column; all values are `absent` if there is none."""
    return np.full(length, absent) if values is None else values

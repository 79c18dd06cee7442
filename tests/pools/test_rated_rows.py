"""Rated matches as rows of the database, and the last changes of players."""

from __future__ import annotations

import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.errors import InvalidDataError
from equipoise.messages.matches import MatchRequest, TeamRequest
from equipoise.messages.pools import PoolRequest
from equipoise.pools.pool.rules import PoolRules
from equipoise.pools.posting.rating import (
    LastChanges,
    LoggedMatch,
    history_of,
    object_array,
    places_of,
    players_of,
)

#: Of every match, the rank and the number of players of every team.
_MATCHES = st.lists(
    st.lists(st.tuples(st.integers(0, 4), st.integers(1, 3)), min_size=1, max_size=6), max_size=5
)


@given(_MATCHES)
def test_a_place_is_the_number_of_teams_that_came_before(
    drawn: list[list[tuple[int, int]]],
) -> None:
    """Against counting them, with ties, teams of several and matches of one team."""
    matches, expected = [], []
    for number, teams in enumerate(drawn, 1):
        named = [
            TeamRequest([f"{number}-{t}-{one}" for one in range(size)], rank)
            for t, (rank, size) in enumerate(teams)
        ]
        matches.append(LoggedMatch(number, number, MatchRequest(str(number), named)))
        for rank, size in teams:
            expected += [sum(other < rank for other, _ in teams)] * size
    players = [player for match in matches for player in players_of(match.request)]
    rows = {player: row for row, player in enumerate(players)}
    rules = PoolRules(PoolRequest(system="trueskill"))
    history = history_of(matches, rows, object_array(players), rules)
    assert np.array_equal(places_of(history, history.match_rows()), expected)


PLAYERS = 6
MOMENTS = st.integers(-(2**62), 2**62)

#: Pieces of changes, each a player and a time; numbers are counted.
PIECES = st.lists(
    st.lists(st.tuples(st.integers(0, PLAYERS - 1), MOMENTS), max_size=12), max_size=5
)


def arrays(changes: list[tuple[int, int]], first: int) -> tuple[np.ndarray, ...]:
    """Return players, times and numbers of changes."""
    players = np.array([player for player, _ in changes], np.int64)
    times = np.array([time for _, time in changes], np.int64)
    return players, times, np.arange(first, first + len(changes), dtype=np.int64)


@given(PIECES)
def test_each_change_says_where_the_one_before_it_stands(
    pieces: list[list[tuple[int, int]]],
) -> None:
    """Within a piece and from one to the next; 0 where there is none."""
    last_changes, last, seq = LastChanges.empty(PLAYERS), {}, 0
    for piece in pieces:
        players, times, seqs = arrays(piece, seq + 1)
        found = last_changes.follow(players, times, seqs)
        expected = []
        for player, time in piece:
            seq += 1
            expected.append(last.get(player, (0, 0)))
            last[player] = (time, seq)
        assert list(zip(*(one.tolist() for one in found), strict=True)) == expected
        kept = list(zip(last_changes.time.tolist(), last_changes.seq.tolist(), strict=True))
        assert kept == [last.get(player, (0, 0)) for player in range(PLAYERS)]


@given(st.lists(st.tuples(MOMENTS, st.integers(0, 2**62)), max_size=20))
def test_bytes_come_back_as_they_were(places: list[tuple[int, int]]) -> None:
    """And can be followed on: they are no view of what cannot be written."""
    last_changes = LastChanges(*(np.array([one[at] for one in places], np.int64) for at in (0, 1)))
    back = LastChanges.from_bytes(last_changes.to_bytes(), len(places))
    assert back.time.tolist() == last_changes.time.tolist()
    assert back.seq.tolist() == last_changes.seq.tolist()
    back.grow(len(places) + 1)
    back.follow(np.array([len(places)]), np.array([5]), np.array([7]))
    assert (back.time[-1], back.seq[-1]) == (5, 7)


@pytest.mark.parametrize(
    "content",
    [
        b"no trail",
        LastChanges.empty(3).to_bytes()[:-2],
        LastChanges.empty(2).to_bytes(),
        LastChanges.empty(4).to_bytes(),
        zlib.compress(b"\x00" * 47),
        zlib.compress(b""),
    ],
)
def test_damaged_bytes_are_refused(content: bytes) -> None:
    """Cut off, or of another number of players. No bytes are players without a change."""
    with pytest.raises(InvalidDataError, match="checkpoint"):
        LastChanges.from_bytes(content, 3)
    empty = LastChanges.from_bytes(b"", 3)
    assert empty.time.tolist() == empty.seq.tolist() == [0, 0, 0]


def test_a_part_is_a_copy_until_it_is_put_back() -> None:
    last_changes = LastChanges(np.array([1, 2, 3]), np.array([4, 5, 6]))
    rows = np.array([2, 0])
    part = last_changes.take(rows)
    part.follow(np.array([0]), np.array([9]), np.array([9]))
    assert last_changes.seq.tolist() == [4, 5, 6]
    last_changes.put(rows, part)
    assert (last_changes.time.tolist(), last_changes.seq.tolist()) == ([1, 2, 9], [4, 5, 9])

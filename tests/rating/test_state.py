"""State and its ragged column, against plain lists."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawing import examples
from equipoise.errors import InvalidDataError
from equipoise.rating.registry import SYSTEMS, make_system
from equipoise.rating.state import (
    BEGIN,
    COUNT,
    FIRST,
    PADDING,
    ROOM,
    Runs,
    State,
    pack_players,
    unpack_players,
)
from equipoise.rating.system import RatingSystem
from rating.histories import Contest, history_of

FIELDS = 3


def push(runs: Runs, row: int, value: float) -> None:
    """Append a record as a kernel would, into reserved room."""
    begin, room, first, count = runs.spans[row]
    assert first + count < room - PADDING + 1
    for field in range(FIELDS):
        runs.values[begin + field * room + first + count] = value + field / 10
    runs.spans[row, COUNT] += 1


def drop_oldest(runs: Runs, row: int) -> None:
    runs.spans[row, FIRST] += 1
    runs.spans[row, COUNT] -= 1


def contents(runs: Runs) -> list[list[float]]:
    """Return the first field of every player's records, and check the other fields."""
    found = []
    for row in range(len(runs.spans)):
        begin, room, first, count = runs.spans[row]
        fields = [
            runs.values[begin + f * room + first : begin + f * room + first + count]
            for f in range(FIELDS)
        ]
        for f in range(FIELDS):
            np.testing.assert_allclose(fields[f], fields[0] + f / 10)
        found.append(fields[0].tolist())
    return found


@given(
    steps=st.lists(
        st.tuples(st.sampled_from(["push", "drop", "take", "grow", "put"]), st.integers(0, 4)),
        max_size=60,
    )
)
@examples(60)
def test_runs_hold_what_lists_would_hold(steps: list[tuple[str, int]]) -> None:
    """Reserving, dropping, copying and growing never lose or mix records."""
    runs = Runs.empty(5, FIELDS)
    lists: list[list[float]] = [[] for _ in range(5)]
    for number, (step, row) in enumerate(steps):
        if step == "push":
            if runs.spans[row, FIRST] + runs.spans[row, COUNT] >= runs.spans[row, ROOM] - PADDING:
                runs = runs.take(np.arange(len(lists)))
            runs.reserve(np.array([row]), np.array([1]))
            push(runs, row, float(number))
            lists[row].append(float(number))
        elif step == "drop" and lists[row]:
            drop_oldest(runs, row)
            del lists[row][0]
        elif step == "take":
            order = np.roll(np.arange(len(lists)), row)
            runs = runs.take(order)
            lists = [lists[i] for i in order]
        elif step == "put":
            part = runs.take(np.array([row]))
            runs.put(np.array([0]), part)
            lists[0] = list(lists[row])
        elif step == "grow":
            runs.grow(len(lists) + 1)
            lists.append([])
        assert contents(runs) == lists


def test_runs_of_two_players_never_overlap() -> None:
    """The memory of all players, room included, is disjoint and inside the array."""
    runs = Runs.empty(4, FIELDS)
    for row, count in ((2, 5), (0, 1), (2, 40), (3, 9), (0, 30)):
        runs.reserve(np.array([row]), np.array([count]))
        used: set[int] = set()
        for begin, room, _, _ in runs.spans.tolist():
            mine = set(range(begin, begin + FIELDS * room))
            assert not used & mine
            used |= mine
        assert max(used) < len(runs.values)
        assert runs.spans[row, ROOM] - PADDING >= count


def test_the_unused_end_of_a_run_reads_as_zero() -> None:
    """Kernels read whole vectors past the last record."""
    runs = Runs.empty(2, FIELDS)
    runs.reserve(np.array([0, 1]), np.array([3, 3]))
    push(runs, 0, 7.0)
    begin, room = runs.spans[0, BEGIN], runs.spans[0, ROOM]
    assert not runs.values[begin + 1 : begin + room].any()


def test_taking_and_putting_back_changes_nothing() -> None:
    state = State.of_new_players(6, {"rating": 1500.0, "matches": 0.0}, record=FIELDS)
    state.table[:] = np.arange(12).reshape(6, 2)
    state.runs.reserve(np.arange(6), np.arange(6))
    for row in range(6):
        for k in range(row):
            push(state.runs, row, 100.0 * row + k)
    before, records = state.table.copy(), contents(state.runs)
    rows = np.array([5, 1, 3])
    part = state.take(rows)
    state.table[rows] = -1
    state.put(rows, part)
    np.testing.assert_array_equal(state.table, before)
    assert contents(state.runs) == records


def test_putting_starts_at_the_front_of_the_memory() -> None:
    """Where the oldest records were dropped, all of the room is there again."""
    runs = Runs.empty(1, FIELDS)
    row = np.array([0])
    runs.reserve(row, np.array([9]))
    for value in range(9):
        push(runs, 0, float(value))
    for _ in range(7):
        drop_oldest(runs, 0)
    assert runs.spans[0, FIRST] == 7
    runs.put(row, runs.take(row))
    assert runs.spans[0, FIRST] == 0
    assert contents(runs) == [[7.0, 8.0]]
    runs.reserve(row, np.array([runs.spans[0, ROOM] - PADDING - 2]))
    assert runs.is_sound(1)


def test_new_players_get_the_initial_values() -> None:
    state = State.of_new_players(1, {"rating": 1500.0, "matches": 0.0})
    state.grow(3)
    assert state.table.tolist() == [[1500.0, 0.0]] * 3
    assert state.column("rating").tolist() == [1500.0] * 3


# --- single players as bytes -------------------------------------------------------------------


def played(system: RatingSystem) -> State:
    """Return a state after some duels; of its players 0 to 5 the last has not played."""
    pairs = [(0, 1), (1, 2), (3, 0), (4, 3), (0, 4), (2, 0)]
    history = history_of([Contest(pair, (0, 1), float(day)) for day, pair in enumerate(pairs)], 6)
    state = system.initial(6)
    system.run(state, history, 0, history.matches)
    return state


def bits(state: State) -> list[bytes]:
    """Return all that a state knows of every player, as bytes."""
    runs = state.runs
    if runs is None:
        return [row.tobytes() for row in state.table]
    return [
        state.table[row].tobytes()
        + b"".join(
            runs.take(np.array([row])).records(field).tobytes() for field in range(runs.fields)
        )
        for row in range(state.players)
    ]


@pytest.mark.parametrize("name", sorted(SYSTEMS))
def test_every_state_comes_back_to_the_bit(name: str) -> None:
    """Of players who have played, and of one who has not; in any order, strangers between."""
    system = make_system(name, {})
    state = played(system)
    packed = pack_players(state)
    assert bits(unpack_players(system, packed)) == bits(state)
    # Drivers of databases may give views of memory.
    views: list[Any] = [memoryview(one) for one in packed]
    assert bits(unpack_players(system, views)) == bits(state)
    order = [3, 0, 5, 1]
    mixed = unpack_players(system, [packed[3], None, packed[0], packed[5], None, packed[1]])
    fresh = bits(system.initial(1))[0]
    expected = [bits(state)[row] for row in order]
    expected[1:1], expected[4:4] = [fresh], [fresh]
    assert bits(mixed) == expected
    assert pack_players(mixed.take(np.array([0, 2, 3, 5]))) == [packed[row] for row in order]


def test_every_float_comes_back_to_the_bit() -> None:
    """Payloads of NaN, minus zero, infinities and the smallest numbers included."""
    system = make_system("elo-mmr", {})
    state = played(system)
    odd = np.array(
        [0x7FF8_0000_0000_0001, 0xFFF0_0000_0000_0003, 1 << 63, 0x7FF0 << 48, 1, (1 << 64) - 1],
        np.uint64,
    ).view(np.float64)
    state.table[:, 0] = odd
    assert bits(unpack_players(system, pack_players(state))) == bits(state)


def test_nobody_is_nothing() -> None:
    """An empty state has no bytes, and comes back empty."""
    for name in sorted(SYSTEMS):
        system = make_system(name, {})
        assert pack_players(system.initial(0)) == []
        assert unpack_players(system, []).players == 0
        assert unpack_players(system, [None, None]).players == 2


def test_other_bytes_are_refused() -> None:
    """Of another system, another layout, cut off, too long, or none at all."""
    system = make_system("elo-mmr", {})
    good = pack_players(played(system))[0]
    other = pack_players(played(make_system("elo", {})))[0]
    layout = (2 << 48 | int.from_bytes(good[:6], "little")).to_bytes(8, "little") + good[8:]
    for bad in (other, layout, good[:-8], good[:-1], good + bytes(8), b"", b"{}", good[8:]):
        with pytest.raises(InvalidDataError, match="must be the state of a player in elo-mmr"):
            unpack_players(system, [good, bad, good])
        with pytest.raises(InvalidDataError, match="must be the state of a player in elo-mmr"):
            unpack_players(system, [bad])

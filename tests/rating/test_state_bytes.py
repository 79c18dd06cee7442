"""The state of single players as bytes: it comes back to the bit, and nothing else is taken."""

from __future__ import annotations

import numpy as np
import pytest

from equipoise.errors import InvalidDataError
from equipoise.rating.registry import SYSTEMS, make_system
from equipoise.rating.state import State, pack_players, unpack_players
from equipoise.rating.system import RatingSystem
from rating.histories import Contest, history_of


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


def test_a_view_of_memory_will_do() -> None:
    """Drivers of databases may give one instead of bytes."""
    system = make_system("elo-mmr", {})
    packed = pack_players(played(system))
    views = [memoryview(one) for one in packed]
    assert bits(unpack_players(system, views)) == bits(unpack_players(system, packed))  # type: ignore[arg-type]

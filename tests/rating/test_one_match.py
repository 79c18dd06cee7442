"""One match rated from the players' numbers alone gives the bits of a replay."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.data.history import History
from equipoise.rating.one_match import PlayerNumbers, numbers_of, rate_match, state_of
from equipoise.rating.replay import replay
from rating.histories import examples
from rating.one_call.matches import BY_SPEED, VARIANTS, histories, system_of


def arguments(history: History, match: int) -> dict[str, Any]:
    """Return the arguments of `rate_match` for a match, but for its players."""
    one = history.slice(match, match + 1)
    assert one.performance_ceiling is not None
    assert one.performance is not None
    assert one.share is not None
    firsts = np.unique(one.team, return_index=True)[1]
    ceiling = one.performance_ceiling.tolist()[0]
    return {
        "sizes": np.bincount(one.team).tolist(),
        "ranks": one.rank[firsts].tolist(),
        "weight": one.weights().tolist()[0],
        "time": one.days().tolist()[0],
        "performance_ceiling": math.inf if math.isnan(ceiling) else ceiling,
        "performance": one.performance.tolist(),
        "share": one.share.tolist(),
        "at_home": (one.attributes["at_home"] > 0).tolist(),
    }


def bits(numbers: list[PlayerNumbers]) -> list[tuple[bytes, bytes]]:
    """Return the numbers as bytes, which tell NaN and -0 apart."""
    return [(np.array(row).tobytes(), np.array(kept).tobytes()) for row, kept in numbers]


@pytest.mark.parametrize(("name", "parameters"), BY_SPEED)
@given(data=st.data())
@examples(15)
def test_matches_one_after_another_give_the_bits_of_a_replay(
    name: str, parameters: dict[str, object], data: st.DataObject
) -> None:
    """Every number of every player agrees, the remembered performances too."""
    system = system_of(name, parameters)
    history = data.draw(histories(system))
    known = numbers_of(system.initial(history.players))
    for match in range(history.matches):
        rows = history.slice(match, match + 1).player.tolist()
        before = [known[row] for row in rows]
        after = rate_match(system, before, **arguments(history, match))
        for row, numbers in zip(rows, after, strict=True):
            known[row] = numbers
    assert bits(known) == bits(numbers_of(replay(system, history).state.state))


@pytest.mark.parametrize(("name", "parameters"), VARIANTS)
def test_a_state_is_its_numbers(name: str, parameters: dict[str, object]) -> None:
    """`state_of` and `numbers_of` are inverse to each other."""
    system = system_of(name, parameters)
    known = numbers_of(system.initial(3))
    for _ in range(6):
        known[:2] = rate_match(system, known[:2], (1, 1), (0, 1), time=1.0, at_home=[True, False])
    assert bits(numbers_of(state_of(system, known))) == bits(known)

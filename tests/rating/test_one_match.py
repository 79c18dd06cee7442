"""One match rated from the players' numbers alone gives the bits of a replay."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.data.history import MICROSECONDS_PER_DAY, History
from equipoise.data.one_match import OneMatch
from equipoise.rating.one_match import PlayerNumbers, numbers_of, rate_match, state_of
from equipoise.rating.replay import replay
from rating.histories import examples
from rating.one_call.matches import BY_SPEED, VARIANTS, histories, system_of


def plain(history: History, match: int) -> OneMatch:
    """Return a match of a history as plain numbers."""
    one = history.slice(match, match + 1)
    assert one.performance_ceiling is not None
    assert one.performance is not None
    assert one.share is not None
    firsts = np.unique(one.team, return_index=True)[1]
    return OneMatch(
        np.bincount(one.team).tolist(),
        one.rank[firsts].tolist(),
        one.weights().tolist()[0],
        None if one.time is None else one.time.tolist()[0],
        one.performance_ceiling.tolist()[0],
        performance=one.performance.tolist(),
        share=one.share.tolist(),
        at_home=(one.attributes["at_home"] > 0).tolist(),
    )


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
        after = rate_match(system, before, plain(history, match))
        for row, numbers in zip(rows, after, strict=True):
            known[row] = numbers
    assert bits(known) == bits(numbers_of(replay(system, history).state.state))


@pytest.mark.parametrize(("name", "parameters"), VARIANTS)
def test_a_state_is_its_numbers(name: str, parameters: dict[str, object]) -> None:
    """`state_of` and `numbers_of` are inverse to each other."""
    system = system_of(name, parameters)
    known = numbers_of(system.initial(3))
    for _ in range(6):
        match = OneMatch((1, 1), (0, 1), time=MICROSECONDS_PER_DAY, at_home=[True, False])
        known[:2] = rate_match(system, known[:2], match)
    assert bits(numbers_of(state_of(system, known))) == bits(known)

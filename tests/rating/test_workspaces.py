"""Workspaces: memory that is used for many matches changes no bit of any of them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pytest

from equipoise._jit import compiles_kernels, watch_compilation
from equipoise.data.history import MICROSECONDS_PER_DAY, History
from equipoise.errors import InvalidDataError
from equipoise.numeric.workers import Workers
from equipoise.rating import one_match
from equipoise.rating.base_system import System
from equipoise.rating.one_match import (
    LARGEST,
    OneMatch,
    PlayerNumbers,
    empty_match,
    history_of,
    numbers_of,
    rate_match,
    state_of,
    workspaces_of,
)
from equipoise.rating.registry import SYSTEMS, make_system
from equipoise.rating.replay import replay
from equipoise.rating.systems.elo import Elo

#: Fields of a match: sizes of its teams, and their ranks.
Shape = tuple[tuple[int, ...], tuple[int, ...]]


def system_of(name: str) -> System:
    """Return a system with its defaults."""
    system = make_system(name)
    assert isinstance(system, System)
    return system


DUEL = OneMatch((1, 1), (0, 1))


def shapes_for(system: System) -> list[Shape]:
    """Return matches that the system can rate."""
    able = system.capabilities
    found: list[Shape] = [((1, 1), (0, 1)), ((1, 1), (1, 0)), ((1, 1), (0, 0))]
    if able.max_team_size is None:
        found += [((3, 2), (1, 0)), ((2, 3), (0, 1)), ((5, 5), (0, 0))]
    if able.max_teams is None:
        found += [((1, 1, 1, 1), (2, 0, 1, 1)), ((1,) * 30, tuple(range(30)))]
    return found


def known_players(system: System, count: int, seed: int) -> list[PlayerNumbers]:
    """Return players with different states: each has played some duels."""
    generator = random.Random(seed)
    known = numbers_of(system.initial(count))
    for match in range(4 * count):
        first, second = generator.sample(range(count), 2)
        time = (8 * 20_000 + match) * MICROSECONDS_PER_DAY // 8
        duel = OneMatch((1, 1), (0, 1), time=time)
        after = rate_match(system, [known[first], known[second]], duel)
        known[first], known[second] = after
    return known


def by_history(
    system: System, players: Sequence[PlayerNumbers], shape: Shape, **more: Any
) -> list[PlayerNumbers]:
    """Return the states after a match that is rated as a history of its own."""
    history = replace(history_of([OneMatch(*shape)]), **more)
    state = state_of(system, players)
    system.run(state, history, 0, 1)
    return numbers_of(state)


def bits(numbers: Sequence[PlayerNumbers]) -> list[tuple[bytes, bytes]]:
    """Return the numbers as bytes, which tell NaN and -0 apart."""
    return [(np.array(row).tobytes(), np.array(kept).tobytes()) for row, kept in numbers]


@pytest.mark.skipif(not compiles_kernels(), reason="kernels as plain Python hold one lock")
@pytest.mark.parametrize("name", SYSTEMS)
def test_threads_do_not_disturb_each_other(name: str) -> None:
    """Four threads rate matches of the same shapes at once."""
    system = system_of(name)
    known = known_players(system, 40, seed=2)
    shapes = shapes_for(system)
    generator = random.Random(3)
    matches = []
    for _ in range(300):
        shape = generator.choice(shapes)
        matches.append(([known[row] for row in generator.sample(range(40), sum(shape[0]))], shape))
    alone = [bits(rate_match(system, players, OneMatch(*shape))) for players, shape in matches]
    with ThreadPoolExecutor(4) as threads:
        found = threads.map(
            lambda one: bits(rate_match(system, one[0], OneMatch(*one[1]))), 3 * matches
        )
        assert list(found) == 3 * alone


@pytest.mark.skipif(not compiles_kernels(), reason="kernels run as plain Python")
@pytest.mark.parametrize("name", SYSTEMS)
def test_single_matches_use_the_kernels_of_histories(name: str) -> None:
    """After a replay, a match compiles and loads nothing, and the other way round."""
    system = system_of(name)
    shape: Shape = ((1, 1), (0, 1))
    by_history(system, numbers_of(system.initial(2)), shape)
    replay(system, empty_match((1, 1)))
    with watch_compilation() as compilation:
        rate_match(system, numbers_of(system.initial(2)), OneMatch(*shape))
        replay(system, empty_match((1, 1)))
    assert compilation.kernels == 0


def test_who_is_at_home_must_be_said_where_it_counts() -> None:
    system = Elo(home_advantage=50.0)
    players = numbers_of(system.initial(2))
    with pytest.raises(InvalidDataError, match="at_home"):
        rate_match(system, players, DUEL)
    found = rate_match(system, players, DUEL._replace(at_home=[True, False]))
    assert found[0][0][0] < 1516.0


def test_a_match_too_large_for_a_kernel_on_one_thread() -> None:
    """It is rated as in a history, and its memory is not kept."""
    system = Elo()
    shape: Shape = ((1,) * (LARGEST + 1), tuple(range(LARGEST + 1)))
    players = numbers_of(system.initial(LARGEST + 1))
    assert bits(rate_match(system, players, OneMatch(*shape))) == bits(
        by_history(system, players, shape)
    )
    assert shape[0] not in workspaces_of(system)._free


def test_few_workspaces_are_kept() -> None:
    """Neither many shapes nor many systems fill the memory."""
    system = Elo()
    for size in range(1, one_match._SHAPES + 20):
        rate_match(system, numbers_of(system.initial(size + 1)), OneMatch((size, 1), (0, 1)))
    assert len(workspaces_of(system)._free) <= one_match._SHAPES
    for k in range(one_match._SYSTEMS + 20):
        rate_match(Elo(k=k + 1.0), numbers_of(system.initial(2)), DUEL)
    assert len(one_match._known) <= one_match._SYSTEMS


@dataclass(frozen=True, slots=True, kw_only=True)
class _Even(Elo):
    """A system that rates matches in a way of its own, which its `loop` does not know."""

    name: ClassVar[str] = "even"

    def own(self, state: Any, history: History, start: int, stop: int) -> Any:
        """Return what depends on the match."""
        return np.full(history.participations, 1.0 + history.weights(start, stop)[0])

    def update(self, job: Any, workers: Workers) -> tuple[int, float]:
        """Add it to every rating."""
        job.table[:, 0] += job.own
        return -1, -1.0


def test_a_system_that_workspaces_do_not_know_gets_a_history() -> None:
    """Its input is made anew for every match."""
    system = _Even()
    assert not workspaces_of(system).usable
    players = numbers_of(system.initial(2))
    for weight in (1.0, 2.5):
        found = rate_match(system, players, DUEL._replace(weight=weight))
        assert [row[0] for row, _ in found] == [1501.0 + weight] * 2

"""A pool leaves the digests of its matches for later, and rates without a history."""

from __future__ import annotations

import random
from typing import Any

import pytest

import equipoise as eq
from equipoise.errors import ConvergenceError
from equipoise.rating.match_digest import digests_of
from equipoise.rating.one_call.pool import MOST_NOTED, Digesting
from equipoise.rating.one_match import OneMatch, history_of


def noted(generator: random.Random, match: int) -> tuple[OneMatch, list[str]]:
    """Return a match with every column, some of them empty, and the names of its players."""
    sizes = generator.choice([[1, 1], [2, 3], [1, 1, 2]])
    names = generator.sample(["ada", "bo", "cy", "di", "ed", "flo"], sum(sizes))
    count = len(names)
    found = OneMatch(
        sizes,
        generator.choice([list(range(len(sizes))), [0] * len(sizes)]),
        generator.choice([1.0, 0.25]),
        10**15 + match,
        generator.choice([float("nan"), 1600.0]),
        performance=generator.choice([[], [1.5] * count, [float("nan")] * count]),
        share=generator.choice([[], [0.5] * count]),
        at_home=[generator.random() < 0.5 for _ in names],
    )
    return found, names


def test_digests_of_many_are_those_of_each() -> None:
    """Noted matches and matches digested at once stay in order."""
    uses = frozenset({"weight", "performance", "share", "performance_ceiling", "at_home"})
    generator = random.Random(11)
    digesting, expected = Digesting([3], uses), [3]
    for number in range(MOST_NOTED + 90):
        match, names = noted(generator, number)
        alone = history_of([match], [names])
        expected.append(int(digests_of(alone, uses)[0]))
        if number % 100 == 99:
            digesting.add(alone)
        else:
            digesting.note(match, names)
    assert digesting.all() == expected
    assert digesting.all() == expected


@pytest.mark.slow
@pytest.mark.parametrize("system", [eq.Elo(), eq.PlackettLuce(entry="learned", hold_level=0.05)])
def test_a_long_pool_is_a_replay(system: Any) -> None:
    """More matches than are noted at once, with newcomers among them."""
    generator = random.Random(12)
    count, players = MOST_NOTED + 120, 60
    duels = [generator.sample(range(min(players, 2 + k // 4)), 2) for k in range(count)]
    ranks = [generator.choice([[0, 1], [1, 0], [0, 0]]) for _ in duels]
    pool = eq.Pool(system)
    for duel, places in zip(duels, ranks, strict=True):
        pool.rate(duel, ranks=places)
    matches = [OneMatch((1, 1), places) for places in ranks]
    history = history_of(matches, duels, range(1, count + 1))
    assert pool.state.to_bytes() == eq.replay(system, history).state.to_bytes()


def test_a_quick_match_that_fails_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the ratings nor what the kernel wrote to the numbers of the pool."""
    pool = eq.Pool(eq.Glicko2())
    pool.rate(["ada", "bo"])

    def fails(job: Any, first: int, last: int) -> tuple[int, float]:
        job.draws[:] = 99.0
        job.table[:] = 0.0
        return 0, 1.0

    monkeypatch.setattr(eq.Glicko2, "kernel", lambda *_: fails)
    later = eq.Pool.of(pool.state)
    with pytest.raises(ConvergenceError, match="the volatility of glicko2"):
        later.rate(["ada", "cy"])
    assert later.state.to_bytes() == pool.state.to_bytes()

"""The prototype of the learned entry: what the study and the systems are compared with."""

from __future__ import annotations

import dataclasses
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from equipoise.data.history import History
from equipoise.rating.registry import make_system

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))

from entry_prototype import LEVEL, MU, POOL, TARGET, Entry, EntryPrototype

CONTESTS = ("elo-mmr", "elo-mmx", "codeforces", "topcoder", "trueskill-spb", "plackett-luce", "elo")
LEARNED = Entry(entry="learned", hold_level=0.05)


def contests(matches: int = 12, players: int = 30, size: int = 8) -> History:
    """Return contests that players join one after the other, ties included."""
    rng = np.random.default_rng(1)
    rows, ranks = [], []
    for m in range(matches):
        known = min(players, size + 2 * m)
        rows.append(rng.choice(known, size, replace=False))
        ranks.append(np.unique(rng.integers(0, size, size), return_inverse=True)[1])
    return History(
        match_ids=np.arange(matches),
        player_ids=np.arange(players),
        offsets=np.arange(matches + 1) * size,
        player=np.concatenate(rows),
        team=np.tile(np.arange(size), matches),
        rank=np.concatenate(ranks),
    )


def run(system: Any, history: History) -> Any:
    state = system.initial(history.players)
    system.run(state, history, 0, history.matches)
    return state


@pytest.mark.parametrize("name", CONTESTS)
def test_a_fixed_entry_gives_the_bits_of_the_package(name: str) -> None:
    history, system = contests(), make_system(name)
    found = run(EntryPrototype(system=system), history)
    assert np.array_equal(found.table, run(system, history).table, equal_nan=True)


# The messages of trueskill-spb stop at a tolerance, at fixed entry too.
@pytest.mark.parametrize("name", [name for name in CONTESTS if name != "trueskill-spb"])
def test_the_order_of_rows_changes_no_bit_of_the_pool(name: str) -> None:
    history = contests()
    order = np.concatenate([np.arange(hi - 1, hi - 9, -1) for hi in history.offsets[1:]])
    turned = dataclasses.replace(history, player=history.player[order], rank=history.rank[order])
    system = EntryPrototype(system=make_system(name), parameters=LEARNED)
    assert np.array_equal(run(system, history).shared[POOL], run(system, turned).shared[POOL])


@pytest.mark.parametrize("name", CONTESTS)
def test_a_match_of_newcomers_only_leaves_the_entry(name: str) -> None:
    """The levers of all are equal, and so are the numbers of newcomers: nothing says where."""
    history = contests()
    system = EntryPrototype(system=make_system(name), parameters=Entry(entry="learned"))
    state = system.initial(history.players)
    system.run(state, history, 0, 1)
    assert state.shared[POOL][MU] == 1500.0


def test_one_newcomer_moves_the_entry_by_what_the_formula_says() -> None:
    """Elo: c = 4 scale/ln 10 (score - expected), w = 1, sigma = 2 scale/ln 10; by hand."""
    history = contests(matches=2, players=3, size=2)
    history = dataclasses.replace(
        history,
        player=np.array([0, 1, 0, 2]),
        team=np.array([0, 1, 0, 1]),
        rank=np.array([0, 1, 0, 1]),
    )
    own = Entry(entry="learned", entry_half_life=100.0)
    state = run(EntryPrototype(system=make_system("elo"), parameters=own), history)
    # The newcomer loses to a player at 1516: c is clipped at one sigma.
    expected = 1.0 / (1.0 + 10.0 ** (16.0 / 400.0))
    sigma = 2.0 * 400.0 / math.log(10.0)
    change = max(-2.0 * sigma * expected, -sigma)
    # The first match has levers of 0 and leaves N at n0 = 10; the second has lever 1 and k = 1.
    weight = 10.0 + math.erf(1.0 / math.sqrt(2.0))
    assert state.shared[POOL][MU] == pytest.approx(1500.0 + change / weight, rel=1e-12)


def test_seeded_players_set_the_level_and_are_not_moved() -> None:
    history = contests()
    system = EntryPrototype(system=make_system("elo-mmr"), parameters=LEARNED)
    state = system.initial(history.players)
    rows = np.arange(4)
    system.seed(state, rows, np.full(4, 1800.0), None)
    assert state.shared[POOL].tolist() == [1500.0, 10.0, 1800.0, 1800.0]
    low = np.full(4, 1000.0)
    state.shared[POOL][LEVEL:] = (low[0], 1800.0)
    before = state.copy()
    system.run(state, history, 0, 1)
    fixed = EntryPrototype(system=make_system("elo-mmr"))
    fixed.run(before, history, 0, 1)
    moved = state.column("rating") - before.column("rating")
    first = history.player[:8]
    assert np.all(moved[first[first < 4]] == 0.0)
    # 0.05 times 800 is more than the largest step, 0.057 times 350.
    assert moved[first[first >= 4]] == pytest.approx(0.057 * 350.0)
    assert state.shared[POOL][TARGET] == 1800.0

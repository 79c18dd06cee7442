"""Every invariant of a learned entry and a held level, as a property of all systems.

Each test names the invariant that it holds up. docs/guides/learned-entry.md lists them; that HTTP,
replays and corrections give the same bits is for tests/pools.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.reference.entry import Numbers, SlowPool

from drawing import examples
from equipoise.data.history import History
from equipoise.data.ratings import InitialRatings
from equipoise.evaluate.incentive_plans import MatchSnapshot
from equipoise.evaluate.incentives import Effort, incentives
from equipoise.numeric.workers import Workers
from equipoise.rating.elo_mmr.elo_mmr import EloMMRParameters
from equipoise.rating.newcomers import LEVEL, MU, TARGET, WEIGHT
from equipoise.rating.registry import make_system
from equipoise.rating.replay import replay
from equipoise.rating.state import State
from equipoise.rating.system import RatingSystem
from rating.entry_histories import LEARNERS, entry_parameters, history_of, numbers_of
from rating.histories import Contest, contests, dense, every_model, parameters
from rating.histories import history_of as contest_history

#: Many examples of every system; tests/rating/test_entry.py has a few of each.
pytestmark = pytest.mark.nightly

every_system = pytest.mark.parametrize("name", LEARNERS)
few = examples(8)
seeds = st.integers(0, 10_000)


def rated(system: RatingSystem, history: History, stop: int | None = None) -> State:
    state = system.initial(history.players)
    system.run(state, history, 0, history.matches if stop is None else stop)
    return state


@every_system
@few
@given(parameters=entry_parameters(learned=True), seed=seeds)
def test_one_newcomer_moves_the_entry_by_at_most_its_bound(
    name: str, parameters: dict[str, Any], seed: int
) -> None:
    """Invariant: by at most e s |l| z sigma sqrt(w)/N; alone, e and s are 1.

    w and sigma are those of the slow reference, the lever is counted here.
    """
    system: Any = make_system(name, {**parameters, "hold_level": 0})
    slow = SlowPool(make_system(name), True, Numbers(0, 0, 0, 0))
    history, state = history_of(name, seed, matches=30), system.initial(25)
    z = parameters["entry_clip"]
    for m in range(history.matches):
        rows = slice(*history.offsets[m : m + 2])
        players, team = history.player[rows], history.team[rows]
        new = players[state.column("matches")[players] == 0]
        before = numbers_of(state).copy()
        system.run(state, history, m, m + 1)
        after = numbers_of(state)
        if len(new) != 1 or not state.column("matches")[new[0]]:
            continue
        slow.numbers.mu = before[MU]
        own = int(team[players == new[0]][0])
        teams = int(team.max()) + 1
        share = 1 if system.capabilities.adds_players else 1 / int(np.sum(team == own))
        _, w, sigma = slow._first(state, int(new[0]), float(history.weights()[m]))
        w = min(max(w, 1e-6), 1)
        assert teams > 1
        kept = max(2 ** (-1 / parameters["entry_half_life"]) * before[WEIGHT], system.entry_weight)
        weight = kept + math.erf(z / math.sqrt(2)) * share**2 * w
        assert after[WEIGHT] == pytest.approx(weight, rel=1e-9)
        bound = share * z * sigma * math.sqrt(w) / weight
        assert abs(after[MU] - before[MU]) <= bound * (1 + 1e-9)


@every_system
@few
@given(parameters=entry_parameters(), seed=seeds, data=st.data())
def test_seeded_players_are_untouched(
    name: str, parameters: dict[str, object], seed: int, data: st.DataObject
) -> None:
    """Invariant: never moved by mu or delta, also among newcomers; they count in L at once."""
    history, system = history_of(name, seed, matches=16), make_system(name, parameters)
    seeded = sorted(data.draw(st.sets(st.integers(0, 24), min_size=1, max_size=20)))
    initial = InitialRatings(
        player_ids=np.array(seeded),
        rating=1600.0 + 10 * np.arange(len(seeded)),
        deviation=np.full(len(seeded), 120.0),
    )
    done = replay(system, history, initial=initial, trace=True)
    begun: set[int] = set()
    columns = done.trace.columns
    for row, player in enumerate(history.player.tolist()):
        if player not in seeded or np.isnan(columns["rating"][row]):
            continue
        assert columns["level_adjustment"][row] == 0
        if player not in begun:
            begun.add(player)
            assert columns["rating_before"][row] == 1600 + 10 * seeded.index(player)
    assert numbers_of(done.state.state)[TARGET] == pytest.approx(initial.rating.mean())


@every_system
@few
@given(parameters=entry_parameters(), seed=seeds, gap=st.sampled_from([-500.0, 1.0, 80.0, 5000.0]))
def test_holding_the_level_adds_delta_to_the_young_and_nothing_else(
    name: str, parameters: dict[str, Any], seed: int, gap: float
) -> None:
    """The change, and so every bound on it, grows by delta, which is from 0 to the step.

    The match is rated from the same states and the same mu, with and without holding the level.
    1e-7 points: a rating plus delta is rounded, and elo-mmr reads the mean of what it remembers.
    """
    history, system = history_of(name, seed, matches=14), make_system(name, parameters)
    state = rated(system, history, history.matches - 1)
    numbers = numbers_of(state)
    numbers[TARGET] = numbers[LEVEL] + gap
    most = parameters["level_step"] * system.usual_deviation  # type: ignore[attr-defined]
    delta = min(max(parameters["hold_level"] * gap, 0.0), most)
    last = history.slice(history.matches - 1, history.matches)
    held, free = state.copy(), state.copy()
    # With target = level nothing is handed out.
    numbers_of(free)[TARGET] = numbers_of(free)[LEVEL]
    earlier = state.column("matches").copy()
    system.run(held, last, 0, 1)
    system.run(free, last, 0, 1)
    every = np.arange(25)
    change = system.at(held, every, None)["rating"] - system.at(free, every, None)["rating"]
    played = held.column("matches") > earlier
    young = played & (earlier < parameters["hold_level_matches"])
    new = (earlier == 0) & ~played
    np.testing.assert_allclose(change[young], delta, atol=1e-7, rtol=0)
    np.testing.assert_array_equal(change[~young & ~new], 0)
    np.testing.assert_array_equal(numbers_of(held)[:2], numbers_of(free)[:2])


drawn_contests = contests(
    smallest=2, min_players=4, max_players=7, max_contests=6, timed=True, weighted=True
)


@every_model
@examples(60)
@given(played=drawn_contests, of=parameters(), entry=entry_parameters(), data=st.data())
def test_a_better_place_never_lowers_the_rating_after_that_match(
    model: type[EloMMRParameters],
    played: list[Contest],
    of: dict[str, Any],
    entry: dict[str, Any],
    data: st.DataObject,
) -> None:
    """Theorem 5.5 for one match: the others and the four numbers of the pool are frozen.

    From below all to above all, ties included. 1e-9 points: to this roots are found.
    """
    system, history = model(**{**of, **entry, "rate_all_ties": True}), contest_history(played)
    m = history.matches - 1
    state = rated(system, history, m)
    numbers_of(state)[TARGET] += data.draw(st.sampled_from([0.0, 100.0]))
    snapshot = MatchSnapshot.of(history, m, state)
    row = data.draw(st.integers(0, snapshot.match.participations - 1))
    own = snapshot.before.take(np.array([row]))
    ranks, others = 2 * snapshot.match.rank, 2 * np.delete(snapshot.match.rank, row)
    spots = sorted({*others.tolist(), *(others + 1).tolist(), int(others.min()) - 1}, reverse=True)
    found = []
    for spot in spots:
        placed = ranks.copy()
        placed[row] = spot
        after = snapshot.play(system, row, own, dense(placed), Workers())
        found.append(float(after.column("rating")[0]))
    assert np.all(np.diff(found) >= -1e-9)


@every_model
@examples(25)
@given(played=drawn_contests, of=parameters(), entry=entry_parameters())
def test_no_plan_of_worse_places_raises_a_later_rating(
    model: type[EloMMRParameters],
    played: list[Contest],
    of: dict[str, Any],
    entry: dict[str, Any],
) -> None:
    """Theorem 5.5: while the others and the four numbers are frozen, as `incentives` freezes them.

    As for a fixed entry, gains below 1e-6 points count as rounding (READINGS B13).
    """
    system, history = model(**{**of, **entry}), contest_history(played)
    counted = system.capabilities.rated(history)
    for player in np.unique(history.player[counted[history.match_rows()]])[:2]:
        (found,) = incentives(system, history, [player], effort=Effort(budget=100))
        assert found.gain == 0
        assert found.failed == 0

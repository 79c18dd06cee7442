"""Incentives: plans are judged as slow and obvious code judges them, and found where they exist."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given

import equipoise as eq
from drawing import examples
from equipoise.data.history import History, with_performance
from equipoise.errors import InvalidDataError, InvalidParameterError, NotFoundError
from equipoise.evaluate.incentive_plans import FrozenRater, replay_honestly
from equipoise.evaluate.incentives import (
    Effort,
    entered_matches,
    incentives,
    sample,
    throwing,
)
from equipoise.evaluate.synthetic import TeamModel, simulate_teams
from equipoise.numeric.workers import Workers
from equipoise.rating.registry import make_system
from equipoise.rating.system import RatingSystem
from rating.histories import Contest, contests, every_model, history_of, parameters
from reference import incentives as slow

DAY = 86_400_000_000
WEIGHTS = {"kills": 1.0, "deaths": -1.0, "damage": 1 / 220}


def tiny(seed: int, size: int = 4, matches: int = 4, players: int = 4) -> History:
    """Return a few contests with ties."""
    rng = np.random.default_rng(seed)
    drawn = [
        Contest(
            tuple(rng.permutation(players)[:size].tolist()),
            tuple(rng.integers(0, size, size).tolist()),
            time=float(day),
        )
        for day in range(matches)
    ]
    return history_of(drawn, players)


def duels(seed: int) -> History:
    return tiny(seed, size=2, matches=10, players=4)


def teams(seed: int) -> History:
    model = TeamModel(players=8, matches=8, sizes=((2, 2),), draw_margin=60)
    history, _ = simulate_teams(model, rng=np.random.default_rng(seed))
    return with_performance(history, WEIGHTS)


#: A learned entry and a held level: the four numbers of the pool are frozen with the others.
ENTRY: dict[str, object] = {
    "entry": "learned",
    "entry_weight": 2,
    "hold_level": 0.5,
    "level_experienced": 1,
    "level_memory": 8,
}

CASES = [
    ("codeforces", {}, tiny),
    ("elo", {"k": 40}, tiny),
    ("elo", {}, teams),
    ("elo-mmr", {"drift_per_day": 3, "rho": 0.04, "rate_all_ties": True}, tiny),
    ("elo-mmx", {"rate_all_ties": True}, tiny),
    ("glicko2", {"period_days": 3, "initial_volatility": 0.5}, duels),
    ("plackett-luce", {}, tiny),
    ("team-glicko2", {}, teams),
    ("topcoder", {"rate_all_ties": True}, tiny),
    ("trueskill", {}, teams),
    ("elo", ENTRY, tiny),
    ("glicko2", {**ENTRY, "period_days": 3}, duels),
]

every_case = pytest.mark.parametrize(("name", "chosen", "history_of_seed"), CASES)


def busiest(history: History) -> int:
    return int(np.bincount(history.player).argmax())


@every_case
def test_what_is_found_is_the_best_of_all_places(  # type: ignore[no-untyped-def]
    name, chosen, history_of_seed
) -> None:
    """Every combination of worse places in the last matches, by brute force.

    1e-9 points: the slow code meets players in another order of rows, which changes sums by
    rounding only.
    """
    system, history = make_system(name, chosen), history_of_seed(1)
    player = busiest(history)
    last = slow.matches_of(history, player)[-2:]
    expected, plans = slow.best(system, history, player, last, frozen=True)
    (found,) = incentives(
        system,
        history,
        [history.player_ids[player]],
        effort=Effort(matches=2, budget=200),
    )
    assert found.complete
    assert found.plans == plans
    honest = slow.replayed_ratings(system, history, player, {})
    assert found.honest[-1] == pytest.approx(honest[-1], abs=1e-9)
    assert honest[-1] + found.gain == pytest.approx(expected, abs=1e-6)


def courses(
    system: RatingSystem, history: History, player: int, matches: int = 100
) -> tuple[FrozenRater, list[int]]:
    considered = entered_matches(history, system.capabilities.rated(history), player, matches)
    found = replay_honestly(system, history, set(considered.match.tolist()), Workers())
    fields = [found[match] for match in considered.match.tolist()]
    return FrozenRater(system, considered, fields, Workers()), considered.match.tolist()


@every_case
def test_ratings_of_a_plan_are_those_of_its_definition(  # type: ignore[no-untyped-def]
    name, chosen, history_of_seed
) -> None:
    """The whole pool put back before every match."""
    system, history = make_system(name, chosen), history_of_seed(2)
    player = busiest(history)
    frozen, matches = courses(system, history, player)
    assert matches == slow.matches_of(history, player)
    rng = np.random.default_rng(4)
    for _ in range(6):
        plan = tuple(int(rng.integers(options)) for options in frozen.options)
        changed = {
            match: one.ranks[option]
            for match, one, option in zip(matches, frozen.placements, plan, strict=True)
        }
        expected = slow.frozen_ratings(system, history, player, changed)
        np.testing.assert_allclose(frozen.ratings(plan), expected, rtol=0, atol=1e-9)


@every_case
def test_the_honest_plan_is_the_history_to_the_bit(  # type: ignore[no-untyped-def]
    name, chosen, history_of_seed
) -> None:
    """Where nothing is thrown, ratings are those of a replay."""
    system, history = make_system(name, chosen), history_of_seed(3)
    player = busiest(history)
    frozen, matches = courses(system, history, player, matches=3)
    honest = eq.replay(system, history).ratings.rating[player]
    plan = (0,) * len(matches)
    assert frozen.ratings(plan)[-1] == honest


@every_model
@examples(25)
@given(contests(smallest=2, max_players=6, max_contests=5, timed=True, weighted=True), parameters())
def test_elo_mmr_never_pays_for_worse_places(model, played, chosen) -> None:  # type: ignore[no-untyped-def]
    """Theorem 5.5 of [EM]_: no plan gains anything while the others are frozen (READINGS B13).

    1e-6 points: a place in an early contest may by now weigh less than the rounding of a rating.
    """
    history, system = history_of(played), model(**chosen)
    rated = system.capabilities.rated(history)
    for player in np.unique(history.player[rated[history.match_rows()]])[:2]:
        (found,) = incentives(system, history, [player], effort=Effort(budget=150))
        assert found.gain == 0
        assert not found.thrown.any()
        assert found.failed == 0


def test_elo_mmr_may_pay_when_everything_is_replayed() -> None:
    """READINGS B13: a thrown match changes the ratings of opponents that are met again.

    jade-ibis of the sample season comes in last in the first contest: newcomers who are then rated
    higher are worth more when she beats them later.
    """
    history = eq.read_history("examples/contests.csv")
    player, system = history.player_row("jade-ibis"), eq.EloMMR()
    *_, last = slow.all_ranks(history, 0, player)
    honest = slow.replayed_ratings(system, history, player, {})[-1]
    thrown = slow.replayed_ratings(system, history, player, {0: last})[-1]
    assert thrown - honest == pytest.approx(1.719, abs=5e-4)
    assert throwing(system, history, "jade-ibis", [1]).gain < 0


LEAGUE = {"tau": 1.2, "period_days": 7}


def weeks_thrown(history: History, weeks: int) -> list[int]:
    """Return ada's matches in every other one of the first weeks."""
    week = (history.time - history.time[0]) // (7 * DAY)
    mine = np.unique(history.match_rows()[history.player == history.player_row("ada")])
    return [int(history.match_ids[m]) for m in mine if week[m] < weeks and week[m] % 2 == 0]


def test_glicko2_pays_for_the_published_pattern() -> None:
    """Farming volatility (Pokemon Go, 2020): bad weeks and good weeks by turns, then one's best.

    The numbers are those of docs/guides/incentives.md.
    """
    history = eq.read_history("examples/league.csv")
    thrown = weeks_thrown(history, 20)
    found = throwing(make_system("glicko2", LEAGUE), history, "ada", thrown)
    assert found.thrown.sum() == 97
    assert found.honest[-1] == pytest.approx(1777.1, abs=0.05)
    assert found.gain == pytest.approx(184.1, abs=0.05)


def test_glicko2_keeps_a_rating_however_long_it_is_driven() -> None:
    """After 14 such weeks `max_volatility` bounds what would grow beyond all numbers."""
    history = eq.read_history("examples/league.csv")
    thrown = weeks_thrown(history, 28)
    found = throwing(make_system("glicko2", LEAGUE), history, "ada", thrown)
    assert found.failed == 0
    assert np.all(np.isfinite(found.planned))
    unbounded = make_system("glicko2", {**LEAGUE, "max_volatility": 1e300})
    assert throwing(unbounded, history, "ada", thrown).failed == 1


def test_a_gain_is_what_the_places_of_the_plan_give() -> None:
    """What a plan promises is had by rating the matches with the places it names."""
    history = eq.read_history("examples/contests.csv")
    system = make_system("topcoder")
    (found,) = incentives(system, history, ["jade-ibis"], effort=Effort(budget=200))
    assert found.gain > 10
    player = history.player_row("jade-ibis")
    changed = {}
    for match_id, place, tied, thrown in zip(
        found.match_ids, found.planned_place, found.planned_tied, found.thrown, strict=True
    ):
        if thrown:
            match = int(np.flatnonzero(history.match_ids == match_id)[0])
            for ranks in slow.all_ranks(history, match, player):
                at = history.player[history.offsets[match] : history.offsets[match + 1]] == player
                mine = ranks[at][0]
                if np.sum(ranks < mine) + 1 == place and np.sum(ranks == mine) - 1 == tied:
                    changed[match] = ranks
    rated = slow.frozen_ratings(system, history, player, changed)
    assert rated[-1] == pytest.approx(found.planned[-1], abs=1e-9)


def test_more_budget_never_finds_less_and_the_same_seed_finds_the_same() -> None:
    history, system = eq.read_history("examples/contests.csv"), make_system("plackett-luce")

    def gain(budget: int, seed: int = 0) -> float:
        effort = Effort(budget=budget, matches=12)
        (found,) = incentives(system, history, ["heath-hare"], effort=effort, seed=seed)
        assert found.plans <= budget
        return found.gain

    assert gain(60) == gain(60)
    assert gain(1) == 0
    assert gain(300) > 10


def test_contests_that_change_nothing_are_not_considered() -> None:
    """READINGS B7: who ties with all others in a contest has no place in it that counts."""
    played = [Contest((0, 1, 2), (0, 0, 0)), Contest((0, 1, 2), (0, 1, 2)), Contest((0,), (0,))]
    (found,) = incentives(eq.EloMMR(), history_of(played), [0])
    assert found.match_ids.tolist() == [1]
    assert found.played == 1
    (found,) = incentives(eq.EloMMR(rate_all_ties=True), history_of(played), [0])
    assert found.match_ids.tolist() == [0, 1]


def test_players_are_the_busiest_and_some_between() -> None:
    activity = np.array([3, 50, 12, 0, 40, 11, 10, 12, 60, 20])
    assert sample(activity, 4) == [8, 1, 9, 5]
    assert sample(activity, 1) == [8]
    assert sample(np.array([2, 0, 5]), 4) == [2, 0]
    assert sample(np.zeros(3, np.int64), 4) == []


def test_who_never_played_a_rated_match_is_named() -> None:
    history = history_of([Contest((0, 1), (0, 1)), Contest((2,), (0,))])
    with pytest.raises(NotFoundError, match="2 has no match that changes ratings"):
        incentives(eq.Elo(), history, [2])
    with pytest.raises(NotFoundError, match="no player '9'"):
        incentives(eq.Elo(), history, [9])
    with pytest.raises(NotFoundError, match="no rated match 7"):
        throwing(eq.Elo(), history, 0, [7])
    with pytest.raises(InvalidDataError, match="glicko2 cannot rate"):
        incentives(eq.Glicko2(), tiny(1))


@pytest.mark.parametrize("name", ["matches", "budget"])
def test_effort_is_at_least_one(name: str) -> None:
    with pytest.raises(InvalidParameterError, match=f"{name} must be at least 1"):
        Effort(**{name: 0})


def test_weights_and_ceilings_stay_with_their_match() -> None:
    """A slice of one match keeps all that the history says of it."""
    base = tiny(6)
    history = replace(
        base,
        weight=np.array([0.5, 1.0, 2.0, 1.0]),
        performance_ceiling=np.array([np.nan, 1400.0, np.nan, 1600.0]),
    )
    system = eq.EloMMR(rate_all_ties=True)
    frozen, matches = courses(system, history, 0)
    plan = tuple(options - 1 for options in frozen.options)
    changed = {match: one.ranks[-1] for match, one in zip(matches, frozen.placements, strict=True)}
    expected = slow.frozen_ratings(system, history, 0, changed)
    np.testing.assert_allclose(frozen.ratings(plan), expected, rtol=0, atol=1e-9)

"""Simulated days: both ticks agree, rules move waits and fairness the right way, people return."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

from equipoise.data.matchmaking import MatchOption, MatchRuleset
from equipoise.errors import InvalidParameterError
from equipoise.matchmaking import simulation, tick
from equipoise.matchmaking.arrivals import DayModel, Trace, draw_people
from equipoise.matchmaking.compiled import GAVE_UP, MATCHED, packings
from equipoise.matchmaking.measures import (
    by_games,
    groups,
    matches_of,
    measures,
    reasons_of,
    time_to_match,
)
from equipoise.matchmaking.simulation import Plan, SimulatedDay, not_compiled, simulate_day
from equipoise.rating.registry import make_system
from matchmaking.queues import day, ruleset, steady

pytestmark = pytest.mark.no_kernel


def random_case(seed: int) -> tuple[MatchRuleset, DayModel]:
    """Return random rules and six minutes of a queue, in which every compiled rule plays."""
    rng = np.random.default_rng(seed)
    size = int(rng.choice([1, 1, 2, 3, 5]))
    option = str(rng.choice(["all", "disable", "unique" if size == 1 else "all"]))
    rules = ruleset(
        size,
        None if rng.random() < 0.1 else float(rng.integers(20, 150)),
        least=int(rng.integers(max(size - 1, 1), size + 1)),
        match_options=(MatchOption("class", option),),  # type: ignore[arg-type]
        region_latency_max_ms=int(rng.choice([0, 120, 250])),
        region_latency_initial_range_ms=int(rng.integers(0, 60)),
        region_expansion_range_ms=int(rng.choice([0, 20])),
        region_latency_rule_weight=float(rng.choice([0.0, 1.0, 5.0])),
        disable_bidirectional_latency_after_ms=int(rng.choice([0, 15000])),
    )
    if rules.rules:
        flexed = ruleset(size, 1.0, flexed=[(20, 200.0), (40, 400.0)]).flexing_rule
        rules = replace(rules, flexing_rule=flexed)
    model = DayModel(
        tickets=float(rng.integers(15, 50) * size),
        hours=0.1,
        interval=float(rng.choice([5.0, 15.0])),
        regions=str(rng.choice(["none", "two", "three"])),
        classes=() if rng.random() < 0.5 else (0.7, 0.3),
        expires_after=None if rng.random() < 0.5 else 120.0,
    )
    return rules, model


def partition(found: SimulatedDay) -> list[set[frozenset[int]]]:
    """Return the teams of every match."""
    outcome = found.outcome
    return [
        {
            frozenset(np.flatnonzero((outcome.match == match) & (outcome.team == team)).tolist())
            for team in (0, 1)
        }
        for match in range(len(outcome.time))
    ]


@pytest.mark.parametrize(
    "seeds", [range(50), pytest.param(range(50, 1000), marks=pytest.mark.nightly)]
)
def test_compiled_rules_make_the_matches_of_the_tick(seeds: range) -> None:
    """The same tickets at the same times in the same regions; teams are no less even."""
    matches = 0
    for seed in seeds:
        rules, model = random_case(seed)
        plan = Plan(label="one", ruleset=rules)
        assert not not_compiled(plan, model)
        fast, slow = (simulate_day(plan, model, seed, fast=fast) for fast in (True, False))
        for name in ("status", "match", "region", "time"):
            same = np.array_equal(getattr(fast.outcome, name), getattr(slow.outcome, name))
            assert same, (seed, name)
        np.testing.assert_array_equal(fast.outcome.left, slow.outcome.left)
        if len(fast.outcome.time):
            even, other = (matches_of(one) for one in (fast, slow))
            assert not (even.lopsided & ~other.lopsided).any(), seed
            alike = even.lopsided == other.lopsided
            assert (even.distance[alike] <= other.distance[alike] + 1e-6).all() or not rules.rules
        matches += len(fast.outcome.time)
    assert matches > 3 * len(seeds)


@pytest.mark.parametrize("fast", [True, False])
def test_who_gives_up_at_a_tick_is_not_matched_by_it(fast: bool) -> None:
    """Of three duellists the second gives up at the second tick, when the third comes."""
    model = steady(1.0, 20.0, interval=10.0)
    people = draw_people(model, 1, largest=1, trace=Trace(np.zeros(3), np.ones(3, int), np.ones(3)))
    people = people._replace(
        created=np.array([1.0, 2.0, 19.0]), gives_up=np.array([5.0, 20.0, 40.0])
    )
    found = day(ruleset(), model, people=people, fast=fast)
    assert found.outcome.status.tolist()[:2] == [GAVE_UP, GAVE_UP]
    assert found.outcome.left.tolist()[:2] == [5.0, 20.0]
    assert not len(found.outcome.time)


def test_packings_fill_two_teams() -> None:
    """Four solos, a duo and two solos, two duos; two trios and a duo do not fill two fours."""
    assert packings(2, 2).tolist() == [[4, 4, 0], [4, 2, 1], [4, 0, 2]]
    assert [8, 0, 1, 2, 0] not in packings(4, 4).tolist()


@pytest.fixture(scope="module")
def busy() -> DayModel:
    return DayModel(tickets=50_000, interval=1.0)


def measures_of(found: SimulatedDay) -> dict[str, float]:
    return measures(found, matches_of(found))


def measured(rules: MatchRuleset, model: DayModel) -> dict[str, float]:
    return measures_of(day(rules, model, 4))


def test_twice_the_people_wait_half_as_long() -> None:
    """Exact without rules of time, with the interval scaled: the same queue, twice as fast."""
    rules = ruleset(1, 50.0)
    slow = day(rules, steady(0.5, 50_000, interval=2.0))
    fast = day(rules, steady(1.0, 50_000, interval=1.0))
    found = [
        np.nanmean((one.outcome.left - one.people.created)[one.outcome.status == MATCHED])
        for one in (slow, fast)
    ]
    assert found[1] == pytest.approx(found[0] / 2, rel=1e-6)


def deciles(rules: MatchRuleset, model: DayModel) -> list[dict[str, Any]]:
    """Return the measures by decile of skill."""
    found = day(rules, model, 4)
    rows = groups(found, matches_of(found))
    return [row for row in rows if row["by"] == "skill decile"]


def test_wider_tolerance_is_quicker_and_less_fair(busy: DayModel) -> None:
    tables = [deciles(ruleset(1, tolerance), busy) for tolerance in (25.0, 250.0)]
    for narrow, wide in zip(*tables, strict=True):
        assert wide["to_match_p95"] < narrow["to_match_p95"] or np.isnan(narrow["to_match_p95"])
        assert wide["unfair"] > narrow["unfair"]


def test_extreme_deciles_wait_longest_and_flexing_moves_that_to_fairness(busy: DayModel) -> None:
    fixed = deciles(ruleset(1, 25.0), busy)
    flexed = deciles(ruleset(1, 25.0, flexed=[(20, 200.0), (40, 1e4)]), busy)
    for extreme in (0, 9):

        def ratio(rows: list[dict[str, Any]], name: str, at: int = extreme) -> float:
            return rows[at][name] / rows[4][name]

        assert ratio(fixed, "wait_mean") > 1.5
        assert ratio(fixed, "gave_up") > 1.5
        assert ratio(flexed, "wait_mean") < ratio(fixed, "wait_mean")
        assert ratio(flexed, "unfair") > ratio(fixed, "unfair")


def test_longer_intervals_are_slower_and_fairer(busy: DayModel) -> None:
    rules = ruleset(1, 400.0)
    often, seldom = (measured(rules, replace(busy, interval=one)) for one in (1.0, 30.0))
    assert seldom["wait_mean"] > often["wait_mean"]
    assert seldom["unfair"] < often["unfair"]


def test_backfill_is_quicker_and_less_even() -> None:
    """Teams of two of which one is enough: open places are filled by whoever comes."""
    model = DayModel(tickets=250, hours=1.0, interval=5.0, leavers=0.02)
    plain, filled = (
        ruleset(2, 300.0, least=2 - backfill, auto_backfill=bool(backfill)) for backfill in (0, 1)
    )
    found = [measured(one, model) for one in (plain, filled)]
    assert found[1]["backfilled"] > 0.05
    assert found[1]["wait_mean"] < found[0]["wait_mean"]
    assert found[1]["lopsided"] > found[0]["lopsided"]


def test_free_places_are_counted_until_they_are_filled_or_the_match_ends() -> None:
    """Of nobody who leaves, by the times at which tickets were matched."""
    rules = ruleset(2, 300.0, least=1, auto_backfill=True)
    model = DayModel(tickets=150, hours=1.0, interval=5.0, leavers=0.0)
    played = day(rules, model, 4)
    outcome, places, seconds = played.outcome, 0, 0.0
    for match, start in enumerate(outcome.time):
        own = outcome.match == match
        end = min(start + played.people.length[outcome.pivot[match]], played.end)
        left, size = outcome.left[own], played.people.size[own]
        places += 4 - size[left == start].sum()
        seconds += 4 * (end - start) - (size * (end - left)).sum()
    assert played.backfilled.any()
    assert played.open_places == places
    assert played.open_seconds == pytest.approx(seconds)


@pytest.mark.parametrize(("kind", "shared"), [("any", 1), ("all", 2), ("unique", 0)])
def test_tickets_of_several_classes_meet_by_their_option(kind: str, shared: int) -> None:
    rules = ruleset(1, match_options=(MatchOption("class", kind),))
    model = DayModel(tickets=60, hours=0.2, classes=(1, 1, 1, 1), class_values=2, interval=5.0)
    played = day(rules, model)
    assert (not_compiled(Plan(label="one", ruleset=rules), model) == "") == (kind == "all")
    for match in range(len(played.outcome.time)):
        one, other = played.people.group[played.outcome.match == match].tolist()
        assert (one & other).bit_count() >= shared
        assert shared or not one & other
    assert len(played.outcome.time) > 5


def test_survivors_alone_would_flatter_the_waits() -> None:
    """By hand: matched after 1 and 3, gave up after 2; the estimate halves at 3 and ends there."""
    found = day(ruleset(), steady(1.0, 40.0))
    people = found.people
    people = people._replace(
        created=np.zeros(4), gives_up=people.gives_up[:4], size=people.size[:4]
    )
    outcome = found.outcome._replace(
        status=np.array([1, 2, 1, 1], np.int8), left=np.array([1.0, 2.0, 3.0, 4.0])
    )
    small = replace(found, people=people, outcome=outcome)
    # Survival: 3/4 after 1, the same after 2, 3/8 after 3, 0 after 4.
    assert time_to_match(small, (0.2, 0.25, 0.5, 0.7, 1.0)) == [1.0, 1.0, 3.0, 4.0, 4.0]


def test_groups_say_why_their_tickets_were_not_matched() -> None:
    """Those of all groups are those of the day, and no ticket that was matched has one."""
    model = DayModel(tickets=60, hours=0.2, patience_mean=30.0, interval=5.0)
    found = day(ruleset(1, 50.0), model, 1, fast=False)
    rows = [row for row in groups(found, matches_of(found)) if row["by"] == "party size"]
    reasons = reasons_of(found)
    assert sum(map(Counter, (row["reasons"] for row in rows)), Counter()) == reasons
    assert set(reasons) == {"distance", "too_few"}
    matched = found.outcome.status == MATCHED
    assert matched.any()
    assert reasons_of(found, matched) == {}


def test_ticks_that_end_at_the_node_limit_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    plan, model = Plan(label="one", ruleset=ruleset(2, 300.0)), DayModel(tickets=60, hours=0.2)
    for node_limit, least, most in ((1, 0.02, 1.0), (20_000, 0.0, 0.0)):
        monkeypatch.setattr(simulation, "tick", partial(tick, node_limit=node_limit))
        day = simulate_day(plan, model, 1, fast=False)
        assert least <= measures_of(day)["limited"] <= most


def test_favourites_win_as_often_as_known_skills_predict(busy: DayModel) -> None:
    """Ratings without errors predict well; ratings that err by more than is known do not."""
    plan, model = Plan(label="one", ruleset=ruleset(1, 400.0)), replace(busy, rating_deviation=0.0)
    found = simulate_day(plan, model, 4)
    assert abs(measures_of(found)["favourites"]) < 0.01
    people = found.people._replace(shown=found.people.shown + 300.0 * np.sin(found.people.created))
    assert measures_of(replace(found, people=people))["favourites"] > 0.05


def test_ratings_in_the_loop_approach_the_true_skills() -> None:
    """People return, and the error of their ratings falls with the games they have played."""
    model = DayModel(
        tickets=300, return_probability=0.95, idle_minutes=10.0, match_minutes=10.0,
        party_sizes=(1.0,), patience="none",
    )  # fmt: skip
    plan = Plan(label="one", ruleset=ruleset(1, 300.0), system=make_system("glicko2"))
    found = simulate_day(plan, model, 2)
    rows = by_games(found)
    assert rows[-1]["games_from"] >= 20
    assert rows[-1]["rating_error"] < 0.7 * rows[0]["rating_error"]
    assert rows[-1]["deviation"] < rows[0]["deviation"]
    assert measures_of(found)["rating_correlation"] > 0.7


def test_a_system_of_duels_is_refused_for_teams() -> None:
    plan = Plan(label="wide", ruleset=ruleset(5, 50.0), system=make_system("glicko2"))
    with pytest.raises(InvalidParameterError, match="wide has 5v5"):
        simulate_day(plan, DayModel(tickets=100), 1)

"""Drift: its parts add up, and are what slow and obvious code says they are."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import equipoise as eq
from equipoise.arrays import Ints
from equipoise.data.audits import ActivityWindow
from equipoise.data.history import History, with_performance
from equipoise.data.ratings import Trace
from equipoise.errors import InvalidDataError, InvalidParameterError
from equipoise.evaluate import drift as audit
from equipoise.evaluate.drift import default_window, drift
from equipoise.evaluate.synthetic import ContestModel, TeamModel, simulate_contests, simulate_teams
from equipoise.rating.registry import make_system
from equipoise.rating.system import RatingSystem
from reference.drift import drift as slow_drift

DAY = 86_400_000_000
WEIGHTS = {"kills": 1.0, "deaths": -1.0, "damage": 1 / 220}
SMALL = TeamModel(
    players=25, matches=60, sizes=((3, 3), (2, 3), (1, 1)), draw_margin=40, newcomers=0.5
)


def irregular(history: History, seed: int) -> History:
    """Return the history at other times: pauses, and matches at one time."""
    gaps = np.random.default_rng(seed).choice(
        [0, 1, 3, 30], history.matches, p=[0.2, 0.5, 0.2, 0.1]
    )
    return replace(history, time=np.cumsum(gaps) * DAY, time_kind="seconds")


def teams(seed: int, model: TeamModel = SMALL) -> History:
    history, _ = simulate_teams(model, rng=np.random.default_rng(seed))
    return with_performance(irregular(history, seed), WEIGHTS)


def contests(seed: int) -> History:
    """Return contests with ties, of which some have one player and change nothing."""
    model = ContestModel(players=12, contests=40, attendance=0.2, score_step=300)
    history, _ = simulate_contests(model, rng=np.random.default_rng(seed))
    return irregular(history, seed)


def duels(seed: int) -> History:
    return teams(seed, replace(SMALL, sizes=((1, 1),)))


#: With numbers that a short history feels.
ENTRY: dict[str, object] = {
    "entry": "learned",
    "entry_weight": 3,
    "hold_level": 0.5,
    "hold_level_matches": 8,
    "level_experienced": 2,
    "level_memory": 20,
}

CASES = [
    ("elo", {}, contests),
    ("elo", {"k": 20}, teams),
    ("elo-mmr", {}, contests),
    ("glicko2", {}, duels),
    ("glicko2", {"period_days": 5}, duels),
    ("team-glicko2", {}, teams),
    ("team-glicko2", {"beta": 3, "factor_min": 0, "max_change": 40}, teams),
    ("elo", ENTRY, teams),
    ("glicko2", {**ENTRY, "period_days": 5}, duels),
    ("team-glicko2", {**ENTRY, "level_experienced": 1}, teams),
]


def places(history: History, window: ActivityWindow) -> tuple[list[int], int]:
    if window.unit == "days":
        return (history.time - history.time[0]).tolist(), round(window.length * DAY)
    return list(range(history.matches)), int(window.length) - 1


def first_performances(system: RatingSystem, trace: Trace) -> dict[int, tuple[float, float]]:
    """Return (performance, weight) of every row: traced, or entry + c/w.

    docs/guides/learned-entry.md defines c and w.
    """
    columns, found = trace.columns, {}
    for i, match in enumerate(trace.history.match_rows().tolist()):
        before, after = columns["rating_before"][i], columns["rating"][i]
        if "performance" in columns:
            found[i] = columns["performance"][i], 1.0
            continue
        c = (
            after
            - before
            - (columns["level_adjustment"][i] if "level_adjustment" in columns else 0)
        )
        w = 1 - (columns["deviation"][i] / columns["deviation_before"][i]) ** 2
        w = min(max(w, 1e-6), 1)
        if isinstance(system, eq.Elo):
            w = trace.history.weights()[match] * system.k * math.log(10) / (4 * system.scale)
        found[i] = before + c / w, w
    return found


@pytest.mark.parametrize(("name", "parameters", "history_of"), CASES)
@pytest.mark.parametrize("window", [ActivityWindow("days", 6.5), ActivityWindow("matches", 9)])
def test_it_is_what_slow_code_says(  # type: ignore[no-untyped-def]
    name, parameters, history_of, window: ActivityWindow
) -> None:
    """Every mean taken anew over sets of players; 1e-9, as sums have another order."""
    system, history = make_system(name, parameters), history_of(1)
    found = drift(system, history, window=window, points=11)
    trace = eq.replay(system, history, trace=True).trace
    place, reach = places(history, window)
    moments = np.unique(np.linspace(0, place[-1], 11).astype(np.int64))
    if window.unit == "days":
        moments = moments // 1_000_000 * 1_000_000
    performed = first_performances(system, trace)
    rows = slow_drift(history, trace.columns, place, reach, moments.tolist(), performed)
    assert found.start == pytest.approx(rows[-1]["start"], abs=1e-9)
    for column in rows[0].keys() - {"start"}:
        expected = np.array([row[column] for row in rows])
        lacks_scaling = column.endswith("by_performance") and not found.scales
        if lacks_scaling or (column in ("handed", "by_level") and not found.holds):
            expected = np.full(len(rows), np.nan)
        np.testing.assert_allclose(getattr(found, column), expected, atol=1e-9, err_msg=column)


@pytest.mark.parametrize(("name", "parameters", "history_of"), CASES[1::3])
def test_the_parts_add_up_to_the_way_of_the_mean(  # type: ignore[no-untyped-def]
    name, parameters, history_of
) -> None:
    found = drift(make_system(name, parameters), history_of(3), window=ActivityWindow("days", 20))
    moved = found.by_matches + found.by_entering + found.by_leaving
    level = found.start + np.cumsum(moved)
    someone = found.active > 0
    np.testing.assert_allclose(level[someone], found.rating[someone], atol=1e-9)
    # The mean of all is that with which they entered, and what was added.
    begun = found.players > 0
    entered = found.start + found.brought[begun] / found.players[begun]
    np.testing.assert_allclose(found.rating_all[begun], entered + found.added[begun], atol=1e-9)
    # The points of the active players are those brought in and created, less those lost.
    points = found.active * (found.rating - found.start)
    sums = found.brought + found.created - found.lost
    np.testing.assert_allclose(points[someone], sums[someone], atol=1e-8)
    if not found.learns:
        np.testing.assert_array_equal(found.brought, 0)


@pytest.mark.parametrize("history_of", [contests, duels])
def test_elo_hands_points_over_and_creates_none(history_of) -> None:  # type: ignore[no-untyped-def]
    """What one side gains the other loses, in duels and over all pairs of a contest."""
    found = drift(make_system("elo"), history_of(4))
    np.testing.assert_allclose(found.created, 0, atol=1e-9)
    assert not found.scales
    assert np.isnan(found.by_performance).all()


def test_conserve_leaves_no_part_to_performance() -> None:
    """READINGS A11: separately for the gains and the losses of a team, hence in every match."""
    scaled, conserved = (
        drift(make_system("team-glicko2", {"conserve": conserve}), teams(5))
        for conserve in (False, True)
    )
    np.testing.assert_allclose(conserved.created_by_performance, 0, atol=1e-9)
    np.testing.assert_allclose(conserved.by_performance, 0, atol=1e-9)
    assert np.abs(scaled.created_by_performance).max() > 1


def test_without_scaling_that_part_is_exactly_0() -> None:
    found = drift(make_system("team-glicko2", {"beta": 0}), teams(5))
    assert found.scales
    assert np.all(found.created_by_performance == 0)


def test_the_unscaled_rating_is_that_of_factor_1() -> None:
    """From the trace alone where nothing is bounded: change/factor, shares included."""
    system = make_system("team-glicko2", {"roles": True})
    history = teams(7, replace(SMALL, leavers=0.3, roles=True))
    trace = eq.replay(system, history, trace=True).trace
    before, after, factor, unscaled = (
        trace.columns[name] for name in ("rating_before", "rating", "factor", "rating_unscaled")
    )
    np.testing.assert_allclose(unscaled, before + (after - before) / factor, atol=1e-9)
    assert np.ptp(factor) > 0.1


@pytest.mark.parametrize(("name", "parameters", "history_of"), CASES[::4])
def test_pieces_change_nothing(  # type: ignore[no-untyped-def]
    name, parameters, history_of, monkeypatch
) -> None:
    """Memory is bounded by the length of a piece, of which the answer knows nothing."""
    system, history = make_system(name, parameters), history_of(1)
    whole = drift(system, history).to_polars()
    monkeypatch.setattr(audit, "PIECE", 5)
    assert drift(system, history).to_polars().equals(whole)


def test_deviations_are_read_at_the_moment() -> None:
    """With what inactivity has added, as a table of ratings at that time says."""
    system = make_system("team-glicko2", {"activity_window": 0})
    history = teams(2)
    found = drift(system, history, window=ActivityWindow("days", 200), points=3)
    assert history.time is not None
    last = float(history.days()[-1])
    table = eq.replay(system, history, at=last).ratings
    played = table.matches > 0
    assert found.active[-1] == played.sum()
    assert found.deviation[-1] == pytest.approx(table.deviation[played].mean(), abs=1e-9)


def test_moments_are_evenly_spread_and_can_be_written() -> None:
    """From the first match to the last: whole days where a history has dates."""
    history = replace(contests(1), time_kind="date")
    found = drift(make_system("elo"), history, points=5)
    days: Ints = found.times.astype(np.int64)
    assert [days[0] * DAY, days[-1] * DAY] == [history.time[0], history.time[-1]]
    np.testing.assert_allclose(np.diff(days), (days[-1] - days[0]) / 4, atol=1)
    # All matches of a day have been played when it is looked at.
    assert found.matches[0] == np.sum(history.time == history.time[0])
    assert found.matches[-1] == history.matches


def test_matches_at_one_moment_are_one_row() -> None:
    history = replace(contests(1), time=np.zeros(contests(1).matches, np.int64))
    assert len(drift(make_system("elo"), history).matches) == 1


def test_without_times_a_tenth_of_the_matches_counts() -> None:
    history = replace(teams(1), time=None)
    assert default_window(history) == ("matches", 6)
    found = drift(make_system("team-glicko2"), history)
    assert found.times is None
    assert found.window == ("matches", 6)
    recent = history.player[history.offsets[-7] :]
    assert found.active[-1] == len(np.unique(recent))


def test_a_history_that_nothing_rates_has_nothing_to_show() -> None:
    history, _ = simulate_contests(
        ContestModel(players=1, contests=3), rng=np.random.default_rng(0)
    )
    found = drift(make_system("elo"), history)
    assert found.rated.tolist() == [0] * len(found.rated)
    assert np.isnan([found.start, *found.rating, *found.inflation, *found.added]).all()


DAYS = ActivityWindow("days", 3)


@pytest.mark.parametrize(
    ("name", "history", "choices", "message"),
    [
        ("elo", contests(1), {"points": 1}, "points must be from 2 to 10,000"),
        ("elo", contests(1), {"window": ActivityWindow("days", 0)}, "days must be positive"),
        ("elo", contests(1), {"window": ActivityWindow("matches", 0)}, "a whole number from 1"),
        ("elo", contests(1), {"window": ActivityWindow("matches", 2.5)}, "a whole number from 1"),
        ("glicko2", teams(1), {"window": DAYS}, "glicko2 cannot rate teams"),
        ("elo", teams(1).slice(0, 0), {"window": DAYS}, "has no matches"),
        ("elo", replace(contests(1), time=None), {"window": DAYS}, "need a history with times"),
    ],
    ids=["one point", "no days", "no matches", "half a match", "teams", "nothing", "no times"],
)
def test_what_does_not_fit_is_refused(
    name: str, history: History, choices: dict[str, object], message: str
) -> None:
    with pytest.raises((InvalidParameterError, InvalidDataError), match=message):
        drift(make_system(name), history, **choices)  # type: ignore[arg-type]


def test_the_numbers_of_a_hand_made_history() -> None:
    """Elo, k = 32: the winner of the first duel takes 16 points, and leaves four days later."""
    history = eq.read_history(
        {
            "match": [1, 1, 2, 2],
            "time": ["2024-01-01", "2024-01-01", "2024-01-05", "2024-01-05"],
            "player": ["ann", "bob", "bob", "cyd"],
            "rank": [0, 1, 0, 1],
        }
    )
    found = drift(eq.Elo(), history, window=ActivityWindow("days", 3), points=3)
    expected = 1 / (1 + 10 ** (16 / 400))
    after = [1484 + 32 * (1 - expected), 1500 - 32 * (1 - expected)]
    assert found.active.tolist() == [2, 2, 2]
    np.testing.assert_allclose(found.rating, [1500, 1500, np.mean(after)])
    np.testing.assert_allclose(found.spread, [16, 16, np.std(after)])
    # Both have left by the third day; bob comes back with 1484, and cyd is new.
    np.testing.assert_allclose(found.by_entering, [0, 0, (1484 + 1500) / 2 - 1500])
    np.testing.assert_allclose(found.by_leaving, 0, atol=1e-9)
    np.testing.assert_allclose(found.rating_all, [1500, 1500, 1500])


def test_a_bound_on_both_leaves_no_part_to_performance() -> None:
    """A change that is bounded with any factor is the same with factor 1."""
    system = make_system("team-glicko2", {"max_change": 1e-3})
    # A draw may change hardly anything, and that is not bounded.
    history = teams(8, replace(SMALL, draw_margin=0))
    trace = eq.replay(system, history, trace=True).trace
    part = trace.columns["rating"] - trace.columns["rating_unscaled"]
    np.testing.assert_allclose(part, 0, atol=1e-9)

"""The home advantage, fixed and learned, in every system that has it."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest

import equipoise as eq
from equipoise.arrays import Floats
from equipoise.rating.base_system import belief_of
from equipoise.rating.head_start import ADVANTAGE, ADVANTAGE_PARAMETERS
from equipoise.rating.registry import SYSTEMS, make_system, parameters_of, system_class
from rating.entry_histories import by_family
from test_every_system import assert_parts_sum_to_the_change

NAMES = [name for name in SYSTEMS if issubclass(system_class(name), eq.HomeSystem)]
#: Parameters with which systems are rated; a system that is not named has its defaults.
_MORE: list[tuple[str, dict[str, Any]]] = [
    ("glicko", {}),
    ("glicko", {"drift_per_day": 40.0}),
    ("glicko", {"period_days": 2.5}),
    ("glicko2", {}),
    ("glicko2", {"period_days": 2.5}),
    ("stephenson", {"bonus": 1.0}),
    ("stephenson", {"period_days": 2.5}),
    ("trueskill-spb", {"convergence_eps": 1e-10}),
    ("team-glicko2", {"activity_window": 2.0, "period_days": 1.0}),
]
VARIANTS = [*((name, {}) for name in NAMES if name not in dict(_MORE)), *_MORE]
each_variant = pytest.mark.parametrize(
    ("name", "more"),
    [
        pytest.param(*each.values, more, marks=each.marks)
        for each, (_, more) in zip(by_family([name for name, _ in VARIANTS]), VARIANTS, strict=True)
    ],
    ids=["-".join([name, *more]) for name, more in VARIANTS],
)

each_system = pytest.mark.parametrize("name", by_family(NAMES))
LEARNS = {"learn_home_advantage": True, "home_advantage": 20.0, "home_advantage_deviation": 80.0}


# --- once more, slowly: one match at a time, by public functions alone ------------------------

#: A season in which the second team of a match is at home as often as the first, a match is on
#: neutral ground, and a draw is among them: (players of both teams, ranks, side at home, weight).
Season = list[tuple[list[list[str]], list[int], int | None, float]]


def season(size: int = 1) -> Season:
    """Return a season of teams of this size."""
    names = [chr(ord("a") + i) for i in range(4 * size)]
    clubs = [names[i * size : (i + 1) * size] for i in range(4)]
    homes = [0, 1, 0, None, 1, 0, 0, 1, 0, 1, 0, 0]
    ranks = [[0, 1], [0, 1], [1, 0], [0, 1], [0, 0], [0, 1], [0, 1], [1, 0], [0, 0], [1, 0]]
    ranks += [[0, 1], [0, 1]]
    pairs = [(0, 1), (2, 3), (1, 2), (3, 0), (0, 2), (1, 3), (1, 0), (3, 2), (2, 1), (0, 3)]
    pairs += [(2, 0), (3, 1)]
    weights = [1.0, 1.0, 2.0, 1.0, 1.0, 0.5, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]
    return [
        ([clubs[i], clubs[j]], rank, home, weight)
        for (i, j), rank, home, weight in zip(pairs, ranks, homes, weights, strict=True)
    ]


def table_of(matches: Season, column: str = "at_home") -> eq.History:
    """Return a season as a history; the side at home in `at_home`, or `side` white and black."""
    rows: dict[str, list[Any]] = {
        name: [] for name in ("match", "player", "team", "rank", "weight", "time", column)
    }
    for number, (teams, ranks, home, weight) in enumerate(matches):
        for t, team in enumerate(teams):
            for player in team:
                rows["match"].append(number)
                rows["player"].append(player)
                rows["team"].append(t)
                rows["rank"].append(ranks[t])
                rows["weight"].append(weight)
                rows["time"].append(1_700_000_000 + 86_400 * number)
                white = "" if home is None else "white" if home == t else "black"
                rows[column].append(home == t if column == "at_home" else white)
    return eq.read_history(rows)


def density(curve: str, z: float) -> float:
    """Return the density of a curve."""
    if curve == "normal":
        return NormalDist().pdf(z)
    p = 1.0 / (1.0 + math.exp(-z))
    return p * (1.0 - p)


def chance(curve: str, z: float) -> float:
    """Return the distribution function of a curve."""
    return NormalDist().cdf(z) if curve == "normal" else 1.0 / (1.0 + math.exp(-z))


def slowly(
    make: Callable[..., eq.HomeSystem],
    matches: Season,
    *,
    start: float,
    learns: bool,
    deviation: float = 80.0,
    drift: float = 0.0,
) -> tuple[dict[str, float], float, float]:
    """Return (ratings, advantage, its deviation) after a season.

    Every match is rated on neutral ground between players whose ratings were moved. The advantage
    is learned from the published `Outlook`, and the model of draws from `draw_margin`.
    make : makes the system, without an advantage
    """
    system = make()
    adds = system.capabilities.adds_players
    rows: dict[str, eq.Rating] = {}
    advantage, variance = start, deviation**2
    for number, (teams, ranks, home, weight) in enumerate(matches):
        time = 19675.925925925927 + number  # 1_700_000_000 seconds
        given = [[rows.get(name) or system.rating() for name in team] for team in teams]
        each = [
            0.0 if home != t else advantage / (len(team) if adds else 1)
            for t, team in enumerate(teams)
        ]
        if learns and home is not None:
            flat = [one for team in given for one in team]
            now = [one.at(time) for one in flat]
            rating = np.array([one["rating"] for one in now])
            width = np.array([one["deviation"] or 0.0 for one in now])
            team = np.repeat([0, 1], [len(one) for one in teams])
            outlook = system.outlook(rating, width).of_teams(team, 2)
            squared = float((outlook.scale**2).sum())
            if hasattr(system, "draw_margin"):
                squared += system.draw_margin(len(flat)) ** 2
            scale, sign = math.sqrt(squared), 1.0 if home == 0 else -1.0
            z = (outlook.centre[0] - outlook.centre[1] + sign * advantage) / scale
            p, f = chance(outlook.curve, z), density(outlook.curve, z)
            score = 0.5 if ranks[0] == ranks[1] else float(ranks[0] < ranks[1])
            variance += drift**2
            known = weight * f**2 / (p * (1 - p)) / squared
            variance = 1.0 / (1.0 / variance + known)
            advantage += variance * weight * sign * (score - p) * f / (p * (1 - p)) / scale
        moved = [
            [shifted(one, step) for one in team] for team, step in zip(given, each, strict=True)
        ]
        rated = system.rate(moved, ranks=ranks, weight=weight, time=time)
        for team, new, step in zip(teams, rated, each, strict=True):
            for name, one in zip(team, new, strict=True):
                rows[name] = shifted(one, -step)
    return {name: one.rating for name, one in rows.items()}, advantage, math.sqrt(variance)


def shifted(one: eq.Rating, points: float) -> eq.Rating:
    """Return a rating moved by some points."""
    saved = one.to_dict()
    saved["state"]["rating"] += points
    return eq.Rating.from_dict(saved)


def neutral(system: eq.HomeSystem) -> eq.HomeSystem:
    """Return a system without an advantage."""
    changed: Any = {"home_advantage": 0.0, "learn_home_advantage": False}
    return dataclasses.replace(system, **changed)


# --- tests -----------------------------------------------------------------------------------


def made(name: str, **parameters: Any) -> eq.HomeSystem:
    if name == "stephenson":
        # It pulls towards the opponents' ratings as they are, so a head start is no shift there.
        parameters.setdefault("neighbourhood", 0.0)
    system = make_system(name, parameters)
    assert isinstance(system, eq.HomeSystem)
    return system


def team_size(name: str) -> int:
    return 1 if system_class(name)().capabilities.max_team_size == 1 else 2


def rating_of(done: eq.Replay) -> dict[str, float]:
    table = done.ratings
    return dict(zip(table.player_ids.tolist(), table.rating.tolist(), strict=True))


@each_variant
@pytest.mark.parametrize("learns", [False, True], ids=["fixed", "learned"])
def test_ratings_and_advantage_are_those_of_the_slow_reference(
    name: str, more: dict[str, Any], learns: bool
) -> None:
    given = {**LEARNS, "home_advantage_drift": 3.0} if learns else {"home_advantage": 60.0}
    system = made(name, **more, **given)
    matches = season(team_size(name))
    done = eq.replay(system, table_of(matches))
    rating, advantage, deviation = slowly(
        lambda: neutral(system),
        matches,
        start=system.home_advantage,
        learns=learns,
        drift=system.home_advantage_drift,
    )
    found = rating_of(done)
    # What was read of the reference within a rating period is shown with the period closed.
    assert found == pytest.approx(rating, abs=1e-7)
    if learns:
        assert belief_of(done.state.state.shared) == pytest.approx((advantage, deviation), abs=1e-8)


@each_variant
def test_without_an_advantage_the_bits_are_those_of_before(name: str, more: dict[str, Any]) -> None:
    history = table_of(season(team_size(name)))
    plain = eq.replay(made(name, **more), history).state.state
    # Nobody at home: the same bits through the kernel with head starts.
    away = dataclasses.replace(history, attributes={"at_home": np.zeros(history.participations)})
    moved = eq.replay(made(name, **more, home_advantage=70.0), away).state.state
    np.testing.assert_array_equal(plain.table, moved.table)
    assert ADVANTAGE not in plain.shared


@each_variant
def test_bits_do_not_depend_on_how_matches_are_cut(name: str, more: dict[str, Any]) -> None:
    system = made(name, **more, **LEARNS)
    matches = season(team_size(name))
    history = table_of(matches)
    whole = eq.replay(system, history).state
    half = eq.replay(system, history.slice(0, 5)).state
    resumed = eq.replay(system, history, state=half).state
    pool = eq.Pool(system)
    for number, (teams, ranks, home, weight) in enumerate(matches):
        time = 19675.925925925927 + number
        pool.rate(teams, ranks=ranks, home=home, weight=weight, time=time, match=number)
    for other in (resumed, pool.state):
        rows = [other.player_ids.tolist().index(one) for one in whole.player_ids.tolist()]
        np.testing.assert_array_equal(whole.state.table, other.state.table[rows])
        np.testing.assert_array_equal(whole.state.shared[ADVANTAGE], other.state.shared[ADVANTAGE])


@each_variant
@pytest.mark.parametrize("learns", [False, True], ids=["fixed", "learned"])
def test_parts_of_an_explanation_add_up(name: str, more: dict[str, Any], learns: bool) -> None:
    system = made(name, **more, **(LEARNS if learns else {"home_advantage": 60.0}))
    history = table_of(season(team_size(name)))
    done = eq.replay(system, history, trace=True)
    for row in range(history.participations):
        number = int(np.searchsorted(history.offsets, row, side="right")) - 1
        player = history.player_ids[history.player[row]]
        why = eq.explain(system, history, player, history.match_ids[number])
        assert why.rating == pytest.approx(float(done.trace.columns["rating"][row]), abs=1e-9)
        assert_parts_sum_to_the_change(why)
        home = history.at_home()
        match = slice(*history.offsets[number : number + 2])
        parts = {part.name: part.change for part in why.contributions}
        assert ("home advantage" in parts) == bool(home[match].any())
        if "home advantage" in parts and not learns:
            # More is expected of who is at home, so a result is worth less there.
            assert (parts["home advantage"] < 0) == bool(home[row])


@each_variant
def test_what_a_match_expects_is_what_was_predicted(name: str, more: dict[str, Any]) -> None:
    history = table_of(season(team_size(name)))
    for given in ({"home_advantage": 60.0}, LEARNS):
        system = made(name, **more, **given)
        before = eq.replay(system, history.slice(0, 11)).state
        for home, sign in ((0, 1), (1, -1), (None, 0)):
            teams = [["d"], ["b"]] if team_size(name) == 1 else [["g", "h"], ["c", "d"]]
            found = eq.predict(system, before, teams, home=home)
            plain = eq.predict(system, before, teams)
            difference = found.outlook.centre - plain.outlook.centre
            value = 60.0 if given is not LEARNS else belief_of(before.state.shared)[0]  # type: ignore[index]
            assert difference[0] - difference[1] == pytest.approx(sign * value, abs=1e-9)
            assert eq.Pool.of(before).predict(teams, home=home).expected == pytest.approx(
                found.expected
            )


@each_system
def test_one_match_without_a_pool(name: str) -> None:
    system, flat = made(name, home_advantage=60.0), made(name)
    ann, bob = system.rating(1520), system.rating(1480)
    there = system.rate([ann, bob], home=1, time=20000)
    moved = flat.rate([flat.rating(1520), flat.rating(1540)], time=20000)
    assert there[0].rating == pytest.approx(moved[0].rating, abs=1e-9)
    assert there[1].rating == pytest.approx(shifted(moved[1], -60).rating, abs=1e-9)
    with pytest.raises(eq.InvalidParameterError, match="Pool"):
        made(name, learn_home_advantage=True).rating()
    with pytest.raises(eq.InvalidParameterError, match="no home advantage"):
        flat.rate([flat.rating(), flat.rating()], home=0, time=20000)


@each_system
def test_parameters_that_change_nothing_say_so(name: str) -> None:
    rest = {"home_advantage_deviation", "home_advantage_drift"}
    assert made(name).capabilities.idle >= rest
    assert not made(name, learn_home_advantage=True).capabilities.idle & rest
    assert made(name).capabilities.needed["side"] == "home_advantage"
    names = list(parameters_of(made(name)))
    assert [one for one in names if one in ADVANTAGE_PARAMETERS] == list(ADVANTAGE_PARAMETERS)


@each_system
def test_a_history_without_a_home_side_is_refused(name: str) -> None:
    history = dataclasses.replace(table_of(season(team_size(name))), attributes={})
    for given in ({"home_advantage": 1.0}, {"learn_home_advantage": True}):
        with pytest.raises(eq.InvalidDataError, match="home"):
            eq.replay(made(name, **given), history)


# --- another project -------------------------------------------------------------------------

#: michiguel/Ordo, commit 17eec774f2e4b9fdd2b1b38739f55ea221fb851a (program 1.2.6), on the games of
#: `round_robins`: ordo -W -D -z 200.2404 -a 0 -p games.pgn. White advantage, and two ratings, which
#: Ordo computes to about 0.001.
ORDO_WHITE, ORDO_BEST, ORDO_WORST = 58.81, 108.191, -142.314


def round_robins(white: float = 45.0) -> list[tuple[int, int, float]]:
    """Return 2,640 games of twelve players: white, black, white's score."""
    rng = np.random.default_rng(7)
    strength = 120.0 * np.linspace(-1, 1, 12)
    pairs = [(i, j) for _ in range(20) for i in range(12) for j in range(12) if i != j]
    found = []
    for k in np.argsort(rng.random(len(pairs))).tolist():
        i, j = pairs[k]
        expected = 1 / (1 + 10 ** (-(strength[i] - strength[j] + white) / 400))
        draw = min(1.2 * expected * (1 - expected), 2 * expected, 2 * (1 - expected))
        win, drawn = expected - draw / 2, rng.random()
        found.append((i, j, 1.0 if drawn < win else 0.5 if drawn < win + draw else 0.0))
    return found


def most_likely(games: list[tuple[int, int, float]]) -> tuple[Floats, float, float]:
    """Return ratings with mean 0, the advantage and its standard error by Newton's method."""
    slope, players = math.log(10) / 400, 12
    design = np.zeros((len(games), players + 1))
    for k, (i, j, _) in enumerate(games):
        design[k, [i, j, players]] = 1, -1, 1
    score, found = np.array([game[2] for game in games]), np.zeros(players + 1)
    for _ in range(30):
        p = 1 / (1 + np.exp(-slope * (design @ found)))
        information = slope**2 * design.T @ (design * (p * (1 - p))[:, None])
        found += np.linalg.pinv(information) @ (slope * design.T @ (score - p))
    error = math.sqrt(np.linalg.pinv(information)[players, players])
    return found[:players] - found[:players].mean(), float(found[players]), error


def test_what_is_learned_is_near_the_most_likely_value_which_is_that_of_ordo() -> None:
    """Systems that rate one game after the other come within one standard error of it."""
    games = round_robins()
    rating, advantage, error = most_likely(games)
    assert advantage == pytest.approx(ORDO_WHITE, abs=0.006)
    assert (rating[11], rating[0]) == pytest.approx((ORDO_BEST, ORDO_WORST), abs=0.001)
    history = eq.read_history(
        {
            "match": np.repeat(np.arange(len(games)), 2),
            "player": np.array([game[:2] for game in games]).ravel(),
            "rank": np.array([[one < 0.5, one > 0.5] for *_, one in games]).astype(int).ravel(),
            "side": np.tile(["white", "black"], len(games)),
        }
    )
    for system in (
        eq.Elo(learn_home_advantage=True),
        eq.Elo(k=8, learn_home_advantage=True),
        eq.Glicko(drift=0, learn_home_advantage=True),
        eq.Glicko2(learn_home_advantage=True),
    ):
        learned = belief_of(eq.replay(system, history).state.state.shared)
        assert abs(learned[0] - advantage) < error
        assert learned[1] == pytest.approx(error, rel=0.06)

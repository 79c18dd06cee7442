"""FIDE's ratings: what FIDE published, and the rules one by one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest

import equipoise as eq
from equipoise.rating.systems.fide import STEPS, expected_score, first_rating
from equipoise.rating.systems.rating_periods import month_of
from equipoise.tournament.formulas import fide_rating_change, percent_expected
from rating.federations.published import (
    CALCULATOR,
    CHAMPIONSHIP,
    EARLY,
    FIRST,
    FIRST_RATINGS,
    MANY_GAMES,
    ROUNDS,
    TOURNAMENT_OF_20,
    TOURNAMENTS_OF_10,
    Calculation,
)

POINTS = {"1": 1.0, "=": 0.5, "0": 0.0}


def table(
    games: Sequence[tuple[str, str, float]], days: Sequence[str] | str, **columns: Any
) -> eq.History:
    """Return games (first, second, score of the first) on days as a history.

    columns : one value for each game, or for all
    """
    rows: dict[str, list[Any]] = {
        name: [] for name in ("match", "time", "player", "rank", *columns)
    }
    for k, (one, other, score) in enumerate(games):
        for player, rank in ((one, 2 - score), (other, 1 + score)):
            rows["match"].append(k)
            rows["time"].append(days if isinstance(days, str) else days[k])
            rows["player"].append(player)
            rows["rank"].append(int(2 * rank))
            for name, values in columns.items():
                rows[name].append(values[k] if isinstance(values, list) else values)
    return eq.read_history(rows)


def known(ratings: dict[str, float]) -> Any:
    """Return known ratings of players."""
    return eq.read_initial_ratings({"player": list(ratings), "rating": list(ratings.values())})


def against(one: Calculation, days: Sequence[str] | str, **columns: Any) -> tuple[Any, Any]:
    """Return the games of a calculation as a history, and the ratings of all players."""
    names = [f"opponent {k}" for k in range(len(one.opponents))]
    games = [
        ("hero", name, POINTS[result]) for name, result in zip(names, one.results, strict=True)
    ]
    ratings = dict(zip(names, map(float, one.opponents), strict=True))
    if one.rating:
        ratings["hero"] = float(one.rating)
    return table(games, days, **columns), known(ratings)


def rated(system: eq.System, history: eq.History, initial: Any = None) -> dict[str, float]:
    """Return the ratings after a history by player."""
    ratings = eq.replay(system, history, initial=initial).ratings
    return dict(zip(ratings.player_ids.tolist(), ratings.rating.tolist(), strict=True))


def day(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() / 86_400


# --- what FIDE published ---------------------------------------------------------------------


def test_a_whole_championship_gives_the_published_changes_and_ratings() -> None:
    """The US Championship of October 2025, 66 games: 12 changes and 10 ratings of November."""
    ids = [str(one) for one in CHAMPIONSHIP]
    games, days = [], []
    for number, games_of_round in enumerate(ROUNDS):
        for game in games_of_round.split():
            white, black = ids["abcdefghijkl".index(game[0])], ids["abcdefghijkl".index(game[2])]
            games.append((white, black, POINTS[game[3]]))
            days.append(f"2025-10-{12 + number}")
    history = table(games, days, event="US Championship")
    initial = known({str(one): float(values[0]) for one, values in CHAMPIONSHIP.items()})
    exact = rated(eq.FIDE(rounded=False), history, initial)
    published = rated(eq.FIDE(), history, initial)
    for one, (before, change, after) in CHAMPIONSHIP.items():
        assert exact[str(one)] - before == pytest.approx(change, abs=1e-9)
        if after is not None:
            assert published[str(one)] == after


@pytest.mark.parametrize("one", [one for one in TOURNAMENTS_OF_10 if one.rating >= 2400])
def test_single_tournaments_give_the_published_change(one: Calculation) -> None:
    history, initial = against(one, "2025-11-07")
    assert rated(eq.FIDE(rounded=False), history, initial)["hero"] - one.rating == pytest.approx(
        one.change
    )


def test_a_player_who_had_2400_keeps_k() -> None:
    """Player F-P02 of 2395 points had 2400 before; here a loss in September leads there."""
    (one,) = (one for one in TOURNAMENTS_OF_10 if one.rating < 2400)
    names = [f"opponent {k}" for k in range(len(one.opponents))]
    scores = [POINTS[result] for result in one.results]
    games = [("hero", "equal", 0.0), *zip(["hero"] * 5, names, scores, strict=True)]
    history = table(games, ["2025-09-10", *["2025-10-31"] * 5])
    ratings = dict(zip(names, map(float, one.opponents), strict=True))
    initial = known({**ratings, "hero": 2400.0, "equal": 2400.0})
    exact = rated(eq.FIDE(rounded=False), history, initial)["hero"]
    assert exact - one.rating == pytest.approx(one.change)


def test_k_of_20_and_the_limit_of_k_times_games() -> None:
    """39 games in a month: K is 17, since 18 x 39 is above 700."""
    history, initial = against(TOURNAMENT_OF_20, "2025-11-07")
    assert rated(eq.FIDE(rounded=False), history, initial)["hero"] == pytest.approx(2052.8)
    assert rated(eq.FIDE(), history, initial)["hero"] == 2053
    history, initial = against(MANY_GAMES, "2026-09-10")
    change = rated(eq.FIDE(rounded=False), history, initial)["hero"] - 2054
    assert change == pytest.approx(MANY_GAMES.change)
    assert rated(eq.FIDE(), history, initial)["hero"] == 2146


def test_a_half_is_rounded_away_from_zero() -> None:
    """-2.50 was published as -3."""
    history, initial = against(TOURNAMENTS_OF_10[0], "2025-11-07")
    assert rated(eq.FIDE(), history, initial)["hero"] == 2810


@pytest.mark.parametrize("case", CALCULATOR)
def test_the_calculator_agrees_but_for_players_of_2650(
    case: tuple[float, float, float, int, float],
) -> None:
    """24 of 24 by the rules of March 2024; since October 2025 it differs in 4, as FIDE's text."""
    own, other, score, k, change = case
    for rules in ("2024-03", "2025-10"):
        history = table([("hero", "other", score)], "2026-01-05")
        start = known({"hero": own, "other": other})
        done = eq.replay(eq.FIDE(rules=rules), history, initial=start, trace=True)
        row = history.player_ids.tolist().index("hero") == history.player
        found = k * (score - done.trace.columns["expected"][row][0])
        exempt = rules == "2025-10" and own >= 2650 and abs(own - other) > 400
        assert (found == pytest.approx(change)) != exempt


@pytest.mark.parametrize(("mean", "points", "games", "old", "new"), FIRST_RATINGS)
def test_first_ratings(mean: float, points: float, games: int, old: float, new: float) -> None:
    """By the rules of 2022, which FIDE's calculator still has, and by those of 2024."""
    settings = eq.FIDE(newcomers="unrated").settings()
    assert first_rating(mean * games, points, games, 1, settings) == old
    assert first_rating(mean * games, points, games, 2, settings) == new


def test_a_published_first_rating() -> None:
    """Five games in November 2025: 1922 in December; after four there is none."""
    history, initial = against(FIRST, "2025-11-08")
    system = eq.FIDE(newcomers="unrated")
    assert rated(system, history, initial)["hero"] == FIRST.change
    assert rated(system, history.slice(0, 4), initial)["hero"] == system.initial_rating
    # And the opponents did not play a rated game.
    assert rated(system, history, initial)["opponent 3"] == 2012


@pytest.mark.parametrize("one", EARLY)
def test_expected_points_of_tournaments_before_2011(one: Calculation) -> None:
    history, initial = against(one, "2010-01-20")
    done = eq.replay(eq.FIDE(), history, initial=initial, trace=True)
    row = history.player_ids.tolist().index("hero") == history.player
    expected = math.fsum(done.trace.columns["expected"][row].tolist())
    assert expected == pytest.approx(one.expected, abs=1e-9)
    assert sum(POINTS[result] for result in one.results) - expected == pytest.approx(one.change)


# --- rules one by one ------------------------------------------------------------------------


def test_a_first_month_without_a_point_is_disregarded() -> None:
    games = [("new", f"o{k}", 0.0) for k in range(4)] + [("new", f"p{k}", 0.5) for k in range(5)]
    ratings = {name: 1900.0 for _, name, _ in games}
    dates = ["2025-10-07"] * 4 + ["2025-11-07"] * 5
    system = eq.FIDE(newcomers="unrated")
    alone = rated(system, table(games[4:], dates[4:]), known(ratings))["new"]
    assert rated(system, table(games, dates), known(ratings))["new"] == alone == 1871


def test_without_times_events_are_rated_together() -> None:
    games = {"match": [1, 1, 2, 2, 3, 3], "player": ["a", "b", "a", "c", "a", "d"]}
    together, apart = (
        eq.replay(eq.FIDE(), eq.read_history({**games, "rank": [1, 2] * 3, **event})).ratings
        for event in ({"event": ["x"] * 6}, {})
    )
    assert together.rating.max() == 1860  # three times 20 against equals
    assert apart.rating.max() < 1860


def test_the_table_is_that_of_tournaments() -> None:
    differences = np.arange(-900.0, 901.0)
    found = np.array([expected_score(one) for one in differences])
    np.testing.assert_array_equal(found, percent_expected(differences) / 100.0)
    assert len(STEPS) == 50


@pytest.mark.parametrize(
    ("date", "rules"),
    [
        ("2021-12-31", "2014-07"),
        ("2022-01-01", "2022-01"),
        ("2024-02-29", "2022-01"),
        ("2024-03-01", "2024-03"),
        ("2025-09-30", "2024-03"),
        ("2025-10-01", "2025-10"),
    ],
)
def test_the_day_of_the_match_chooses_the_rules(date: str, rules: str) -> None:
    games = [("top", "a", 1.0), ("top", "b", 1.0), ("top", "c", 0.5)]
    start = known({"top": 2700.0, "a": 2250.0, "b": 2100.0, "c": 2200.0})
    history = table(games, date)
    dated = rated(eq.FIDE(rounded=False), history, start)
    assert dated == rated(eq.FIDE(rounded=False, rules=rules), history, start)  # type: ignore[arg-type]


@pytest.mark.parametrize("rules", ["2022-01", "2024-03", "2025-10"])
def test_a_tournament_has_the_change_of_fide_rating_change(rules: Any) -> None:
    """Of players far apart, in any order of games; the function rates a whole tournament."""
    rng = np.random.default_rng(3)
    ratings = {f"p{k}": float(r) for k, r in enumerate(rng.integers(1500, 2750, 10))}
    names = list(ratings)
    pairs = [(names[i], names[j]) for i in range(10) for j in range(i)]
    games = [(a, b, float(s)) for (a, b), s in zip(pairs, rng.choice([0, 0.5, 1], 45), strict=True)]
    for _ in range(3):
        order = rng.permutation(45).tolist()
        history = table([games[k] for k in order], "2025-11-07", event="open")
        found = rated(eq.FIDE(rounded=False, rules=rules), history, known(ratings))
        white, black, score = (list(column) for column in zip(*games, strict=True))
        change = fide_rating_change(
            eq.Games.from_arrays(white, black, score, rating=ratings), 1.0, rules=rules
        )
        ids = eq.Games.from_arrays(white, black, score, rating=ratings).player_ids.tolist()
        for name, one in zip(ids, change.tolist(), strict=True):
            k = 10.0 if ratings[name] >= 2400 else 20.0
            assert found[name] - ratings[name] == pytest.approx(k * one, abs=1e-9)


def test_one_upgrade_an_event_and_not_a_month() -> None:
    """In 2022 and 2023 the second event of a month has an upgrade of its own."""
    games = [("top", "a", 1.0), ("top", "b", 1.0)]
    start = known({"top": 2500.0, "a": 2000.0, "b": 2000.0})
    gain = {}
    for name, events in (("one", ["open", "open"]), ("two", ["open", "cup"])):
        history = table(games, "2023-05-04", event=events)
        gain[name] = rated(eq.FIDE(rounded=False), history, start)["top"] - 2500.0
    assert gain["two"] == pytest.approx(10 * 2 * 0.08)
    assert gain["one"] == pytest.approx(10 * (0.08 + 0.04))


def test_k_by_age_number_of_games_and_rating() -> None:
    """The change of a draw against a player 100 points above is K x 0.14."""

    def k_of(rating: float, **columns: Any) -> float:
        history = table([("hero", "other", 0.5)], "2025-11-07", **columns)
        start = known({"hero": rating, "other": rating + 100})
        return round((rated(eq.FIDE(rounded=False), history, start)["hero"] - rating) / 0.14, 6)

    assert k_of(2000.0) == 20
    assert k_of(2000.0, games_before=29) == 40
    assert k_of(2000.0, games_before=30) == 20
    assert k_of(2000.0, birth_year=2007) == 40
    assert k_of(2000.0, birth_year=2006) == 20
    assert k_of(2300.0, birth_year=2007) == 20
    assert k_of(2400.0, birth_year=2007, games_before=3) == 10


def test_a_new_players_k_is_40_for_30_games() -> None:
    """Months count as a whole: K stays 40 in the month in which game 30 is played."""
    dates = [f"2026-{1 + k // 11:02d}-10" for k in range(44)]
    history = table([(f"{k}", "new", 0.0) for k in range(44)], dates)
    for games, before, k in ((33, 22, 40), (34, 33, 20)):
        done = eq.replay(eq.FIDE(rounded=False), history.slice(0, games))
        row = done.state.state.table[done.state.player_ids.tolist().index("new")]
        assert done.state.state.column("games_rated").max() == before
        assert eq.FIDE().factor(row) == k


def test_the_rise_of_march_2024() -> None:
    """2/5 of what lacks to 2000, after the games before; read as of that day it is there."""
    start = known({"ann": 1500.0, "ben": 1500.0, "top": 2400.0, "bot": 2400.0})
    games = [("ann", "ben", 0.5), ("top", "bot", 0.5), ("ann", "ben", 0.5), ("top", "bot", 0.5)]
    dates = ["2024-02-20", "2024-02-20", "2024-03-02", "2024-03-02"]
    history = table(games, dates)
    assert rated(eq.FIDE(), history.slice(0, 2), start)["ann"] == 1500
    assert rated(eq.FIDE(), history, start) == {"ann": 1700, "ben": 1700, "top": 2400, "bot": 2400}
    state = eq.replay(eq.FIDE(), history.slice(0, 2), initial=start).state
    read = state.system.at(state.state, np.arange(4), day("2024-03-01"))["rating"]
    assert sorted(read.tolist()) == [1700, 1700, 2400, 2400]
    before = state.system.at(state.state, np.arange(4), day("2024-02-29"))["rating"]
    assert sorted(before.tolist()) == [1500, 1500, 2400, 2400]
    assert rated(eq.FIDE(rules="2024-03"), history, start)["ann"] == 1500


def test_a_rating_below_the_lowest_is_lost() -> None:
    """Unless newcomers are rated, where all ratings are kept."""
    start = known({"low": 1405.0, "rival": 1405.0})
    games = [("low", "rival", 0.0), ("low", "rival", 0.0), ("low", "rival", 1.0)]
    history = table(games, ["2025-11-07", "2025-12-07", "2025-12-08"])
    kept, lost = eq.FIDE(), eq.FIDE(newcomers="unrated")
    assert rated(lost, history.slice(0, 1), start)["low"] == 1395
    # From then on the games are those of a player without a rating, and change no opponent.
    assert rated(lost, history, start) == {"low": 1395, "rival": 1415}
    assert rated(kept, history, start)["rival"] != 1415


def test_rapid_and_blitz() -> None:
    """K of 20 for all before March 2024, no true differences, and the limit of 600 points."""
    start = known({"top": 2700.0, "low": 2000.0, "mid": 2200.0})
    won = {"top-low": [("top", "low", 1.0)], "top-mid": [("top", "mid", 1.0)]}

    def gain(system: eq.System, games: str, date: str) -> float:
        return round(rated(system, table(won[games], date), start)["top"] - 2700.0, 6)

    rapid = eq.FIDE(time_control="rapid", rounded=False)
    assert gain(rapid, "top-mid", "2021-05-05") == 20 * 0.08
    assert gain(rapid, "top-mid", "2024-05-05") == 10 * 0.08
    assert gain(rapid, "top-low", "2024-11-30") == 10 * 0.08
    assert gain(rapid, "top-low", "2024-12-01") == 0
    assert gain(rapid, "top-mid", "2025-11-05") == 10 * 0.08
    assert gain(eq.FIDE(rounded=False), "top-mid", "2025-11-05") == pytest.approx(10 * 0.04)


def test_months() -> None:
    """Of every day of 800 years, from the calendar of NumPy."""
    days = np.arange(-200_000, 92_000)
    months = days.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64)
    for k in range(0, len(days), 7):
        assert month_of(float(days[k]) + 0.99) == months[k]


@pytest.mark.parametrize(
    ("column", "value", "rule"),
    [
        ("birth_year", 94, "birth_year: must be a year from 1800 to 2200, or empty; got 94 in"),
        ("games_before", -1, "games_before: must be a whole number of games from 0 to 1e6"),
        ("birth_year", "young", "birth_year: must be a year .*got 'young' in match 0"),
    ],
)
def test_facts_that_are_none_are_refused(column: str, value: object, rule: str) -> None:
    history = table([("a", "b", 1.0)], "2025-11-07", **{column: value})
    with pytest.raises(eq.InvalidDataError, match=rule):
        eq.replay(eq.FIDE(), history)

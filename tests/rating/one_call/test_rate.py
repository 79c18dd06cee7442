"""`System.rating` and `System.rate`: shapes, results, refusals, and the bits of a replay."""

from __future__ import annotations

import copy
import doctest
import importlib
import json
import math
import pickle
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import equipoise as eq
from drawing import examples
from equipoise.data.history import History
from equipoise.errors import InvalidDataError, InvalidParameterError
from equipoise.rating.base_system import System
from equipoise.rating.one_match import numbers_of
from equipoise.rating.pool_state import seeded_state
from equipoise.rating.registry import SYSTEMS, make_system
from equipoise.rating.replay import replay
from rating.one_call.matches import BY_SPEED, VARIANTS, call_of, histories, system_of

few = examples(15)


def test_every_system_is_looked_at() -> None:
    assert {name for name, _ in VARIANTS} == set(SYSTEMS)


@pytest.mark.parametrize("module", ["rating", "methods", "pool"])
def test_every_example_gives_what_it_says(module: str) -> None:
    found = doctest.testmod(importlib.import_module(f"equipoise.rating.one_call.{module}"))
    assert found.attempted > 0
    assert found.failed == 0


def call(system: System, history: History, match: int, known: list[eq.Rating]) -> None:
    """Rate a match of a history through the public call, in place."""
    rows, said = call_of(system, history.slice(match, match + 1))
    teams = [[known[row] for row in team] for team in rows]
    for team, after in zip(rows, system.rate(teams, **said), strict=True):
        for row, rating in zip(team, after, strict=True):
            known[row] = rating


@pytest.mark.parametrize(("name", "parameters"), BY_SPEED)
@given(data=st.data())
@few
def test_calls_one_after_another_give_the_bits_of_a_replay(
    name: str, parameters: dict[str, object], data: st.DataObject
) -> None:
    """Every number of the state, and every column that a table of ratings shows."""
    system = system_of(name, parameters)
    history = data.draw(histories(system))
    known = [system.rating() for _ in range(history.players)]
    for match in range(history.matches):
        call(system, history, match, known)
    done = replay(system, history)
    expected = [eq.Rating._of(known[0]._facts, one) for one in numbers_of(done.state.state)]
    assert [one._bits() for one in known] == [one._bits() for one in expected]
    for row, rating in enumerate(known):
        shown = done.ratings.of(history.player_ids[row])
        assert json.dumps(dict(rating._read())) == json.dumps(
            {k: float(v) for k, v in shown.items()}
        )
        assert rating.rating == shown["rating"]
        assert rating.matches == shown["matches"]
        assert eq.Rating.from_json(rating.to_json())._bits() == rating._bits()
        assert pickle.loads(pickle.dumps(rating)) == rating


@pytest.mark.parametrize(("name", "parameters"), VARIANTS)
def test_a_known_rating_is_a_seed(name: str, parameters: dict[str, object]) -> None:
    system = system_of(name, parameters)
    seeds = seeded_state(system, np.array([1620.0]), np.array([70.0]))
    deviation = 70.0 if "deviation" in seeds.initial else None
    seeded = eq.Rating._of(system.rating()._facts, numbers_of(seeds)[0])
    assert system.rating(1620, deviation)._bits() == seeded._bits()
    assert system.rating(1620, deviation).rating == 1620.0
    newcomer = eq.Rating._of(system.rating()._facts, numbers_of(system.initial(1))[0])
    assert system.rating() == newcomer
    assert system.rating(matches=3).matches == 3


def test_every_shape_comes_back() -> None:
    system = eq.PlackettLuce()
    a, b, c = system.rating(1500), system.rating(1600), system.rating(1700)
    flat = system.rate([a, b, c])
    assert system.rate((a, b, c)) == flat
    assert system.rate({"a": a, "b": b, "c": c}) == dict(zip("abc", flat, strict=True))
    assert system.rate([[a], [b], [c]]) == [[one] for one in flat]
    teams = system.rate([[a, b], [c]])
    assert system.rate([(a, b), (c,)]) == teams
    named = system.rate([{"a": a, "b": b}, {"c": c}])
    assert named == [{"a": teams[0][0], "b": teams[0][1]}, {"c": teams[1][0]}]
    assert list(named[0]) == ["a", "b"]


@pytest.mark.parametrize(
    "result",
    [
        {},
        {"ranks": [1, 2, 3]},
        {"ranks": [-2.5, -1, 10**30]},
        {"ranks": [(1, date(2026, 1, 1)), (1, date(2026, 1, 2)), (2, date(2026, 1, 1))]},
        {"scores": [3, 2, 1]},
        {"scores": [math.inf, 0.25, -math.inf]},
        {"scores": [(3, 1), (3, 0), (2, 9)]},
    ],
)
def test_results_of_any_kind_say_the_same(result: dict[str, Any]) -> None:
    system = eq.TrueSkill()
    players = [system.rating(1500), system.rating(1520), system.rating(1490)]
    assert system.rate(players, **result) == system.rate(players, ranks=[0, 1, 2])


def test_equal_is_a_tie_and_names_may_bear_the_result() -> None:
    system = eq.Elo()
    a, b = system.rating(1500), system.rating(1600)
    assert system.rate([a, b], ranks=[7, 7]) == system.rate([a, b], scores=[0.5, 0.5])
    named = system.rate({"a": a, "b": b}, scores={"b": 3, "a": 1})
    assert list(named.values()) == system.rate([a, b], ranks=[2, 1])


def test_a_skipped_match_returns_the_very_ratings() -> None:
    system = eq.EloMMR()
    players = [system.rating(1500 + k, 90) for k in range(3)]
    assert all(x is y for x, y in zip(system.rate(players, ranks=[4, 4, 4]), players, strict=True))
    assert [one.matches for one in system.rate(players, ranks=[4, 4, 5])] == [1, 1, 1]


def test_times_are_datetimes_or_days() -> None:
    system = eq.Glicko2(period_days=7)
    a, b = system.rating(), system.rating()
    at = datetime(2026, 3, 1, 12, tzinfo=timezone(timedelta(hours=2)))
    days = (at - datetime(1970, 1, 1, tzinfo=UTC)) / timedelta(days=1)
    after = system.rate([a, b], time=at)
    assert after == system.rate([a, b], time=days)
    assert (a.last_time, after[0].last_time) == (None, at)
    assert type(after[0].columns["matches"]) is int
    for day in (date(2026, 3, 1), datetime(2026, 3, 1), datetime(2026, 3, 1, tzinfo=UTC)):
        assert system.rate([a, b], time=day)[0].last_time == datetime(2026, 3, 1, tzinfo=UTC)
    later = after[0].at(at + timedelta(days=70))
    assert later["last_time"] == at
    assert later["deviation"] > after[0].deviation
    assert after[0].at(None) == after[0].columns


def test_a_rating_is_a_value() -> None:
    system = eq.TeamGlicko2()
    rating = system.rate([[system.rating()], [system.rating()]])[0][0]
    again = system.rate([[system.rating()], [system.rating()]])[0][0]
    assert rating == again
    assert hash(rating) == hash(again)
    assert rating != eq.TeamGlicko2(tau=0.4).rating()
    assert rating != "rating"
    assert copy.deepcopy(rating) == copy.copy(rating) == rating
    assert rating.conservative == rating.rating - 3 * rating.deviation
    assert (rating.volatility, rating.form) == (rating.columns["volatility"], 0.0)
    assert rating.effective_rating == rating.columns["effective_rating"]
    assert rating.system == system
    assert repr(system.rating(1234.56, 78.9)) == "<Rating 1234.6, deviation 78.9, team-glicko2>"
    assert f"{system.rating(1612.34):.1f}" == "1612.3"
    assert f"{rating}" == repr(rating)
    assert repr(eq.Elo().rating()) == "<Rating 1500.0, elo>"
    assert not hasattr(rating, "__dict__")
    assert not hasattr(eq.Elo().rating(), "volatility")
    assert not hasattr(eq.Elo().rating(), "conservative")
    assert math.isnan(eq.Elo().rating().deviation)
    with pytest.raises(TypeError, match="does not support item assignment"):
        rating.columns["rating"] = 3  # type: ignore[index]
    with pytest.raises(AttributeError, match="never changes"):
        rating.rating = 3  # type: ignore[misc]
    with pytest.raises(AttributeError, match="never changes"):
        del rating._numbers
    for compare in ("__lt__", "__le__", "__gt__", "__ge__"):
        with pytest.raises(TypeError, match=r"compare their rating, or conservative"):
            getattr(rating, compare)(again)
    with pytest.raises(InvalidParameterError, match=r"made by a system: write .*rating\(\)"):
        eq.Rating()


def test_json_keeps_remembered_performances_and_infinite_parameters() -> None:
    system = eq.EloMMR(rho=math.inf, drift_per_day=0.0)
    ratings = [system.rating() for _ in range(3)]
    for _ in range(3):
        ratings = system.rate(ratings)
    for one in ratings:
        assert eq.Rating.from_json(one.to_json()) == one
    text = eq.EloMMR(rho=0).rating().to_json()
    assert json.loads(text)["parameters"]["rho"] == 0
    assert eq.Rating.from_json(text.encode()).system == eq.EloMMR(rho=0)


NO_RATING = "not a rating that to_dict or to_json wrote"


@pytest.mark.parametrize(
    ("name", "change", "sentence"),
    [
        ("glicko2", lambda saved: saved.pop("state"), NO_RATING),
        ("glicko2", lambda saved: saved.update(system="chess"), NO_RATING),
        ("glicko2", lambda saved: saved.update(parameters={"speed": 3}), NO_RATING),
        ("glicko2", lambda saved: saved.update(remembered=[[1.0], []]), NO_RATING),
        ("glicko2", lambda saved: saved["state"].pop("volatility"), "a state without volatility"),
        (
            "elo-mmr",
            lambda saved: [one.append(math.nan) for one in saved["remembered"]],
            "remembered performances that are not finite",
        ),
        *(
            (name, lambda saved, one=column, to=value: saved["state"].update({one: to}), sentence)
            for name, column, value, sentence in (
                ("glicko2", "deviation", -1, "deviation -1, which must be above 0"),
                ("glicko2", "deviation", math.nan, "deviation nan, which must be a finite number"),
                ("glicko2", "volatility", 0, "volatility 0, which must be above 0"),
                ("elo", "matches", -5, "matches -5, which must be at least 0"),
                ("elo", "matches", 0.5, "matches 0.5, which must be a whole number"),
                (
                    "elo",
                    "last_time",
                    1e9,
                    r"last_time 1e\+09, which must be in the years 1 to 9999",
                ),
                ("elo-mmr", "curvature", -1, "curvature -1, which must be above 0"),
            )
        ),
    ],
)
def test_damaged_ratings_are_refused(
    name: str, change: Callable[[dict[str, Any]], object], sentence: str
) -> None:
    saved = system_of(name, {}).rating().to_dict()
    change(saved)
    with pytest.raises(InvalidDataError, match=sentence):
        eq.Rating.from_dict(saved)


def test_what_is_no_json_is_refused() -> None:
    with pytest.raises(InvalidDataError, match=r"must be JSON that Rating\.to_json wrote"):
        eq.Rating.from_json("{")
    with pytest.raises(InvalidDataError, match="got a dict: use from_dict"):
        eq.Rating.from_json(eq.Glicko2().rating().to_dict())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("mu", "no mu; use rating"),
        ("sigma", "no sigma; use deviation"),
        ("ordinal", "no ordinal; use conservative, which has no brackets"),
        ("conservative_rating", "use conservative"),
        ("speed", "a Rating has no speed"),
    ],
)
def test_names_of_other_libraries_get_a_hint(name: str, hint: str) -> None:
    with pytest.raises(AttributeError, match=hint):
        getattr(G, name)
    with pytest.raises(AttributeError, match="elo has no volatility; it has rating"):
        _ = E.volatility
    assert not hasattr(E, "conservative")


def test_one_object_stands_for_several_players_only_before_its_first_match() -> None:
    newcomer = GLICKO2.rating()
    played, _ = GLICKO2.rate([newcomer, newcomer])
    # An equal rating of another player is another object.
    twin = eq.Rating.from_json(played.to_json())
    assert GLICKO2.rate([played, twin])[0].matches == 2
    with pytest.raises(InvalidParameterError, match=r"only once in a match; .* after 1 match was"):
        GLICKO2.rate([played, played])
    system = eq.PlackettLuce()
    a, b = system.rate([system.rating(), system.rating()])
    with pytest.raises(InvalidParameterError, match="only once in a match"):
        system.rate([[a, a], [b]])


def test_a_time_is_neither_forgotten_nor_before_the_last_match() -> None:
    with pytest.raises(InvalidParameterError, match=r"time must be given.*1970-04-11T00:00:00"):
        GLICKO2.rate([G, DATED])
    with pytest.raises(InvalidParameterError, match="before the last match of a player, which"):
        DATED.at(99)
    assert DATED.at(100) == DATED.columns


ELO, GLICKO2, TEAM = eq.Elo(), eq.Glicko2(), eq.TeamGlicko2()
E, G, T = ELO.rating(), GLICKO2.rating(), TEAM.rating()
DATED = GLICKO2.rate([G, G], time=100)[0]
WEEKS = eq.Glicko2(period_days=7)


@pytest.mark.parametrize(
    ("attempt", "sentence"),
    [
        (lambda: ELO.rate([E]), "teams must be at least two; got 1"),
        (lambda: ELO.rate([[E], []]), "teams must be of at least one player each; got 0"),
        (lambda: ELO.rate("ab"), "teams must be a list of players"),  # type: ignore[call-overload]
        (lambda: ELO.rate([E, [E]]), "got a mixture"),  # type: ignore[list-item]
        (lambda: ELO.rate([{"a": E}, {"a": E}]), "only once in a match; a is named twice"),
        (lambda: ELO.rate({"red": [E], "blue": [E]}), "write a list of the teams"),  # type: ignore[dict-item]
        (lambda: ELO.rate(["ada", "bo"]), r"must be a Rating.*got 'ada'.*equipoise\.Pool"),  # type: ignore[list-item]
        (lambda: ELO.rate([E, G]), "the rating is of glicko2, not elo"),
        (lambda: ELO.rate([E, eq.Elo(k=20).rating()]), r"k was 20, not 32\.0"),
        (lambda: ELO.rate([E, E], ranks=[1, 2], scores=[2, 1]), "give ranks or scores, not both"),
        (lambda: ELO.rate([E, E], ranks=[1]), "ranks must be one for each of the 2 teams; got 1"),
        (lambda: ELO.rate([E, E], ranks=[1, None]), "ranks must be numbers or other values"),
        (lambda: ELO.rate([E, E], scores=[1, math.nan]), "scores must be numbers .* got nan"),
        (lambda: ELO.rate([E, E], ranks=[1, "b"]), "ranks must be numbers .* not text"),
        (lambda: ELO.rate([E, E], ranks={"a": 1, "b": 2}), "or a dict of the same names"),
        (lambda: ELO.rate({"a": E, "b": E}, ranks={"a": 1, "c": 2}), "same names .* without 'b'"),
        (lambda: ELO.rate(E), r"got Rating: write \[a, b\] in brackets"),  # type: ignore[call-overload]
        (lambda: ELO.rate([E, E], weight=0), "weight must be a positive number"),
        (lambda: ELO.rate([E, E], home=0), "elo has no home advantage with these parameters"),
        (lambda: ELO.rate([E, E], performance=[1, 2]), "performance must be left out, because elo"),
        (lambda: TEAM.rate([T, T], share=[1, 2]), "share must be numbers from 0 to 1.* got 2"),
        (lambda: TEAM.rate([T, T], share=[1]), "share must have the shape of the teams"),
        (lambda: TEAM.rate({"a": T, "b": T}, share={"c": 1}), "must name players of their team"),
        (lambda: ELO.rate([E, E], time="today"), "time must be a date-time, a date, or a number"),  # type: ignore[call-overload]
        (lambda: ELO.rate([E, E], time=1e9), r"the years 1 to 9999, .* looks like seconds: divide"),
        (lambda: GLICKO2.rate([DATED, G], time=99), "time must not be before the last match of a"),
        (
            lambda: GLICKO2.rate([G, G, G]),
            r"cannot rate matches of 3 .*\(at most 2\); systems that",
        ),
        (lambda: ELO.rating(1500, 80), "deviation must be left out, because elo has no deviation"),
        (lambda: ELO.rating(math.nan), "rating must be a number from -1e"),
        (lambda: WEEKS.rate([WEEKS.rating()] * 2), "needs the time of the match"),
        (lambda: GLICKO2.rating(matches=2.5), "matches must be a whole number"),  # type: ignore[arg-type]
    ],
)
def test_what_cannot_be_rated_gets_a_sentence(attempt: Callable[[], Any], sentence: str) -> None:
    with pytest.raises(InvalidParameterError, match=sentence):
        attempt()


def test_home_is_on_neutral_ground_unless_given() -> None:
    system = eq.Elo(home_advantage=100)
    a, b = system.rating(), system.rating()
    neutral, home = system.rate([a, b]), system.rate([a, b], home=0)
    assert neutral[0].rating > home[0].rating
    assert neutral[0].rating == eq.Elo().rate([ELO.rating(), ELO.rating()])[0].rating
    with pytest.raises(InvalidParameterError, match="home must be the number of a team"):
        system.rate([a, b], home=2)


@pytest.mark.parametrize(
    ("name", "parameters", "learned"),
    [
        ("elo", {"entry": "learned"}, "the entry"),
        ("elo", {"hold_level": 0.1}, r"the level \(hold_level=0.1\)"),
        ("team-glicko2", {"roles": True}, r"what each role shows \(roles=True\)"),
    ],
)
def test_what_is_learned_over_matches_needs_a_pool(
    name: str, parameters: dict[str, object], learned: str
) -> None:
    system = make_system(name, parameters)
    assert isinstance(system, System)
    sentence = rf"learns {learned}.* over the matches of a pool.*use equipoise\.Pool\(system\)"
    with pytest.raises(InvalidParameterError, match=sentence):
        system.rating()
    pool = eq.Pool(system)
    names = [["ada"], ["bo"]]
    roles = {"role": [{"ada": "tank"}, {"bo": "tank"}]} if "roles" in parameters else {}
    (ada,) = pool.rate(names, **roles)[0].values()
    with pytest.raises(InvalidParameterError, match=sentence):
        system.rate([ada, ada])
    with pytest.raises(InvalidParameterError, match=sentence):
        system.predict([ada, ada])

"""Every public function and every parameter of a system: what is of the wrong kind is refused.

The error says which argument it was, what was expected and what came, and comes before any work.
"""

from __future__ import annotations

import inspect
import math
import types
import typing
from collections.abc import Callable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import equipoise as eq
from equipoise.arguments import _evaluated, _hints_of_fields, check_values
from equipoise.data.rebalancing import MatchedParty, MatchedPlayer
from equipoise.errors import EquipoiseError, InvalidParameterError
from equipoise.rating.registry import SYSTEMS, system_class

FUNCTIONS = [name for name in eq.__all__ if inspect.isfunction(getattr(eq, name))]
#: Arguments that may be anything, and are looked at in the function.
OPEN = {"source", "old", "new", "player", "match"}


class Strange:
    """Fits nothing."""


def hints_of(function: Callable[..., Any]) -> dict[str, Any]:
    """Return what every argument of a function is expected to be."""
    inner = inspect.unwrap(function)
    written = {name: one for name, one in inner.__annotations__.items() if name != "return"}
    found = _evaluated(written, inner.__module__)
    assert found.keys() == written.keys()
    return found


def own_of(function: Callable[..., Any]) -> Sequence[str]:
    """Return the arguments whose values the function checks itself; other tests look at those."""
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    own: Sequence[str] = cells["own"].cell_contents
    return own


def wrong_for(hint: Any, *, deep: bool = True) -> list[object]:
    """Return values that this is not: of other kinds, unknown words, and NaN if `deep`."""
    options = set(typing.get_args(hint)) if _is_union(hint) else {hint}
    plain = {one for one in options if one in (int, float, bool, str)}
    wrong: list[object] = [Strange(), Strange]
    if type(None) not in options:
        wrong.append(None)
    if float in plain:
        wrong += [[1.0], True, np.bool_(False), 1j]
        wrong += [math.nan, np.float64("nan")] if deep else []
    if int in plain and float not in plain:
        wrong += [1.5, 2.0, math.nan, False, [1]]
    if bool in plain and len(plain) == 1:
        wrong += [0, 1.0, "True"]
    if str not in plain and not any(typing.get_origin(one) is typing.Literal for one in options):
        wrong.append("text")
    if str in plain and len(plain) == 1:
        wrong += [5, b"text"]
    if any(typing.get_origin(one) is typing.Literal for one in options):
        wrong += ["nonsense", "", 7j]
    return wrong


def _is_union(hint: Any) -> bool:
    return typing.get_origin(hint) in (typing.Union, types.UnionType)


def test_every_argument_has_a_kind_that_can_be_checked() -> None:
    for name in FUNCTIONS:
        for argument, hint in hints_of(getattr(eq, name)).items():
            assert hint not in (Any, object) or argument in OPEN, (name, argument)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_public_function_refuses_the_wrong_kind(name: str) -> None:
    """Whatever else is given; a class in place of an instance is of the wrong kind too."""
    function = getattr(eq, name)
    hints, own = hints_of(function), own_of(function)
    for argument in inspect.signature(function).parameters.keys() - OPEN:
        for value in wrong_for(hints[argument], deep=argument not in own):
            with pytest.raises(InvalidParameterError, match=rf"^{argument}\b.* must be .*; got "):
                function(**{argument: value})


@pytest.mark.parametrize("name", SYSTEMS)
def test_a_system_refuses_parameters_of_the_wrong_kind(name: str) -> None:
    kind = system_class(name)
    for field in (one.name for one in fields(kind)):
        for value in wrong_for(_hints_of_fields(kind)[field], deep=False):
            with pytest.raises(InvalidParameterError, match=rf"^{field} must be .*; got "):
                kind(**{field: value})
        with pytest.raises(InvalidParameterError, match=rf"\b{field}\b"):
            kind(**{field: math.nan})
        default = getattr(kind(), field)
        if isinstance(default, float):
            assert kind(**{field: np.float64(default)}) == kind()


def words_of(hint: Any) -> list[str]:
    """Return the choices of a parameter that is a word, [] for any other."""
    if typing.get_origin(hint) is typing.Literal:
        return [one for one in typing.get_args(hint) if isinstance(one, str)]
    return [word for inner in typing.get_args(hint) for word in words_of(inner)]


def test_every_word_of_every_system_is_one_of_its_choices() -> None:
    words = [
        (system_class(name), field, choices)
        for name in SYSTEMS
        for field, hint in _hints_of_fields(system_class(name)).items()
        if (choices := words_of(hint))
    ]
    assert len(words) > 30
    for kind, field, choices in words:
        for wrong in (choices[0][:-1], f"{choices[-1]} ", "nonsense"):
            with pytest.raises(InvalidParameterError) as refused:
                kind(**{field: wrong})
            listed = ", ".join(choices)
            assert str(refused.value) == f"{field} must be one of {listed}; got {wrong!r}"


@pytest.mark.parametrize("word", ["curve", "team"])
def test_an_outlook_refuses_unknown_words(word: str) -> None:
    outlook = {"centre": np.zeros(2), "scale": np.ones(2), "curve": "logistic", "team": "mean"}
    with pytest.raises(InvalidParameterError, match=rf"^{word} must be .* or .*; got 'nonsense'$"):
        eq.Outlook(**{**outlook, word: "nonsense"})


def test_a_plot_of_a_trace_refuses_unknown_words(history: eq.History) -> None:
    trace = eq.replay(eq.Elo(), history, trace=True).trace
    with pytest.raises(InvalidParameterError, match=r"^by must be .*time, match, played.*; got 'x"):
        trace.plot(by="x")


PARTY = MatchedParty(players=(MatchedPlayer(player="ann"),))
NUMBERS = {"player_ids": ["a", "b"], "rating": [1.0, 2.0], "deviation": [0.0, 0.0]}
GAMES = {"player_ids": np.array([1, 2]), "white": [0], "black": [1], "points": [0.5]}
RULES = {"min_number": 1, "max_number": 2, "player_min_number": 0, "player_max_number": 2}
HISTORY = {
    "match_ids": np.array([1]),
    "player_ids": np.array([1, 2]),
    "offsets": np.array([0, 2]),
    "player": np.array([0, 1]),
    "team": np.array([0, 1]),
    "rank": np.array([0, 1]),
}
VALUES: list[tuple[type[Any], dict[str, object]]] = [
    (eq.EffectiveRating, {}),
    (eq.Range, {"low": 0.0, "high": 1.0}),
    (eq.Lobby, NUMBERS),
    (eq.Games, GAMES),
    (eq.Ruleset, RULES),
    (eq.RebalanceRequest, {"ruleset": eq.Ruleset(**RULES), "parties": (PARTY,)}),
    (eq.History, HISTORY),
]


@pytest.mark.parametrize(("kind", "given"), VALUES, ids=lambda one: getattr(one, "__name__", ""))
def test_a_public_value_refuses_the_wrong_kind(kind: type[Any], given: dict[str, object]) -> None:
    kind(**given)
    for field in (one.name for one in fields(kind)):
        if field in ("time_kind", "statistics", "attributes"):
            continue
        for value in (Strange(), Strange, "text", 5j):
            with pytest.raises(EquipoiseError, match=field):
                kind(**{**given, field: value})


def test_rows_that_are_not_whole_are_not_cut_off() -> None:
    for white in ([0.5], [True], ["0"]):
        with pytest.raises(InvalidParameterError, match="white must be an array of whole numbers"):
            eq.Games(**{**GAMES, "white": white})


# What people did, word for word.

SAMPLE = Path(__file__).parents[1] / "examples" / "contests.csv"


@pytest.fixture(scope="module")
def history() -> eq.History:
    return eq.read_history(SAMPLE, until="2020-02-01")


def test_swapped_arguments_are_recognised(history: eq.History) -> None:
    with pytest.raises(InvalidParameterError) as refused:
        eq.replay(history, eq.Elo())
    assert str(refused.value) == (
        "system must be a rating system, such as equipoise.EloMMR(); got a History. "
        "It seems that system and history are swapped"
    )


def test_a_class_is_not_its_instance(history: eq.History) -> None:
    with pytest.raises(InvalidParameterError, match=r"got the class Elo; write Elo\(\.\.\.\)$"):
        eq.tune(eq.Elo, history)
    with pytest.raises(InvalidParameterError, match=r"^systems\['elo'\] must be a rating system"):
        eq.backtest({"elo": eq.Elo}, history, rng=np.random.default_rng(0))


def test_choices_are_lists_or_ranges(history: eq.History) -> None:
    for choice in ("12", 12, {"k": 12}, Strange()):
        with pytest.raises(InvalidParameterError, match=r"choices\['k'\] must be a list of values"):
            eq.tune(eq.Elo(), history, {"k": choice})


def test_a_string_is_not_a_list_of_players(history: eq.History) -> None:
    state = eq.replay(eq.Elo(), history).state
    for call in (eq.predict, eq.what_if):
        with pytest.raises(InvalidParameterError) as refused:
            call(eq.Elo(), state, ["ann", "bob"])
        assert str(refused.value) == (
            "teams[0] must be a list; got the string 'ann'; write ['ann'] for a list of one"
        )
    ratings = eq.replay(eq.Elo(), history).ratings
    with pytest.raises(InvalidParameterError, match=r"write \['jade-kite'\]"):
        eq.Lobby.from_ratings(ratings, "jade-kite")
    with pytest.raises(InvalidParameterError, match="players must be a list"):
        eq.incentives(eq.Elo(), history, "jade-kite")
    with pytest.raises(InvalidParameterError, match="players must be a list"):
        state.rows("jade-kite")
    with pytest.raises(InvalidParameterError, match="statistics must be a list of strings"):
        eq.read_history(SAMPLE, statistics="rank")


def test_ids_are_not_rows() -> None:
    for ids in ([107, 105, 103, 101], ["ann", "bob", "cyd", "dee"]):
        lobby = eq.Lobby(player_ids=ids, rating=[1.0, 2.0, 3.0, 4.0], deviation=[0.0] * 4)
        teams = eq.balance(lobby).teams
        with pytest.raises(InvalidParameterError, match=r"teams.* must be .*(rows|whole number)"):
            eq.win_probability(lobby.rating, lobby.deviation, teams)
    assert eq.win_probability([1500, 1500], [50, 50], [[0], [1]]) == [0.5, 0.5]


def test_a_source_that_is_none_is_refused() -> None:
    for read in (eq.read_history, eq.scan_history, eq.read_games, eq.read_lobby):
        for source in (5, None, Strange(), Strange):
            with pytest.raises(EquipoiseError):
                read(source)
    with pytest.raises(EquipoiseError):
        eq.read_rebalance_request(5)


def test_what_fits_is_let_through() -> None:
    """Numbers of NumPy, sets and arrays for lists, None and subclasses where they are allowed."""
    hints = hints_of(eq.what_if)
    check_values(hints, {"teams": [{"a"}, np.array(["b"])], "places": range(2), "at": np.int64(3)})
    check_values(hints_of(eq.results_of_player), {"opponents": [1, math.nan], "points": [1]})
    check_values(hints_of(eq.write_table), {"target": Path("x.csv"), "format": None})
    check_values(hints_of(eq.read_history), {"where": iter([("cup", "yes")])})


def test_a_state_needs_its_own_system(history: eq.History) -> None:
    state = eq.replay(eq.Elo(), history).state
    teams = [["jade-kite"], ["cedar-bear"]]
    for call in (eq.predict, eq.what_if):
        with pytest.raises(InvalidParameterError, match="the state is of elo, not elo-mmr"):
            call(eq.EloMMR(), state, teams)
        with pytest.raises(InvalidParameterError, match=r"scale was 400\.0, not 1\.0"):
            call(eq.Elo(scale=1.0), state, teams)
        call(eq.Elo(), state, teams)


@pytest.mark.parametrize("wrong", [None, math.nan, 1.5, True, ["ann"], b"ann"])
def test_what_is_no_id_is_no_newcomer(history: eq.History, wrong: object) -> None:
    state = eq.replay(eq.Elo(), history).state
    for call in (eq.predict, eq.what_if):
        with pytest.raises(InvalidParameterError, match=r"teams must be ids of players.*; got "):
            call(eq.Elo(), state, [[wrong], ["jade-kite"]])
    with pytest.raises(InvalidParameterError, match=r"players must be ids of players.*; got "):
        eq.lobby_of(state, [wrong, "jade-kite"])
    assert eq.predict(eq.Elo(), state, [["new"], [np.int64(5)]]).newcomers == ("new", "5")


def test_columns_of_games_are_equally_long() -> None:
    with pytest.raises(InvalidParameterError, match="black must be as long as white, of 1 id; got"):
        eq.Games.from_arrays(["a"], ["b", "c"], [1])


def test_slices_are_within_the_history(history: eq.History) -> None:
    count = history.matches
    wrong: list[tuple[Any, Any]] = [("a", 3), (0, 10**9), (-1, 3), (3, 2), (0, 1.5), (0, -1)]
    for start, stop in wrong:
        with pytest.raises(InvalidParameterError, match=r"^(start|stop) must be .*; got "):
            history.slice(start, stop)
    assert history.slice(0, count).matches == count
    assert history.slice(count, count).matches == 0


@pytest.mark.parametrize("prior", [0.0, 1.0])
def test_errors_are_of_rows(prior: float) -> None:
    games = eq.Games.from_arrays(["a", "b"], ["b", "a"], [1, 1])
    found = eq.performance_equilibrium(games, prior=prior)
    wrong: list[Any] = ["x", ["a"], [2], [-1], [0.5], 0, [[0, 1]]]
    for rows in wrong:
        for call in (found.errors, found.superiority):
            with pytest.raises(InvalidParameterError, match=r"^rows must be .*; got "):
                call(rows)
    assert found.errors([1]).tolist() == found.errors()[1:].tolist()


@pytest.mark.parametrize(
    ("rating", "deviation", "teams", "field"),
    [
        ([math.nan, 1.0], [0.0, 0.0], [[0], [1]], "rating"),
        ([math.inf, 1.0], [0.0, 0.0], [[0], [1]], "rating"),
        ([1.0, 1.0], [0.0, -1.0], [[0], [1]], "deviation"),
        ([1.0, 1.0], [0.0, math.nan], [[0], [1]], "deviation"),
        ([1.0, 1.0], [0.0, 0.0], [[0], [0]], "teams"),
        ([1.0, 1.0], [0.0, 0.0], [[0, 0], [1]], "teams"),
    ],
)
def test_chances_are_of_numbers_and_of_players_named_once(
    rating: list[float], deviation: list[float], teams: list[list[int]], field: str
) -> None:
    with pytest.raises(InvalidParameterError, match=f"^{field} must be .*; got "):
        eq.win_probability(rating, deviation, teams)

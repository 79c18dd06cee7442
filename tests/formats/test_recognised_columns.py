"""Columns of a history under other names: what is taken, what is refused, and what is said."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import equipoise as eq
from drawing import examples
from equipoise.errors import InvalidParameterError
from equipoise.formats.column_names import KNOWN, SYNONYMS
from equipoise.formats.meanings import ONE_COLUMN, nearest
from equipoise.formats.table import spelling
from equipoise.formats.values import OUTCOMES
from equipoise.messages.matches import MatchRequest
from formats.comparing import assert_same_history

#: Hints are checked as they are typed on the command line.
pytestmark = pytest.mark.usefixtures("options_in_messages")

ROOT = Path(__file__).parents[2]
TABLE: dict[str, list[Any]] = {
    "Match": [1, 1, 2, 2],
    "Player": ["ann", "bob", "ann", "bob"],
    "Rank": [1, 2, 2, 1],
}
USUAL = {"match": "Match", "player": "Player", "rank": "Rank"}
VALUES: dict[str, list[Any]] = {
    "time": ["2024-05-04", "2024-05-04", "2024-05-05", "2024-05-05"],
    "team": ["red", "blue", "red", "blue"],
    "winner": ["ann", "ann", "bob", "bob"],
}


def table_of(**columns: str) -> dict[str, list[Any]]:
    """Return a table with a column of a history under another name."""
    names = {**USUAL, **columns}
    return {
        old: TABLE[USUAL[new]] if new in USUAL else VALUES[new] for new, old in names.items() if old
    }


def assert_same_but_for_names(one: eq.History, other: eq.History) -> None:
    """Compare histories; attributes may have other names."""
    histories = (
        replace(history, attributes=dict(enumerate(history.attributes.values())))
        for history in (one, other)
    )
    assert_same_history(*histories)


@pytest.mark.parametrize("new", SYNONYMS)
def test_every_other_name_is_taken(new: str) -> None:
    names = dict(USUAL) | {new: new}
    if new == "winner":
        names["rank"] = ""
    usual = {one: one for one in names if names[one]}
    wanted = eq.read_history(table_of(**{**dict.fromkeys(names, ""), **usual}))
    for name in (*SYNONYMS[new], new.upper(), f" {new.title()}", f"{new[:2]}_-. {new[2:]}"):
        reading = eq.scan_history(table_of(**{**names, new: name}))
        assert reading.history is not None, (name, reading.problems)
        assert_same_but_for_names(reading.history, wanted)
        assert reading.columns[new] == name
        assert f"{name} as {new}" in reading.notes[0]


OTHER_NAMES = [
    *(name for names in SYNONYMS.values() for name in names),
    *(name.title() for name in KNOWN),
    *("rating", "points"),
]


@examples(60)
@given(
    extras=st.lists(st.sampled_from(OTHER_NAMES), unique=True, max_size=6),
    deciding=st.sampled_from(["rank", "winner", "score"]),
    when=st.booleans(),
    renamed=st.booleans(),
)
def test_a_table_with_the_exact_names_is_read_as_before(extras, deciding, when, renamed):
    """Columns that could be taken under other names are attributes, as they always were."""
    exact: dict[str, list[Any]] = {
        "match": [1, 1, 2, 2],
        "x" if renamed else "player": ["ann", "bob", "bob", "ann"],
        deciding: ["ann", "ann", "bob", "bob"] if deciding == "winner" else [1, 2, 3, 3],
    }
    if when:
        exact["time"] = VALUES["time"]
    columns = {"player": "x"} if renamed else None
    values = [[f"{name}{row}" for row in range(4)] for name in extras]
    plain = {f"extra {at}": column for at, column in enumerate(values)}
    wanted = eq.read_history({**exact, **plain}, columns=columns)
    history = eq.read_history({**exact, **dict(zip(extras, values, strict=True))}, columns=columns)
    assert_same_but_for_names(history, wanted)
    assert list(history.attributes) == [*(["score"] if deciding == "score" else []), *extras]


def test_of_two_columns_for_one_meaning_the_own_name_wins_or_one_must_be_chosen() -> None:
    table = {**TABLE, "Name": ["x", "y", "x", "y"]}
    assert eq.scan_history(table).columns["player"] == "Player"
    del table["Player"]
    table["player id"] = [7, 8, 7, 8]
    (problem,) = eq.scan_history(table).problems
    assert (problem.field, problem.rule) == ("player", ONE_COLUMN)
    assert problem.got == (
        "player id and Name, which differ: --column 'player=player id' or --column player=Name"
    )
    chosen = eq.scan_history(table, columns={"player": "Name"})
    assert chosen.columns["player"] == "Name"
    assert "player id" in chosen.history.attributes
    table = {"Match": [1, 1], "Player": ["a", "b"], "Place": [1, 2], "Position": [1, 2]}
    assert eq.scan_history(table).columns["rank"] == "Position"
    table["Position"] = [2, 1]
    (problem,) = eq.scan_history(table).problems
    assert (problem.field, problem.rule) == ("rank", ONE_COLUMN)
    table = {**table_of(), "Winner": ["ann", "ann", "bob", "bob"]}
    (problem,) = eq.scan_history(table).problems
    assert problem.got == (
        "Rank and Winner, which differ: --column rank=Rank or --column winner=Winner"
    )
    for new, old in (("rank", "Rank"), ("winner", "Winner")):
        reading = eq.scan_history(table, columns={new: old})
        assert reading.history is not None
        assert reading.columns[new] == old


def test_what_is_not_renamed_and_the_line_that_says_what_was_understood() -> None:
    table = {**TABLE, "Share": [1, 2, 3, 4]}
    history = eq.read_history(table, statistics=["Share"])
    assert list(history.statistics) == ["Share"]
    table = {**TABLE, "Team": ["x", "y", "x", "y"]}
    for name in ("Match", "match"):
        history = eq.read_history(table, where={name: 2})
        assert history.match_ids.tolist() == [2]
    table = {"Game": [1], "Player": ["a"], "Opponent": ["b"], "Score": [1]}
    reading = eq.scan_history(table)
    assert (reading.kind, reading.history.matches) == ("pairs", 1)
    assert eq.scan_games(table).kind == "pairs"
    exact = {"match": [1, 1], "player": ["a", "b"], "rank": [1, 2]}
    reading = eq.scan_history({**exact, "date": ["2024-05-04"] * 2})
    assert reading.history.time is None
    assert reading.notes == ("date is kept but not read as time (--column time=date does it)",)
    reading = eq.scan_history(table_of(match="game_id", rank="Place", time="Date"))
    (note,) = reading.notes
    assert note == "read game_id as match, Date as time, Player as player, Place as rank"
    names = {"match": "game_id", "time": "Date", "player": "Player", "rank": "Place"}
    assert dict(reading.columns) == names
    body = {"match": "1", "teams": [{"players": ["a"], "rank": 1}, {"players": ["b"], "rank": 2}]}
    assert msgspec.convert(body, MatchRequest).match == "1"
    for name in ("Match", "match_id", "player_name"):
        with pytest.raises(msgspec.ValidationError, match=name):
            msgspec.convert({**body, name: "1"}, MatchRequest)


@pytest.mark.parametrize(
    ("table", "hint"),
    [
        ({"match": [1], "playr": ["a"], "rank": [1]}, "did you mean --column player=playr?"),
        ({"match": [1], "spieler": ["a"], "rank": [1]}, "--column player=NAME says which"),
        ({"macth": [1], "player": ["a"], "rank": [1]}, "did you mean --column match=macth?"),
        ({"match": [1], "player": ["a"], "rnak": [1]}, "did you mean --column rank=rnak?"),
        ({"match": [1], "player": ["a"], "scroe": [1]}, "did you mean --column score=scroe?"),
        ({"match": [1], "Team": ["a"], "rank": [1]}, "like one player: --column player=Team"),
        (
            {"match": [1], "player": ["a"], "Total points": [1], "pts": [1]},
            "--column score=pts if more is better, with --lower-score-is-better if less is; "
            "--column rank=pts if it is the place",
        ),
        ({"white": [1], "blakc": ["a"], "result": [1]}, "did you mean --column black=blakc?"),
    ],
)
def test_a_missing_column_comes_with_what_to_type(table: dict[str, list[Any]], hint: str) -> None:
    (problem,) = eq.scan_history(table).problems
    assert hint in problem.got


@pytest.mark.parametrize("scan", [eq.scan_history, eq.scan_games])
def test_a_reversed_option_is_recognised(scan: Any) -> None:
    table = {"game_no": [1, 1], "player": ["a", "b"], "rank": [1, 2]}
    with pytest.raises(InvalidParameterError, match=r"--column match=game_no$"):
        scan(table, columns={"game_no": "match"})
    assert scan(table, columns={"match": "game_no"}).columns["match"] == "game_no"


@pytest.mark.parametrize(
    ("options", "hint"),
    [
        ({"columns": {"rank": "plcae"}}, r"did you mean --column rank=place\?"),
        ({"where": {"plcae": 1}}, r"did you mean 'place'\?"),
        ({"statistics": ["plcae"]}, r"did you mean 'place'\?"),
    ],
)
def test_options_name_the_nearest_column(options: dict[str, Any], hint: str) -> None:
    table = {"match": [1, 1], "player": ["a", "b"], "winner": ["a", "a"], "place": [1, 2]}
    with pytest.raises(InvalidParameterError, match=hint):
        eq.scan_history(table, **options)


@pytest.mark.parametrize(
    "words", [("win", "loss", "draw"), ("W", "L", "D"), ("Won", "lost ", "tie")]
)
@pytest.mark.parametrize("options", [{}, {"columns": {"rank": "Result"}}])
def test_words_of_results_are_places(words: tuple[str, ...], options: dict[str, Any]) -> None:
    won, lost, drawn = words
    table = {
        "Match": [1, 1, 2, 2, 3, 3],
        "Player": list("abbcca"),
        "Result": [lost, won, won, lost, drawn, drawn],
    }
    history = eq.read_history(table, **options)
    assert history.rank.tolist() == [1, 0, 0, 1, 0, 0]
    assert eq.read_games(table, **options).points.tolist() == [0.0, 1.0, 0.5]


@pytest.mark.parametrize(
    ("results", "got"),
    [
        (["win", "win"], "2 won, 0 drawn and 0 lost in match 1"),
        (["win", "draw"], "1 won, 1 drawn and 0 lost in match 1"),
        (["win", "win", "loss"], "2 won, 0 drawn and 1 lost in match 1"),
    ],
)
def test_words_that_contradict_each_other_are_refused(results: list[str], got: str) -> None:
    players = range(len(results))
    table = {"Match": [1] * len(results), "Player": [*players], "Result": results}
    (problem,) = eq.scan_history(table).problems
    assert (problem.line, problem.field, problem.rule, problem.got) == (1, "Result", OUTCOMES, got)


def test_words_count_for_teams_and_other_results_may_be_scores() -> None:
    table = {"Match": [1] * 4, "Player": list("abcd"), "Team": ["x", "x", "y", "y"]}
    history = eq.read_history({**table, "Result": ["l", "l", "w", "w"]})
    assert history.rank.tolist() == [1, 1, 0, 0]
    (problem,) = eq.scan_history({**table, "Result": ["l", "w", "w", "w"]}).problems
    assert problem.rule == "must be the same for all players of a team"
    for values in (["1", "2"], ["win", "1"], ["win", None]):
        table = {"Match": [1, 1], "Player": ["a", "b"], "Result": values}
        (problem,) = eq.scan_history(table).problems
        assert "--column score=Result" in problem.got


def test_every_name_means_one_column_and_is_in_the_reference() -> None:
    names = [spelling(name) for name in (*KNOWN, *(one for of in SYNONYMS.values() for one in of))]
    assert len(names) == len(set(names))
    page = (ROOT / "docs" / "reference" / "tables.md").read_text(encoding="utf-8")
    for new, names in SYNONYMS.items():
        assert f"| `{new}` | {', '.join(f'`{name}`' for name in names)} |" in page
    assert nearest(["player"], ["players", "payer", "rank", ""]) == ["players", "payer"]
    assert nearest(["player"], ["x", "match"]) == []
    assert np.all([nearest([name], [name.upper()]) for name in KNOWN])

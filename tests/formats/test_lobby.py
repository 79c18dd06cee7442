"""Lobby tables: every format gives the same lobby, every problem its line."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import equipoise.data.lobby as rules
from equipoise.data.lobby import Lobby
from equipoise.errors import InvalidDataError, NotFoundError
from equipoise.formats.players import (
    read_initial_ratings,
    read_lobby,
    read_lobby_noting,
    read_lobby_of,
    read_rating_list,
    read_strengths,
)
from equipoise.formats.values import FINITE, NOT_EMPTY, NUMBER
from equipoise.teams.lobby_split import balance

ROOT = Path(__file__).parents[2]
ROWS: list[dict[str, Any]] = [
    {"player": "ann", "rating": 1500.5, "deviation": 60.0, "effective_rating": 1510.0},
    {"player": "bob", "rating": 1400.0, "deviation": 90.0, "effective_rating": 1390.0},
    {"player": "cyd", "rating": 1600.0, "deviation": 350.0, "effective_rating": 1600.0},
]
EXTRA = [
    {"party": "p", "team": None, "avoid": None},
    {"party": None, "team": "red", "avoid": "ann;cyd"},
    {"party": "p", "team": None, "avoid": None},
]
FULL = [row | more for row, more in zip(ROWS, EXTRA, strict=True)]


def same(one: Lobby, other: Lobby) -> bool:
    columns = ("player_ids", "rating", "deviation", "effective_rating", "party", "team")
    return one.avoid == other.avoid and all(
        np.array_equal(getattr(one, name), getattr(other, name)) for name in columns
    )


def csv(text: str) -> Lobby:
    return read_lobby(io.BytesIO(text.encode()), format="csv")


def problems(text: str) -> list[str]:
    with pytest.raises(InvalidDataError) as caught:
        csv(text)
    return [f"{one.line} {one.field}: {one.rule}; {one.got}" for one in caught.value.problems]


def test_every_kind_of_table_gives_the_same_lobby() -> None:
    frame = pl.DataFrame(FULL)
    lobby = read_lobby(frame)
    assert lobby.avoid == (("bob", "ann"), ("bob", "cyd"))
    assert lobby.party.tolist() == ["p", None, "p"]
    assert lobby.team.tolist() == [None, "red", None]
    assert same(read_lobby(frame.write_csv().encode()), lobby)
    lists = [row | {"avoid": ["ann", "cyd"] if row["avoid"] else []} for row in FULL]
    parquet = io.BytesIO()
    pl.DataFrame(lists).write_parquet(parquet)
    lines = "\n".join(map(json.dumps, lists))
    for source in (json.dumps(lists), json.dumps({"players": lists}), lines):
        assert same(read_lobby(source.encode()), lobby)
    assert same(read_lobby(parquet.getvalue()), lobby)


def test_columns_of_a_lobby_are_taken_unless_they_lack_or_are_doubled() -> None:
    lobby = csv("player,rating,deviation,avoid\n7,1500,60,8;9\n8,1400,60,\n9,1300,60,7\n")
    assert lobby.avoid == ((7, 8), (7, 9), (9, 7))
    assert lobby.avoid_rows() == ((0, 1), (0, 2))
    lobby = csv("player,rating,deviation,form\na,1500,80,1\nb,1400,80,\n")
    # (37)-(41): a boost of 80, trust one half, blend 0.5: a quarter of it.
    assert lobby.strength.tolist() == [1520.0, 1400.0]
    both = csv(
        "player,rating,deviation,form,effective_rating\na,1500,80,1,1600\nb,1400,80,1,1300\n"
    )
    assert both.strength.tolist() == [1600.0, 1300.0]
    lobby, notes = read_lobby_noting({"Name": ["ann", "ben"], "Elo": [1500, 1600], "team": [1, 2]})
    assert lobby.player_ids.tolist() == ["ann", "ben"]
    assert lobby.rating.tolist() == [1500, 1600]
    assert lobby.team is not None
    assert notes == ("the lobby: Name was read as player", "the lobby: Elo was read as rating")
    assert "must be a column of the table" in problems("player,deviation\na,1\n")[0]
    assert "must have at least one row" in problems("player,rating,deviation\n")[0]
    with pytest.raises(InvalidDataError, match="player: must be a column of the table"):
        read_lobby({"Name": ["ann"], "Nickname": ["a"], "rating": [1500]})
    table = b"player,rating\nann,\nann,1500\nbob,1400\n"
    ratings = read_rating_list(io.BytesIO(table), columns={}, synonyms={}, what="the list")
    assert ratings.ids.to_list() == ["ann", "bob"]
    assert ratings.rating.tolist() == [1500, 1400]


@pytest.mark.parametrize(
    ("content", "by"),
    [
        ("player,rating\na,1500\nb,1400\nc,1310\n", "rating"),
        ("player,rating,deviation\na,1500,\nb,1400,\nc,1310,\n", "rating"),
        ("player,rating,form\na,1500,1\nb,1400,\nc,1310,\n", "rating"),
        (
            "player,rating,effective_rating\na,1500,1400\nb,1400,1500\nc,1310,1310\n",
            "effective rating",
        ),
    ],
)
def test_a_lobby_without_deviations_is_balanced_by_rating_alone(content: str, by: str) -> None:
    lobby = csv(content)
    assert lobby.deviation.tolist() == [0.0, 0.0, 0.0]
    result = balance(lobby)
    assert result.objective == result.rating_difference
    note, sizes = result.notes
    assert note == f"The lobby has no deviations: it is balanced by {by} alone (deviation 0)."
    assert "sizes" in sizes
    assert balance(csv("player,rating,deviation\na,1500,60\nb,1400,60\n")).notes == ()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (
            "player,rating,deviation,effective_rating\n"
            "ann,1500,60,1500\n,1400,x,1400\n\ncyd,inf,,\ndan,nan,60,1400\n",
            [
                f"3 player: {NOT_EMPTY}; nothing",
                f"3 deviation: {NUMBER}; 'x'",
                f"5 rating: {FINITE}; 'inf'",
                f"5 deviation: {NUMBER}; nothing",
                f"5 effective_rating: {NUMBER}; nothing",
                f"6 rating: {FINITE}; 'nan'",
            ],
        ),
        # A bad cell hides no other fault.
        (
            "player,rating,deviation\na,x,-5\na,1500,10\nb,1e99,10\n,1,2\n,1,2\n",
            [
                f"2 rating: {NUMBER}; 'x'",
                f"2 deviation: {rules.DEVIATION}; -5.0",
                f"3 player: {rules.ONCE}; 'a'",
                f"4 rating: {rules.RATING}; 1e+99",
                f"5 player: {NOT_EMPTY}; nothing",
                f"6 player: {NOT_EMPTY}; nothing",
            ],
        ),
        (
            "player,rating,deviation,form,avoid\na,x,60,1,c\nb,1500,-1,1,\nc,1,60,y,d\n",
            [
                f"2 rating: {NUMBER}; 'x'",
                f"3 deviation: {rules.DEVIATION}; -1.0",
                f"4 form: {NUMBER}; 'y'",
                f"4 avoid: {rules.IN_LOBBY}; 'd'",
            ],
        ),
    ],
)
def test_all_problems_are_listed_with_their_lines(text: str, found: list[str]) -> None:
    assert problems(text) == found


@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        (["a,1500,60", "a,1400,60"], "3 player: must be named once; 'a'"),
        (["a,1500,-1", "b,1400,60"], "2 deviation: must be a number from 0 to 1000000; -1.0"),
        (["a,1e9,60", "b,1,60"], f"2 rating: {rules.RATING}; 1000000000.0"),
        (["a,1500,60"], "None player: must have at least two players; 1"),
        (["a,1,1,,,x", "b,1,1"], "2 avoid: must name other players of the lobby; 'x'"),
        (["a,1,1,,,a", "b,1,1"], "2 avoid: must name other players of the lobby; 'a'"),
        (["a,1,1,p,,b", "b,1,1,p"], f"2 avoid: {rules.NOT_TOGETHER}; 'b'"),
        (["a,1,1,,red", "b,1,1,,red,a"], f"3 avoid: {rules.NOT_TOGETHER}; 'a'"),
        (
            ["a,1,1,p,red", "b,1,1,p,blue"],
            f"3 team: {rules.ONE_LOCK}; 'blue', while party 'p' is locked to 'red'",
        ),
    ],
)
def test_a_lobby_that_cannot_be_is_refused_with_its_line(rows: list[str], problem: str) -> None:
    padded = [row + "," * (5 - row.count(",")) for row in rows]
    text = "\n".join(["player,rating,deviation,party,team,avoid", *padded])
    assert problems(text) == [problem]


def test_players_are_picked_from_a_table_of_ratings(tmp_path: Path) -> None:
    path = tmp_path / "ratings.csv"
    path.write_text("player,rating,deviation,matches\n1,1500,60,5\n2,1400,61,5\n3,,,\n")
    lobby, notes = read_lobby_of(str(path), ["2", "1"])
    assert notes == ()
    assert lobby.player_ids.tolist() == [2, 1]
    assert lobby.deviation.tolist() == [61.0, 60.0]
    with pytest.raises(NotFoundError, match=r"not among the 3 rated players of .*: 4, 5"):
        read_lobby_of(str(path), ["1", "4", "5"])
    with pytest.raises(InvalidDataError, match="--players, player: must be named once; got 1"):
        read_lobby_of(str(path), ["1", "2", "1"])
    with pytest.raises(InvalidDataError, match="line 4, rating"):
        read_lobby_of(str(path), ["1", "3"])


def test_every_rule_of_a_lobby_is_explained() -> None:
    page = (ROOT / "docs" / "reference" / "messages.md").read_text(encoding="utf-8")
    found = [value for value in vars(rules).values() if str(value).startswith("must ")]
    assert len(found) == 7
    for rule in found:
        assert f"`{rule}`" in page


COMMAS = "player;rating\nJörg;1500,5\nann;1400\n"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (COMMAS.encode(), "read '1500,5' as 1500.5"),
        (COMMAS.replace(",5", ".5?").encode(), "marked as provisional"),
        (f"Friday, 8 pm\n{COMMAS}".encode(), "the header is line 2"),
        (COMMAS.encode("cp1252"), "read as Windows-1252"),
        (COMMAS.encode("utf-16"), "text in UTF-16"),
        (
            '{"teams": [{"name": "x"}], "players": [{"player": "Jörg", "rating": 1500.5}, '
            '{"player": "ann", "rating": 1400}]}'.encode("utf-16"),
            "the rows of players",
        ),
    ],
)
def test_lobbies_and_ratings_are_read_alike(content: bytes, said: str) -> None:
    lobby, notes = read_lobby_noting(io.BytesIO(content))
    known = read_initial_ratings(io.BytesIO(content))
    strengths = read_strengths(io.BytesIO(content), ["ann", "Jörg"])
    listed = read_rating_list(io.BytesIO(content), columns={}, synonyms={}, what="a list")
    for rating in (lobby.rating, known.rating, strengths.rating, listed.rating):
        assert rating.tolist() == [1500.5, 1400.0]
    assert lobby.player_ids.tolist() == known.player_ids.tolist() == ["Jörg", "ann"]
    for told in (notes, known.notes, strengths.notes, listed.notes):
        assert any(said in one for one in told)

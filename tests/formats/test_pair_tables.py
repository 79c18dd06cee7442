"""Tables of pairs: totals from one side or from both, and everything that contradicts itself."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import equipoise.data.games as rules
from drawing import examples
from equipoise.formats.games.lists import MIRROR, NOT_NEGATIVE, SIDES
from equipoise.formats.games.reading import read_games
from equipoise.formats.tables.values import NUMBER
from formats.reading_games import problems, rows, rows_of, scan

HEADER = "player,opponent,points,games\n"
ADDED_UP = "1 pairing has several rows in one direction, which are added up"


@pytest.mark.parametrize(
    ("text", "games", "notes"),
    [
        (f"{HEADER}a,b,2.5,4\nb,c,0,1\n", [("a", "b", 2.5, 4.0), ("b", "c", 0.0, 1.0)], ()),
        ("player,opponent,points\na,b,0.5\n", [("a", "b", 0.5, 1.0)], ()),
        ("player,opponent,wins,losses\na,b,3,1\n", [("a", "b", 3.0, 4.0)], ()),
        (
            "player,opponent,result\na,b,win\na,c,draw\na,d,*\n",
            [("a", "b", 1.0, 1.0), ("a", "c", 0.5, 1.0)],
            (),
        ),
        # A square matrix: the rows of the side that comes first stay.
        (
            f"{HEADER}a,b,2,3\nb,a,1,3\nc,a,1,1\nb,c,1,2\na,c,0,1\nc,b,1,2\n",
            [("a", "b", 2.0, 3.0), ("c", "a", 1.0, 1.0), ("b", "c", 1.0, 2.0)],
            ("every pairing is listed from both sides and counts once",),
        ),
        (
            f"{HEADER}a,b,2,3\na,b,1,1\nb,c,0,1\n",
            [("a", "b", 2.0, 3.0), ("a", "b", 1.0, 1.0), ("b", "c", 0.0, 1.0)],
            (ADDED_UP,),
        ),
        # Rows of each direction add up before they are compared.
        (
            f"{HEADER}a,b,1,1\na,b,1,2\nb,a,1,3\n",
            [("a", "b", 1.0, 1.0), ("a", "b", 1.0, 2.0)],
            ("every pairing is listed from both sides and counts once", ADDED_UP),
        ),
    ],
)
def test_a_row_is_all_that_two_players_did_against_each_other(
    text: str, games: list[Any], notes: tuple[str, ...]
) -> None:
    reading = scan(text)
    assert rows_of(reading.games) == games
    assert reading.notes == notes
    assert not reading.games.coloured


def test_wins_draws_and_losses_are_points_too() -> None:
    text = "player,opponent,wins,draws,losses\na,b,3,2,1\nb,c,0,1,0\n"
    reading = scan(text)
    assert rows(text) == [("a", "b", 4.0, 6.0), ("b", "c", 0.5, 1.0)]
    assert reading.games.draws.tolist() == [2.0, 1.0]
    assert rows("player,opponent,wins,losses\na,b,3,1\n") == [("a", "b", 3.0, 4.0)]


@pytest.mark.parametrize(
    ("mirror", "shown"),
    [("b,a,2,3", "2 of 3"), ("b,a,1,4", "1 of 4"), ("b,a,0,2", "0 of 2")],
)
def test_sides_that_contradict_each_other_are_named_with_both_lines(
    mirror: str, shown: str
) -> None:
    text = HEADER + f"c,b,1,1\na,b,2,3\nb,c,0,1\n{mirror}\n"
    assert problems(text) == [
        f"5 opponent: {MIRROR}; 'b' against 'a' {shown}, while line 3 has 'a' against 'b' 2 of 3"
    ]


def test_draws_must_mirror_each_other_too() -> None:
    text = "player,opponent,wins,draws,losses\na,b,1,0,1\nb,a,0,2,0\n"
    assert problems(text) == [
        f"3 opponent: {MIRROR}; 'b' against 'a' 1 of 2 with 2 drawn, "
        "while line 2 has 'a' against 'b' 1 of 2 with 0 drawn"
    ]


@pytest.mark.usefixtures("options_in_messages")
def test_pairings_of_which_only_some_are_told_from_both_sides_are_refused() -> None:
    some = HEADER + "a,b,2,3\nb,a,1,3\na,c,1,1\nb,c,0,1\n"
    assert problems(some) == [f"2 opponent: {SIDES}; 'a' against 'b' from both sides"]
    most = HEADER + "a,b,2,3\nb,a,1,3\na,c,1,1\nc,a,0,1\nb,c,0,1\n"
    assert problems(most) == [f"6 opponent: {SIDES}; 'b' against 'c' from one side only"]
    # Separate games belong into a list.
    names = {"white": "player", "black": "opponent"}
    assert len(rows(some, columns=names, format="games")) == 4


def test_rows_without_games_are_no_results() -> None:
    text = HEADER + "a,a,0,0\na,b,1,1\na,c,0,0\n"
    reading = scan(text)
    assert reading.problems == ()
    assert reading.notes == ("2 rows have no games",)
    assert reading.games.player_ids.tolist() == ["a", "b", "c"]
    assert reading.games.played().tolist() == [1.0, 1.0, 0.0]


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ("a,a,1,2", f"opponent: {rules.OTHER}; 'a'"),
        ("a,b,3,2", f"points: {rules.POINTS}; '3'"),
        ("a,b,-1,2", f"points: {rules.POINTS}; '-1'"),
        ("a,b,,2", f"points: {NUMBER}; nothing"),
        ("a,b,1,", f"games: {NUMBER}; nothing"),
        ("a,b,0,-1", f"games: {NOT_NEGATIVE}; '-1'"),
        (",b,1,2", "player: must not be empty; nothing"),
        ("a,,1,2", "opponent: must not be empty; nothing"),
    ],
)
def test_every_rule_has_its_line(row: str, problem: str) -> None:
    found = problems(HEADER + f"x,y,1,1\n{row}\n")
    assert f"3 {problem}" in found
    assert {one[:2] for one in found} == {"3 "}


def test_negative_counts_are_refused() -> None:
    text = "player,opponent,wins,draws,losses\na,b,-1,2,3\nb,c,0,0,-1\n"
    assert problems(text) == [f"2 wins: {NOT_NEGATIVE}; '-1'", f"3 losses: {NOT_NEGATIVE}; '-1'"]


def test_ratings_of_rows_that_only_mirror_others_count() -> None:
    """The column rating is the player's, so that an opponent's stands in the mirrored row."""
    text = "player,opponent,points,games,rating\na,b,2,3,1500\nb,a,1,3,1400\n"
    reading = scan(text)
    assert reading.games.initial.tolist() == [1500.0, 1400.0]
    both = "player,opponent,points,player_rating,opponent_rating\na,b,1,1500,1400\n"
    games = scan(both).games
    assert games.initial.tolist() == [1500.0, 1400.0]


PAIRS = [(f"p{one}", f"p{other}") for one in range(5) for other in range(one)]


@examples(50)
@given(
    pairs=st.lists(
        st.tuples(st.sampled_from(PAIRS), st.integers(1, 9), st.integers(0, 18)),
        min_size=1,
        unique_by=lambda pair: pair[0],
    ),
    order=st.randoms(use_true_random=False),
)
def test_one_side_both_sides_and_any_order_give_the_same_totals(pairs: Any, order: Any) -> None:
    """Points and games of every player, from half the table and from the whole of it."""

    def totals(table: list[tuple[str, str, float, int]]) -> dict[str, tuple[float, float]]:
        frame = pl.DataFrame(table, schema=["player", "opponent", "points", "games"], orient="row")
        games = read_games(frame.cast({"points": pl.Float64}))
        sums = zip(games.scored().tolist(), games.played().tolist(), strict=True)
        return dict(zip(games.player_ids.tolist(), sums, strict=True))

    half = [(*pair, min(halves, 2 * games) / 2, games) for pair, games, halves in pairs]
    whole = half + [(other, one, n - points, n) for one, other, points, n in half]
    order.shuffle(whole)
    assert totals(half) == totals(whole)

"""Lists of games, tables of pairs, and long tables of duels, read as games."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import equipoise.data.games as rules
from drawing import examples
from equipoise.errors import InvalidParameterError
from equipoise.formats.conversions import DUEL
from equipoise.formats.game_lists import MIRROR, NOT_NEGATIVE, SIDES
from equipoise.formats.games import read_games, scan_games
from equipoise.formats.times import TIME
from equipoise.formats.two_sides import RESULT
from equipoise.formats.values import NOT_EMPTY, NUMBER
from formats.comparing import real_data
from formats.reading_games import problems, rows, rows_of, scan

#: Hints are checked as they are typed on the command line.
pytestmark = pytest.mark.usefixtures("options_in_messages")


@pytest.mark.parametrize(
    ("points", "spellings"),
    [
        (1.0, "1-0 | 1 - 0 | 1:0 | 1\u20130 | 1.0-0.0 | 1 | 1.0 | white | White | Win"),
        (0.0, "0-1 | 0:1 | 0\u22121 | 0 | 0.0 | black | loss"),
        (0.5, "1/2-1/2 | \u00bd-\u00bd | \u00bd\u2013\u00bd | 1/2 | \u00bd | 0.5-0.5 | 0.50 | .5"),
        (0.5, '"0,5" | = | draw | Tie | tie (bothbad)'),
    ],
)
def test_a_result_is_known_in_many_spellings(points: float, spellings: str) -> None:
    for spelling in spellings.split(" | "):
        text = f"white,black,result\na,b,{spelling}\n"
        assert rows(text) == [("a", "b", points, 1.0)], spelling


@pytest.mark.parametrize(
    ("reason", "spellings"),
    [
        ("unfinished", "* | ? | *-* | NA | n/a | NA-NA"),
        ("forfeit", "+/- | -/+ | -/- | +- | +:- | -- | 1-0F | 0F-1 | 0f-0f | + | 1-0 ff | 0-0"),
        ("bye", "bye | BYE"),
        ("adjudged", "1/2-0 | 0-\u00bd"),
    ],
)
def test_what_was_not_played_is_left_out_and_counted(reason: str, spellings: str) -> None:
    """READINGS C6: byes, forfeits and unplayed games are not games."""
    for spelling in spellings.split(" | "):
        reading = scan(f"white,black,result\na,b,1-0\nc,a,{spelling}\n")
        assert reading.problems == (), spelling
        assert reading.left_out == {reason: 1}, spelling
        assert rows_of(reading.games) == [("a", "b", 1.0, 1.0)]
        # Who has no game is still a player of the tournament.
        assert reading.games.player_ids.tolist() == ["a", "b", "c"]
        assert reading.games.played().tolist() == [1.0, 1.0, 0.0]


def test_byes_and_forfeits_of_a_list_count_in_its_rounds(monkeypatch) -> None:
    """With their points, as those of a report do; who has no row in a round is unknown there."""
    rows = "1,a,b,1-0 1,c,d,½-½ 2,a,c,+- 2,b,bye, 3,a,d,0-0 3,bye,c,½ 3,b,bye,0 4,d,b,+/- 4,bye,a,1"
    lines = "\n".join(["round,white,black,result", *rows.split(" ")])
    rounds = scan(lines).games.rounds
    kinds = [[rules.ROUND_KINDS[kind] for kind in row] for row in rounds.kind.tolist()]
    assert kinds == [
        ["played", "forfeit-win", "forfeit-loss", "pairing-bye"],
        ["played", "pairing-bye", "zero-bye", "forfeit-loss"],
        ["played", "forfeit-loss", "half-bye", "unknown"],
        ["played", "unknown", "forfeit-loss", "forfeit-win"],
    ]
    assert rounds.scored().tolist() == [3.0, 1.0, 1.0, 1.5]
    assert rounds.opponent[:, 1].tolist() == [2, -1, 0, -1]
    # Without rounds there are none, and a forfeit that nobody won is unknown.
    assert scan("white,black,result\na,b,1-0\nb,a,+:-\n").games.rounds is None
    doubtful = scan("round,white,black,result\n1,a,b,1-0\n2,b,a,forfeit\n").games.rounds
    assert doubtful.kind[:, 1].tolist() == [rules.KIND["unknown"]] * 2
    text = (
        "white,black,result\n1,2,1-0\n3,,bye\n2,Not paired,1-0\nspielfrei,1,0-1\n,3,bye\n2,--,+\n"
    )
    reading = scan(text)
    assert reading.problems == ()
    assert reading.left_out == {"bye": 5}
    assert reading.games.player_ids.tolist() == [1, 2, 3]
    assert problems("white,black,result\na,b,1\n,,bye\n") == [
        f"3 white: {NOT_EMPTY}; nothing",
        f"3 black: {NOT_EMPTY}; nothing",
    ]
    monkeypatch.setattr(rules, "MOST_CELLS", 100)
    text = "round,white,black,result\n1,a,b,1-0\n{},c,bye,1\n"
    assert scan(text.format(33)).games.rounds.rounds == 33
    assert scan(text.format(34)).games.rounds is None


@pytest.mark.parametrize(
    ("results", "kind"),
    [
        ("= ½ draw 1/2-1/2", "half-bye"),
        ("- -/+ -- 0 0-1 loss", "zero-bye"),
        ("+ +/- 1 1-0 bye", "pairing-bye"),
    ],
)
def test_a_bye_counts_as_its_result_says(results: str, kind: str) -> None:
    byes = [f"{at},a,bye,{result}" for at, result in enumerate(results.split(), 2)]
    rounds = scan("\n".join(["round,white,black,result", "1,a,b,1-0", *byes])).games.rounds
    assert [rules.ROUND_KINDS[at] for at in rounds.kind[0, 1:]] == [kind] * len(byes)


@pytest.mark.parametrize(
    "result", ["", "2-0", "1-1", "x", "1-", "0.7", "01-Jan", "-1", "nan", "1/2-1", "1e0"]
)
def test_anything_else_is_no_result(result: str) -> None:
    [problem] = problems(f"white,black,result\na,b,1-0\nc,a,{result}\n")
    got = repr(result) if result else "nothing"
    assert problem == f"3 result: {RESULT}; {got}"


def test_columns_can_be_renamed_and_of_two_for_one_meaning_none_is_guessed() -> None:
    text = "Weiss,Schwarz,Ergebnis,black\na,b,1-0,x\n"
    names = {"white": "Weiss", "black": "Schwarz", "result": "Ergebnis"}
    assert rows(text, columns=names) == [("a", "b", 1.0, 1.0)]
    with pytest.raises(
        InvalidParameterError, match=r"must name a column of the table.*did you mean"
    ):
        scan(text, columns={"white": "Wei\u00df"})
    assert problems("White,white,black,result\na,a,b,1-0\n") == [
        "None White: must be the name of only one column; White, white; choose "
        "--column white=White or --column white=white"
    ]
    assert problems("white,black,result,points\na,b,1-0,1\n") == [
        "None points: cannot be combined with result: only one of the two can decide a game; "
        "points and result; --column unused=points makes points a column like any other"
    ]
    text = "white,black,result,points\na,b,1-0,1\n"
    assert rows(text, columns={"unused": "points"}) == [("a", "b", 1.0, 1.0)]
    # A renamed column is the one that was meant.
    text = "White,white,black,result\na,x,b,1-0\n"
    assert rows(text, columns={"white": "White"}) == [("a", "b", 1.0, 1.0)]


def test_a_table_that_fits_nothing_says_what_each_kind_would_need() -> None:
    found = problems("white,opponent,result\na,b,1-0\n")
    assert [one.partition(";")[2] for one in found] == [
        " no black, but columns white, opponent, result; --column black=NAME says which column it "
        "is",
        " no player; --column player=NAME says which column it is",
        " no match, no player, no rank",
    ]
    assert found[0].startswith("None : must have white, black and result (or points, or")
    names = [f"statistic_{number}" for number in range(60)]
    found = problems(f"{','.join(names)}\n{','.join(['1'] * 60)}\n")
    assert " and 51 more" in found[0]
    assert max(map(len, found)) < 320


def test_points_and_games_of_a_row_are_totals_and_weights_multiply_them() -> None:
    text = "white,black,points,games\na,b,2.5,4\nb,c,0,1\n"
    assert rows(text) == [("a", "b", 2.5, 4.0), ("b", "c", 0.0, 1.0)]
    assert rows("white,black,points\na,b,0.25\n") == [("a", "b", 0.25, 1.0)]
    text = "white,black,result,weight\na,b,1/2,0.5\nb,c,1-0,\nc,a,0-1,3\n"
    reading = scan(text)
    assert rows_of(reading.games) == [("a", "b", 0.25, 0.5), ("b", "c", 1.0, 1.0), ("c", "a", 0, 3)]
    assert reading.games.draws.tolist() == [0.5, 0.0, 0.0]


@pytest.mark.parametrize(
    ("text", "draws"),
    [
        ("white,black,result\na,b,1/2\nb,c,1-0\n", [1.0, 0.0]),
        ("white,black,points,games\na,b,2,4\n", None),
        ("white,black,points,games,draws\na,b,2,4,2\n", [2.0]),
    ],
)
def test_draws_are_known_where_results_tell_them(text: str, draws: list[float] | None) -> None:
    games = scan(text).games
    assert (None if games.draws is None else games.draws.tolist()) == draws


def test_unrated_players_are_written_in_many_ways_and_ids_keep_their_type() -> None:
    given = ["", "0", "-", "?", "unrated", "N/A", "NaN", "--"]
    text = "white,black,result,white_elo,black_elo\n" + "".join(
        f"p{at},q,1-0,{rating},2000\n" for at, rating in enumerate(given)
    )
    reading = scan(text)
    assert reading.problems == ()
    initial = dict(zip(reading.games.player_ids, reading.games.initial, strict=True))
    assert initial.pop("q") == 2000.0
    assert np.isnan(list(initial.values())).all()
    assert rows("white,black,result\n7,8,1-0\n8,9,0-1\n")[0][:2] == (7, 8)
    assert rows("white,black,result\n7,x,1-0\n")[0][:2] == ("7", "x")
    assert rows("white,black,result\n7,08,1-0\n")[0][:2] == ("7", "08")
    frame = pl.DataFrame({"white": [7, 8], "black": ["x", "7"], "result": [1, 0]})
    assert [row[:2] for row in rows_of(read_games(frame))] == [("7", "x"), ("8", "7")]
    whole = frame.with_columns(pl.Series("black", [9, 7], dtype=pl.UInt8))
    assert [row[:2] for row in rows_of(read_games(whole))] == [(7, 9), (8, 7)]


@pytest.mark.parametrize(
    ("header", "row", "problem"),
    [
        ("white,black,result", "a,a,1-0", f"black: {rules.OTHER}; 'a'"),
        ("white,black,result", ",b,1-0", f"white: {NOT_EMPTY}; nothing"),
        ("white,black,result", "b, ,1-0", f"black: {NOT_EMPTY}; ' '"),
        ("white,black,points", "a,b,1.5", f"points: {rules.POINTS}; '1.5'"),
        ("white,black,points", "a,b,-1", f"points: {rules.POINTS}; '-1'"),
        ("white,black,points", "a,b,", f"points: {NUMBER}; nothing"),
        ("white,black,points", "a,b,win", f"points: {NUMBER}; 'win'"),
        ("white,black,points,games", "a,b,5,4", f"points: {rules.POINTS}; '5'"),
        ("white,black,points,games", "a,b,0,0", f"games: {rules.WEIGHT}; '0'"),
        ("white,black,points,games", "a,b,0,", f"games: {NUMBER}; nothing"),
        ("white,black,points,games,draws", "a,b,1,2,3", f"draws: {rules.DRAWS}; '3'"),
        ("white,black,result,weight", "a,b,1-0,-2", f"weight: {rules.WEIGHT}; '-2'"),
        ("white,black,result,weight", "a,b,1-0,0", f"weight: {rules.WEIGHT}; '0'"),
        ("white,black,result,weight", "a,b,1-0,inf", "weight: must be a finite number; 'inf'"),
        ("white,black,result,WhiteElo", "a,b,1-0,abc", f"WhiteElo: {NUMBER}; 'abc'"),
        ("white,black,result,WhiteElo", "a,b,1-0,1e9", f"WhiteElo: {rules.RATING}; '1e9'"),
    ],
)
def test_every_rule_has_its_line(header: str, row: str, problem: str) -> None:
    good = {"draws": "x,y,1,1,0", "result": "x,y,1", "points": "x,y,1"}.get(
        header.rpartition(",")[2], "x,y,1,1"
    )
    assert problems(f"{header}\n{good}\n\n{row}\n") == [f"4 {problem}"]


def test_games_and_matches_can_be_chosen_and_unrated_ones_do_not_count() -> None:
    text = "white,black,result,Event,round\na,b,1-0,Cup,1\nc,d,x,Open,1\nb,a,0-1,Cup,2\n"
    reading = scan(text, where={"event": "Cup"})
    assert reading.problems == ()  # what is not asked for is not judged
    assert reading.left_out == {"filtered": 1}
    assert reading.games.player_ids.tolist() == ["a", "b"]
    assert len(rows(text, where={"Event": "Cup", "round": "2"})) == 1
    assert len(rows(text, columns={"stage": "Event"}, where={"stage": "Cup"})) == 2
    with pytest.raises(InvalidParameterError, match=r"where .* must name a column .*; got 'place'"):
        scan(text, where={"place": "x"})
    none = scan(text, where={"Event": "Nowhere"})
    assert none.games is None
    assert str(none.problems[0]).endswith("must hold at least one game; got none, but 3 filtered")
    text = "white,black,result,Date\na,b,1-0,2024-01-01\nb,a,1-0,2024-02-01\na,b,1-0,2024-03-01\n"
    assert scan(text, since="2024-01-15", until="2024-03-01").left_out == {"filtered": 2}
    bad = text.replace("2024-02-01", "May")
    assert problems(bad, since="2024-01-15") == [f"3 Date: {TIME}; 'May'"]
    text = "white,black,result,event\na,b,1-0,Cup\na,b\n"
    assert problems(text, where={"event": "Cup"}) == [
        "3 : must have 4 fields like the header; 2: 'a,b'"
    ]
    text = (
        "match,time,player,rank,rated,cup\n1,1,a,1,yes,x\n1,1,b,2,yes,x\n"
        "2,2,a,1,no,x\n2,2,b,2,no,x\n3,3,b,1,yes,y\n3,3,a,2,yes,y\n"
    )
    assert scan(text).left_out == {"unrated": 1}
    assert scan(text, where={"cup": "x"}).left_out == {"unrated": 1, "filtered": 1}
    # The unrated match is of the other cup, and counts once.
    assert scan(text, where={"cup": "y"}).left_out == {"unrated": 1, "filtered": 1}
    assert rows(text, since=2) == [("b", "a", 1.0, 1.0)]
    assert rows(text.replace("match", "game"), columns={"match": "game"})[0][:2] == ("a", "b")
    with pytest.raises(InvalidParameterError, match=r"where .* must name a column"):
        scan(text, where={"place": "x"})
    nothing = scan(text, where={"cup": "z"})
    assert [one.rule for one in nothing.problems] == ["must leave at least one match"]


def test_results_are_numbers_or_what_the_rule_offers() -> None:
    for results in ([1, 0, 1], [1.0, 0.5, 0.0], np.array([0.5, 1, 0])):
        table = {"white": ["a", "b", "c"], "black": ["b", "c", "a"], "result": results}
        assert read_games(table).points.tolist() == [float(one) for one in results]
    wrong = scan_games({"white": ["a"], "black": ["b"], "result": [[1]]})
    assert [one.rule for one in wrong.problems] == [RESULT]
    offered = re.findall(r"[\d.*+][\d./F*-]*", RESULT)
    assert offered == ["1-0", "0-1", "1/2-1/2", "1", "0", "0.5", "+/-", "1-0F", "*"]
    for spelling in offered:
        assert scan(f"white,black,result\na,b,1-0\na,b,{spelling}\n").problems == (), spelling


# --- tables of pairs ---


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
def test_a_row_is_all_that_two_players_did_against_each_other(text, games, notes):
    reading = scan(text)
    assert rows_of(reading.games) == games
    assert reading.notes == notes
    assert not reading.games.coloured


def test_wins_draws_and_losses_are_points_and_ratings_of_pairs_count() -> None:
    text = "player,opponent,wins,draws,losses\na,b,3,2,1\nb,c,0,1,0\n"
    reading = scan(text)
    assert rows(text) == [("a", "b", 4.0, 6.0), ("b", "c", 0.5, 1.0)]
    assert reading.games.draws.tolist() == [2.0, 1.0]
    assert rows("player,opponent,wins,losses\na,b,3,1\n") == [("a", "b", 3.0, 4.0)]
    text = HEADER + "a,a,0,0\na,b,1,1\na,c,0,0\n"
    reading = scan(text)
    assert reading.problems == ()
    assert reading.notes == ("2 rows have no games",)
    assert reading.games.player_ids.tolist() == ["a", "b", "c"]
    assert reading.games.played().tolist() == [1.0, 1.0, 0.0]
    text = "player,opponent,wins,draws,losses\na,b,-1,2,3\nb,c,0,0,-1\n"
    assert problems(text) == [f"2 wins: {NOT_NEGATIVE}; '-1'", f"3 losses: {NOT_NEGATIVE}; '-1'"]
    text = "player,opponent,points,games,rating\na,b,2,3,1500\nb,a,1,3,1400\n"
    reading = scan(text)
    assert reading.games.initial.tolist() == [1500.0, 1400.0]
    both = "player,opponent,points,player_rating,opponent_rating\na,b,1,1500,1400\n"
    games = scan(both).games
    assert games.initial.tolist() == [1500.0, 1400.0]


@pytest.mark.parametrize(
    ("mirror", "shown"), [("b,a,2,3", "2 of 3"), ("b,a,1,4", "1 of 4"), ("b,a,0,2", "0 of 2")]
)
def test_sides_that_contradict_each_other_are_named_with_both_lines(mirror, shown):
    text = HEADER + f"c,b,1,1\na,b,2,3\nb,c,0,1\n{mirror}\n"
    assert problems(text) == [
        f"5 opponent: {MIRROR}; 'b' against 'a' {shown}, while line 3 has 'a' against 'b' 2 of 3"
    ]
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
def test_every_rule_of_pairs_has_its_line(row: str, problem: str) -> None:
    found = problems(HEADER + f"x,y,1,1\n{row}\n")
    assert f"3 {problem}" in found
    assert {one[:2] for one in found} == {"3 "}


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


# --- long tables of duels ---


def test_ranks_neutral_ground_ratings_and_weights_of_duels_are_taken() -> None:
    text = "match,player,rank\n1,ann,1\n1,bob,2\n2,bob,0\n2,ann,0\n3,cyd,3\n3,ann,2\n"
    assert rows(text) == [("ann", "bob", 1, 1), ("bob", "ann", 0.5, 1), ("cyd", "ann", 0, 1)]
    games = scan(text).games
    assert not games.coloured
    assert games.draws.tolist() == [0.0, 1.0, 0.0]
    text = "match,player,rank,at_home\n1,a,1,0\n1,b,2,1\n2,b,1,0\n2,a,2,0\n3,b,1,1\n3,a,2,1\n"
    games = scan(text).games
    assert rows_of(games) == [("b", "a", 0.0, 1.0), *[("b", "a", 1.0, 1.0)] * 2]
    assert not games.coloured
    text = "match,player,rank,rating,weight\n1,a,1,1500,2\n1,b,2,-,2\n2,b,1,1400,1\n2,a,1,1510,1\n"
    games = scan(text).games
    assert rows_of(games) == [("a", "b", 2.0, 2.0), ("b", "a", 0.5, 1.0)]
    assert games.initial.tolist() == [1500.0, 1400.0]
    assert games.draws.tolist() == [0.0, 1.0]
    document = '{"name": "final", "time_seconds": 5, "standings": [["a", 0, 0], ["b", 1, 1]]}'
    for format in ("json", "contests", "history"):
        assert rows(document, format) == [("a", "b", 1.0, 1.0)]


@pytest.mark.parametrize(
    ("text", "games"),
    [
        ("match,player,score\n1,7,3\n1,8,1\n2,8,2\n2,7,2\n", [(7, 8, 1, 1), (8, 7, 0.5, 1)]),
        ("match,player,winner\n1,7,7\n1,8,7\n2,8,\n2,7,\n", [(7, 8, 1, 1), (8, 7, 0.5, 1)]),
        # Where there are opponents, a score is one of a table of pairs.
        ("match,player,opponent,score\n1,7,8,1\n", [(7, 8, 1, 1)]),
    ],
)
def test_scores_and_winners_may_decide_instead(text: str, games: list[tuple[float, ...]]) -> None:
    assert rows(text) == games


@pytest.mark.parametrize(
    ("column", "home", "away"),
    [
        ("at_home", "true", "false"),
        ("at_home", "1", "0"),
        ("side", "White", "Black"),
        ("colour", "w", "b"),
        ("home", "yes", "no"),
    ],
)
def test_the_one_at_home_comes_first(column: str, home: str, away: str) -> None:
    text = f"match,player,rank,{column}\n1,a,1,{away}\n1,b,2,{home}\n2,b,1,{home}\n2,a,2,{away}\n"
    assert rows(text) == [("b", "a", 0.0, 1.0), ("b", "a", 1.0, 1.0)]
    games = scan(text).games
    assert games.coloured


def test_problems_of_duels_are_told_with_their_lines() -> None:
    text = (
        "match,player,team,rank\n"
        "1,a,,1\n1,b,,2\n"
        "2,a,,1\n2,b,,2\n2,c,,3\n"
        "x,a,red,1\nx,b,red,1\nx,c,blue,2\n"
        "3,a,red,1\n3,b,red,1\n"
        "4,a,,1\n"
    )
    assert problems(text) == [
        f"4 match: {DUEL}; 3 players in match '2'",
        f"7 match: {DUEL}; 3 players in 2 teams in match 'x'",
        f"10 match: {DUEL}; 2 players in 1 team in match '3'",
        f"12 match: {DUEL}; 1 player in match '4'",
    ]
    text = "match,player,rank\n1,a,1\n1,b,x\n2,a,1\n2,b,2\n"
    assert problems(text) == ["3 rank: must be a whole number from 0; 'x'"]
    found = problems("match,player,rank,elo\n1,a,1,many\n1,b,1,1e7\n")
    assert found == [
        "2 elo: must be a number; 'many' of a",
        "2 elo: must be a number from -1000000 to 1000000; '1e7' of b",
    ]
    assert problems("match,player\n1,a\n", format="history")[0].startswith("None rank: needs a r")


def test_the_world_cup_of_2022_has_64_matches() -> None:
    games = read_games(
        real_data("football.parquet"),
        where={"tournament": "FIFA World Cup"},
        since="2022-11-01",
        until="2023-01-01",
    )
    assert (games.rows, games.players) == (64, 32)
    played = dict(zip(games.player_ids.tolist(), games.played().tolist(), strict=True))
    assert played["Argentina"] == played["France"] == 7.0
    assert min(played.values()) == 3.0

"""From names to players, what is left out or skipped, and what is pointed out."""

from __future__ import annotations

import io
import re
from collections import Counter
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import equipoise.data.games as rules
from equipoise.data.games import GameColumns, id_array
from equipoise.errors import Problem
from equipoise.formats.games import GAME, assemble_games, scan_games
from equipoise.formats.table import GamesReading
from formats.reading_games import rows_of, scan
from formats.trf_writing import player_line, report

HEAD = "white,black,result\n"


def of_columns(
    white: list[int], black: list[int], points: list[float], *players: str, **more: Any
) -> GamesReading:
    """Return what is made of columns of a reader, whose results are on every tenth line."""
    columns = GameColumns(
        players=id_array(list(players)),
        white=np.array(white, np.int64),
        black=np.array(black, np.int64),
        points=np.array(points, float),
        locate=lambda row: ("club.pgn", 10 * row + 1),
        **more,
    )
    return assemble_games(columns, "club.pgn")


def test_ids_become_rows_in_the_order_in_which_they_appear() -> None:
    """White before black, row by row, then those who are only named."""
    games = scan(f"{HEAD}ed,al,*\ncy,bo,1-0\nal,di,0-1\nal,fay,*\n").games
    assert games.player_ids.tolist() == ["cy", "bo", "al", "di", "ed", "fay"]
    assert games.white.tolist() == [0, 2]
    assert games.black.tolist() == [1, 3]


def test_players_whom_no_row_names_are_not_players_of_these_games() -> None:
    games = of_columns([2, 0], [0, 1], [1, 0.5], *"abcde", others=np.array([3, 1])).games
    assert rows_of(games) == [("c", "a", 1, 1), ("a", "b", 0.5, 1)]
    assert games.player_ids.tolist() == ["c", "a", "b", "d"]


def test_rounds_are_known_from_the_rounds_of_games_alone() -> None:
    """As in most PGN files: every named player has a game, and there are no byes."""
    games = of_columns([0, 2], [1, 0], [1, 0.5], *"abc", round=id_array(["1.1", "2.1"])).games
    played, unknown = rules.KIND["played"], rules.KIND["unknown"]
    assert games.rounds.kind.tolist() == [[played, played], [played, unknown], [unknown, played]]


@pytest.mark.parametrize(
    ("text", "synonyms", "players"),
    [
        ("Li2,x,1\nLi,y,1\nLi3,x,*\n", {"Li2": "Li"}, ["Li", "x", "y", "Li3"]),
        # A name that no game has.
        ("a,c,1\nb,c,1\n", {"a": "new", "b": "new"}, ["new", "c"]),
        ("1,3,1\n2,3,0\n", {"2": "bo"}, ["1", "3", "bo"]),
        # Whole numbers stay whole where they can.
        ("1,3,1\n2,3,0\n", {"2": "1"}, [1, 3]),
        ("1,3,1\n2,3,0\n", {"2": "7"}, [1, 3, 7]),
    ],
)
def test_synonyms_join_names(text: str, synonyms: dict[str, str], players: list[Any]) -> None:
    games = scan(HEAD + text, synonyms=synonyms).games
    assert games.player_ids.tolist() == players


@pytest.mark.parametrize(("count", "more"), [(4, ""), (6, " and 2 more")])
def test_synonyms_of_nobody_are_noted(count: int, more: str) -> None:
    (note,) = scan(f"{HEAD}a,b,1\n", synonyms={f"x{at}": "y" for at in range(count)}).notes
    assert note == f"names in the synonyms that do not occur: 'x0', 'x1', 'x2', 'x3'{more}"


def test_the_first_rating_is_the_initial_one_and_others_are_noted() -> None:
    head = "white,black,result,white_elo,black_elo\n"
    reading = scan(f"{head}a,b,1,,1405\nb,a,0,1400,1500\na,c,0.5,1510,\nd,c,*,1300,\n")
    games = reading.games
    assert games.player_ids.tolist() == ["a", "b", "c", "d"]
    np.testing.assert_array_equal(games.initial, [1500.0, 1405.0, np.nan, 1300.0])
    # A game that gives no rating has the initial one.
    np.testing.assert_array_equal(games.white_rating, [1500.0, 1400.0, 1510.0])
    np.testing.assert_array_equal(games.black_rating, [1405.0, 1500.0, np.nan])
    note = "ratings differ between games; the first one is the initial rating: "
    assert reading.notes == (f"{note}a (1500, 1510), b (1405, 1400)",)
    many = "".join(f"p{at % 9},z,1,{1500 + at},\n" for at in range(18))
    assert scan(head + many).notes == (
        f"{note}p0 (1500, 1509), p1 (1501, 1510), p2 (1502, 1511), p3 (1503, 1512) and 5 more",
    )


def test_ratings_that_never_change_need_no_columns_of_their_own() -> None:
    games = scan("white,black,result,white_elo\na,b,1,1500\na,b,0,\n").games
    assert games.white_rating is games.black_rating is None
    assert scan("white,black,result,white_elo\na,b,1,\n").games.rating is None


def round_robin(players: int) -> list[tuple[str, str]]:
    return list(combinations([f"p{at}" for at in range(players)], 2))


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        (round_robin(6), None),
        (round_robin(6) * 2, None),
        ([*round_robin(6), ("p1", "p0")], "most pairings occur once, .* occur more often: p0 - p1"),
        ([*round_robin(6) * 2, ("p1", "p0")], "most pairings occur twice, .*: p0 - p1"),
        # One game too many where another one is missing: a name that was mistaken.
        ([*round_robin(6)[:-1], ("p1", "p0")], "most pairings occur once, .*: p0 - p1"),
        # No round robin: a match, a small event, games at random.
        ([("a", "b")] * 6, None),
        ([*round_robin(3), ("p1", "p0")], None),
        (round_robin(9)[::4] * 2 + round_robin(9)[::7], None),
        ([("hub", f"p{at}") for at in range(9)] * 2, None),
    ],
)
def test_pairings_that_occur_again_are_noted_in_a_round_robin(
    pairs: list[tuple[str, str]], expected: str | None
) -> None:
    notes = scan(HEAD + "".join(f"{one},{other},1\n" for one, other in pairs)).notes
    assert len(notes) == (expected is not None)
    assert expected is None or re.fullmatch(expected, notes[0])


def test_likely_doubles_are_pointed_out_and_not_merged() -> None:
    reading = scan(f'{HEAD}Li Chao2,Li Chao,1\n"Carlsen, Magnus","Carlsen,M",0\n')
    assert reading.games.players == 4
    assert reading.notes == (
        "'Li Chao2' and 'Li Chao' may be one player",
        "'Carlsen, Magnus' and 'Carlsen,M' may be one player",
    )


def test_what_is_left_out_is_told_in_one_order() -> None:
    left_out = Counter({"filtered": 4, "odd": 1, "bye": 2, "unfinished": 1, "forfeit": 0})
    reading = of_columns([0], [1], [1], *"ab", left_out=left_out)
    expected = [("unfinished", 1), ("bye", 2), ("filtered", 4), ("odd", 1)]
    assert list(reading.left_out.items()) == expected


def test_a_source_without_a_game_is_a_problem_that_says_what_it_had() -> None:
    nothing = of_columns([], [], [])
    assert nothing.problems == (Problem("club.pgn", None, "", GAME, "none"),)
    [problem] = of_columns([], [], [], left_out=Counter(unfinished=1200, bye=1)).problems
    assert problem.got == "none, but 1,200 unfinished, 1 bye"


def test_problems_of_the_reader_and_of_names_stand_in_the_order_of_lines() -> None:
    told = (Problem("club.pgn", 30, "x", "must", ""), Problem("club.pgn", 2, "y", "must", ""))
    reading = of_columns([0, 1], [0, 1], [1, 1], *"ab", problems=told)
    assert [problem.line for problem in reading.problems] == [1, 2, 11, 30]
    assert reading.problems[0] == Problem("club.pgn", 1, "opponent", rules.OTHER, "'a'")
    assert reading.games is None


def test_what_a_reader_lets_through_is_still_checked_with_its_line() -> None:
    """The rules of `Games` hold for every reader."""
    [problem] = of_columns([0, 1], [1, 0], [1, 2], *"ab").problems
    assert (problem.file, problem.line, problem.field) == ("club.pgn", 11, "points")
    assert problem.rule == rules.POINTS


def test_draws_follow_from_points_of_single_games() -> None:
    assert of_columns([0, 1], [1, 0], [0.5, 1], *"ab").games.draws.tolist() == [1.0, 0.0]
    assert of_columns([0, 1], [1, 0], [0.3, 1], *"ab").games.draws is None


# --- `skip_bad` in every format, and provisional ratings ---


def game(white: str, black: str, result: str = "1-0", *tags: str, moves: str = "1. e4") -> str:
    head = f'[White "{white}"]\n[Black "{black}"]\n[Result "{result}"]\n' + "".join(
        f"{one}\n" for one in tags
    )
    return f'[Event "?"]\n{head}\n{moves} {result}\n\n'


def scanned(text: str, format: str, **options: Any) -> GamesReading:
    return scan_games(io.BytesIO(text.encode()), format=format, **options)


def played(reading: GamesReading) -> list[tuple[Any, Any, float]]:
    assert reading.games is not None
    return [row[:3] for row in rows_of(reading.games)]


PGN = (
    game("ann", "bob")
    + game("bob", "cid", "2-0")
    + game("cid", "ann", "1/2-1/2", '[WhiteElo "strong"]')
    + game("cid", "bob", "0-1")
)


def test_one_bad_game_does_not_lose_a_file() -> None:
    """Two good games of four stay; the others are counted, and named with their lines."""
    assert scanned(PGN, "pgn").games is None
    reading = scanned(PGN, "pgn", skip_bad=True)
    assert played(reading) == [("ann", "bob", 1.0), ("cid", "bob", 0.0)]
    assert reading.skipped == 2
    assert [(one.line, one.field) for one in reading.problems] == [(11, "Result"), (19, "WhiteElo")]


@pytest.mark.parametrize("moves", ["1. d4", "1. d4 {a comment} d5"])
def test_a_comment_that_is_not_closed_costs_one_game(moves: str) -> None:
    """The games behind it are read, whether a later comment closes it or none does."""
    text = game("ann", "bob") + game("bob", "cid", moves="1. e4 { never closed")
    text += game("cid", "ann", moves=moves) + game("bob", "ann")
    reading = scanned(text, "pgn", skip_bad=True)
    assert played(reading) == [("ann", "bob", 1.0), ("cid", "ann", 1.0), ("bob", "ann", 1.0)]
    assert reading.skipped == 1
    [problem] = reading.problems
    assert problem.rule == "must close its comment with } before the next game"
    assert problem.line == 13


def test_many_comments_that_are_not_closed_cost_their_games_only() -> None:
    """Read in one go: nothing behind the first of them is sought to the end of the file."""
    text = (game("ann", "bob") + game("bob", "cid", moves="1. e4 { open")) * 500
    reading = scanned(text, "pgn", skip_bad=True)
    assert played(reading) == [("ann", "bob", 1.0)] * 500
    assert reading.skipped == len(reading.problems) == 500
    assert [one.line for one in reading.problems[:3]] == [13, 27, 41]


def test_a_file_that_cannot_be_read_is_not_skipped(tmp_path: Path) -> None:
    (tmp_path / "a.pgn").write_text(PGN)
    (tmp_path / "b.pgn").write_text("no tags at all")
    reading = scan_games(tmp_path, skip_bad=True)
    assert reading.games is None
    assert reading.skipped == 0


def test_something_must_be_left() -> None:
    reading = scanned(game("ann", "bob", "2-0"), "pgn", skip_bad=True)
    assert reading.games is None
    assert reading.problems[-1].rule == "must hold at least one game"


def test_bad_rows_of_a_list_are_skipped() -> None:
    text = (
        "white,black,result,white_elo\nann,bob,1-0,1500\nbob,cid,2-0,\ncid,ann,0-1,x\n,bob,1-0,\n"
    )
    reading = scanned(text, "csv", skip_bad=True)
    assert played(reading) == [("ann", "bob", 1.0)]
    assert reading.skipped == 3
    assert [one.line for one in reading.problems] == [3, 4, 5]


def test_games_against_oneself_by_synonyms_are_skipped() -> None:
    text = "white,black,result,round\nann,bob,1-0,1\nann,Ann,1-0,2\nAnn,cid,0-1,3\n"
    reading = scanned(text, "csv", skip_bad=True, synonyms={"Ann": "ann"})
    assert played(reading) == [("ann", "bob", 1.0), ("ann", "cid", 0.0)]
    assert (reading.skipped, reading.problems[0].line) == (1, 3)


def test_pairings_whose_sides_differ_are_skipped() -> None:
    text = (
        "player,opponent,points,games\nann,bob,1,2\nbob,ann,1,2\nann,cid,2,2\ncid,ann,1,2\n"
        "bob,cid,0,2\ncid,bob,2,2\n"
    )
    reading = scanned(text, "csv", skip_bad=True)
    assert played(reading) == [("ann", "bob", 1.0), ("bob", "cid", 0.0)]
    assert (reading.skipped, reading.problems[0].line) == (1, 5)


def test_bad_cells_of_a_cross_table_are_skipped() -> None:
    """Also where the other side tells a result, and where the two sides contradict each other."""
    text = "player,1,2,3,elo\nann,,1,what,1500?\nbob,0,,1,bad\ncid,1,1,,\n"
    reading = scanned(text, "crosstable", skip_bad=True)
    assert played(reading) == [("ann", "bob", 1.0)]
    assert reading.skipped == 2
    assert [(one.line, one.field) for one in reading.problems] == [(2, "3"), (3, "elo"), (3, "3")]
    assert reading.games.rating[:1].tolist() == [1500.0]


def test_a_column_of_nobody_is_not_skipped() -> None:
    reading = scanned("player,1,2,9\nann,,1,1\nbob,0,,1\n", "crosstable", skip_bad=True)
    assert reading.games is None


def test_matches_that_are_no_duels_are_skipped() -> None:
    text = (
        "match,player,rank,rating\n1,ann,0,1500\n1,bob,1,1600P\n2,ann,0,\n2,bob,1,\n2,cid,2,\n"
        "3,ann,x,\n3,cid,1,\n4,bob,0,oops\n4,cid,1,\n5,cid,0,\n5,ann,1,\n"
    )
    reading = scanned(text, "csv", skip_bad=True)
    assert sorted(played(reading)) == [("ann", "bob", 1.0), ("cid", "ann", 1.0)]
    assert reading.skipped == 3


def test_bad_entries_of_a_report_are_skipped() -> None:
    rounds = (
        ("ann", ["   2 w 1", "   3 b ="]),
        ("bob", ["   1 b 1", "   4 w 1"]),
        ("cid", ["   4 w x", "   1 w ="]),
        ("dan", ["   3 b 0", "   2 b 0"]),
    )
    lines = [player_line(at, told, name=name) for at, (name, told) in enumerate(rounds, 1)]
    text = report(*lines)
    assert scanned(text, "trf").games is None
    reading = scanned(text, "trf", skip_bad=True)
    assert sorted(played(reading)) == [("bob", "dan", 1.0), ("cid", "ann", 0.5)]
    assert reading.skipped == 2


@pytest.mark.parametrize(
    "rating", ["1500?", "1500 ?", "1500P", "1500p", "1500P12", "1500/12", "1500.0?"]
)
def test_a_provisional_rating_is_its_number(rating: str) -> None:
    """1500? of lists and files, 1500P of FICS, 1500P12 and 1500/12 of the US federation."""
    texts = {
        "pgn": game("ann", "bob", "1-0", f'[WhiteElo "{rating}"]'),
        "csv": f"white,black,result,white_elo\nann,bob,1-0,{rating}\n",
        "crosstable": f"player,1,2,elo\nann,,1,{rating}\nbob,0,,\n",
    }
    for format, text in texts.items():
        reading = scanned(text, format)
        assert reading.games.rating[0] == 1500
        note = f"1 rating is marked as provisional (as {rating!r}); the number is read"
        assert note in {one.removesuffix(".") for one in reading.notes}


@pytest.mark.parametrize("rating", ["1500??", "1500-", "P1500", "1500/1600", "1500X"])
def test_what_is_no_rating_stays_a_problem(rating: str) -> None:
    assert scanned(game("ann", "bob", "1-0", f'[WhiteElo "{rating}"]'), "pgn").games is None
    text = f"white,black,result,white_elo\nann,bob,1-0,{rating}\n"
    assert scanned(text, "csv").games is None

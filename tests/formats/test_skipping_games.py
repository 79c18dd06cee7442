"""`skip_bad` for games, in every format, and ratings that are marked as provisional."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest

from equipoise.data.reading import GamesReading
from equipoise.formats.games.reading import scan_games
from formats.reading_games import rows_of
from formats.trf_writing import player_line, report


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

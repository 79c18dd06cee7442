"""Which reader a source of games needs, real tournaments, and files that are damaged."""

from __future__ import annotations

import gzip
import io
import json
import re
import sys
from collections import Counter
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import equipoise.data.games as rules
from equipoise.data.games import GameColumns, id_array
from equipoise.errors import InvalidDataError, InvalidParameterError, Problem
from equipoise.formats import scan_history
from equipoise.formats.games import GAME, assemble_games, read_games, scan_games
from equipoise.formats.table import GamesReading
from formats.comparing import real_data
from formats.reading_games import player_line, report, rows_of, scan

ROOT = Path(__file__).parents[2]
FRAME = pl.DataFrame(
    {
        "white": ["ann", "bob", "cyd"],
        "black": ["bob", "cyd", "ann"],
        "result": ["1-0", "1/2-1/2", "0-1"],
        "white_elo": [1500, 1400, None],
    }
)
ROWS = [("ann", "bob", 1.0, 1.0), ("bob", "cyd", 0.5, 1.0), ("cyd", "ann", 0.0, 1.0)]
LIST = FRAME.write_csv().encode()
PAIRS = b"player,opponent,points,games\nann,bob,1,1\nbob,cyd,0.5,1\ncyd,ann,0,1\n"
HISTORY = b"match,player,rank\n1,ann,1\n1,bob,2\n2,bob,1\n2,cyd,1\n3,cyd,2\n3,ann,1\n"
CROSS = b",ann,bob,cyd\nann,X,1,1\nbob,0,X,=\ncyd,0,=,X\n"
PGN = b"".join(
    f'[White "{white}"]\n[Black "{black}"]\n[Result "{result}"]\n\n1. e4 {result}\n\n'.encode()
    for white, black, result in (
        ("ann", "bob", "1-0"),
        ("bob", "cyd", "1/2-1/2"),
        ("cyd", "ann", "0-1"),
    )
)


TRF = report(
    player_line(1, ["   2 w 1", "0000 - -", "   3 b 1"], name="ann", rating="1500", points="2.0"),
    player_line(2, ["   1 b 0", "   3 w =", "0000 - -"], name="bob", rating="1400", points="0.5"),
    player_line(3, ["0000 - -", "   2 b =", "   1 w 0"], name="cyd", points="0.5"),
).encode()


def totals(games: Any) -> dict[Any, tuple[float, float]]:
    sums = zip(games.scored().tolist(), games.played().tolist(), strict=True)
    return dict(zip(games.player_ids.tolist(), sums, strict=True))


TOTALS = {"ann": (2.0, 2.0), "bob": (0.5, 2.0), "cyd": (0.5, 2.0)}


@pytest.mark.parametrize(
    ("kind", "stored", "content"),
    [
        ("games", "csv", LIST),
        ("games", "tsv", LIST.replace(b",", b"\t")),
        ("games", "jsonl", FRAME.write_ndjson().encode()),
        ("games", "json", FRAME.write_json().encode()),
        ("pairs", "csv", PAIRS),
        ("history", "csv", HISTORY),
        ("crosstable", "csv", CROSS),
        ("pgn", "pgn", PGN),
        ("trf", "trf", TRF),
    ],
)
def test_every_kind_is_known_by_its_name_its_content_and_its_format(
    tmp_path: Path, kind: str, stored: str, content: bytes
) -> None:
    packed = gzip.compress(content, mtime=0)
    for name, data in (("club", content), ("club.txt", content), (f"CLUB.{stored}.gz", packed)):
        path = tmp_path / name
        path.write_bytes(data)
        assert totals(read_games(path)) == TOTALS
    for format in (kind, stored):
        assert totals(read_games(io.BytesIO(packed), format=format)) == TOTALS


def test_a_cross_table_may_lie_in_memory(tmp_path: Path) -> None:
    frame = pl.read_csv(io.BytesIO(CROSS))
    assert totals(read_games(frame)) == TOTALS
    frame.write_parquet(tmp_path / "cross.parquet")
    assert totals(read_games(tmp_path / "cross.parquet")) == TOTALS
    wrong = scan_games(frame.with_columns(bob=pl.Series(["x", "X", "="])), format="crosstable")
    assert [problem.line for problem in wrong.problems] == [1]


def test_json_is_contests_and_beside_pgn_metadata(tmp_path: Path) -> None:
    contest = {"name": "one", "time_seconds": 1, "standings": [["ann", 0, 0], ["bob", 1, 1]]}
    (tmp_path / "one.json").write_text(json.dumps(contest))
    assert rows_of(read_games(tmp_path)) == [("ann", "bob", 1.0, 1.0)]
    (tmp_path / "one.pgn").write_bytes(PGN)
    assert rows_of(read_games(tmp_path)) == ROWS


def test_problems_name_their_source(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"white,black,result\n,b,1\n")))
    assert scan_games("-", format="csv").problems[0].file == "standard input"
    for name in ("none.csv", "none.pgn", "none.trf", "none"):
        for (problem,) in (scan_games(name).problems, scan_history(name).problems):
            assert (problem.file, problem.rule) == (name, "no such file or directory")
    with pytest.raises(InvalidDataError, match=r"1 problem in none.pgn"):
        read_games("none.pgn")
    path = tmp_path / "synonyms.csv"
    path.write_text("name,same_as\na,b\nb,a\n")
    reading = scan_games(FRAME, synonyms=path)
    assert reading.games is None
    assert [(one.file, one.line) for one in reading.problems] == [(str(path), 2)]


@pytest.mark.parametrize(
    ("format", "content", "options", "message"),
    [
        ("pgn", PGN, {"columns": {"white": "White"}}, "columns must be left out for PGN"),
        ("pgn", PGN, {"since": "2020-01-01"}, "need games with complete dates"),
        ("pgn", PGN, {"where": [("Round", 1), ("Round", 2)]}, "a tag of PGN once; got 'Round'"),
        ("trf", TRF, {"where": {"Round": 1}}, "where must be left out for a report in TRF"),
        ("crosstable", CROSS, {"until": 5}, "since and until must be left out for a cross table"),
        ("csv", CROSS, {"where": {"ann": "1"}}, "where must be left out for a cross table"),
        ("chess", LIST, {}, "format must be one of pgn, trf, .*; got 'chess'"),
        ("games", LIST, {"where": {"place": 1}}, "where must name a column of the table"),
        ("games", LIST, {"columns": {"white": "x"}}, "columns must name a column of the table"),
        ("games", LIST, {"since": "2020"}, "need a column time"),
        ("games", LIST, {"since": "soon"}, "since must be"),
    ],
)
def test_wrong_usage_is_told_at_once(format, content, options, message):
    with pytest.raises(InvalidParameterError, match=message):
        scan_games(io.BytesIO(content), format=format, **options)


def test_a_format_must_fit_its_source() -> None:
    for format in ("pgn", "trf"):
        with pytest.raises(InvalidParameterError, match="must be a path or a stream if format"):
            scan_games(FRAME, format=format)
    with pytest.raises(InvalidParameterError, match="source must be a path, a pattern"):
        scan_games(7)
    text = "match,player,rank,opponent,points\n1,ann,1,bob,1\n1,bob,2,ann,0\n"
    with pytest.raises(InvalidParameterError, match="columns fit both pairs and history"):
        scan(text)
    for format in ("pairs", "history"):
        games = scan(text, format).games
        assert games is not None
        assert rows_of(games) == [("ann", "bob", 1.0, 1.0)]


@pytest.mark.parametrize(
    ("content", "rule"),
    [
        (b"", "must hold at least one row"),
        (b"white,black,result\n", "must have at least one row"),
        (b"white,black,result\na,b,*\n", "must hold at least one game"),
    ],
)
def test_files_without_games_say_so(content: bytes, rule: str) -> None:
    reading = scan_games(io.BytesIO(content), format="csv")
    assert reading.games is None
    assert [problem.rule for problem in reading.problems] == [rule]


# Real tournaments -----------------------------------------------------------------------------


def points_of(text: str) -> dict[str, float]:
    """Return the points of players from a table with several players on a line."""
    cells = (cell.rpartition(" ") for line in text.split("\n") for cell in line.split(", "))
    return {name.strip(): float(points) for name, _, points in cells}


PALMA_2017 = points_of(
    """Aronian 5.5, Jakovenko 5.5, Nakamura 5, Svidler 5, Tomashevsky 5, Harikrishna 5
    Ding Liren 5, Rapport 5, Radjabov 5, Vachier Lagrave 4.5, Eljanov 4.5, Inarkiev 4.5
    Giri 4, Vallejo Pons 4, Li Chao 4, Riazantsev 3.5, Hammer 3, Gelfand 3"""
)
PALMA_1970 = points_of(
    """Fischer 18.5, Larsen 15, Geller 15, Huebner 15, Taimanov 14, Uhlmann 14
    Portisch 13.5, Smyslov 13.5, Polugaevsky 13, Gligoric 13, Panno 12.5, Mecking 12.5
    Hort 11.5, Ivkov 10.5, Suttles 10, Minic 10, Reshevsky 9.5, Matulovic 9
    Addison 9, Filip 8.5, Naranja 8.5, Ujtumen 8.5, Rubinetti 6, Jimenez 5.5"""
)


def test_the_grand_prix_of_palma_has_the_points_of_its_table() -> None:
    """Table 2 of the document on performance ratings: 18 players, 9 rounds, ratings and points."""
    games = read_games(real_data("chess_palma2017_grandprix.csv"))
    assert (games.rows, games.players, games.coloured) == (81, 18, True)
    surname = [one.partition(",")[0].rstrip("2") for one in games.player_ids.tolist()]
    assert dict(zip(surname, games.scored().tolist(), strict=True)) == PALMA_2017
    assert games.played().tolist() == [9.0] * 18
    rating = dict(zip(surname, games.initial.tolist(), strict=True))
    assert (rating["Aronian"], rating["Jakovenko"], rating["Gelfand"]) == (2801.0, 2721.0, 2719.0)


def test_the_interzonal_of_1970_is_bundled_and_has_the_points_of_its_table() -> None:
    """Table 3 of the document, where Rubinetti has 5 as his win of round 11 is left out (C5)."""
    path = ROOT / "examples" / "interzonal1970.csv"
    reading = scan_games(path)
    assert reading.problems == reading.notes == ()
    games = reading.games
    assert (games.rows, games.players, games.coloured, games.rating) == (276, 24, True, None)
    assert games.played().tolist() == [23.0] * 24
    assert dict(zip(games.player_ids.tolist(), games.scored().tolist(), strict=True)) == PALMA_1970
    frame = pl.read_csv(path)
    printed = read_games(
        frame.filter((pl.col("white") != "Rubinetti") | (pl.col("black") != "Jimenez"))
    )
    assert printed.rows == 275
    points = dict(zip(printed.player_ids.tolist(), printed.scored().tolist(), strict=True))
    assert (points["Rubinetti"], points["Jimenez"]) == (5.0, 5.5)


def test_bundled_synonyms_turn_full_names_into_those_of_the_example() -> None:
    full = real_data("chess_palma1970_interzonal.csv")
    games = read_games(full, synonyms=ROOT / "examples" / "synonyms.csv")
    points = dict(zip(games.player_ids.tolist(), games.scored().tolist(), strict=True))
    assert points == PALMA_1970


@pytest.mark.parametrize(("third", "rounds"), [("2,cyd,ann,1", 2), ("1,cyd,ann,1", None)])
def test_rounds_have_one_game_of_each_player(third: str, rounds: int | None) -> None:
    games = read_games(io.BytesIO(f"round,white,black,score\n1,ann,bob,1\n{third}\n".encode()))
    assert (games.rounds and games.rounds.rounds) == rounds


# From names to players, what is left out or skipped, and what is pointed out.


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
    games = of_columns([2, 0], [0, 1], [1, 0.5], *"abcde", others=np.array([3, 1])).games
    assert rows_of(games) == [("c", "a", 1, 1), ("a", "b", 0.5, 1)]
    assert games.player_ids.tolist() == ["c", "a", "b", "d"]
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
def test_pairings_that_occur_again_are_noted_in_a_round_robin(pairs, expected):
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


def test_columns_of_a_reader_are_checked_and_counted() -> None:
    left_out = Counter({"filtered": 4, "odd": 1, "bye": 2, "unfinished": 1, "forfeit": 0})
    reading = of_columns([0], [1], [1], *"ab", left_out=left_out)
    expected = [("unfinished", 1), ("bye", 2), ("filtered", 4), ("odd", 1)]
    assert list(reading.left_out.items()) == expected
    nothing = of_columns([], [], [])
    assert nothing.problems == (Problem("club.pgn", None, "", GAME, "none"),)
    [problem] = of_columns([], [], [], left_out=Counter(unfinished=1200, bye=1)).problems
    assert problem.got == "none, but 1,200 unfinished, 1 bye"
    told = (Problem("club.pgn", 30, "x", "must", ""), Problem("club.pgn", 2, "y", "must", ""))
    reading = of_columns([0, 1], [0, 1], [1, 1], *"ab", problems=told)
    assert [problem.line for problem in reading.problems] == [1, 2, 11, 30]
    assert reading.problems[0] == Problem("club.pgn", 1, "opponent", rules.OTHER, "'a'")
    assert reading.games is None
    [problem] = of_columns([0, 1], [1, 0], [1, 2], *"ab").problems
    assert (problem.file, problem.line, problem.field) == ("club.pgn", 11, "points")
    assert problem.rule == rules.POINTS
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


BAD_PGN = (
    game("ann", "bob")
    + game("bob", "cid", "2-0")
    + game("cid", "ann", "1/2-1/2", '[WhiteElo "strong"]')
    + game("cid", "bob", "0-1")
)


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


BAD_REPORT = report(
    player_line(1, ["   2 w 1", "   3 b ="], name="ann"),
    player_line(2, ["   1 b 1", "   4 w 1"], name="bob"),
    player_line(3, ["   4 w x", "   1 w ="], name="cid"),
    player_line(4, ["   3 b 0", "   2 b 0"], name="dan"),
)


@pytest.mark.parametrize(
    ("format", "text", "games", "skipped", "lines"),
    [
        ("pgn", BAD_PGN, [("ann", "bob", 1.0), ("cid", "bob", 0.0)], 2, [11, 19]),
        (
            "csv",
            "white,black,result,white_elo\nann,bob,1-0,1500\nbob,cid,2-0,\ncid,ann,0-1,x\n,b,1-0,\n",
            [("ann", "bob", 1.0)],
            3,
            [3, 4, 5],
        ),
        # Games against oneself, by a synonym.
        (
            "csv",
            "white,black,result,round\nann,bob,1-0,1\nann,Ann,1-0,2\nAnn,cid,0-1,3\n",
            [("ann", "bob", 1.0), ("ann", "cid", 0.0)],
            1,
            [3],
        ),
        # Pairings whose sides differ.
        (
            "csv",
            "player,opponent,points,games\nann,bob,1,2\nbob,ann,1,2\nann,cid,2,2\ncid,ann,1,2\n"
            "bob,cid,0,2\ncid,bob,2,2\n",
            [("ann", "bob", 1.0), ("bob", "cid", 0.0)],
            1,
            [5],
        ),
        # Also where the other side tells a result, and where the two sides contradict each other.
        (
            "crosstable",
            "player,1,2,3,elo\nann,,1,what,1500?\nbob,0,,1,bad\ncid,1,1,,\n",
            [("ann", "bob", 1.0)],
            2,
            [2, 3, 3],
        ),
        # Matches that are no duels.
        (
            "csv",
            "match,player,rank,rating\n1,ann,0,1500\n1,bob,1,1600P\n2,ann,0,\n2,bob,1,\n2,cid,2,\n"
            "3,ann,x,\n3,cid,1,\n4,bob,0,oops\n4,cid,1,\n5,cid,0,\n5,ann,1,\n",
            [("ann", "bob", 1.0), ("cid", "ann", 1.0)],
            3,
            [4, 7, 9],
        ),
        ("trf", BAD_REPORT, [("bob", "dan", 1.0), ("cid", "ann", 0.5)], 2, [2, 4]),
    ],
)
def test_what_is_bad_is_skipped_and_named_with_its_line(format, text, games, skipped, lines):
    assert scanned(text, format, synonyms={"Ann": "ann"}).games is None
    reading = scanned(text, format, synonyms={"Ann": "ann"}, skip_bad=True)
    assert sorted(played(reading)) == games
    assert reading.skipped == skipped
    assert [one.line for one in reading.problems] == lines
    if format == "crosstable":
        assert reading.games.rating[:1].tolist() == [1500.0]


def test_what_concerns_the_whole_file_is_not_skipped(tmp_path: Path) -> None:
    (tmp_path / "a.pgn").write_text(BAD_PGN)
    (tmp_path / "b.pgn").write_text("no tags at all")
    reading = scan_games(tmp_path, skip_bad=True)
    assert (reading.games, reading.skipped) == (None, 0)
    nobody = "player,1,2,9\nann,,1,1\nbob,0,,1\n"
    assert scanned(nobody, "crosstable", skip_bad=True).games is None
    reading = scanned(game("ann", "bob", "2-0"), "pgn", skip_bad=True)
    assert reading.games is None
    assert reading.problems[-1].rule == "must hold at least one game"


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

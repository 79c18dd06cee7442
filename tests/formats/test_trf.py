"""FIDE tournament reports: columns by the annex of the FIDE Handbook, rules by hand."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any, TypeAlias

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.data.games import GameColumns
from equipoise.errors import InvalidDataError
from equipoise.formats.trf import read_trf
from formats.comparing import real_data, told
from formats.reading_games import named, player_line, report

GAME = ("   2 w 1", "   1 b 0")


def read(*lines: str) -> GameColumns:
    """Read a report of lines below the name of a tournament, which is line 1."""
    return read_trf(report(*lines).encode(), "t.trf")


def pair(mine: str, theirs: str, **given: Any) -> GameColumns:
    """Read a report of two players and one round."""
    return read(player_line(1, [mine], **given), player_line(2, [theirs]))


def games_of(columns: GameColumns) -> list[tuple[Any, ...]]:
    white, black, _ = named(columns)
    return list(zip(columns.round.tolist(), white, black, columns.points.tolist(), strict=True))


def points_of(columns: GameColumns) -> Counter[str]:
    points: Counter[str] = Counter()
    for _, white, black, scored in games_of(columns):
        points[white] += scored
        points[black] += 1 - scored
    return points


def refusal(data: bytes) -> str:
    with pytest.raises(InvalidDataError) as caught:
        read_trf(data, "t.trf")
    (problem,) = caught.value.problems
    return str(problem)


# Real reports.


def test_the_report_of_60_players_gives_its_standings() -> None:
    """Against the column of points: games, and a point for each win by forfeit."""
    data = real_data("trf_autotest_60p.trf").read_bytes()
    assert data.count(b"\r") == 62
    assert b"\n" not in data
    columns = read_trf(data, "t.trf")
    assert columns.problems == columns.notes == ()
    assert columns.coloured
    assert columns.left_out == {"forfeit": 25}
    assert (len(columns.points), len(columns.others)) == (395, 60)
    lines = [line for line in data.decode().split("\r") if line.startswith("001")]
    scored, rating = (
        points_of(columns),
        dict(zip(columns.players[columns.others], columns.other_rating, strict=True)),
    )
    for line in lines:
        name = re.search(r"Test\d+ Player\d+", line)
        elo, points = line[47:].split()[:2]
        assert scored[name[0]] + line.count("+") == float(points)
        assert rating[name[0]] == float(elo)
    pairings = Counter(re.findall(r" ([wb]) ([10=])", "\n".join(lines)))
    assert pairings["w", "1"] + pairings["w", "="] / 2 == columns.points.sum() == 194.5
    assert pairings["w", "="] == columns.draws.sum() == 109


# What a report may hold.


def test_every_game_is_told_once_with_white_first() -> None:
    columns = read(
        player_line(1, ["   2 w 1", "   3 b =", "0000 - U"], rating="2500"),
        player_line(2, ["   1 b 0", "0000 - H", "   3 w 0"], rating="   0"),
        player_line(3, ["0000 - Z", "   1 w =", "   2 b 1"]),
    )
    assert games_of(columns) == [
        (1, "Player 1", "Player 2", 1.0),
        (2, "Player 3", "Player 1", 0.5),
        (3, "Player 2", "Player 3", 0.0),
    ]
    assert columns.left_out == {"bye": 3}
    np.testing.assert_array_equal(columns.white_rating, [2500, np.nan, np.nan])
    np.testing.assert_array_equal(columns.black_rating, [np.nan, 2500, np.nan])
    np.testing.assert_array_equal(columns.other_rating, [2500, np.nan, np.nan])
    assert columns.draws.tolist() == [0, 1, 0]
    assert [columns.locate(row) for row in range(3)] == [("t.trf", 2), ("t.trf", 4), ("t.trf", 3)]


@pytest.mark.parametrize(
    ("mine", "theirs", "points"),
    [
        ("   2 w 1", "   1 b 0", 1.0),
        ("0002 w 0", "0001 b 1", 0.0),
        ("   2 w =", "   1 b =", 0.5),
        ("   2 W w", "   1 B l", 1.0),
        ("   2 w L", "   1 b W", 0.0),
        ("   2 w d", "   1 b D", 0.5),
        ("2    w 1", " 1   b 0", 1.0),
    ],
)
def test_results_of_games(mine: str, theirs: str, points: float) -> None:
    """Letters count in either case (note of the annex); numbers may be filled up with zeros."""
    columns = pair(mine, theirs)
    assert columns.problems == ()
    assert games_of(columns) == [(1, "Player 1", "Player 2", points)]
    assert columns.left_out == {}


@pytest.mark.parametrize(
    ("mine", "theirs", "left_out"),
    [
        ("   2 w +", "   1 b -", {"forfeit": 1}),
        ("   2 - -", "   1 - +", {"forfeit": 1}),
        ("   2 w -", "   1 b -", {"forfeit": 1}),
        ("   2 w +", "0000 - -", {"forfeit": 1, "bye": 1}),
        ("   2 w +", "        ", {"forfeit": 1}),
        ("0000 - F", "0000 - Z", {"bye": 2}),
        ("0000 w +", "0000 - -", {"bye": 2}),
        ("0000 - =", "     - +", {"bye": 2}),
        ("0000 - u", "        ", {"bye": 1}),
        ("0000 - 1", "   0 - 0", {"bye": 2}),
        ("   2 w  ", "   1 b  ", {"no result": 1}),
        ("   2 w 0", "   1 b 0", {"lost by both": 1}),
        ("   2 w L", "   1 b L", {"lost by both": 1}),
        ("        ", "0000    ", {}),
    ],
)
def test_what_is_no_game_is_counted(mine: str, theirs: str, left_out: dict[str, int]) -> None:
    """READINGS C6; reports of 2006 write byes as +, = and - without an opponent."""
    columns = pair(mine, theirs)
    assert (columns.problems, len(columns.points)) == ((), 0)
    assert columns.left_out == left_out
    assert columns.players[columns.others].tolist() == ["Player 1", "Player 2"]


BOTH = "match the opponent"


@pytest.mark.parametrize(
    ("mine", "theirs", "words", "got"),
    [
        ("   2 w 1", "   1 b 1", BOTH, "'2 w 1', while line 3 has '1 b 1'"),
        ("   2 w 1", "   1 b =", BOTH, "'2 w 1', while line 3 has '1 b ='"),
        ("   2 w =", "   1 b 0", BOTH, "'2 w =', while line 3 has '1 b 0'"),
        ("   2 w W", "   1 b 0", BOTH, "'2 w W', while line 3 has '1 b 0'"),
        ("   2 w 1", "   1 b -", BOTH, "'2 w 1', while line 3 has '1 b -'"),
        ("   2 w +", "   1 b +", BOTH, "'2 w +', while line 3 has '1 b +'"),
        ("   2 w 1", "   1 b  ", BOTH, "'2 w 1', while line 3 has '1 b'"),
        ("   2 w 1", "   1 w 0", "opposite", "'2 w 1', while line 3 has '1 w 0'"),
        ("   2 w 1", "   1 - 0", "opposite", "'2 w 1', while line 3 has '1 - 0'"),
        ("   2 w 1", "0000 - Z", "names this player", "'2 w 1', while line 3 has '0000 - Z'"),
        ("   2 w 1", "        ", "names this player", "'2 w 1', while line 3 has nothing"),
        ("   7 w 1", "        ", "start number of a player", "'7 w 1'"),
        ("   1 w 1", "        ", "another player", "'   1 w 1  '"),
        ("   2 w H", "   1 b 0", "no opponent", "'   2 w H  '"),
        ("0000 b 1", "        ", "have an opponent", "'0000 b 1  '"),
        ("   2 w 5", "   1 b 0", "one of 1 = 0", "'   2 w 5  '"),
        ("   2 x 1", "   1 b 0", "w, b, - or", "'   2 x 1  '"),
        ("   Q w 1", "        ", "0000 or blank", "'   Q w 1  '"),
        ("1 2  w 1", "        ", "0000 or blank", "'1 2  w 1  '"),
        ("   ² w 1", "        ", "0000 or blank", "'   ² w 1  '"),
        ("  2 w 1 ", "   1 b 0", "blanks between", "'  2 w 1   '"),
    ],
)
def test_what_contradicts_itself_is_a_problem_with_both_lines(mine, theirs, words, got):
    """Told once; the player whose own entry is broken is not blamed on the opponent too."""
    columns = pair(mine, theirs)
    assert len(columns.points) == 0
    (problem,) = columns.problems
    assert (problem.file, problem.line, problem.field) == ("t.trf", 2, "round 1")
    assert words in problem.rule
    assert problem.got == got


@pytest.mark.parametrize(
    ("mine", "theirs", "note"),
    [
        ("   2 - 0", "   1   1", "the report has no colours"),
        ("   2 w 0", "   1 b 0", "1 game lost by both left out"),
        (
            "   2 w W",
            "   1 b L",
            "1 game of less than one move (W, D, L) counted, although FIDE does not rate them",
        ),
    ],
)
def test_unusual_results_are_noted(mine: str, theirs: str, note: str) -> None:
    columns = pair(mine, theirs)
    assert columns.notes == (note,)
    assert columns.coloured == ("w" in mine)


@pytest.mark.parametrize("start", ["    ", "   0", "  -1", " abc", "1 2 "])
def test_a_line_needs_a_start_number(start: str) -> None:
    line = player_line(1, [GAME[0]])
    columns = read(line[:4] + start + line[8:], player_line(2, [GAME[1]]))
    rule = "must be a start number from 1, in columns 5 to 8"
    assert told(columns.problems) == [(2, "start number", rule, repr(f" {start} "))]


def test_start_numbers_opponents_and_colours_fit_together() -> None:
    columns = read(
        player_line(1, [GAME[0]]),
        player_line(2, [GAME[1]]),
        player_line(1, ["   3 w 1"], name="Somebody"),
        player_line(3, ["   1 b 0"]),
    )
    rule = "must be the start number of only one player"
    got = "1, which line 2 has for 'Player 1'"
    assert told(columns.problems) == [(4, "start number", rule, got)]
    assert games_of(columns) == [(1, "Player 1", "Player 2", 1.0)]
    columns = read(
        player_line(1, ["   2 w 1"]), player_line(2, ["   3 b 0"]), player_line(3, ["   2 w 1"])
    )
    rule = "must be an opponent who names this player in the same round"
    assert told(columns.problems) == [(2, "round 1", rule, "'2 w 1', while line 3 has '3 b 0'")]
    assert games_of(columns) == [(1, "Player 3", "Player 2", 1.0)]
    columns = read(player_line(1, [GAME[0], "   2 - 1"]), player_line(2, [GAME[1], "   1 - 0"]))
    rule = "must be w or b because other games of the report have colours"
    assert told(columns.problems) == [(2, "round 2", rule, "'2 - 1'")]
    assert len(columns.points) == 1


@pytest.mark.parametrize("rating", ["abcd", "-100", "12.5", "1 2 ", "²"])
def test_a_rating_is_a_whole_number(rating: str) -> None:
    columns = pair(*GAME, rating=rating)
    rule = "must be a whole number, 0 or blank, in columns 49 to 52"
    assert told(columns.problems) == [(2, "rating", rule, repr(f" {rating:>4} "))]
    for text, value in (("", np.nan), ("0", np.nan), ("0000", np.nan), ("987", 987)):
        np.testing.assert_array_equal(pair(*GAME, rating=text).white_rating, [value])


# Names.


def test_players_with_one_name_are_told_apart() -> None:
    columns = read(
        player_line(1, GAME[:1], name="Smith, John", fide="1234567"),
        player_line(2, GAME[1:], name="Smith,  John", fide="7654321"),
        player_line(3, name="Smith, John"),
        player_line(4, name="Doe, Jane", fide="1"),
        player_line(5, name="Doe, Jane", fide="1"),
        player_line(6, name="Doe, Jane (no. 5)"),
        player_line(7, name="Roe, Ann", fide="99"),
        player_line(8, name=" "),
    )
    assert columns.players[columns.others].tolist() == [
        "Smith, John (1234567)",
        "Smith, John (7654321)",
        "Smith, John (no. 3)",
        "Doe, Jane (no. 4)",
        "Doe, Jane (no. 5)'",
        "Doe, Jane (no. 5)",
        "Roe, Ann",
        "no. 8",
    ]
    assert columns.players[columns.white].tolist() == ["Smith, John (1234567)"]
    assert columns.notes == (
        "players with equal names are distinguished: Smith, John (1234567); Smith, John (7654321); "
        "Smith, John (no. 3); Doe, Jane (no. 4); Doe, Jane (no. 5)'",
    )


# Encodings and columns.

ACCENTS = ("Müller, Jürgen", "Gómez, José")


def test_columns_may_be_counted_in_bytes() -> None:
    """Other encodings are those of the tournaments at random below."""
    columns = read(
        player_line(1, GAME[:1], name=ACCENTS[0], rating="2000", in_bytes=True),
        player_line(2, GAME[1:], name=ACCENTS[1], rating="1900", in_bytes=True),
    )
    note = "columns are counted in bytes, not in characters, on 2 lines (the first is line 2)"
    assert (columns.problems, columns.notes) == ((), (note,))
    assert games_of(columns) == [(1, *ACCENTS, 1.0)]
    assert columns.other_rating.tolist() == [2000, 1900]


def test_columns_and_bytes_of_odd_lines() -> None:
    data = report(player_line(1, GAME[:1], name="J?"), player_line(2, GAME[1:])).encode()
    columns = read_trf(data.replace(b"J?", b"J\x81"), "t.trf")
    assert columns.players[columns.white].tolist() == ["J\x81"]
    data = report(player_line(1, GAME[:1], name="A?B"), player_line(2, GAME[1:])).encode("cp1252")
    for letter in (b"\x85", b"\x0c", b"\x1c"):
        assert len(read_trf(data.replace(b"?", letter), "").points) == 1
    assert read(player_line(1) + "\n\x1a").notes == ()
    text = report(
        player_line(1, GAME[:1], name=ACCENTS[0]),
        player_line(2, GAME[1:], name=ACCENTS[1], in_bytes=True),
    )
    columns = read(text)
    assert (columns.problems, games_of(columns)) == ((), [(1, *ACCENTS, 1.0)])
    line = player_line(1, GAME[:1], name=ACCENTS[0], rating="2000")
    columns = read(line[:47] + " " + line[47:], player_line(2, GAME[1:]))
    assert [(one.line, one.field) for one in columns.problems] == [(2, "rating"), (2, "round 1")]
    name = "Abcdefghijklmnopqrstuvwxyz, Abcdef"
    line = player_line(1, GAME[:1], rating="2000")
    columns = read(line[:14] + name + line[48:], player_line(2, GAME[1:]))
    assert columns.problems == ()
    assert columns.players[columns.white].tolist() == [name[:33]]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "line that begins with 001; got an empty file"),
        (b"\r\n \r\n", "line that begins with 001; got an empty file"),
        (b"012 Test\r", "line that begins with 001; got 1 line of other kinds"),
        (report(player_line(1)).encode("utf-16")[:-1], "text in UTF-16 that is damaged"),
        (b"001 \0 1", "must be text in UTF-8, UTF-16 or a single-byte encoding; got a binary"),
        (
            b"012 A\tB\n001\t1\tm\n001\t2\tm\n",
            "line 2: must separate its columns with spaces, not tabs; got tabs on 2 of 2 lines",
        ),
    ],
)
def test_what_is_no_report_is_refused(data: bytes, words: str) -> None:
    assert words in refusal(data)


# Other lines.


def test_lines_of_the_tournament_teams_and_extensions_are_skipped_and_unknown_ones_noted() -> None:
    """Codes of TRF16, of its version of 2026, and of pairing programs; rulers and remarks."""
    columns = read(
        "         1         2",
        "123456789012345678901",
        "DDD SSSS sTTT NNN",
        "### remark",
        "",
        player_line(1, GAME[:1]),
        player_line(2, GAME[1:]),
        "013 Team                               1    2",
        "022 Place",
        "132                24/01/01",
        "XXR 5",
        "XXZ 1 2",
        "NED    1 m    Player 1",
        "310   1 Team",
        "802   3 GEO",
    )
    assert (columns.problems, columns.notes, len(columns.points)) == ((), (), 1)
    columns = read(player_line(1), "777 x", "555 y", "777 z", "(c) nobody", " 001 indented")
    assert columns.notes == (
        "lines with codes that TRF16 does not have were skipped: 555, 777",
        "2 lines without a code were skipped (the first is line 6: '(c) nobody')",
    )


# Points.


@pytest.mark.parametrize(
    ("points", "rounds"),
    [
        ("2.5", ["   2 w 1", "0000 - H", "0000 - U"]),
        ("1,5", ["   2 w 1", "0000 - =", "0000 - -"]),
        ("2.0", ["   2 w 1", "0000 - F", "0000 - Z"]),
        ("1.0", ["   2 w 1"]),
        ("", ["   2 w 1"]),
        ("?", ["   2 w 1"]),
    ],
)
def test_points_that_are_the_sum_of_the_results_need_no_note(points, rounds):
    columns = read(player_line(1, rounds, points=points), player_line(2, GAME[1:]))
    assert (columns.problems, columns.notes) == ((), ())


def test_other_points_are_noted_and_very_many_rounds_are_read() -> None:
    lines = [player_line(1, GAME[:1], points="3.0"), player_line(2, GAME[1:], points="0.0")]
    columns = read(*lines)
    assert columns.notes == (
        "points of 1 of 2 players differ from the sum of their results (the first on line 2: 3 "
        "instead of 1); results count, not points",
    )
    assert columns.points.tolist() == [1.0]
    lines = [player_line(number) for number in range(1, 2000)]
    lines[0] += " " * 1_000_000 + "  0000 - Z"
    columns = read_trf(report(*lines).encode(), "")
    assert (columns.problems, columns.left_out) == ((), {"bye": 1})


@pytest.mark.parametrize("code", ["XXS W=3 D=1", "162  W 3.0", "BBW  3.0", "299 W", "XXA    1"])
def test_points_that_are_counted_otherwise_are_not_compared(code: str) -> None:
    assert read(code, player_line(1, points="3.0")).notes == ()


# Reports drawn at random.

#: A report, its games, what is left out, its start numbers.
Drawn: TypeAlias = tuple[bytes, list[tuple[Any, ...]], dict[str, int], list[str]]

PLAYED = [("1", "0", 1.0), ("0", "1", 0.0), ("=", "=", 0.5)]
PLAYED += [("W", "L", 1.0), ("l", "w", 0.0), ("D", "d", 0.5)]
UNPLAYED = [("+", "-", "forfeit"), ("-", "-", "forfeit"), ("0", "0", "lost by both")]
ALONE = [*(f"0000 - {letter}" for letter in "HFUZhfuz"), "0000 - +", "     - -", "        "]
NAMES = st.text(alphabet="abcXYZ ,.-éüøß", min_size=1, max_size=9)


@st.composite
def tournaments(draw: st.DrawFn) -> Drawn:
    """Return a report with its games, what is left out, and its start numbers as names."""
    numbers = draw(st.lists(st.integers(1, 9999), min_size=2, max_size=9, unique=True))
    cells: dict[int, list[str]] = {number: [] for number in numbers}
    games: list[tuple[Any, ...]] = []
    left_out: Counter[str] = Counter()
    for at in range(draw(st.integers(0, 5))):
        order = draw(st.permutations(numbers))
        pairs = draw(st.integers(0, len(order) // 2))
        for white, black in zip(order[:pairs], order[pairs : 2 * pairs], strict=True):
            mine, theirs, outcome = draw(st.sampled_from([*PLAYED, *UNPLAYED]))
            colours = draw(st.sampled_from(["wb", "WB"]))
            cells[white].append(f"{black:>4} {colours[0]} {mine}")
            cells[black].append(f"{white:04} {colours[1]} {theirs}")
            if isinstance(outcome, str):
                left_out[outcome] += 1
            else:
                games.append((at + 1, white, black, outcome))
        for number in order[2 * pairs :]:
            cells[number].append(draw(st.sampled_from(ALONE)))
            left_out["bye"] += cells[number][-1].strip() != ""
    in_bytes = draw(st.booleans())
    lines = [
        player_line(
            number,
            rounds,
            name=f"{number} {draw(NAMES)}",
            rating=str(draw(st.integers(1000, 2900))),
            points="0.0",
            in_bytes=in_bytes,
        )
        for number, rounds in cells.items()
    ]
    lines = ["012 Test", "XXS W=3", *lines, "XXR 9"]
    lines = [line.rstrip() if draw(st.booleans()) else line for line in lines]
    ends = [draw(st.sampled_from(["\r", "\n", "\r\n", "\r\n\r\n"])) for _ in lines]
    text = "".join(line + end for line, end in zip(lines, ends, strict=True))
    encoding = "utf-8" if in_bytes else draw(st.sampled_from(["utf-8", "utf-8-sig", "cp1252"]))
    return text.encode(encoding), games, dict(+left_out), [str(number) for number in numbers]


@given(tournaments())
def test_a_random_tournament_comes_back(drawn):
    """Whatever its line ends, encoding, way to count columns and blanks at the ends of lines."""
    data, games, left_out, numbers = drawn
    columns = read_trf(data, "")
    assert columns.problems == ()
    assert columns.round is not None
    found = [
        (at, int(white.split()[0]), int(black.split()[0]), points)
        for at, white, black, points in zip(
            columns.round, *named(columns)[:2], columns.points, strict=True
        )
    ]
    assert sorted(found) == sorted(games)
    assert [at for at, *_ in found] == sorted(at for at, *_ in games)
    assert columns.left_out == left_out
    assert [one.split()[0] for one in columns.players[columns.others]] == numbers

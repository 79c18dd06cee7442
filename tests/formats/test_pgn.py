"""PGN: what counts as a game, what is left out, what is wrong and on which line.

Where no other source is named, the truth is the standard (PGN, 1994, import format), or a rule of
`docs/reference/input-files.md`.
"""

from __future__ import annotations

import math

import pytest

from equipoise.errors import InvalidDataError
from equipoise.formats.pgn import read_pgn
from equipoise.formats.pgn_scan import LARGEST_GAME
from equipoise.formats.table import Content
from formats.comparing import told
from formats.reading_games import named

AGREE = "must agree with the result after the moves"
RESULT = "must be a result: 1-0, 1/2-1/2, 0-1 or *"
RATING = "must be a rating from 1 to 5000, or one of 0, - and ? for unrated"
TAG = 'must be a tag such as [White "Carlsen, Magnus"]'
TAGS = "must have its tags White, Black and Result before the moves"
UNCLOSED = "must close its comment with } before the next game"


def pgn(white="ann", black="bob", result="1-0", moves=None, **tags):
    """Return a game as text; the moves end with the result unless they are given."""
    values = {"Event": "cup", "White": white, "Black": black, "Result": result, **tags}
    head = "".join(f'[{tag} "{value}"]\n' for tag, value in values.items())
    return f"{head}\n{f'1. e4 e5 {result}' if moves is None else moves}\n\n"


def read(text, name="event.pgn", **options):
    """Return the columns of a text."""
    data = text if isinstance(text, bytes) else text.encode()
    return read_pgn([Content(name, "pgn", data)], **options)


def rows(games):
    """Return games as (white, black, points)."""
    return list(zip(*named(games)[:2], games.points.tolist(), strict=True))


def accepted(text, **options):
    """Return the rows of a text without problems."""
    games = read(text, **options)
    assert games.problems == ()
    return rows(games)


def refused(text):
    """Return what is told of a text that is refused as a whole."""
    with pytest.raises(InvalidDataError) as caught:
        read(text)
    return told(caught.value.problems)


ANN_WON = [("ann", "bob", 1.0)]


def test_columns_tell_who_played_with_what_result_rating_and_round():
    games = read(
        pgn(WhiteElo="2500", BlackElo="2400", Round="1.2")
        + pgn("bob", "cyd", "1/2-1/2", WhiteElo="2405", BlackElo="", Round="?")
        + pgn("cyd", "ann", "0-1")
    )
    assert rows(games) == [("ann", "bob", 1.0), ("bob", "cyd", 0.5), ("cyd", "ann", 0.0)]
    assert games.draws.tolist() == [0, 1, 0]
    assert games.round.tolist() == ["1.2", "", ""]
    assert games.white_rating.tolist()[:2] == [2500, 2405]
    assert games.black_rating.tolist()[0] == 2400
    assert math.isnan(games.black_rating[1])
    assert math.isnan(games.white_rating[2])
    assert games.coloured
    assert games.weight is None
    assert [games.locate(row) for row in range(3)] == [
        ("event.pgn", 1),
        ("event.pgn", 11),
        ("event.pgn", 21),
    ]
    games = read(pgn() + pgn(WhiteElo="?", Round="-"))
    assert games.white_rating is games.black_rating is games.round is None


# --- how games are written ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "moves",
    [
        "1. e4 e5 1-0",
        "1.e4 e5\n2.Nf3\n1-0",
        "1. e4 {a comment} e5 1-0",
        "1. e4 {0-1 * 1/2-1/2} e5 1-0",
        '1. e4 {two lines\n[White "mallory"]\n\n[Result "0-1"]\n} e5 1-0',
        "1. e4 {a ; b} e5 1-0",
        "1. e4 ; { 0-1\n e5 1-0",
        "1. e4 e5 1-0 ; 0-1",
        "1. e4 e5 1-0 {ann won 0-1}",
        '1. e4 e5\n% [White "x"] { 0-1\n2. Nf3 1-0',
        "1. e4 (1. d4 d5 (1... Nf6 0-1) 1/2-1/2) e5 1-0",
        "1. e4 (1. d4 e5 0-1 1-0",
        "1. e4) e5 1-0",
        "1. e4! $1 e5?? $4 2. Qh5+- 1-0",
        "{[%evp 0,1,2] a1} 1. e4 {[%clk 0:01:00]} 1-0",
        "1. e4 e5 1-0 1-0",
        "1. e4 e5 1-0 {ann wins} 1-0 $1",
        "1. e4 e5\x1a 1-0 \x1a",
        "1. e4 [no tag] e5 1-0",
        "1. e4 e5{mate}1-0",
        "1. e4 e5 Qxf7#1-0",
        "1. e4 e5 1\u20130",
        "1. S\u00f6 e4 1-0",
        "1. e4 e5 {open } brace } 1-0",
    ],
)
def test_comments_variations_and_signs_are_skipped(moves):
    assert accepted(pgn(moves=moves) + pgn("cyd", "dan", "0-1")) == [*ANN_WON, ("cyd", "dan", 0.0)]


@pytest.mark.parametrize(
    "head",
    [
        '[White "ann"][Black "bob"][Result "1-0"]',
        ' [ White   "ann" ]\t[Black"bob"]\n\n[Result\n"1-0"\n]',
        '[White "ann"]\n\n[Black "bob"]\n{a comment}\n[Result "1-0"]',
        '[White "ann"] ; here\n% there\n[Black "bob"]\n[Result "1-0"]',
        '[white "ann"]\n[BLACK "bob"]\n[result "1-0"]',
        '[White " ann"]\n[Black "bob  "]\n[Result " 1-0 "]',
        '[White "ann"]\n[White "ann"]\n[Black "bob"]\n[Result "1-0"]\n[Site "a"]\n[Site "b"]',
        '[Annotator "never closed]\n[White "ann"]\n[Black "bob"]\n[Result "1-0"]',
        '[White "ann"]\n[Black "bob"]\n[Event "in the middle"]\n[Result "1-0"]',
    ],
)
def test_tags_are_read_with_any_spaces_and_order(head):
    assert accepted(f"{head}\n\n1. e4 e5 1-0\n\n{pgn('cyd', 'dan')}")[0] == ANN_WON[0]


def test_names_in_tags_are_unescaped_and_fide_ids_raise_doubts():
    games = read(pgn(r"ann \"the rook\" a\\b", r"C:\dir"))
    assert rows(games) == [('ann "the rook" a\\b', r"C:\dir", 1.0)]
    games = read(pgn('ann "the rook" ash', "bob\\"))
    assert rows(games) == [('ann "the rook" ash', "bob\\", 1.0)]
    assert len(games.notes) == 1
    assert "not escaped" in games.notes[0]
    text = pgn("ann   ash", "Ann Ash") + pgn("Ash, Ann", "ann\u00a0ash")
    assert [row[:2] for row in accepted(text)] == [("ann ash", "Ann Ash"), ("Ash, Ann", "ann ash")]
    head = "".join(f'[T{at} "x"]\n' for at in range(300))
    assert accepted(head + pgn() + head + pgn("cyd", "dan")) == [*ANN_WON, ("cyd", "dan", 1.0)]
    games = read(
        pgn("ann", "bob", WhiteFideId="1", BlackFideId="2")
        + pgn("ann", "Bob", WhiteFideId="3", BlackFideId="2")
        + pgn("ann", "cyd", WhiteFideId="0", BlackFideId="")
    )
    assert [row[:2] for row in rows(games)] == [("ann", "bob"), ("ann", "Bob"), ("ann", "cyd")]
    assert len(games.notes) == 2
    assert "'ann' (1, 3)" in games.notes[0]
    assert "2 ('bob', 'Bob')" in games.notes[1]


# --- encodings ---------------------------------------------------------------------------------


def test_encodings_of_names():
    games = read(pgn("Hübner, Robert", "Jos\u00e9 \u2026").encode("cp1252"))
    assert rows(games) == [("Hübner, Robert", "José \u2026", 1.0)]
    assert len(games.notes) == 1
    # A byte that Windows-1252 lacks is that of Latin-1.
    assert rows(read(pgn("M\x81ller").encode("latin-1"))) == [("M\x81ller", "bob", 1.0)]
    data = pgn("Müller", "bob").encode("utf-8") + pgn("bob", "Müller").encode("latin-1")
    assert rows(read(data)) == [("Müller", "bob", 1.0), ("bob", "Müller", 1.0)]
    data = pgn().encode("utf-8-sig") + pgn("cyd", "dan").encode("utf-8-sig")
    assert len(accepted(data)) == 2
    assert refused(pgn().encode("utf-16") + b"\x00") == [
        (None, "", "must be PGN text", "invalid UTF-16")
    ]


# --- results -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spelling", "points"),
    [
        ("1/2", 0.5),
        ("½-½", 0.5),
        ("½", 0.5),
        ("0.5-0.5", 0.5),
        ("0,5 - 0,5", 0.5),
        ("1 - 0", 1.0),
        ("0:1", 0.0),
        ("1\u20130", 1.0),
        ("1.0-0.0", 1.0),
    ],
)
def test_reasonable_spellings_of_results_are_read(spelling, points):
    after = {1.0: "1-0", 0.5: "1/2-1/2", 0.0: "0-1"}[points]
    assert accepted(pgn(result=spelling, moves=f"1. e4 {after}")) == [("ann", "bob", points)]


@pytest.mark.parametrize("spelling", ["2-0", "white", "1/2-0", "1-", "10", "1-0-0", "=", "x" * 99])
def test_other_spellings_are_problems_with_their_line(spelling):
    problems = read(pgn(result=spelling, moves="1. e4 1-0")).problems
    assert [(one.line, one.field, one.rule) for one in problems] == [(4, "Result", RESULT)]
    assert spelling[:20] in problems[0].got


@pytest.mark.parametrize(("result", "after"), [("1-0", "0-1"), ("1/2-1/2", "1-0"), ("0-1", "1/2")])
def test_a_result_tag_that_contradicts_the_moves_is_a_problem(result, after):
    games = read(pgn() + pgn(result=result, moves=f"1. e4 {after}"))
    assert rows(games) == ANN_WON
    assert [(one.line, one.field, one.rule) for one in games.problems] == [(11, "Result", AGREE)]


@pytest.mark.parametrize(
    ("result", "moves", "word"),
    [
        ("1-0", "1. e4 *", "the tag is used"),
        ("*", "1. e4 1-0", "the result after the moves is used"),
        ("", "1. e4 1-0", "no tag Result"),
        ("?", "1. e4 1-0", "no tag Result"),
        ("1-0", "1. e4", "none after the moves"),
    ],
)
def test_a_result_in_one_place_counts_and_is_noted(result, moves, word):
    games = read(pgn(result=result, moves=moves))
    assert rows(games) == ANN_WON
    assert games.problems == ()
    assert len(games.notes) == 1
    assert word in games.notes[0]
    assert "line 1" in games.notes[0]


# --- what is not a game (READINGS C6) ----------------------------------------------------------


@pytest.mark.parametrize(
    ("reason", "games"),
    [
        ("unfinished", [pgn("cyd", "dan", "*"), pgn("cyd", "dan", "*", "")]),
        ("unfinished", [pgn("cyd", "dan", Termination="unterminated")]),
        ("without moves", [pgn("cyd", "dan", moves=moves) for moves in ("", "1-0", "{x} 1-0")]),
        ("forfeit", [pgn("cyd", "dan", result) for result in ("1-0F", "+/-")]),
        ("forfeit", [pgn("cyd", "dan", "- : +", ""), pgn("cyd", "dan", "0-0", "0-0")]),
        ("forfeit", [pgn("cyd", "dan", "0-1 (forfeit)", "0-1")]),
        (
            "forfeit",
            [pgn("cyd", "dan", Termination=how) for how in ("Forfeit", "rules infraction")],
        ),
        ("abandoned", [pgn("cyd", "dan", Termination="abandoned")]),
        ("bye", [pgn("cyd", "bye"), pgn("BYE", "dan", "0-1", "0-1"), pgn("cyd", "-", "1-0", "")]),
    ],
)
def test_what_was_not_played_is_counted_and_its_players_are_named(reason, games):
    for game in games:
        found = read(pgn() + game)
        assert rows(found) == ANN_WON
        assert found.problems == ()
        assert found.left_out == {reason: 1}
        assert set(found.players[found.others]) <= {"cyd", "dan"}
        assert len(found.others) == (1 if reason == "bye" else 2)


@pytest.mark.parametrize(
    "game",
    [
        *(pgn(Termination=word) for word in ("Normal", "adjudication", "death", "ann resigned")),
        pgn(Termination="time forfeit"),  # a loss on time, which was played
    ],
)
def test_other_terminations_are_of_games(game):
    assert accepted(game) == ANN_WON
    assert accepted(pgn("Bye, Ann", "Goodbye")) == [("Bye, Ann", "Goodbye", 1.0)]


def test_games_of_tags_alone_and_ratings_of_those_left_out():
    games = read(
        pgn()
        + pgn("cyd", "bye", WhiteElo="-")
        + pgn("cyd", "dan", "*", WhiteElo="2100", BlackElo="x")
        + pgn("cyd", "bye", WhiteElo="2200")
    )
    assert games.players[games.others].tolist() == ["cyd", "dan"]
    assert games.other_rating.tolist()[0] == 2100
    assert math.isnan(games.other_rating[1])
    games = read(pgn(moves="") + pgn("cyd", "dan", "1/2-1/2", "") + pgn("eve", "fay", "1-0F", ""))
    assert rows(games) == [("ann", "bob", 1.0), ("cyd", "dan", 0.5)]
    assert games.left_out == {"forfeit": 1}
    assert "No game has moves" in games.notes[0]
    heads = [
        pgn(moves="").strip().replace('[Event "cup"]\n', first) for first in ("", '[Event "x"]')
    ]
    for head in heads:
        assert accepted("\n".join([head] * 100)) == ANN_WON * 100


# --- problems ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["", "?", "???", "   "])
def test_a_player_without_a_name_is_a_problem(name):
    assert [one[:3] for one in told(read(pgn(black=name)).problems)] == [
        (3, "Black", "must be the name of a player")
    ]


def test_missing_tags_are_told_and_problems_are_bounded():
    problems = told(read(pgn() + '[Event "x"]\n[Result "1-0"]\n\n1. e4 1-0').problems)
    assert problems == [
        (8, "White", "must be the name of a player", "nothing"),
        (8, "Black", "must be the name of a player", "nothing"),
    ]
    assert told(read(pgn(result="", moves="1. e4 e5")).problems) == [
        (4, "Result", RESULT, "nothing")
    ]
    games = read(pgn(WhiteElo="1500P") + pgn(WhiteElo="1500P", BlackElo="1600P"))
    assert games.white_rating.tolist() == [1500, 1500]
    assert [note[:9] for note in games.notes] == ["3 ratings"]
    games = read(pgn(WhiteElo="x") * 12_000)
    assert len(games.problems) == 10_001
    assert games.problems[9_999].line == 5 + 9_999 * 8
    assert games.problems[-1].got == "2,000 more problems, which are not listed"
    assert [one[2] for one in refused(pgn() + "[A " + "x" * (2 * LARGEST_GAME + 9))] == [
        "must be at most 16777216 bytes for a game, with its comments"
    ]


@pytest.mark.parametrize(
    ("elo", "rating"),
    [("2500", 2500), (" 2500 ", 2500), ("2500.5", 2500.5), ("1", 1), ("5000", 5000)]
    + [(none, None) for none in ("", "0", "0000", "-", "--", "?", "????", "unr", "++++")],
)
def test_ratings_and_their_absence(elo, rating):
    games = read(pgn(WhiteElo=elo, BlackElo="2000"))
    assert games.problems == ()
    assert games.white_rating.tolist() == [rating] or (
        rating is None and math.isnan(games.white_rating[0])
    )


@pytest.mark.parametrize(
    "elo", ["5001", "-5", "1e3", "GM", "25OO", "24,5", "0.5", "9" * 500, "\u0662"]
)
def test_other_ratings_are_problems(elo):
    problems = told(read(pgn(BlackElo=elo)).problems)
    assert [one[:3] for one in problems] == [(5, "BlackElo", RATING)]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (pgn('ann "the rook" ash"] [Site "x'), (2, "White", TAG)),
        (pgn().replace('"ann"]', '"ann]'), (2, "White", TAG)),
        (pgn().replace('"ann"', "ann"), (2, "White", TAG)),
        (pgn().replace('"ann"', "\u201cann\u201d"), (2, "White", TAG)),
        (pgn("x" * 1001), (2, "White", "must be at most 1000 characters")),
        (pgn(Round="x" * 1001), (5, "Round", "must be at most 1000 characters")),
        (
            pgn().replace("[Black", '[White "eve"]\n[Black'),
            (3, "White", "must be given once in a game"),
        ),
        ("1. e4 e5 1-0\n\n" + pgn(), (1, "", TAGS)),
        ("\n\n1. e4 e5 *\n\n" + pgn(), (3, "", TAGS)),
        (
            pgn(moves="1. e4\n1-0\n1. d4 d5 0-1"),
            (8, "", "must end with its result: the next game begins with tags"),
        ),
        (pgn(moves="1. e4\n1-0\n0-1"), (8, "", "must end with one result")),
        (pgn(moves="1. e4 e5\n { 1-0\n") + pgn(), (7, "", UNCLOSED)),
        (pgn(moves="1. e4 e5\n { 1-0\n") + pgn(moves="1. e4 {x} 1-0"), (7, "", UNCLOSED)),
    ],
)
def test_broken_games_are_problems_with_their_line(text, problem):
    assert [one[:3] for one in told(read(text).problems)][:1] == [problem]


@pytest.mark.parametrize(
    ("data", "rule"),
    [
        (b"", "must hold at least one game"),
        (b"\n\n", "must hold at least one game"),
        (b"hello, world", "must hold at least one game"),
        (b"\x00\x01\x02", "must be PGN text"),
        (b"SQLite format 3\x00\x10", "must be PGN text"),
    ],
)
def test_what_is_no_pgn_is_refused(data, rule):
    assert [one[2] for one in refused(data)] == [rule]


# --- only some games ---------------------------------------------------------------------------


def test_only_games_with_the_values_asked_for_count():
    text = (
        pgn(Site="Oslo")
        + pgn("cyd", "dan", Site="Rome")
        + pgn("eve", "fay", Event="x", Site="Oslo")
        + pgn("eve", "", "7-0")
    )
    games = read(text, where={"Event": "cup", "Site": "Oslo"})
    assert rows(games) == ANN_WON
    assert games.left_out == {"filtered": 3}
    assert games.problems == ()
    assert not len(games.others)
    assert rows(read(pgn() + pgn("cyd", "dan", Site="x"), where={"Site": ""})) == ANN_WON
    # A comment that is not closed may hold games that are wanted.
    games = read(pgn() + pgn("cyd", "dan", Event="x", moves="{ 1-0"), where={"Event": "cup"})
    assert [one[2] for one in told(games.problems)] == [UNCLOSED]
    games = read(pgn(), where={"Evnt": "cup"})
    assert rows(games) == []
    assert games.notes == ("No game has the tag Evnt.",)


# --- identity ----------------------------------------------------------------------------------

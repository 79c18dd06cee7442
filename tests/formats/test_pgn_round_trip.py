"""PGN written in odd styles and read back; blocks of any size; time that grows with length only."""

from __future__ import annotations

import random
import time
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawing import examples
from equipoise.errors import InvalidDataError
from equipoise.formats.pgn.games import read_pgn
from equipoise.formats.pgn.scan import scan
from equipoise.formats.table import Content
from formats.reading_games import named
from fuzz.damage import damaged
from fuzz.readers import READERS
from trials.pace import stopwatch

NAMES = st.text(
    st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp", "Zs"]), min_size=1, max_size=12
).filter(lambda name: name.strip("?") and name.casefold() not in {"bye", "(bye)", "-", "--"})
RESULTS = {1.0: ["1-0", "1 - 0", "1:0"], 0.5: ["1/2-1/2", "1/2", "½-½"], 0.0: ["0-1", "0:1"]}
AFTER = {1.0: "1-0", 0.5: "1/2-1/2", 0.0: "0-1"}
SPACE = st.sampled_from([" ", "\n", "  ", "\n\n", " \t", '\n% [White "no"] {\n'])
#: What may stand between moves and says nothing.
NOISE = st.sampled_from(
    [
        "{}",
        "{1-0}",
        '{\n[White "no"]\n}',
        "{; ( [}",
        "; } [ { 0-1\n",
        "(1. d4 *)",
        "(1. d4 (1. c4 {)} 1-0) d5)",
        "$13",
        "!?",
        "[x]",
        "12.",
        "...",
    ]
)
GAMES = st.lists(
    st.tuples(NAMES, NAMES, st.sampled_from([1.0, 0.5, 0.0]), st.none() | st.integers(1, 5000)),
    min_size=1,
    max_size=6,
)


def quoted(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def written(draw, games):
    """Return games as PGN in some style."""
    parts = []
    for white, black, points, elo in games:
        tags = [
            ("White", white),
            ("Black", black),
            ("Result", draw(st.sampled_from(RESULTS[points]))),
            ("WhiteElo", draw(st.sampled_from(["", "-", "?"])) if elo is None else str(elo)),
        ]
        tags = [
            ("Event", draw(st.sampled_from(["", "a [cup]", "x"]))),
            *draw(st.permutations(tags)),
        ]
        between = draw(st.sampled_from(["\n", " ", "\n\n", ""]))
        head = between.join(f"[{tag} {quoted(value)}]" for tag, value in tags)
        moves = ["e4", *draw(st.lists(st.sampled_from(["Nf3", "O-O", "exd8=Q#"]), max_size=3))]
        text = draw(SPACE)
        for move in moves:
            text += move + draw(SPACE)
            if draw(st.booleans()):
                text += draw(NOISE) + draw(SPACE)
        parts.append(head + text + AFTER[points] + draw(st.sampled_from(["\n\n", "\n", " "])))
    return "".join(parts)


@given(data=st.data(), games=GAMES)
@examples(150)
def test_games_written_in_any_style_are_read_back(data, games):
    text = written(data.draw, games)
    text = text.replace("\n", data.draw(st.sampled_from(["\n", "\r\n", "\r"])))
    encoded = text.encode(data.draw(st.sampled_from(["utf-8", "utf-8-sig", "utf-16"])))
    found = read_pgn([Content("", "pgn", encoded)])
    assert found.problems == ()
    assert not found.left_out
    assert list(zip(*named(found)[:2], found.points, strict=True)) == [game[:3] for game in games]
    elos = [game[3] for game in games]
    if found.white_rating is None:
        assert elos == [None] * len(games)
    else:
        assert [None if elo != elo else elo for elo in found.white_rating.tolist()] == elos


def told(data, **options):
    """Return all that is told of a file, in a form that compares."""
    try:
        found = read_pgn([Content("x", "pgn", data)], **options)
    except InvalidDataError as error:
        return error.problems
    columns = *named(found), found.points.tolist()
    places = [found.locate(row) for row in range(len(found.white))]
    return columns, places, found.left_out, found.problems, found.notes


@pytest.mark.parametrize("size", [1, 2, 7, 64])
def test_blocks_of_any_size_give_the_same_games(size):
    reader = READERS["pgn"]
    rng = random.Random(size)
    for data in [*reader.seeds, *(damaged(reader.seeds, reader.pieces, rng) for _ in range(60))]:
        whole = told(data)
        # A first block says what kind of file it is; of one byte it would not know.
        if size >= 4 or not data.startswith((b"\xff", b"\xfe", b"\xef")):
            assert told(data, block=size) == whole or b"\0" in data


HEAD = b'[White "a"]\n[Black "b"]\n[Result "1-0"]\n\n'


@pytest.mark.parametrize(
    "text",
    [
        b"[" * 1_000_000,
        b"{" * 1_000_000,
        b'"' * 1_000_000,
        b"(" * 1_000_000,
        b"\\" * 1_000_000,
        *(
            pytest.param(text, marks=pytest.mark.slow)
            for text in (
                b"[ " * 500_000,
                b'[A "' * 250_000,
                b'[A "\\' * 200_000,
                b'[A "\n' * 50_000,
                b'\n[A "x" "]' * 30_000,
                b'[A "x"]' * 150_000,
                b"\n[A " * 50_000,
                HEAD + b"{" * 1_000_000,
                HEAD + b"(1-0" * 250_000,
                HEAD + b"{}" * 500_000 + b"1-0",
                HEAD + b"1-0 " * 250_000,
                HEAD + b"*;" * 500_000,
                HEAD + b"\n%" * 500_000,
                HEAD + b'{\n[White "' * 100_000 + b"}",
                HEAD + b" " * 1_000_000 + b"1-0",
                b"[White " + b" " * 1_000_000 + b'"a"]',
                b'[White "' + b'a"' * 500_000 + b"]\n",
                HEAD[:-1] * 25_000,
            )
        ),
    ],
    ids=range(23),
)
def test_time_grows_with_the_length_whatever_the_text_holds(text):
    """A megabyte takes some tenths of a second; a pattern that went back would take hours."""
    with stopwatch(time.process_time) as watch, suppress(InvalidDataError):
        read_pgn([Content("", "pgn", text)])
    assert watch.seconds < 8


def test_games_come_one_by_one_from_blocks():
    """A stream of games is read no further than the game behind the one that is handed over."""
    taken = []

    def blocks():
        for at in range(1000):
            taken.append(at)
            yield HEAD + b"1. e4 1-0\n\n"

    assert next(scan(blocks(), "")).tags[b"White"] == b"a"
    assert len(taken) < 5

"""PGN in files, archives and directories; in odd styles and blocks of any size; in linear time."""

from __future__ import annotations

import bz2
import gzip
import importlib
import io
import random
import struct
import time
import tracemalloc
import zipfile
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawing import examples
from equipoise.errors import EquipoiseError, InvalidDataError
from equipoise.formats import contents
from equipoise.formats.pgn import read_pgn
from equipoise.formats.pgn_scan import scan
from equipoise.formats.table import Content
from equipoise.formats.values import _NOBODY
from formats.reading_games import named
from formats.test_pgn import pgn, rows
from fuzz.damage import damaged
from fuzz.readers import READERS
from trials.pace import stopwatch

GAMES = pgn() + pgn("cyd", "dan", "1/2-1/2")
ROWS = [("ann", "bob", 1.0), ("cyd", "dan", 0.5)]


def zipped(members):
    """Return an archive of named texts."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    return file.getvalue()


def zstd():
    """Return the library for zstd, or skip the test."""
    for name in ("compression.zstd", "backports.zstd"):
        try:
            return importlib.import_module(name)
        except ImportError:
            continue
    return pytest.skip("neither Python 3.14 nor backports.zstd is here")


PACKED = {
    "plain": lambda data: data,
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "zip": lambda data: zipped({"a.pgn": data}),
    "zstd": lambda data: zstd().compress(
        data, options={zstd().CompressionParameter.checksum_flag: 1}
    ),
}


def problems_of(path):
    """Return the problems of a path that is refused, as (file below it, rule)."""
    with pytest.raises(InvalidDataError) as caught:
        read_pgn([Content(str(path), "pgn", path)])
    return [(one.file.removeprefix(str(path)), one.rule) for one in caught.value.problems]


@pytest.mark.parametrize("packing", [one for one in PACKED if one != "plain"])
def test_packed_files_that_are_cut_or_damaged_are_problems(packing):
    data = PACKED[packing](GAMES.encode() * 20)
    for at in range(5, len(data), 3):
        for content in (data[:at], data[:at] + bytes([data[at] ^ 0x55]) + data[at + 1 :]):
            with suppress(InvalidDataError):
                # Where it is read, a byte was changed that only names or dates something.
                assert rows(read_pgn([Content("", "pgn", content)])) == ROWS * 20
                assert len(content) == len(data)


def test_zstd_in_frames_after_one_to_be_skipped():
    """As pzstd writes them, and with it the largest public collection of games."""
    library = zstd()
    skipped = struct.pack("<II", 0x184D2A50, 4) + b"abcd"
    data = b"".join(skipped + library.compress(one.encode()) for one in (pgn(), pgn("cyd", "dan")))
    assert len(rows(read_pgn([Content("", "pgn", data)]))) == 2


def test_without_a_library_for_zstd_the_sentence_says_what_to_install(monkeypatch):
    def absent(name):
        raise ImportError(name)

    monkeypatch.setattr(contents.importlib, "import_module", absent)
    with pytest.raises(EquipoiseError, match=r"pip install '\.\[zstd\]'"):
        read_pgn([Content("x.pgn.zst", "pgn", b"\x28\xb5\x2f\xfd1234")])


def test_directories_and_archives_are_read_in_the_order_of_names(tmp_path):
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "2.pgn.gz").write_bytes(gzip.compress(pgn("c", "d").encode()))
    (tmp_path / "b" / "10.PGN").write_text(pgn("e", "f"))
    (tmp_path / "a.pgn").write_text(pgn("a", "b"))
    (tmp_path / "z.pgn.zip").write_bytes(zipped({"2.pgn": pgn("i", "j"), "1.pgn": pgn("g", "h")}))
    (tmp_path / "._a.pgn").write_bytes(b"\0\0")
    (tmp_path / "notes.txt").write_text("none")
    games = read_pgn([Content(str(tmp_path), "pgn", tmp_path)])
    assert [row[:2] for row in rows(games)] == [
        ("a", "b"),
        ("e", "f"),
        ("c", "d"),
        ("g", "h"),
        ("i", "j"),
    ]
    assert games.locate(4) == (f"{tmp_path}/z.pgn.zip/2.pgn", 1)
    members = {"__MACOSX/._a.pgn": b"\0", "a.pgn": pgn(), "readme.txt": "x", "d/.b.pgn": b"\0"}
    assert rows(read_pgn([Content("", "pgn", zipped(members))])) == ROWS[:1]
    (tmp_path / "none").mkdir()
    assert problems_of(tmp_path / "none") == [("", "must be a directory with .pgn files")]
    (tmp_path / "x.zip").write_bytes(zipped({"x.txt": "x"}))
    assert problems_of(tmp_path / "x.zip") == [("", "must be an archive with .pgn files")]


def test_whether_games_have_moves_is_judged_over_all_files(tmp_path):
    """Whether a game has moves is judged over all files, so no file hides what another needs."""
    (tmp_path / "1.pgn").write_text("hello")
    (tmp_path / "2.pgn.gz").write_bytes(gzip.compress(GAMES.encode())[:-9])
    (tmp_path / "3.pgn").write_text(pgn(WhiteElo="x"))
    assert problems_of(tmp_path) == [
        ("/1.pgn", "must hold at least one game"),
        ("/2.pgn.gz", "must be a complete gzip file"),
        ("/3.pgn", "must be a rating from 1 to 5000, or one of 0, - and ? for unrated"),
    ]
    folder = tmp_path / "forfeits"
    folder.mkdir()
    (folder / "1.pgn").write_text(pgn())
    (folder / "2.pgn").write_text(pgn("cyd", "dan", moves=""))
    games = read_pgn([Content(str(folder), "pgn", folder)])
    assert rows(games) == ROWS[:1]
    assert games.left_out == {"without moves": 1}


def test_memory_does_not_grow_with_the_text():
    """Ninety megabytes of comments, packed into a thousandth, in a few blocks of memory."""
    padding = "1. e4 {" + "x" * 300_000 + "} 1-0"
    data = gzip.compress(pgn(moves=padding).encode() * 300)
    tracemalloc.start()
    try:
        assert len(read_pgn([Content("", "pgn", data)]).white) == 300
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 12e6  # a block, the same with the rest of the last one, and copies of a game


# --- odd styles, blocks, time ---


NAMES = st.text(
    st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp", "Zs"]), min_size=1, max_size=12
).filter(lambda name: name.strip("?") and name.casefold() not in _NOBODY)
RESULTS = {1.0: ["1-0", "1 - 0", "1:0"], 0.5: ["1/2-1/2", "1/2", "½-½"], 0.0: ["0-1", "0:1"]}
AFTER = {1.0: "1-0", 0.5: "1/2-1/2", 0.0: "0-1"}
SPACE = st.sampled_from([" ", "\n", "  ", "\n\n", " \t", '\n% [White "no"] {\n'])
NOISE = st.sampled_from(
    [
        *("{}", "{1-0}", '{\n[White "no"]\n}', "{; ( [}", "; } [ { 0-1\n", "(1. d4 *)"),
        *("(1. d4 (1. c4 {)} 1-0) d5)", "$13", "!?", "[x]", "12.", "..."),
    ]
)
DRAWN = st.lists(
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


@given(data=st.data(), games=DRAWN)
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

"""PGN in files, compressed files, archives and directories."""

from __future__ import annotations

import bz2
import gzip
import importlib
import io
import struct
import tracemalloc
import zipfile
from contextlib import suppress

import pytest

from equipoise.errors import EquipoiseError, InvalidDataError
from equipoise.formats.opening import kinds as packing
from equipoise.formats.pgn.games import read_pgn
from equipoise.formats.table import Content
from formats.test_pgn import pgn, rows

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
        for damaged in (data[:at], data[:at] + bytes([data[at] ^ 0x55]) + data[at + 1 :]):
            with suppress(InvalidDataError):
                # Where it is read, a byte was changed that only names or dates something.
                assert rows(read_pgn([Content("", "pgn", damaged)])) == ROWS * 20
                assert len(damaged) == len(data)


def test_zstd_in_frames_after_one_to_be_skipped():
    """As pzstd writes them, and with it the largest public collection of games."""
    library = zstd()
    skipped = struct.pack("<II", 0x184D2A50, 4) + b"abcd"
    data = b"".join(skipped + library.compress(one.encode()) for one in (pgn(), pgn("cyd", "dan")))
    assert len(rows(read_pgn([Content("", "pgn", data)]))) == 2


def test_without_a_library_for_zstd_the_sentence_says_what_to_install(monkeypatch):
    def absent(name):
        raise ImportError(name)

    monkeypatch.setattr(packing.importlib, "import_module", absent)
    with pytest.raises(EquipoiseError, match=r"pip install '\.\[zstd\]'"):
        read_pgn([Content("x.pgn.zst", "pgn", b"\x28\xb5\x2f\xfd1234")])


def test_directories_are_read_in_the_order_of_names(tmp_path):
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


def test_archives_pass_over_what_is_not_pgn():
    members = {"__MACOSX/._a.pgn": b"\0", "a.pgn": pgn(), "readme.txt": "x", "d/.b.pgn": b"\0"}
    assert rows(read_pgn([Content("", "pgn", zipped(members))])) == ROWS[:1]


def test_without_games_there_is_a_problem(tmp_path):
    assert problems_of(tmp_path) == [("", "must be a directory with .pgn files")]
    (tmp_path / "x.zip").write_bytes(zipped({"x.txt": "x"}))
    assert problems_of(tmp_path / "x.zip") == [("", "must be an archive with .pgn files")]


def test_unreadable_files_are_told_together_with_bad_games(tmp_path):
    """Whether a game has moves is judged over all files, so no file hides what another needs."""
    (tmp_path / "1.pgn").write_text("hello")
    (tmp_path / "2.pgn.gz").write_bytes(gzip.compress(GAMES.encode())[:-9])
    (tmp_path / "3.pgn").write_text(pgn(WhiteElo="x"))
    assert problems_of(tmp_path) == [
        ("/1.pgn", "must hold at least one game"),
        ("/2.pgn.gz", "must be a complete gzip file"),
        ("/3.pgn", "must be a rating from 1 to 5000, or one of 0, - and ? for unrated"),
    ]


def test_a_round_of_forfeits_in_a_file_of_its_own_is_not_taken_for_games(tmp_path):
    (tmp_path / "1.pgn").write_text(pgn())
    (tmp_path / "2.pgn").write_text(pgn("cyd", "dan", moves=""))
    games = read_pgn([Content(str(tmp_path), "pgn", tmp_path)])
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

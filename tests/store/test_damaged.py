"""A damaged database file: every command ends with a sentence, and the service is not ready."""

from __future__ import annotations

import logging
import random
import shutil
from pathlib import Path

import pytest

from equipoise.cli import run
from equipoise.store.connection import open_store
from equipoise.store.keys import create_key
from pools.pool_trials import NOW, Trial, duel

PAGE = 4096
#: How a page is damaged.
WAYS = ("zeros", "noise", "bytes")


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the file of a database with a pool of some hundred matches."""
    path = tmp_path_factory.mktemp("damaged") / "original.db"
    store = open_store(f"sqlite:///{path}")
    create_key(store, "server", "admin", None, None, NOW)
    pool = Trial(store)
    drawn = random.Random(3)
    for part in range(6):
        pool.post(
            *(
                duel(f"m{part}-{number}", *drawn.sample([f"p{k}" for k in range(60)], 2), part)
                for number in range(60)
            )
        )
    pool.void("m3-3")
    pool.settle()
    store.close()
    return path


def _damage(path: Path, page: int, way: str, drawn: random.Random) -> None:
    """Damage one page of a file."""
    content = bytearray(path.read_bytes())
    begin = page * PAGE
    if way == "zeros":
        content[begin : begin + PAGE] = bytes(PAGE)
    elif way == "noise":
        content[begin : begin + PAGE] = drawn.randbytes(PAGE)
    else:
        for _ in range(40):
            content[begin + drawn.randrange(PAGE)] = drawn.randrange(256)
    path.write_bytes(content)


@pytest.mark.parametrize(
    "way", [WAYS[0], *(pytest.param(way, marks=pytest.mark.nightly) for way in WAYS[1:])]
)
def test_commands_end_with_a_sentence(
    original: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    way: str,
) -> None:
    """Whichever page is damaged, and `verify` does not call the database identical."""
    # Tests of the service may have left a handler that writes to a closed stream.
    monkeypatch.setattr(logging.getLogger("equipoise"), "handlers", [])
    drawn = random.Random(way)
    pages = original.stat().st_size // PAGE
    noticed = 0
    for page in [0, 1, *drawn.sample(range(2, pages), 10)]:
        path = Path(shutil.copy(original, tmp_path / "copy.db"))
        for left in tmp_path.glob("copy.db-*"):
            left.unlink()
        _damage(path, page, way, drawn)
        database = ["--database", f"sqlite:///{path}"]
        log = str(tmp_path / "log.ndjson")
        for command in (
            ["db", "verify"],
            ["db", "export", "trial", "--what", "log", "--output", log],
            ["db", "export", "trial", "--what", "ratings", "--output", str(tmp_path / "r.csv")],
            ["db", "keys", "list"],
        ):
            status = run([*command, *database])
            said = capsys.readouterr().err
            assert status in (0, 1), (page, command)
            assert "Traceback" not in said
            if status == 1 and command != ["db", "verify"]:
                assert said.startswith("equipoise: "), said
            noticed += command == ["db", "verify"] and status == 1
    assert noticed >= 6


def test_a_schema_that_is_no_text(
    original: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """SQLite quotes it in its message, which Python then cannot decode."""
    path = tmp_path / "copy.db"
    content = original.read_bytes()
    assert b"PRIMARY KEY" in content
    path.write_bytes(content.replace(b"PRIMARY KEY", b"PRIM\x8fRY KEY"))
    for command in (
        ["db", "verify"],
        ["db", "keys", "list"],
        ["db", "backup", str(tmp_path)],
        ["db", "check"],
    ):
        assert run([*command, "--database", f"sqlite:///{path}"]) == 1, command
        said = capsys.readouterr()
        if command == ["db", "check"]:
            assert "schema cannot be read" in said.out
        else:
            assert said.err.startswith("equipoise: "), command


def test_a_file_that_is_cut_off(
    original: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As by a disk that was full when it was copied."""
    path = tmp_path / "cut.db"
    path.write_bytes(original.read_bytes()[: 9 * PAGE + 100])
    assert run(["db", "verify", "--database", f"sqlite:///{path}"]) == 1
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "malformed" in said

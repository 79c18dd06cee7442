"""A rating in blocks leaves nothing on the disk, however it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from equipoise.analysis.rate.out_of_core import RepeatedIds
from equipoise.errors import InvalidParameterError

pytest.importorskip("resource", reason="Windows has other signals")

#: The file is divided before the first match is rated, so the command is stopped while it is.
_ROWS = 4_000_000


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a file out of order, which takes seconds to sort."""
    path = tmp_path_factory.mktemp("large") / "season.parquet"
    match = np.repeat(np.arange(_ROWS // 2)[::-1], 2)
    pl.DataFrame(
        {
            "match": match,
            "time": 1_500_000_000 + match,
            "player": np.arange(_ROWS) % 1000,
            "rank": np.tile([1, 2], _ROWS // 2),
        }
    ).write_parquet(path)
    return path


#: The command, with signals as a terminal has them (who runs the tests may ignore some, as `nohup`
#: does), and with the bytes to which a file may grow.
_PROGRAM = """
import resource, signal, sys
signal.signal(signal.SIGHUP, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)
if sys.argv[1] != "any":
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), int(sys.argv[1])))
from equipoise.cli import main
main(sys.argv[2:])
"""


def started(path: Path, folder: Path, largest: str = "any") -> subprocess.Popen[str]:
    """Start a rating with its temporary files in a folder."""
    command = [sys.executable, "-c", _PROGRAM, largest, "rate", str(path), "-s", "elo"]
    command += ["--memory-limit", "500MB", "--output", str(folder.parent / "ratings.parquet")]
    return subprocess.Popen(
        command, env={**os.environ, "TMPDIR": str(folder)}, stderr=subprocess.PIPE, text=True
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "temporary").mkdir()
    return tmp_path / "temporary"


def wait_for_a_part(process: subprocess.Popen[str], folder: Path) -> None:
    """Wait until a part of the file is on the disk."""
    until = time.monotonic() + 120
    while not list(folder.glob("*/part-*")):
        assert process.poll() is None, process.stderr and process.stderr.read()
        assert time.monotonic() < until
        time.sleep(0.01)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_removes_the_parts(large: Path, folder: Path, number: signal.Signals) -> None:
    process = started(large, folder)
    wait_for_a_part(process, folder)
    process.send_signal(number)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 128 + number
    assert said.endswith("stopped\n")
    assert not list(folder.iterdir())
    assert not list(folder.parent.glob("ratings*"))


# By night: after a failed write, Polars 2.1 sometimes waits for ever (2 of 8 times here).
@pytest.mark.slow
@pytest.mark.nightly
def test_a_file_that_may_not_grow_is_named(large: Path, folder: Path) -> None:
    """As on a full disk: one sentence, and nothing is left."""
    process = started(large, folder, largest="100000")
    _, said = process.communicate(timeout=120)
    assert process.returncode == 2, said
    assert "cannot be sorted by time in" in said
    assert "set TMPDIR to a folder with more room" in said
    assert "Traceback" not in said
    assert not list(folder.iterdir())
    assert not list(folder.parent.glob("ratings*"))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a device that is full")
def test_a_full_disk_is_named_where_ids_are_kept(tmp_path: Path) -> None:
    folder = tmp_path / "own"
    folder.mkdir()
    (folder / "ids-0").symlink_to("/dev/full")
    with pytest.raises(InvalidParameterError) as caught:
        RepeatedIds(folder, 10).add(np.arange(3))
    assert str(caught.value) == (
        f"the ids of matches cannot be kept in {tmp_path}: No space left on device (set TMPDIR to "
        "a folder with more room)"
    )

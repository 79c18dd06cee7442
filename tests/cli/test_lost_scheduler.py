"""The scheduler of a cluster is killed while a command runs: the same command goes on."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from equipoise.cli import run

distributed = pytest.importorskip("distributed", reason="needs the extra cluster")

from trials.machines import LONG, Machines, wait_for_worker  # noqa: E402

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.name != "posix", reason="stops processes as POSIX does"),
    pytest.mark.filterwarnings(
        "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
    ),
]

CONTESTS = str(Path(__file__).parent.parent.parent / "examples" / "contests.csv")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def loses_its_scheduler(folder: Path, command: list[str], has_begun: Callable[[str], bool]) -> int:
    """Run a command, kill its scheduler in the middle, and return the port of the scheduler."""
    with Machines(folder / "log", "tcp://127.0.0.1") as machines:
        worker = machines.work("--no-nanny")
        wait_for_worker(machines.address)
        begun = subprocess.Popen(
            [sys.executable, "-m", "equipoise", *command, "--cluster", machines.address],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        deadline = time.monotonic() + LONG
        while not has_begun(machines.address):
            assert begun.poll() is None, begun.communicate()[1]
            assert time.monotonic() < deadline
            time.sleep(0.002)
        # What is under way then stays so, however fast the machine is.
        worker.send_signal(signal.SIGSTOP)
        machines.scheduler.kill()
        said = begun.communicate(timeout=LONG)[1]
        worker.kill()
    assert begun.returncode == 1, said
    assert f"connection to the scheduler at {machines.address} was lost; when it is back" in said
    assert "Traceback" not in said
    return machines.port


def answer(capsys: pytest.CaptureFixture[str], *command: str) -> Any:
    capsys.readouterr()
    assert run([*command, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def goes_on(folder: Path, capsys: pytest.CaptureFixture[str], port: int, command: list[str]) -> Any:
    """Return the answer of the same command with a new scheduler at the same address."""
    with Machines(folder / "log", "tcp://127.0.0.1", port=port) as machines:
        machines.work()
        wait_for_worker(machines.address)
        return answer(capsys, *command, "--cluster", machines.address)


def test_trials_of_a_study_are_kept(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("optuna")
    values = ",".join(str(value) for value in range(10, 50))
    search = ["tune", CONTESTS, "--system", "elo", "--first", "50%", "--grid", f"k={values}"]
    study = folder / "study.db"

    def kept() -> int:
        with (
            contextlib.suppress(sqlite3.Error),
            contextlib.closing(sqlite3.connect(f"file:{study}?mode=ro", uri=True)) as database,
        ):
            done = database.execute("SELECT count(*) FROM trials WHERE state = 'COMPLETE'")
            return int(done.fetchone()[0])
        return 0

    command = [*search, "--study", str(study)]
    port = loses_its_scheduler(folder, command, lambda _: kept() > 1)
    before = kept()
    assert 1 < before < 40
    found = goes_on(folder, capsys, port, command)
    assert found["search"]["recorded"] == before
    assert found["trials"] == answer(capsys, *search)["trials"]

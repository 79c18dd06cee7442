"""equipoise doctor --compile, and the progress of compiling in every command."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from numba import config
from numba.core import event

from equipoise import _jit
from equipoise.cli import report, run
from equipoise.cli.application import create_application
from trials.pace import allow

EXAMPLES = Path(__file__).parents[2] / "examples"

needs_jit = pytest.mark.skipif(bool(config.DISABLE_JIT), reason="nothing is compiled")


@_jit.kernel
def doubled(x):
    return 2.0 * x


@_jit.kernel
def caller(x):
    return doubled(x) + 1.0


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["elo"], 2, "elo needs --compile"),
        (["--compile", "--need", "charts", "elo"], 2, "--need cannot be combined with --compile"),
        (["--compile", "elo", "chess"], 1, "no system 'chess'; the systems are"),
        (["--compile", "elo"], 1, "nothing is compiled while NUMBA_DISABLE_JIT is set"),
    ],
)
def test_what_cannot_be_compiled_is_refused(arguments, status, message, monkeypatch, capsys):
    monkeypatch.setattr(_jit, "compiles_kernels", lambda: False)
    assert run(["doctor", *arguments]) == status
    assert message in capsys.readouterr().err


@needs_jit
@pytest.mark.parametrize("as_json", [False, True])
def test_a_folder_that_cannot_be_written_is_an_error(as_json, monkeypatch, capsys):
    monkeypatch.setattr(_jit, "cache_folder", lambda: None)
    assert run(["doctor", "--compile", "elo", *["--json"] * as_json]) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    said = json.loads(printed.err)["error"]["message"] if as_json else printed.err
    assert "no folder for them can be written; set NUMBA_CACHE_DIR to a folder" in said


@needs_jit
def test_progress_says_what_is_compiled_and_what_is_left(monkeypatch, capsys):
    """On a terminal, a line every few seconds on standard error; none before and after."""
    monkeypatch.setattr(report, "_PAUSE", 0.01)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)

    def shown(text: str) -> None:
        said = ""
        give_up = time.monotonic() + 60.0
        while text not in said:
            assert time.monotonic() < give_up, said
            said += capsys.readouterr().err
            time.sleep(0.01)

    with report.compiling() as compilation:
        with event.trigger_event("numba:compile", data={"dispatcher": caller}):
            shown(f"compiling {__name__}: 1 kernel so far, at most 1 left for it, 0 s\n")
            with event.trigger_event("numba:compile", data={"dispatcher": doubled}):
                shown("2 kernels so far, 0 s")
        capsys.readouterr()
        time.sleep(0.1)
        # A line that was begun before the end may still come.
        assert capsys.readouterr().err.count("compiling") <= 1
    assert (compilation.kernels, compilation.current, compilation.left) == (2, "", 0)
    assert capsys.readouterr().out == ""


@needs_jit
@pytest.mark.parametrize(
    ("name", "said"),
    [("numba:compile", "Compiling kernels, once for this machine ...\n"), ("equipoise:load", "")],
)
def test_a_log_gets_one_line_about_compiling_and_none_about_loading(
    name: str, said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A nightly job that compiles for a minute would otherwise write thirty."""
    monkeypatch.setattr(report, "_PAUSE", 0.001)
    with report.compiling(), event.trigger_event(name, data={"dispatcher": caller}):
        time.sleep(0.05)
    assert capsys.readouterr().err == said


def test_one_command_runs_without_the_others() -> None:
    """All of them are there for help, and where a command is not known."""
    one = create_application("rate")
    assert [command.name for command in one.registered_commands] == ["rate"]
    assert not one.registered_groups
    for name in (None, "--help", "rat"):
        many = create_application(name)
        assert {"rate", "doctor"} <= {command.name for command in many.registered_commands}
        assert {group.name for group in many.registered_groups} == {"audit", "db", "matchmaking"}


@needs_jit
@pytest.mark.recompiles
@pytest.mark.slow
@pytest.mark.parametrize("system", ["glicko2"])
def test_after_compile_no_command_compiles(system: str, tmp_path: Path) -> None:
    """The second run finds all there. What is printed for people leaves JSON and tables alone.

    Seconds of rating leave compiling out, on first use too.
    """
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}

    def equipoise(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "equipoise", *words],
            env=environment,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
        )

    league = str(EXAMPLES / "league.csv")
    done = equipoise("rate", league, "--system", system, "--json")
    assert done.stderr.startswith("Compiling kernels, once for this machine ...\n")
    summary = json.loads(done.stdout)["summary"]
    assert summary["kernels_compiled"] > 10
    assert summary["seconds"]["rate"] < allow(0.5)
    found = json.loads(equipoise("doctor", "--compile", system, "--json").stdout)
    assert found["systems"][0]["kernels"] > 0
    assert Path(found["folder"]).is_relative_to(tmp_path / "cache")
    assert "Nothing to compile" in equipoise("doctor", "--compile", system).stdout
    for words in (
        ("rate", league, "--system", system, "--trace", "trace.csv", "--save", "state.npz"),
        ("predict", "--state", "state.npz", "--team", "ada", "--team", "ben", "--what-if"),
        ("balance", "--state", "state.npz", "--players", "ada,ben,dia,eva", "--teams", "2"),
        ("backtest", league, "--system", system),
    ):
        done = equipoise(*words)
        assert "ompil" not in done.stderr, done.stderr

"""Completion by bash: the script of the library, asked as bash asks it, and in a terminal."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cli.command_line import Cli

BASH = shutil.which("bash")
pytestmark = pytest.mark.skipif(BASH is None, reason="needs bash")

#: What completion calls on a line, which ends in the word to complete, and replies.
ASK = """
source <(equipoise --show-completion bash)
COMP_WORDS=("$@")
COMP_CWORD=$(( $# - 1 ))
_equipoise_completion equipoise
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture
def path(tmp_path: Path) -> dict[str, str]:
    """Give an environment in which `equipoise` is the one of this checkout."""
    command = tmp_path / "bin" / "equipoise"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m equipoise "$@"\n')
    command.chmod(0o755)
    return {**os.environ, "PATH": f"{command.parent}:{os.environ['PATH']}"}


def ask(path: dict[str, str], folder: Path, *words: str) -> list[str]:
    """Return what bash is offered for the last word; bash splits words at equals signs."""
    done = subprocess.run(
        [str(BASH), "--norc", "-c", ASK, "bash", "equipoise", *words],
        env=path,
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.slow
def test_bash_completes_commands_options_systems_and_parameters(
    path: dict[str, str], tmp_path: Path
) -> None:
    def asked(*words: str) -> list[str]:
        return ask(path, tmp_path, *words)

    commands = asked("")
    assert commands[0] == "demo"
    assert {"rate", "audit", "db", "serve"} <= set(commands)
    assert asked("audit", "") == ["drift", "incentives"]
    assert asked("rate", "--sys") == ["--system"]
    assert asked("rate", "--system", "elo") == ["elo", "elo-mmr", "elo-mmx"]
    assert asked("rate", "x.csv", "-s", "elo", "--set", "home_advantage_d") == [
        "home_advantage_deviation=",
        "home_advantage_drift=",
    ]
    assert asked("rate", "x.csv", "--set", "bet") == ["beta="]
    assert asked("rate", "--format", "parq") == ["parquet"]


def test_the_old_command_says_what_to_type(cli: Cli) -> None:
    assert "`equipoise --install-completion`" in cli("completion", "bash", status=2).err

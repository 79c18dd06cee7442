"""Runs commands as users do, in this process."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from equipoise.cli import run

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
SAMPLE = str(EXAMPLES / "contests.csv")
LEAGUE = str(EXAMPLES / "league.csv")

#: Writes a file of this name and content, and returns its path.
Write = Callable[[str, str | bytes], str]


class Shown(NamedTuple):
    """What a command printed."""

    out: str
    err: str


class Cli:
    """Runs commands and returns what each of them prints."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *words: object, status: int = 0) -> Shown:
        """Run a command, which must end with this status."""
        self._capsys.readouterr()
        ended = run([str(word) for word in words])
        shown = Shown(*self._capsys.readouterr())
        assert ended == status, shown
        return shown

    def json(self, *words: object, status: int = 0) -> Any:
        """Run a command with `--json`, and return its answer, or its error if it has none."""
        out, err = self(*words, "--json", status=status)
        return json.loads(out or err)

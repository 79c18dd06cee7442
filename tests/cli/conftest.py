"""Fixtures of the tests of commands."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.command_line import Cli, Write


@pytest.fixture(autouse=True)
def _eighty_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("LINES", "30")


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Cli:
    """Give what runs a command, checks its status and returns what it prints."""
    return Cli(capsys)


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Give what writes a file into the folder of the test."""

    def written(name: str, content: str | bytes) -> str:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return str(path)

    return written

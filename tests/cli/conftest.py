"""Fixtures of the tests of commands."""

from __future__ import annotations

import pytest

from cli.command_line import Cli


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Cli:
    """Give what runs a command, checks its status and returns what it prints."""
    return Cli(capsys)

"""A hundred damaged files: no traceback, and every answer says what to do."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cli.damaged_files import Damaged, damaged_files
from equipoise.cli import run

FILES = list(damaged_files())
SYSTEM = {"rate": ["--system", "elo"], "leaderboard": ["--errors", "none"], "performance": []}
#: An option, a command, or what to do in words.
ADVICE = re.compile(
    r"--[a-z]|`equipoise \w|\b(correct|save|export|download|rename|choose|unpack|remove|use)\b",
    re.IGNORECASE,
)


def label(one: Damaged) -> str:
    return f"{one.name}: {one.damage}"


def test_there_are_more_than_a_hundred() -> None:
    assert len(FILES) > 100
    assert len({label(one) for one in FILES}) == len(FILES)


@pytest.mark.parametrize("one", FILES, ids=label)
def test_the_answer_says_what_to_do(
    one: Damaged, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An error leads on; what can be read nevertheless has a note. Exceptions are not caught."""
    path = tmp_path / one.name
    path.write_bytes(one.content)
    status = run([one.command, str(path), *SYSTEM[one.command]])
    told = capsys.readouterr().err.replace(str(tmp_path), "")
    assert "Traceback" not in told
    if one.read:
        assert status == 0
        assert told
        return
    assert status in (1, 2), told
    assert ADVICE.search(told), told


@pytest.mark.parametrize("one", FILES, ids=label)
def test_skip_bad_helps_where_it_is_named(
    one: Damaged, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The next answer is another: ratings, or what is missing when the bad rows are gone."""
    path = tmp_path / one.name
    path.write_bytes(one.content)
    command = [one.command, str(path), *SYSTEM[one.command]]
    run(command)
    told = capsys.readouterr().err.splitlines()
    if not any(line.endswith("with --skip-bad.") for line in told):
        return
    status = run([*command, "--skip-bad"])
    assert status == 0 or capsys.readouterr().err.splitlines()[:-1] != told[:-1]

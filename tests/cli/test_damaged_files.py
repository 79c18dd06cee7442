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


@pytest.mark.parametrize("name", sorted({one.name for one in FILES}))
def test_the_answer_says_what_to_do(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An error leads on; what can be read nevertheless has a note. Exceptions are not caught.

    Where an error names `--skip-bad`, the next answer is another: ratings, or what is missing when
    the bad rows are gone.
    """
    for one in (each for each in FILES if each.name == name):
        path = tmp_path / name
        path.write_bytes(one.data)
        command = [one.command, str(path), *SYSTEM[one.command]]
        status = run(command)
        told = capsys.readouterr().err.replace(str(tmp_path), "")
        assert "Traceback" not in told, one.damage
        if one.read:
            assert (status, bool(told)) == (0, True), one.damage
            continue
        assert status in (1, 2), (one.damage, told)
        assert ADVICE.search(told), (one.damage, told)
        lines = told.splitlines()
        if any(line.endswith("with --skip-bad.") for line in lines):
            status = run([*command, "--skip-bad"])
            again = capsys.readouterr().err.replace(str(tmp_path), "").splitlines()
            assert status == 0 or again[:-1] != lines[:-1], one.damage

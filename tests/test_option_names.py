"""Messages name options on the command line, and parameters everywhere else."""

from __future__ import annotations

import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import equipoise as eq
import equipoise.formats
from equipoise.cli import run
from equipoise.errors import EquipoiseError, InvalidParameterError, Problem
from equipoise.wording import addressed, options_named


@pytest.mark.parametrize(
    ("typed", "called"),
    [
        ("where (--where) must name a tag", "where must name a tag"),
        ("since and until (--from, --until) need times", "since and until need times"),
        (
            "use --time-format s, or --time-format excel",
            'use time_format="s", or time_format="excel"',
        ),
        ("be read with --time-format '%d/%m/%Y %H'", 'be read with time_format="%d/%m/%Y %H"'),
        ("--column 'player=First name'", 'columns={"player": "First name"}'),
        ("--skip-bad=rows, not --skip-bad", 'skip_bad="rows", not skip_bad="matches"'),
        ("--stat score=WEIGHT", 'statistics={"score": WEIGHT}'),
        ("with --restart (in Python restart=True)", "with restart=True"),
        ("got '--format'", "got '--format'"),  # a value of the user
    ],
)
def test_options_become_parameters(typed: str, called: str) -> None:
    assert addressed(typed) == called
    with options_named():
        assert addressed(typed) == typed


def test_no_rule_of_a_reader_names_options_in_python() -> None:
    """Beside commands between backticks, which are typed as they are."""
    found = 0
    for module in pkgutil.walk_packages(equipoise.formats.__path__, "equipoise.formats."):
        for value in vars(importlib.import_module(module.name)).values():
            if isinstance(value, str) and value.startswith("must ") and "--" in value:
                found += 1
                rule = Problem("", None, "", value, "").rule
                assert not re.search(r"--[a-z]", re.sub("`equipoise [^`]*`", "", rule)), rule
    assert found > 5


def test_errors_and_problems_name_parameters_in_python(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "games.csv"
    path.write_text("match,player,rank\n1,ann,1\n1,ben,DNF\n")
    with pytest.raises(EquipoiseError) as caught:
        eq.read_history(path)
    assert 'skip_bad="rows"' in str(caught.value)
    assert "--" not in str(caught.value)
    with pytest.raises(InvalidParameterError, match="where") as wrong:
        eq.read_history(path, where={"nothing": 1})
    assert "--" not in str(wrong.value)
    assert run(["rate", str(path)]) == 1
    said = capsys.readouterr().err
    assert "--skip-bad=rows" in said
    assert "skip_bad" not in said

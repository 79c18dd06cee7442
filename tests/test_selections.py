"""What `make test` leaves out is run by `make test-all`: together they are all tests."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]

pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="make is not here")


class Run(NamedTuple):
    """A run of pytest: the marks it selects, its paths, and the variables set for it."""

    marks: str
    paths: tuple[str, ...]
    variables: tuple[str, ...]

    def has(self, test: str, marks: frozenset[str]) -> bool:
        """Tell whether it runs a test."""
        words = re.sub(r"\b(?!and\b|or\b|not\b)\w+", lambda one: str(one[0] in marks), self.marks)
        below = not self.paths or test.startswith(
            tuple(f"{path}{end}" for path in self.paths for end in ("/", "::"))
        )
        return below and bool(eval(words, {}))


def runs_of(target: str) -> list[Run]:
    """Return what a target of the Makefile runs, without running it."""
    made = subprocess.run(
        ["make", "--dry-run", "--no-print-directory", target],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    found = []
    for line in made.stdout.splitlines():
        if " -m pytest " not in line:
            continue
        before, _, after = line.partition(" -m pytest ")
        words = shlex.split(after)
        found.append(
            Run(
                words[words.index("-m") + 1],
                tuple(word for word in words if word.startswith("tests/")),
                tuple(word for word in before.split() if "=" in word),
            )
        )
    return found


def test_every_test_is_in_exactly_one_part_of_test_all(
    marks_of_tests: dict[str, frozenset[str]],
) -> None:
    """Of those of this run, which are all tests where no path is given."""
    compiled = [run for run in runs_of("test-all") if not run.variables]
    assert len(compiled) == 5
    assert runs_of("test") == compiled[:1]
    for test, marks in marks_of_tests.items():
        assert "slow" in marks or not {"recompiles", "alone", "browser"} & marks, test
    counts = Counter(
        sum(run.has(test, marks) for run in compiled) for test, marks in marks_of_tests.items()
    )
    assert counts == {1: len(marks_of_tests)}


def test_ci_runs_all_but_what_is_left_to_the_night() -> None:
    """With the browser installed, where `make test-all` takes one that is there."""
    path = ROOT / ".ci" / "run"
    if not path.exists():
        pytest.skip("a source distribution has no .ci")
    script = path.read_text()
    lines = [line.split() for line in script.splitlines()]
    targets = [word for line in lines if line[:1] == ["make"] for word in line[1:]]
    run = [one for target in targets if target.startswith("test") for one in runs_of(target)]
    whole = runs_of("test-all")
    nightly = [
        one
        for one in whole
        if "NUMBA_BOUNDSCHECK=1" in one.variables or one.marks.startswith("nightly")
    ]
    assert len(nightly) == 2
    wanted = [one for one in whole if one.marks != "browser" and one not in nightly]
    assert [one for one in run if "browser and" not in one.marks] == wanted
    assert run[-1].marks == "browser and not nightly"
    assert "NEED_CHROMIUM=1" in run[-1].variables
    assert {"lint", "types", "layers", "docs"} <= set(targets)

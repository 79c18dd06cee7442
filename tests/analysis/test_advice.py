"""What to do about problems that prevent an answer."""

from __future__ import annotations

from equipoise.analysis.reading import advice_on
from equipoise.errors import Problem
from equipoise.formats.delimited import SEPARATED


def test_skipping_is_no_advice_for_columns_that_are_not_separated() -> None:
    problem = Problem("votes.txt", 1, "", SEPARATED, "only spaces")
    assert advice_on([problem], skipping=False) == ""
    assert "--skip-bad" in advice_on(
        [Problem("votes.csv", 2, "rank", "must be a number", "x")], skipping=False
    )

"""The page on which system predicts best says what the benchmarks found, and shows it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
GUIDES = ROOT / "docs" / "guides"
RESULTS = ROOT / "benchmarks" / "results"
KEPT = ("backtest", "tables", "experience", "team_games", "entry", "advantage", "new_systems")


@pytest.mark.parametrize(("guide", "least"), [("system-study", 100), ("which-system", 3)])
def test_every_figure_of_the_page_is_one_that_a_benchmark_kept(guide: str, least: int) -> None:
    """Figures of two decimals or more, without their signs; benchmarks/results is the truth.

    Outputs of commands are compared with those of the commands instead.
    """
    kept = "".join((RESULTS / f"{name}.md").read_text() for name in KEPT)
    known = set(re.findall(r"\d+\.\d\d+", kept))
    page = (GUIDES / f"{guide}.md").read_text()
    shown = re.findall(r"\d+\.\d\d+", re.sub(r"```output\n.*?```", "", page, flags=re.DOTALL))
    assert len(shown) > least
    assert [one for one in shown if one not in known] == []


@pytest.mark.parametrize(
    ("guide", "first", "last", "result"),
    [
        ("system-study", "### Home advantage", "`python benchmarks/advantage.py`", "advantage"),
        ("predicting", "On the second half of 49,520", "`python benchmarks/draws.py`", "draws"),
    ],
)
def test_every_measured_figure_of_other_guides_is_one_that_a_benchmark_kept(
    guide: str, first: str, last: str, result: str
) -> None:
    """From the words with which the measurements begin to the command that shows them.

    A number of deviations is the ratio of two kept figures.
    """
    page = (GUIDES / f"{guide}.md").read_text()
    measured = page[page.index(first) : page.index(last)]
    shown = re.findall(r"\d+\.\d+(?! deviations)", measured)
    known = set(re.findall(r"\d+\.\d+", (RESULTS / f"{result}.md").read_text()))
    assert len(shown) > 4
    assert [one for one in shown if one not in known] == []

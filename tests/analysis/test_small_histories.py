"""Backtests and searches of small histories: what they score by default, and what they propose."""

from __future__ import annotations

import random
import re
import shlex
from pathlib import Path

import msgspec
import pytest

from equipoise.cli import run

EXAMPLES = Path(__file__).parents[2] / "examples"

#: What a backtest and a search have in common here: one system, few values, few resamples.
QUICK = {"backtest": ["--system", "elo"], "tune": ["--system", "elo", "--grid", "k=8,64"]}


@pytest.fixture
def ten(tmp_path: Path) -> str:
    """Give ten duels of four friends, without times."""
    drawn = random.Random(3)
    rows = ["match,player,rank"]
    for match in range(10):
        rows += [
            f"{match},{player},{rank}"
            for rank, player in enumerate(drawn.sample(["ann", "bob", "cem", "dan"], 2), start=1)
        ]
    path = tmp_path / "ten.csv"
    path.write_text("\n".join(rows) + "\n")
    return str(path)


@pytest.fixture
def three(tmp_path: Path) -> str:
    """Give three games of three players."""
    path = tmp_path / "three.csv"
    path.write_text("white,black,result\nann,bob,1-0\nbob,cem,1/2-1/2\ncem,ann,1-0\n")
    return str(path)


def answered(capsys: pytest.CaptureFixture[str], *words: str) -> dict:  # type: ignore[type-arg]
    assert run([*words, "--json"]) == 0, capsys.readouterr().err
    found: dict = msgspec.json.decode(capsys.readouterr().out)  # type: ignore[type-arg]
    return found


@pytest.mark.parametrize(
    ("name", "fewest", "scored"), [("ten", 3, None), ("three", 1, 1), ("contests.csv", 5, None)]
)
def test_a_backtest_of_any_history_scores_something(name, fewest, scored, request, capsys):
    """The note is there exactly if fewer than the usual five earlier matches are enough."""
    path = str(EXAMPLES / name) if name.endswith(".csv") else request.getfixturevalue(name)
    found = answered(capsys, "backtest", path, *QUICK["backtest"])
    assert found["scoring"]["min_history"] == fewest
    assert scored is None or found["systems"][0]["matches"] == scored
    said = [note for note in found["history"]["notes"] if "--min-history" in note]
    assert len(said) == (fewest < 5)


@pytest.mark.parametrize(
    ("name", "first", "fewest"),
    [
        ("ten", 5, 1),
        ("three", 1, 0),
        ("contests.csv", 10, 5),
        ("worldcup2022.csv", 32, 1),
        ("interzonal1970.csv", 69, 5),
    ],
)
def test_a_search_on_any_history_leaves_both_parts_something(name, first, fewest, request, capsys):
    path = str(EXAMPLES / name) if name.endswith(".csv") else request.getfixturevalue(name)
    found = answered(capsys, "tune", path, *QUICK["tune"])
    assert found["search"]["first"] == first
    assert found["search"]["min_history"] == fewest
    assert any("--first sets this share" in note for note in found["history"]["notes"])


@pytest.mark.parametrize(
    ("command", "options"),
    [
        ("backtest", ["--min-history", "1000000000"]),
        ("backtest", ["--from", "99%", "--min-history", "39"]),
        ("backtest", ["--from", "2090-01-01"]),
        ("tune", ["--min-history", "50"]),
        ("tune", ["--first", "10%", "--min-history", "5"]),
        ("tune", ["--first", "2090-01-01"]),
    ],
)
def test_what_an_error_proposes_works(command, options, capsys):
    """The proposal is typed after the options, of which the last one counts."""
    words = [command, str(EXAMPLES / "contests.csv"), *QUICK[command], *options]
    assert run(words) != 0
    said = capsys.readouterr().err
    proposed = re.search(r"Try (--.*)$", said)
    assert proposed is not None, said
    assert "Score more" not in said
    assert run([*words, *shlex.split(proposed[1])]) == 0


@pytest.mark.parametrize("command", ["backtest", "tune"])
def test_a_history_without_results_is_refused(command, tmp_path, capsys):
    path = tmp_path / "ties.csv"
    rows = "".join(f"{match},{player},1\n" for match in range(6) for player in "abc")
    path.write_text(f"match,player,rank\n{rows}")
    assert run([command, str(path), *QUICK[command]]) == 1
    assert "in every match of this history, all players or teams tie" in capsys.readouterr().err


def test_a_search_needs_two_matches(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "one.csv"
    path.write_text("match,player,rank\n1,ann,1\n1,bob,2\n")
    assert run(["tune", str(path), *QUICK["tune"]]) == 1
    assert "a search needs two matches or more" in capsys.readouterr().err

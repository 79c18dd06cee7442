"""`equipoise strengths`: the table, its JSON, and sentences where no estimate exists."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

import equipoise as eq
from equipoise.cli import run

CONTESTS = str(Path(__file__).parents[2] / "examples" / "contests.csv")
#: The second test data of choix 0.4.1; tests/tournament/test_rankings.py has its estimates.
RANKINGS = "match,player,rank\n1,a,1\n1,b,2\n1,c,3\n2,d,1\n2,c,2\n2,a,3\n3,b,1\n3,d,2\n"


def written(tmp_path: Path, text: str) -> str:
    path = tmp_path / "rankings.csv"
    path.write_text(text)
    return str(path)


def test_the_table_and_its_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    games = written(tmp_path, RANKINGS)
    assert run(["strengths", games, "--anchor", "1500"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["player", "rating", "+-", "matches", "chosen", "expected"]
    assert lines[1].split()[:3] == ["1", "b", "1620.7"]
    assert lines[-1].startswith("Chosen and expected choices differ by at most")
    table = tmp_path / "table.csv"
    assert run(["strengths", games, "--anchor", "1500", "--output", str(table)]) == 0
    assert pl.read_csv(table)["player"].to_list() == ["b", "d", "a", "c"]


def test_without_an_estimate_the_groups_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    chain = written(tmp_path, "match,player,rank\n1,a,1\n1,b,2\n2,b,1\n2,c,2\n")
    assert run(["strengths", chain]) == 1
    told = capsys.readouterr().err
    assert "no finite strengths exist" in told
    assert "a was never beaten by b" in told
    assert run(["strengths", chain, "--prior", "1"]) == 0
    assert "Regularised: every player was given 1 drawn game" in capsys.readouterr().out


def test_choices_of_one_and_ties(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Ties below the places that count do not matter; others are refused, or counted by Breslow."""
    text = (
        "match,player,rank\n1,a,1\n1,b,2\n1,c,2\n1,d,3\n2,b,1\n2,a,2\n2,d,2\n2,c,3\n3,c,1\n3,a,2\n"
    )
    ranked = written(tmp_path, text + "4,d,1\n4,c,2\n")
    assert run(["strengths", ranked]) == 1
    assert "must not be shared above the last place" in capsys.readouterr().err
    assert run(["strengths", ranked, "--top", "1", "--json"]) == 0
    chosen = {
        one["player"]: one["chosen"] for one in json.loads(capsys.readouterr().out)["players"]
    }
    assert chosen == {"a": 1.0, "b": 1.0, "c": 1.0, "d": 1.0}
    assert run(["strengths", ranked, "--ties", "breslow"]) == 0
    assert run(["strengths", ranked, "--confidence", "2"]) == 2


def test_groups_that_never_met(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pairs = [("a", "b"), ("b", "a"), ("c", "d"), ("d", "c")]
    rows = [f"{at},{one},{rank}" for at, two in enumerate(pairs) for rank, one in enumerate(two, 1)]
    assert run(["strengths", written(tmp_path, "\n".join(["match,player,rank", *rows]))]) == 0
    out = capsys.readouterr().out
    assert out.splitlines()[0].split()[-1] == "group"
    assert "2 groups of players never met one another" in out


def test_the_example() -> None:
    assert run(["strengths", CONTESTS, "--ties", "breslow", "--prior", "1"]) == 0
    history = eq.read_history(CONTESTS)
    assert len(eq.ranking_strengths(history, top=1, ties="breslow", prior=1.0).rating) == 120

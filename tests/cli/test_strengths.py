"""`equipoise strengths`: the table, its JSON, and sentences where no estimate exists."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from cli.command_line import Cli

CONTESTS = str(Path(__file__).parents[2] / "examples" / "contests.csv")
#: The second test data of choix 0.4.1; tests/tournament/test_rankings.py has its estimates.
RANKINGS = "match,player,rank\n1,a,1\n1,b,2\n1,c,3\n2,d,1\n2,c,2\n2,a,3\n3,b,1\n3,d,2\n"


def written(tmp_path: Path, text: str) -> str:
    path = tmp_path / "rankings.csv"
    path.write_text(text)
    return str(path)


def test_the_table_and_its_file(tmp_path: Path, cli: Cli) -> None:
    games = written(tmp_path, RANKINGS)
    lines = cli("strengths", games, "--anchor", "1500").out.splitlines()
    assert lines[0].split() == ["player", "rating", "+-", "matches", "chosen", "expected"]
    assert lines[1].split()[:3] == ["1", "b", "1620.7"]
    assert lines[-1].startswith("Chosen and expected choices differ by at most")
    table = tmp_path / "table.csv"
    cli("strengths", games, "--anchor", "1500", "--output", str(table))
    assert pl.read_csv(table)["player"].to_list() == ["b", "d", "a", "c"]


def test_without_an_estimate_the_groups_are_named(tmp_path: Path, cli: Cli) -> None:
    chain = written(tmp_path, "match,player,rank\n1,a,1\n1,b,2\n2,b,1\n2,c,2\n")
    told = cli("strengths", chain, status=1).err
    assert "no finite strengths exist" in told
    assert "a was never beaten by b" in told
    shown = cli("strengths", chain, "--prior", "1")
    assert "Regularised: every player was given 1 drawn game" in shown.out


def test_choices_of_one_and_ties(tmp_path: Path, cli: Cli) -> None:
    """Ties below the places that count do not matter; others are refused, or counted by Breslow."""
    text = (
        "match,player,rank\n1,a,1\n1,b,2\n1,c,2\n1,d,3\n2,b,1\n2,a,2\n2,d,2\n2,c,3\n3,c,1\n3,a,2\n"
    )
    ranked = written(tmp_path, text + "4,d,1\n4,c,2\n")
    assert "must not be shared above the last place" in cli("strengths", ranked, status=1).err
    chosen = {
        one["player"]: one["chosen"]
        for one in cli.json("strengths", ranked, "--top", "1")["players"]
    }
    assert chosen == {"a": 1.0, "b": 1.0, "c": 1.0, "d": 1.0}
    cli("strengths", ranked, "--ties", "breslow")
    cli("strengths", ranked, "--confidence", "2", status=2)


def test_groups_that_never_met(tmp_path: Path, cli: Cli) -> None:
    pairs = [("a", "b"), ("b", "a"), ("c", "d"), ("d", "c")]
    rows = [f"{at},{one},{rank}" for at, two in enumerate(pairs) for rank, one in enumerate(two, 1)]
    out = cli("strengths", written(tmp_path, "\n".join(["match,player,rank", *rows]))).out
    assert out.splitlines()[0].split()[-1] == "group"
    assert "2 groups of players never met one another" in out

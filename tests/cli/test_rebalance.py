"""equipoise rebalance as its users run it."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from cli.command_line import Cli

ROOT = Path(__file__).parents[2]
EXAMPLE = str(ROOT / "examples" / "rebalance.json")
DOCUMENT: dict[str, Any] = json.loads(Path(EXAMPLE).read_text())


def document(sizes: list[int], alliance: tuple[int, int, int, int]) -> dict[str, Any]:
    names = ("min_number", "max_number", "player_min_number", "player_max_number")
    ids = iter(range(1000))
    return {
        "ruleset": {
            "alliance": dict(zip(names, alliance, strict=True)),
            "matching_rule": DOCUMENT["ruleset"]["matching_rule"],
        },
        "parties": [
            {
                "players": [
                    {"player": (one := next(ids)), "attributes": {"mmr": one * 37 % 101}}
                    for _ in range(size)
                ]
            }
            for size in sizes
        ],
    }


def write(path: Path, value: object) -> str:
    path.write_text(json.dumps(value))
    return str(path)


def test_the_example_comes_out_in_words(cli: Cli) -> None:
    out, err = cli("rebalance", EXAMPLE)
    assert err == ""
    assert out.splitlines()[:7] == [
        "Permutation: a session of 1 player is filled.",
        "",
        "Team 1: 3 players, mean mmr 46.67",
        "party    players    mmr",
        "Party 1  A        70.00  in session",
        "Party 2  B        60.00",
        "Party 3  C        10.00",
    ]
    even = "The numbers of members differ by 1; the distance is 6.67.\nNo teams are more even."
    assert even in out
    assert "Chosen from 6 sequences." in out


def test_all_lists_the_documents_rows_and_marks_the_result(cli: Cli) -> None:
    rows = cli("rebalance", EXAMPLE, "--all").out.partition("Sequences\n")[2].splitlines()
    assert len(rows) == 7
    assert rows[1].split() == [
        "1",
        "{B}",
        "{C}",
        "{D,E}",
        "{A}",
        "{C}",
        "{B}",
        "{D,E}",
        "1",
        "6.67",
    ]
    assert rows[6].startswith("6 *  {D,E} {B} {C}")
    found = cli.json("rebalance", EXAMPLE, "--all", "--max-sequences", "2")
    assert (len(found["candidates"]), found["truncated"]) == (2, True)


def test_greedy_prints_its_steps(tmp_path: Path, cli: Cli) -> None:
    path = write(tmp_path / "r.json", document([3, 3, 2, 2, 1, 1, 1, 1], (2, 2, 7, 7)))
    out = cli("rebalance", path).out
    assert out.startswith("Greedy: the ruleset is strict, 2 x 7 players: 14 in all, more than 12.")
    assert len(out.partition("Steps\n")[2].splitlines()) == 9


def test_methods_are_compared(tmp_path: Path, cli: Cli) -> None:
    out = cli("rebalance", EXAMPLE, "--compare").out
    assert [line.split()[0] for line in out.splitlines()[1:5]] == [
        "permutation",
        "combination",
        "greedy",
        "optimal",
    ]
    found = {one["method"]: one for one in cli.json("rebalance", EXAMPLE, "--compare")["methods"]}
    assert found["permutation"]["chosen"]
    assert found["optimal"]["gap_distance"] == found["combination"]["gap_distance"] == 0
    assert found["greedy"]["distance"] == 35
    assert found["greedy"]["gap_distance"] == pytest.approx(35 - 20 / 3)
    three = write(tmp_path / "r.json", document([1] * 9, (3, 3, 3, 3)))
    found = {one["method"]: one for one in cli.json("rebalance", three, "--compare")["methods"]}
    assert found["combination"]["chosen"]


def test_a_method_that_gives_way_is_said_to_in_a_comparison(tmp_path: Path, cli: Cli) -> None:
    path = write(tmp_path / "r.json", document([2, 2, 2, 3, 3, 2], (2, 2, 7, 7)))
    found = {one["method"]: one for one in cli.json("rebalance", path, "--compare")["methods"]}
    gave_way = [one for one in found.values() if one["teams"] is None]
    assert all(
        "combination does" in one["note"] or "no sequence" in one["note"] for one in gave_way
    )
    assert found["combination"]["gap_member_count_difference"] == 0


def test_standard_input_is_read_and_a_table_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(Path(EXAMPLE).read_bytes())))
    target = tmp_path / "teams.csv"
    assert cli("rebalance", "-", "--output", str(target)).out
    table = pl.read_csv(target)
    assert table.columns == ["team", "player", "party", "mmr"]
    assert table["team"].to_list() == [1, 1, 1, 2, 2]
    assert table["player"].to_list() == ["A", "B", "C", "D", "E"]

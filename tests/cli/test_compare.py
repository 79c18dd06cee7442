"""equipoise compare and `rate --diff` as their users run them."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import equipoise as eq
from cli.command_line import Cli

ROOT = Path(__file__).parents[2]
SAMPLE = str(ROOT / "examples" / "contests.csv")


@pytest.fixture(autouse=True)
def _eighty_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("LINES", "30")


@pytest.fixture
def tables(tmp_path: Path) -> tuple[str, str]:
    """Return the ratings of the sample by two systems."""
    club = eq.read_history(SAMPLE)
    paths = []
    for system in (eq.EloMMR(), eq.TrueSkill()):
        paths.append(str(tmp_path / f"{system.name}.csv"))
        eq.write_table(eq.replay(system, club), paths[-1])
    return paths[0], paths[1]


def test_the_text_says_who_moved(tables: tuple[str, str], cli: Cli) -> None:
    told = cli("compare", *tables, "--top", "3")
    lines = told.out.splitlines()
    assert lines[0].startswith("120 players in both")
    assert "Changes are measured on the scale of the new ratings" in told.out
    assert "Of 7,140 pairs of players, 93.40 % are in the same order" in told.out
    at = lines.index("Fell most")
    assert lines[at + 2].split() == [
        *("grove-kite", "513.1", "827.5", "536.9", "-290.6", "-2.85", "120", "120", "0")
    ]
    assert "--initial-mapping 1200=" in told.err


def test_json_has_the_numbers_of_the_library(tables: tuple[str, str], cli: Cli) -> None:
    answer = cli.json("compare", *tables, "--top", "2", "--by", "place")
    found = eq.compare_ratings(*tables)
    assert answer["kendall"] == found.kendall
    assert answer["line"]["slope"] == found.line.slope if found.line else None
    assert [one["player"] for one in answer["risen"]] == (
        found.risen(2, by="place")["player"].to_list()
    )
    assert answer["only_old"] == 0
    assert answer["on_line"]["standard_deviation"] == found.line.residual if found.line else None


def test_the_printed_mapping_is_the_line(tables: tuple[str, str], cli: Cli) -> None:
    """`rate --initial OLD --initial-mapping` begins with the old ratings on the new scale."""
    mapping = cli.json("compare", *tables)["line"]["mapping"]
    found = eq.compare_ratings(*tables)
    assert len({pair.partition("=")[0] for pair in mapping.split(",")}) == 2
    for pair in mapping.split(","):
        there, here = map(float, pair.split("="))
        assert found.line is not None
        assert here == pytest.approx(found.line.at(there), rel=1e-5)


def test_table_and_chart_are_written(tables: tuple[str, str], tmp_path: Path, cli: Cli) -> None:
    table, chart = tmp_path / "all.csv", tmp_path / "chart.svg"
    given = ["--output", str(table), "--chart", str(chart)]
    told = cli("compare", *tables, *given)
    assert "across:" not in told.out
    assert f"drew {chart}" in told.err
    assert chart.read_bytes().startswith(b"<?xml")
    found = pl.read_csv(table)
    assert len(found) == 120
    assert found["player"][0] == "iris-eagle"
    assert found["change"].is_sorted(descending=True)


def test_players_of_few_matches_are_left_out(
    tables: tuple[str, str], tmp_path: Path, cli: Cli
) -> None:
    answer = cli.json("compare", *tables, "--min-matches", "25")
    enough = (pl.read_csv(tables[0])["matches"] >= 25).sum()
    assert answer["players"] == enough
    assert 0 < enough < 120
    assert f"{120 - enough} players with fewer than 25 matches left out" in answer["notes"]
    shown = cli("compare", *tables, "--min-matches", "41", status=1)
    assert "no player of a table has at least 41 matches" in shown.err
    (tmp_path / "bare.csv").write_text("player,rating\namber-fox,1500\n")
    shown = cli("compare", *2 * [str(tmp_path / "bare.csv")], "--min-matches", "2", status=2)
    assert "needs numbers of matches" in shown.err
    # The numbers of one table are enough.
    shown = cli("compare", tmp_path / "bare.csv", tables[0], "--min-matches", "2")
    assert shown.out.startswith("1 player in both")
    assert "Nobody fell." in shown.out
    assert "too few for correlations and a line" in shown.err


def test_an_output_does_not_replace_an_input(tables: tuple[str, str], cli: Cli) -> None:
    shown = cli("compare", *tables, "--output", tables[1], status=2)
    assert "NEW and --output name the same file" in shown.err


def test_a_list_from_elsewhere(tables: tuple[str, str], tmp_path: Path, cli: Cli) -> None:
    listed = tmp_path / "list.tsv"
    listed.write_text("ID\tName\tElo\n1\tamber-fox\t1500\n2\tjade-kite\t1900\n3\tnew-ant\t\n")
    shown = cli("compare", str(listed), tables[0], status=1)
    assert "--column player=ID or --column player=Name" in shown.err
    told = cli("compare", str(listed), tables[0], "--column", "player=Name")
    assert told.out.startswith("2 players in both")
    assert "Elo was read as rating" in told.err
    assert "1 player without a rating left out: new-ant" in told.err
    assert "only 2 players are in both tables" in told.err


def test_rate_compares_with_the_table_that_it_replaces(tmp_path: Path, cli: Cli) -> None:
    table = str(tmp_path / "ratings.csv")
    cli("rate", SAMPLE, "--system", "elo-mmr", "--output", table)
    before = Path(table).read_bytes()
    given = ["rate", SAMPLE, "--system", "elo-mmr", "--set", "weight_limit=0.3"]
    told = cli(*given, "--output", table, "--diff", table).out
    assert told.splitlines()[0].endswith("ratings.csv (old) and the ratings by elo-mmr (new)")
    assert "fjord-hare" in told
    assert Path(table).read_bytes() != before
    answer = cli.json(*given, "--diff", table)
    assert answer["diff"]["as_they_are"]["mean_absolute"] == 0.0
    assert len(answer["ratings"]) == 120


def test_conservative_ratings_order_the_table(tmp_path: Path, cli: Cli) -> None:
    table = tmp_path / "ratings.parquet"
    given = ["rate", SAMPLE, "--system", "trueskill", "--conservative"]
    cli(*given, "--output", str(table))
    found = pl.read_parquet(table)
    low = (found["rating"] - 3 * found["deviation"]).to_list()
    assert found["conservative"].to_list() == low
    assert found["conservative"].is_sorted(descending=True)
    assert not found["rating"].is_sorted(descending=True)
    told = cli(*given)
    assert told.out.split()[:4] == ["player", "rating", "deviation", "conservative"]
    assert "the rating minus three deviations" in told.err


def test_conservative_ratings_need_deviations(cli: Cli) -> None:
    league = str(ROOT / "examples" / "league.csv")
    shown = cli("rate", league, "--system", "elo", "--conservative", status=2)
    assert "--conservative needs a system with deviations, and elo has none" in (shown.err)
    shown = cli("rate", SAMPLE, "--system", "codeforces", "--conservative")
    assert "does not change their order" in shown.err

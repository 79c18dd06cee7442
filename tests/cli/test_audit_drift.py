"""equipoise audit drift as its users run it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import equipoise as eq
from equipoise.cli import run
from equipoise.data.audits import DRIFT_COLUMNS, ActivityWindow
from equipoise.evaluate.drift import drift

ROOT = Path(__file__).parents[2]
SAMPLE = str(ROOT / "examples" / "contests.csv")
UT4 = ROOT.parent / "shared" / "data" / "ut4.parquet"
STATISTICS = "kills = 1\ndeaths = -1\ndamage = 0.004545454545454545\n"
THREE = [
    *("--system", "plain=team-glicko2", "--set", "plain.beta=0"),
    *("--system", "scaled=team-glicko2"),
    *("--system", "conserved=team-glicko2", "--set", "conserved.conserve=true"),
]


def audit(*arguments: str) -> int:
    return run(["audit", "drift", *arguments])


@pytest.fixture(autouse=True)
def _eighty_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("LINES", "30")


@pytest.fixture
def statistics(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Weigh statistics in all commands, as the guide does."""
    (tmp_path / "equipoise.toml").write_text(f"[reading.stat]\n{STATISTICS}")
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="module")
def teams(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("teams") / "teams.csv"
    made = ["--players", "40", "--matches", "120", "--seed", "4", "--output", str(path)]
    assert run(["simulate", "--kind", "teams", *made]) == 0
    return str(path)


@pytest.mark.slow
def test_json_has_the_numbers_of_the_library(capsys: pytest.CaptureFixture[str]) -> None:
    assert audit(SAMPLE, "--active-days", "30", "--points", "6", "--json") == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["window"] == {"unit": "days", "length": 30}
    (one,) = answer["systems"]
    assert (one["label"], one["system"], one["scales"]) == ("elo-mmr", "elo-mmr", False)
    window = ActivityWindow("days", 30)
    found = drift(eq.EloMMR(), eq.read_history(SAMPLE), window=window, points=6)
    assert one["start"] == found.start
    table = found.file_table()
    assert one["points"] == json.loads(table.write_json())
    assert one["points"][0]["by_performance"] is None
    assert answer["history"]["matches"] == 40


@pytest.mark.slow
def test_one_system_is_a_table_of_moments(capsys: pytest.CaptureFixture[str]) -> None:
    assert audit(SAMPLE, "--system", "elo", "--points", "5") == 0
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert lines[0].startswith("matches  time")
    assert "last 90 days" in err
    assert lines[5].split()[:2] == ["40", "2020-09-30"]
    assert lines[6] == ""
    # The same times with newcomers, who all enter at the initial rating.
    assert lines[7].split()[:5] == ["matches", "time", "newcomers", "entered", "performed"]
    assert len(lines) == 13
    assert lines[-1].split()[0] == "40"
    assert "120 newcomers entered at 1500 on average (a fixed entry)" in err
    assert "matches added +0.0 points per player; elo does not scale changes by performance" in err
    assert "-0.0" not in out


@pytest.mark.slow
@pytest.mark.usefixtures("statistics")
def test_several_systems_are_a_row_each(teams: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert audit(teams, *THREE) == 0
    out, err = capsys.readouterr()
    rows = out.splitlines()[-9:-5]
    assert rows[0].startswith("system")
    assert [row.split()[0] for row in rows[1:]] == ["plain", "scaled", "conserved"]
    part = [float(row.split()[-1]) for row in rows[1:]]
    assert part[0] == part[2] == 0
    assert part[1] != 0
    assert "conserved: matches added" in err
    assert audit(teams, *THREE, "--details", "--points", "4") == 0
    lines = capsys.readouterr().out.splitlines()
    for rows in (lines[-26:-14], lines[-12:]):
        assert [line.split()[0] for line in rows] == [
            label for label in ("plain", "scaled", "conserved") for _ in range(4)
        ]


@pytest.mark.slow
def test_a_learned_entry_and_a_held_level_are_shown(
    teams: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """In words, in the tables, and as JSON; the sums are those of the points."""
    both = ["--system", "elo", "--set", "entry=learned", "--set", "hold_level=0.5"]
    assert audit(teams, *both, "--set", "level_memory=20", "--points", "4", "--details") == 0
    out, err = capsys.readouterr()
    assert "(a learned entry)" in err
    assert "holding the level handed out" in err
    assert "handed" in out
    assert audit(teams, *both, "--set", "level_memory=20", "--points", "4", "--json") == 0
    (one,) = json.loads(capsys.readouterr().out)["systems"]
    assert one["learns"]
    assert one["holds"]
    last = one["points"][-1]
    assert sum(point["newcomers"] for point in one["points"]) == last["players"]
    assert last["handed"] > 0
    assert last["active"] * (last["rating"] - one["start"]) == pytest.approx(
        last["brought"] + last["created"] - last["lost"]
    )


@pytest.mark.slow
@pytest.mark.usefixtures("statistics")
def test_a_table_has_all_moments_of_all_systems(
    tmp_path: Path, teams: str, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "drift.parquet"
    assert audit(teams, *THREE, "--points", "7", "--output", str(target)) == 0
    out, err = capsys.readouterr()
    assert out == ""
    assert f"wrote {target}" in err
    table = pl.read_parquet(target)
    assert table.columns == ["system", "matches", "time", *DRIFT_COLUMNS]
    assert len(table) == 21
    conserved = table.filter(pl.col("system") == "conserved")
    np.testing.assert_allclose(conserved["created_by_performance"].to_numpy(), 0, atol=1e-9)


@pytest.mark.slow
def test_without_times_matches_are_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "h.csv"
    rows = "".join(f"{m},ann,{m % 2}\n{m},bob,{1 - m % 2}\n" for m in range(1, 41))
    path.write_text("match,player,rank\n" + rows)
    assert audit(str(path), "--system", "elo", "--json") == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["window"] == {"unit": "matches", "length": 4}
    assert {point["time"] for point in answer["systems"][0]["points"]} == {None}
    assert audit(str(path), "--system", "elo") == 0
    out, err = capsys.readouterr()
    assert "last 4 matches" in err
    assert " time " not in out
    assert audit(str(path), "--system", "elo", "--active-matches", "1") == 0
    assert "played in the last 1 match\n" in capsys.readouterr().err
    assert audit(str(path), "--system", "elo", "--active-days", "9") == 2
    assert "--active-days needs a history with times" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.skipif(not UT4.exists(), reason=f"no real data at {UT4}")
@pytest.mark.usefixtures("statistics")
def test_the_numbers_in_the_guide_are_those_of_ut4(capsys: pytest.CaptureFixture[str]) -> None:
    """docs/guides/drift.md prints this table."""
    assert audit(str(UT4), *THREE) == 0
    table = [line.split() for line in capsys.readouterr().out.splitlines()[-9:-5]]
    text = (ROOT / "docs" / "guides" / "drift.md").read_text(encoding="utf-8")
    printed = [line.split() for line in text.splitlines()]
    assert all(row in printed for row in table)

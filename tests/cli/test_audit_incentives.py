"""equipoise audit incentives as its users run it."""

from __future__ import annotations

import json
import runpy
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import equipoise as eq
from equipoise.cli import run
from equipoise.data.audits import INCENTIVE_COLUMNS
from equipoise.evaluate.incentives import Effort, incentives

ROOT = Path(__file__).parents[2]
SAMPLE = str(ROOT / "examples" / "contests.csv")
LEAGUE = ROOT / "examples" / "league.csv"
QUICK = ("--matches", "12", "--budget", "60")
FARMED = ("--system", "plackett-luce", "--player", "heath-hare", *QUICK)


def audit(*arguments: str) -> int:
    return run(["audit", "incentives", *arguments])


@pytest.fixture(autouse=True)
def _eighty_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("LINES", "30")


@pytest.mark.slow
def test_json_has_the_numbers_of_the_library(capsys: pytest.CaptureFixture[str]) -> None:
    assert audit(SAMPLE, *FARMED, "--json") == 0
    answer = json.loads(capsys.readouterr().out)
    (system,) = answer["systems"]
    (one,) = system["players"]
    (found,) = incentives(
        eq.PlackettLuce(),
        eq.read_history(SAMPLE),
        ["heath-hare"],
        effort=Effort(matches=12, budget=60),
    )
    assert (system["label"], one["player"]) == ("plackett-luce", "heath-hare")
    assert (one["gain"], one["planned"]) == (found.gain, found.planned[-1])
    assert [match["planned"] for match in one["matches"]] == found.planned.tolist()
    assert [match["thrown"] for match in one["matches"]] == found.thrown.tolist()
    assert one["thrown"] == found.thrown.sum() > 0
    assert answer["last_matches"] == 12
    assert answer["history"]["matches"] == 40


@pytest.mark.slow
def test_a_gain_is_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert audit(SAMPLE, *FARMED) == 0
    out, err = capsys.readouterr()
    rows = out.splitlines()
    cells = dict(zip(rows[0].split(), rows[1].split(), strict=True))
    assert float(cells["by_plan"]) - float(cells["honest"]) == pytest.approx(
        float(cells["gain"]), abs=0.11
    )
    assert cells["considered"] == "12"
    assert int(cells["thrown"]) > 0
    assert f"heath-hare gains {float(cells['gain']):.1f} points by throwing" in err
    assert "finding none proves nothing" in err


@pytest.mark.slow
def test_where_nothing_is_gained_that_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert audit(SAMPLE, *QUICK, "--system", "elo-mmr", "--system", "elo") == 0
    out, err = capsys.readouterr()
    rows = out.splitlines()
    assert rows[0].startswith("system")
    assert [row.split()[0] for row in rows[1:]] == ["elo-mmr"] * 4 + ["elo"] * 4
    assert all(" +0.0 " in row for row in rows[1:])
    assert "elo-mmr: no plan gains anything" in err
    # The two most active, and two of medium activity.
    assert [row.split()[1] for row in rows[1:5]] == [row.split()[1] for row in rows[5:]]


@pytest.mark.slow
def test_where_all_plans_were_tried_that_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert audit(SAMPLE, "--matches", "2", "--player", "jade-ibis") == 0
    out, err = capsys.readouterr()
    assert out.splitlines()[1].endswith("(all)")
    assert "proves nothing" not in err


@pytest.mark.slow
def test_a_table_has_all_matches(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "plan.parquet"
    assert audit(SAMPLE, *FARMED, "--system", "elo", "--output", str(target)) == 0
    out, err = capsys.readouterr()
    assert out == ""
    assert f"wrote {target}" in err
    table = pl.read_parquet(target)
    assert table.columns == ["system", "player", "match", "time", *INCENTIVE_COLUMNS]
    assert len(table) == 24
    fair = table.filter(~pl.col("thrown"))
    np.testing.assert_array_equal(fair["place"], fair["planned_place"])
    assert (table.filter("thrown")["planned_place"] > table.filter("thrown")["place"]).any()


@pytest.mark.slow
def test_the_league_is_what_its_script_makes(tmp_path: Path) -> None:
    """examples/league.csv is not edited by hand."""
    script = runpy.run_path(str(ROOT / "examples" / "make_league.py"))
    target = tmp_path / "league.csv"
    eq.write_history(script["league"](), str(target))
    assert target.read_bytes() == LEAGUE.read_bytes()

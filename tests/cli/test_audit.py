"""equipoise audit as its users run it: drift, and then incentives."""

from __future__ import annotations

import json
import runpy
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import equipoise as eq
from cli.command_line import LEAGUE, ROOT, SAMPLE, Cli, Write
from equipoise.cli import run
from equipoise.data.audits import DRIFT_COLUMNS, INCENTIVE_COLUMNS, ActivityWindow
from equipoise.evaluate.drift import drift
from equipoise.evaluate.incentives import Effort, incentives

pytestmark = pytest.mark.slow

UT4 = ROOT.parent / "shared" / "data" / "ut4.parquet"
STATISTICS = "kills = 1\ndeaths = -1\ndamage = 0.004545454545454545\n"
THREE = [
    *("--system", "plain=team-glicko2", "--set", "plain.beta=0"),
    *("--system", "scaled=team-glicko2"),
    *("--system", "conserved=team-glicko2", "--set", "conserved.conserve=true"),
]


@pytest.fixture
def statistics(write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Weigh statistics in all commands, as the guide does."""
    write("equipoise.toml", f"[reading.stat]\n{STATISTICS}")
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="module")
def teams(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("teams") / "teams.csv"
    made = ["--players", "40", "--matches", "120", "--seed", "4", "--output", str(path)]
    assert run(["simulate", "--kind", "teams", *made]) == 0
    return str(path)


def test_the_drift_of_one_system_is_a_table_and_json_has_the_numbers_of_the_library(cli):
    answer = cli.json("audit", "drift", SAMPLE, "--active-days", "30", "--points", "6")
    assert answer["window"] == {"unit": "days", "length": 30}
    (one,) = answer["systems"]
    assert (one["label"], one["system"], one["scales"]) == ("elo-mmr", "elo-mmr", False)
    window = ActivityWindow("days", 30)
    found = drift(eq.EloMMR(), eq.read_history(SAMPLE), window=window, points=6)
    assert one["start"] == found.start
    assert one["points"] == json.loads(found.file_table().write_json())
    assert one["points"][0]["by_performance"] is None
    assert answer["history"]["matches"] == 40
    out, err = cli("audit", "drift", SAMPLE, "--system", "elo", "--points", "5")
    lines = out.splitlines()
    assert lines[0].startswith("matches  time")
    assert lines[5].split()[:2] == ["40", "2020-09-30"]
    # The same times with newcomers, who all enter at the initial rating.
    assert lines[6] == ""
    assert lines[7].split()[:5] == ["matches", "time", "newcomers", "entered", "performed"]
    assert (len(lines), lines[-1].split()[0]) == (13, "40")
    assert "last 90 days" in err
    assert "120 newcomers entered at 1500 on average (a fixed entry)" in err
    assert "matches added +0.0 points per player; elo does not scale changes by performance" in err
    assert "-0.0" not in out


@pytest.mark.usefixtures("statistics")
def test_several_systems_are_a_row_each(teams: str, tmp_path: Path, cli: Cli) -> None:
    out, err = cli("audit", "drift", teams, *THREE)
    rows = out.splitlines()[-9:-5]
    assert rows[0].startswith("system")
    assert [row.split()[0] for row in rows[1:]] == ["plain", "scaled", "conserved"]
    part = [float(row.split()[-1]) for row in rows[1:]]
    assert part[0] == part[2] == 0 != part[1]
    assert "conserved: matches added" in err
    target = tmp_path / "drift.parquet"
    asked = ("audit", "drift", teams, *THREE, "--details", "--points", "4", "--output", target)
    lines = cli(*asked[:-2]).out.splitlines()
    labels = [label for label in ("plain", "scaled", "conserved") for _ in range(4)]
    for rows in (lines[-26:-14], lines[-12:]):
        assert [line.split()[0] for line in rows] == labels
    out, err = cli(*asked)
    assert out == ""
    assert f"wrote {target}" in err
    table = pl.read_parquet(target)
    assert table.columns == ["system", "matches", "time", *DRIFT_COLUMNS]
    assert table["system"].to_list() == labels
    conserved = table.filter(pl.col("system") == "conserved")
    np.testing.assert_allclose(conserved["created_by_performance"].to_numpy(), 0, atol=1e-9)


def test_a_learned_entry_and_a_held_level_are_shown(teams: str, cli: Cli) -> None:
    """In words, in the tables, and as JSON; the sums are those of the points."""
    both = ["--system", "elo", "--set", "entry=learned", "--set", "hold_level=0.5"]
    asked = ["audit", "drift", teams, *both, "--set", "level_memory=20", "--points", "4"]
    out, err = cli(*asked, "--details")
    assert "(a learned entry)" in err
    assert "holding the level handed out" in err
    assert "handed" in out
    (one,) = cli.json(*asked)["systems"]
    assert one["learns"]
    assert one["holds"]
    last = one["points"][-1]
    assert sum(point["newcomers"] for point in one["points"]) == last["players"]
    assert last["handed"] > 0
    assert last["active"] * (last["rating"] - one["start"]) == pytest.approx(
        last["brought"] + last["created"] - last["lost"]
    )


def test_without_times_matches_are_counted(write: Write, cli: Cli) -> None:
    rows = "".join(f"{m},ann,{m % 2}\n{m},bob,{1 - m % 2}\n" for m in range(1, 41))
    asked = ("audit", "drift", write("h.csv", f"match,player,rank\n{rows}"), "--system", "elo")
    answer = cli.json(*asked)
    assert answer["window"] == {"unit": "matches", "length": 4}
    assert {point["time"] for point in answer["systems"][0]["points"]} == {None}
    out, err = cli(*asked)
    assert "last 4 matches" in err
    assert " time " not in out
    assert "played in the last 1 match\n" in cli(*asked, "--active-matches", "1").err
    shown = cli(*asked, "--active-days", "9", status=2)
    assert "--active-days needs a history with times" in shown.err


@pytest.mark.skipif(not UT4.exists(), reason=f"no real data at {UT4}")
@pytest.mark.usefixtures("statistics")
def test_the_numbers_in_the_guide_are_those_of_ut4(cli: Cli) -> None:
    """docs/guides/drift.md prints this table."""
    table = [line.split() for line in cli("audit", "drift", UT4, *THREE).out.splitlines()[-9:-5]]
    text = (ROOT / "docs" / "guides" / "drift.md").read_text(encoding="utf-8")
    printed = [line.split() for line in text.splitlines()]
    assert all(row in printed for row in table)


QUICK = ("--matches", "12", "--budget", "60")
FARMED = ("--system", "plackett-luce", "--player", "heath-hare", *QUICK)


def test_a_gain_is_a_table_with_the_incentives_of_the_library(tmp_path: Path, cli: Cli) -> None:
    answer = cli.json("audit", "incentives", SAMPLE, *FARMED)
    (system,) = answer["systems"]
    (one,) = system["players"]
    effort = Effort(matches=12, budget=60)
    history = eq.read_history(SAMPLE)
    (found,) = incentives(eq.PlackettLuce(), history, ["heath-hare"], effort=effort)
    assert (system["label"], one["player"]) == ("plackett-luce", "heath-hare")
    assert (one["gain"], one["planned"]) == (found.gain, found.planned[-1])
    assert [match["planned"] for match in one["matches"]] == found.planned.tolist()
    assert [match["thrown"] for match in one["matches"]] == found.thrown.tolist()
    assert one["thrown"] == found.thrown.sum() > 0
    assert (answer["last_matches"], answer["history"]["matches"]) == (12, 40)
    target = tmp_path / "plan.parquet"
    asked = ("audit", "incentives", SAMPLE, *FARMED, "--system", "elo", "--output", target)
    out, err = cli(*asked)
    assert out == ""
    assert f"wrote {target}" in err
    table = pl.read_parquet(target)
    assert table.columns == ["system", "player", "match", "time", *INCENTIVE_COLUMNS]
    assert len(table) == 24
    fair, thrown = table.filter(~pl.col("thrown")), table.filter("thrown")
    np.testing.assert_array_equal(fair["place"], fair["planned_place"])
    assert (thrown["planned_place"] > thrown["place"]).any()
    out, err = cli("audit", "incentives", SAMPLE, *FARMED)
    cells = dict(zip(*(row.split() for row in out.splitlines()[:2]), strict=True))
    gain = float(cells["by_plan"]) - float(cells["honest"])
    assert gain == pytest.approx(float(cells["gain"]), abs=0.11)
    assert cells["considered"] == "12"
    assert int(cells["thrown"]) > 0
    assert f"heath-hare gains {float(cells['gain']):.1f} points by throwing" in err
    assert "finding none proves nothing" in err


def test_where_nothing_is_gained_or_all_plans_were_tried_that_is_said(cli: Cli) -> None:
    out, err = cli("audit", "incentives", SAMPLE, *QUICK, "--system", "elo-mmr", "--system", "elo")
    head, *rows = out.splitlines()
    assert head.startswith("system")
    assert [row.split()[0] for row in rows] == ["elo-mmr"] * 4 + ["elo"] * 4
    assert all(" +0.0 " in row for row in rows)
    assert "elo-mmr: no plan gains anything" in err
    # The two most active, and two of medium activity.
    assert [row.split()[1] for row in rows[:4]] == [row.split()[1] for row in rows[4:]]
    out, err = cli("audit", "incentives", SAMPLE, "--matches", "2", "--player", "jade-ibis")
    assert out.splitlines()[1].endswith("(all)")
    assert "proves nothing" not in err


def test_the_league_is_what_its_script_makes(tmp_path: Path) -> None:
    """examples/league.csv is not edited by hand."""
    script = runpy.run_path(str(ROOT / "examples" / "make_league.py"))
    target = tmp_path / "league.csv"
    eq.write_history(script["league"](), str(target))
    assert target.read_bytes() == Path(LEAGUE).read_bytes()

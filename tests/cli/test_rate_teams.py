"""`equipoise rate` for teams: statistics to performances, two sides, real matches."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from equipoise.cli import run
from rating.histories import shared_file

STATISTICS = ["--stat=kills=1", "--stat=deaths=-1", "--stat=damage=0.004545454545454545"]


def test_the_command_rates_as_another_program_does(tmp_path: Path) -> None:
    """The whole of UT4; its first 800 matches are in `team_glicko2_ut4_first800.csv`."""
    trace = tmp_path / "trace.parquet"
    golden = pl.read_csv(shared_file("golden", "team_glicko2_ut4_first800.csv"))
    history = str(shared_file("data", "ut4.parquet"))
    system = ["--system=team-glicko2", "--set=max_change=300.531794"]
    output = ["--output", str(tmp_path / "ratings.csv"), "--trace", str(trace)]
    assert run(["rate", history, *system, *STATISTICS, *output]) == 0
    both = golden.join(pl.read_parquet(trace), on=["match", "player"], suffix="_ours")
    assert both.height == golden.height
    # Rating points: what that program's own tolerances come to (`golden/README.md`).
    for theirs, ours in (("rating_after", "rating"), ("rd_after", "deviation")):
        difference = both.select((pl.col(theirs) - pl.col(ours)).abs().max()).item()
        assert difference < 1e-3, ours


def test_bad_rows_can_be_dropped_and_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The raw file of UT4 is refused; without its bad rows it rates like the clean one."""
    raw, clean = shared_file("data", "ut4_raw.csv.gz"), shared_file("data", "ut4.parquet")
    common = ["--system=team-glicko2", *STATISTICS, "--output"]
    refused = tmp_path / "refused.csv"
    assert run(["rate", str(raw), *common, str(refused)]) == 1
    assert not refused.exists()
    assert "team" in capsys.readouterr().err
    kept, wanted = tmp_path / "kept.csv", tmp_path / "wanted.csv"
    assert run(["rate", str(raw), "--skip-bad=rows", *common, str(kept), "--json"]) == 0
    summary = json.loads(capsys.readouterr().out)["summary"]
    # 218 matches have an empty side; the seven rows without a team are dropped from the others.
    assert len(summary["dropped_matches"]) == 218
    assert summary["dropped_rows"] == 7
    assert run(["rate", str(clean), *common, str(wanted)]) == 0
    one, other = (pl.read_csv(path).sort("player") for path in (kept, wanted))
    named = pl.col("player").cast(pl.String)
    assert one.height == other.height
    assert one.with_columns(named).equals(other.with_columns(named))

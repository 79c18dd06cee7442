"""`equipoise rate` for teams: statistics to performances, two sides, real matches."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from cli.command_line import Cli
from rating.histories import shared_file

STATISTICS = ["--stat=kills=1", "--stat=deaths=-1", "--stat=damage=0.004545454545454545"]


def test_the_command_rates_as_another_program_does(tmp_path: Path, cli: Cli) -> None:
    """The whole of UT4; its first 800 matches are in `team_glicko2_ut4_first800.csv`."""
    trace = tmp_path / "trace.parquet"
    golden = pl.read_csv(shared_file("golden", "team_glicko2_ut4_first800.csv"))
    history = str(shared_file("data", "ut4.parquet"))
    system = ["--system=team-glicko2", "--set=max_change=300.531794"]
    output = ["--output", str(tmp_path / "ratings.csv"), "--trace", str(trace)]
    cli("rate", history, *system, *STATISTICS, *output)
    both = golden.join(pl.read_parquet(trace), on=["match", "player"], suffix="_ours")
    assert both.height == golden.height
    # Rating points: what that program's own tolerances come to (`golden/README.md`).
    for theirs, ours in (("rating_after", "rating"), ("rd_after", "deviation")):
        difference = both.select((pl.col(theirs) - pl.col(ours)).abs().max()).item()
        assert difference < 1e-3, ours


def test_bad_rows_can_be_dropped_and_are_named(tmp_path: Path, cli: Cli) -> None:
    """The raw file of UT4 is refused; without its bad rows it rates like the clean one."""
    raw, clean = shared_file("data", "ut4_raw.csv.gz"), shared_file("data", "ut4.parquet")
    common = ["--system=team-glicko2", *STATISTICS, "--output"]
    refused = tmp_path / "refused.csv"
    shown = cli("rate", str(raw), *common, str(refused), status=1)
    assert not refused.exists()
    assert "team" in shown.err
    kept, wanted = tmp_path / "kept.csv", tmp_path / "wanted.csv"
    summary = cli.json("rate", str(raw), "--skip-bad=rows", *common, str(kept))["summary"]
    # 218 matches have an empty side; the seven rows without a team are dropped from the others.
    assert len(summary["dropped_matches"]) == 218
    assert summary["dropped_rows"] == 7
    cli("rate", str(clean), *common, str(wanted))
    one, other = (pl.read_csv(path).sort("player") for path in (kept, wanted))
    named = pl.col("player").cast(pl.String)
    assert one.height == other.height
    assert one.with_columns(named).equals(other.with_columns(named))

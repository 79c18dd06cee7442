"""The readers on real data, where it is at hand."""

from __future__ import annotations

import numpy as np
import polars as pl

from equipoise.formats import read_history, scan_history, write_history
from formats.comparing import assert_same_history, real_data


def test_codeforces_is_read_as_it_is():
    """1,062 contests; players, ranks and offsets against plain Polars."""
    path = real_data("codeforces.parquet")
    history = read_history(path)
    frame = pl.read_parquet(path)
    assert (history.matches, history.players, history.participations) == (1_062, 274_337, 2_993_221)
    assert np.array_equal(history.player_ids[history.player], frame["player"].to_numpy())
    assert np.array_equal(history.match_ids, frame["match"].unique(maintain_order=True).to_numpy())
    dense = frame.select(pl.col("rank").rank("dense").over("match") - 1).to_series()
    assert np.array_equal(history.rank, dense.to_numpy())
    assert np.array_equal(np.repeat(history.times(), history.sizes()), frame["time"].to_numpy())
    assert history.team[history.offsets[1:] - 1].tolist() == (history.sizes() - 1).tolist()


def test_raw_games_are_refused_with_every_problem():
    """7 rows without a team, 218 matches with an empty side, 40 of which it is said to have won."""
    reading = scan_history(real_data("ut4_raw.csv.gz"))
    assert reading.history is None
    kinds = pl.Series([f"{one.field}: {one.rule}" for one in reading.problems]).value_counts()
    assert dict(kinds.iter_rows()) == {
        "team: must have exactly two teams if a winner is given": 218,
        "winner: must name one of the match's teams, or be empty for a draw": 40,
        "team: must not be empty if other rows of the match have a team": 7,
    }
    lines = [one.line for one in reading.problems if "not be empty" in one.rule]
    assert lines == [28, 40, 51, 61, 69, 11_039, 11_448]


def test_raw_games_without_their_bad_rows_are_the_clean_ones():
    """Skipping rows gives the history that was cleaned by hand."""
    statistics = ["kills", "deaths", "damage", "score"]
    raw, clean = real_data("ut4_raw.csv.gz"), real_data("ut4.parquet")
    reading = scan_history(raw, statistics=statistics, skip_bad="rows")
    expected = read_history(clean, statistics=statistics)
    assert (expected.matches, expected.participations, expected.players) == (3_578, 18_020, 497)
    assert (len(reading.dropped_matches), reading.dropped_rows) == (218, 7)
    found = reading.history.to_polars().drop("ping")
    assert found.equals(expected.to_polars())
    assert found["team"].equals(pl.read_parquet(clean)["team"])


def test_internationals_keep_dates_and_attributes(tmp_path):
    path = real_data("football.parquet")
    history = read_history(path, statistics=["goals"])
    assert (history.matches, history.players, history.time_kind) == (49_520, 337, "date")
    assert str(history.times()[0]) == "1872-11-30"
    assert int((history.distinct_ranks() == 1).sum()) == 11_258
    for suffix in ("csv", "parquet"):
        write_history(history, tmp_path / f"football.{suffix}")
        again = read_history(tmp_path / f"football.{suffix}", statistics=["goals"])
        assert_same_history(again, history)

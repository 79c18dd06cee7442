"""equipoise plot as its users run it."""

from __future__ import annotations

import json
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import equipoise as eq
from cli.command_line import LEAGUE, SAMPLE, Cli, Write


def test_json_has_the_series_of_the_trace(cli: Cli, write: Write) -> None:
    """Bit for bit what `rate --trace` would write."""
    shown = cli("plot", SAMPLE, "--player", "jade-kite", "--player", "birch-fox", "--json")
    answer = json.loads(shown.out)
    assert answer["system"] == "elo-mmr"
    assert answer["distribution"] is None
    trace = eq.replay(eq.EloMMR(), eq.read_history(SAMPLE), trace=True).trace
    assert trace is not None
    table = trace.file_table()
    assert [one["player"] for one in answer["series"]] == ["jade-kite", "birch-fox"]
    for one in answer["series"]:
        mine = table.filter(table["player"] == one["player"])
        columns = ("match", "time", "rating", "deviation", "performance")
        assert one["points"] == mine.select(columns).to_dicts()
    path = write("h.csv", "match,time,player,rank\n7,2024-01-01,10,0\n7,2024-01-01,11,1\n")
    shown = cli("plot", path, "--player", "11", "--system", "elo", "--json")
    (one,) = json.loads(shown.out)["series"]
    point = {"match": 7, "time": "2024-01-01", "rating": 1484, "deviation": None}
    assert one == {"player": 11, "points": [{**point, "performance": None}]}


def test_look_back_draws_who_was_best_in_hindsight(tmp_path: Path, cli: Cli) -> None:
    options = [LEAGUE, "--look-back", "--system", "glicko"]
    answer = cli.json("plot", *options)
    table = eq.look_back(eq.Glicko(), eq.read_history(LEAGUE)).to_polars()
    lower = table.with_columns(least=table["rating"] - 1.96 * table["deviation"])
    best = lower.group_by("player").agg(pl.col("least").max()).sort("least", descending=True)
    assert answer["look_back"]
    assert [series["player"] for series in answer["series"]] == best["player"].to_list()[:3]
    for series in answer["series"]:
        mine = table.filter(pl.col("player") == series["player"])
        assert [point["rating"] for point in series["points"]] == mine["rating"].to_list()
    assert "in hindsight: glicko rating" in cli("plot", *options, "--player", "ada").out
    cli("plot", *options, "--output", str(tmp_path / "c.svg"))
    shown = cli("plot", *options, "--distribution", status=2)
    assert "--look-back must be left out with --distribution" in shown.err


@pytest.mark.parametrize(
    ("suffix", "start"), [("svg", b"<?xml"), ("png", b"\x89PNG"), ("pdf", b"%PDF")]
)
def test_files_are_valid_and_the_same_each_time(tmp_path, suffix, start, cli):
    first, again = (tmp_path / f"{name}.{suffix}" for name in ("first", "again"))
    for target in (first, again):
        cli("plot", SAMPLE, "--player", "jade-kite", "--output", str(target))
    assert first.read_bytes().startswith(start)
    assert first.read_bytes() == again.read_bytes()
    if suffix == "svg":
        assert ET.parse(first).getroot().tag == "{http://www.w3.org/2000/svg}svg"


def test_without_a_file_the_chart_is_text(cli: Cli) -> None:
    """As wide as COLUMNS says, plain in a pipe."""
    out, err = cli("plot", SAMPLE, "--player", "jade-kite")
    lines = out.splitlines()
    assert lines[0] == "jade-kite"
    assert "95 % range (band), performances (dots)" in lines[1]
    assert max(map(len, lines)) <= 80
    assert any(line.endswith("jade-kite 2302") for line in lines)
    assert "\x1b" not in out
    assert err == "" or "Compil" in err
    command = [sys.executable, "-m", "equipoise", "plot", SAMPLE, "--player", "jade-kite"]
    done = subprocess.run(
        command, capture_output=True, check=True, env={"PYTHONIOENCODING": "ascii", "PATH": ""}
    )
    assert b"jade-kite" in done.stdout.splitlines()[0]


def test_players_without_ratings_are_told_and_histories_without_times_are_drawn_by_match(
    cli: Cli, write: Write, tmp_path: Path
) -> None:
    err = cli("plot", SAMPLE, "--player", "jade-kit", status=1).err
    assert "no player 'jade-kit' in this history of 120 players; did you mean jade-kite" in err
    shown = cli("plot", SAMPLE, "--player", "jade-kit", "--json", status=1)
    assert json.loads(shown.err)["error"]["code"] == "not-found"
    path = write("h.csv", "match,player,rank\n1,ann,0\n1,bob,1\n2,cyd,0\n")
    shown = cli("plot", path, "--player", "cyd", "--system", "elo", status=1)
    assert "cyd has no match that elo rates" in shown.err
    path = tmp_path / "h.csv"
    rows = "".join(f"{m},ann,{m % 2}\n{m},bob,{1 - m % 2}\n" for m in range(1, 9))
    path.write_text("match,player,rank\n" + rows)
    shown = cli("plot", str(path), "--player", "ann", "--system", "elo")
    assert shown.out.splitlines()[-1].strip() == "match"
    shown = cli("plot", str(path), "--player", "ann", "--system", "elo", "--by", "time", status=2)
    assert "--by time needs a history with times" in shown.err
    target = tmp_path / "chart.svg"
    cli("plot", str(path), "--player", "ann", "--by", "played", "--output", str(target))
    assert target.exists()


def test_the_distribution_counts_everyone_and_places_the_named(cli: Cli, tmp_path: Path) -> None:
    """Against the ratings themselves."""
    table = eq.replay(eq.EloMMR(), eq.read_history(SAMPLE)).ratings.to_polars()
    shown = cli("plot", SAMPLE, "--distribution", "--player", "dune-crane", "--json")
    found = json.loads(shown.out)["distribution"]
    assert found["players"] == sum(bar["players"] for bar in found["bars"]) == 120
    assert found["median"] == np.median(table["rating"])
    (place,) = found["places"]
    better = table.filter(table["rating"] > place["rating"])
    assert place["above"] == len(better) / 120
    shown = cli("plot", SAMPLE, "--distribution", "--min-matches", "20", "--json")
    some = json.loads(shown.out)["distribution"]
    assert some["players"] == int((table["matches"] >= 20).sum())
    out = cli("plot", SAMPLE, "--distribution", "--player", "dune-crane", "--min-matches", "5").out
    assert out.startswith(
        "Ratings of 120 players\nelo-mmr, players with at least 5 rated matches\n"
    )
    assert "median 1504" in out
    target = tmp_path / "pool.svg"
    cli("plot", SAMPLE, "--distribution", "--output", str(target))
    assert ET.parse(target).getroot().tag.endswith("svg")
    given = [SAMPLE, "--system", "trueskill", "--distribution", "--conservative"]
    found = cli.json("plot", *given)["distribution"]
    ratings = eq.replay(eq.TrueSkill(), eq.read_history(SAMPLE)).ratings
    assert found["mean"] == pytest.approx((ratings.rating - 3 * ratings.deviation).mean())
    assert "conservative ratings: the rating minus three deviations" in cli("plot", *given).out
    shown = cli("plot", SAMPLE, "--player", "jade-kite", "--conservative", status=2)
    assert "--conservative is for --distribution" in shown.err

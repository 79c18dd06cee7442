"""`equipoise leaderboard`: systems side by side, error bars, groups and periods."""

from __future__ import annotations

import json
import math
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import equipoise as eq
from cli.command_line import EXAMPLES, SAMPLE, Cli, Write
from equipoise.analysis.leaderboard import LeaderboardRequest
from equipoise.analysis.leaderboard.computation import leaderboard_json, make_leaderboards
from equipoise.analysis.requests import HistoryRequest
from equipoise.evaluate.leaderboard_errors import bootstrap_deviations, ratings_after, some_matches

ARENA = str(EXAMPLES / "arena.csv")
CONTESTS = SAMPLE


def test_the_battles_are_those_of_the_script() -> None:
    script = runpy.run_path(str(EXAMPLES / "make_arena.py"))
    assert Path(ARENA).read_text() == script["arena"]()
    assert (EXAMPLES / "arena_truth.csv").read_text() == script["truth"]()


def test_columns_are_what_single_commands_give() -> None:
    """Ratings are those of `rate`, performances those of `performance`."""
    history = HistoryRequest(source=ARENA)
    request = LeaderboardRequest(history=history, errors="deviation", rounds=20)
    found = leaderboard_json(make_leaderboards(request))
    assert [(one["label"], one["errors"]) for one in found["systems"]] == [
        ("elo", "bootstrap"),
        ("bradley-terry", "deviation"),
        ("performance", "likelihood"),
    ]
    matches = eq.read_history(ARENA)
    rated = eq.replay(eq.BradleyTerry(), matches).ratings
    games = eq.performance(eq.read_games(ARENA), anchor=1500).table
    ppr = dict(zip(games["player"], zip(games["ppr"], games["error"], strict=True), strict=True))
    assert len(found["rows"]) == 8
    for row in found["rows"]:
        player, ratings = row["player"], row["ratings"]
        assert ratings["elo"]["rating"] == eq.replay(eq.Elo(), matches).ratings.of(player)["rating"]
        assert ratings["bradley-terry"]["rating"] == rated.of(player)["rating"]
        expected = 1.959963984540054 * rated.of(player)["deviation"]
        assert ratings["bradley-terry"]["error"] == pytest.approx(expected, rel=1e-12)
        assert tuple(ratings["performance"].values()) == pytest.approx(ppr[player], rel=1e-9)
        assert row["matches"] == rated.of(player)["matches"]


def test_error_bars_of_bradley_terry_are_from_all_results(cli: Cli) -> None:
    """Ratings keep their bits; what ten to one is follows from the deviations."""
    chosen = ("--system", "bradley-terry")
    found = cli.json("leaderboard", ARENA, *chosen)
    assert found["systems"][0]["errors"] == "results"
    rated = eq.replay(eq.BradleyTerry(), eq.read_history(ARENA)).ratings
    unit = math.log(10) * math.sqrt(2 * np.mean(rated.deviation**2 + 3.5**2 + 175**2))
    for row in found["rows"]:
        one = row["ratings"]["bradley-terry"]
        assert one["rating"] == rated.of(row["player"])["rating"]
        # One deviation, without the factor 1.96, is 68.8 points or more.
        assert 50 < one["error"] < 125
        assert row["ten_to_one"] == {"bradley-terry": pytest.approx(unit, rel=1e-12)}
    assert cli("leaderboard", ARENA, *chosen).out.splitlines()[-2:] == [
        "Error bars (+-) have 95 % confidence: from all results for bradley-terry.",
        "bradley-terry: a difference of 618 points means odds of ten to one.",
    ]


@pytest.mark.parametrize(
    ("rows", "parameter"),
    [
        ("match,player,rank,at_home\n1,ann,1,true\n1,ben,2,false\n", "home_advantage=20"),
        ("match,player,score\n1,ann,9\n1,ben,2\n", "margin=1"),
        ("match,player,rank\n1,ann,1\n1,ben,2\n1,cid,3\n", "average=true"),
    ],
)
def test_error_bars_are_deviations_where_results_do_not_say_all(rows, parameter, write, cli):
    """Of a home advantage, of scores, and of matches of more than two, the posterior knows none."""
    data = write("matches.csv", rows)
    chosen = ("--system", "bradley-terry", f"--set=bradley-terry.{parameter}")
    found = cli.json("leaderboard", data, *chosen)
    assert found["systems"][0]["errors"] == "deviation"
    assert found["rows"][0]["ten_to_one"] == {}


def test_groups_are_what_where_selects_and_periods_what_from_and_until_select(cli: Cli) -> None:
    found = cli.json("leaderboard", ARENA, "--by", "category")
    for category in ("coding", "math", "writing"):
        alone = cli.json("leaderboard", ARENA, "--where", f"category={category}")
        rows = [{**row, "group": None} for row in found["rows"] if row["group"] == category]
        assert rows == alone["rows"]
    chosen = ("--system", "elo", "--system", "performance")
    found = cli.json("leaderboard", ARENA, "--every", "week", *chosen)
    weeks = sorted({row["period"] for row in found["rows"]})
    assert weeks[:2] == ["2026-03-02", "2026-03-09"]
    assert len(weeks) == 6
    until = cli.json("leaderboard", ARENA, "--until", weeks[2], *chosen)["rows"]
    within = cli.json("leaderboard", ARENA, "--from", weeks[1], "--until", weeks[2], *chosen)[
        "rows"
    ]
    second = {row["player"]: row for row in found["rows"] if row["period"] == weeks[1]}
    for row in until:
        same = row["ratings"]["elo"]["rating"]
        assert second[row["player"]]["ratings"]["elo"]["rating"] == same
    for row in within:
        assert second[row["player"]]["ratings"]["performance"] == row["ratings"]["performance"]
        assert second[row["player"]]["matches"] == row["matches"]


def test_the_table_its_file_and_the_chart(tmp_path: Path, cli: Cli) -> None:
    table = tmp_path / "board.csv"
    chosen = ["--by", "category", "--every", "month", "--system", "elo"]
    assert "wrote" in cli("leaderboard", ARENA, *chosen, "--output", str(table)).err
    frame = pl.read_csv(table)
    assert frame.columns == ["category", "month", "player", "matches", "elo", "elo_error"]
    assert set(frame["month"]) == {"2026-03", "2026-04"}
    out = cli("leaderboard", ARENA, *chosen).out.splitlines()
    assert out[0].split() == ["category", "month", "player", "matches", "elo"]
    assert len(out) == len(frame) + 4
    assert out[-2].startswith("Error bars (+-) have 95 % confidence: from 100 resampled")
    assert out[-1] == "elo: ratings at the end of the month."
    files = [tmp_path / "first.svg", tmp_path / "second.svg"]
    for file in files:
        cli("leaderboard", ARENA, "--by", "category", "--chart", str(file))
    assert files[0].read_bytes() == files[1].read_bytes()
    assert b"</svg>" in files[0].read_bytes()


def test_contests_have_strengths_instead_of_performances(cli: Cli) -> None:
    found = cli.json("leaderboard", CONTESTS)
    assert [one["label"] for one in found["systems"]] == ["elo", "strengths"]
    # Some players of the sample never beat anyone.
    assert found["notes"][1:] == [
        "strengths: no finite strengths exist; `equipoise strengths --ties breslow` shows why, "
        "and --prior 1 makes them finite"
    ]
    shown = cli("leaderboard", CONTESTS, "--system", "performance", status=1)
    assert "use --system strengths instead" in shown.err
    # A system that runs away in large fields is left out, unless it is named.
    (note,) = eq.BradleyTerry().field_notes(eq.read_history(CONTESTS))
    assert found["notes"][0] == f"left out: {note}"
    averaged = cli.json("leaderboard", CONTESTS, "--set", "bradley-terry.average=true")
    assert [one["label"] for one in averaged["systems"]] == ["elo", "bradley-terry", "strengths"]
    assert not any("bradley-terry" in one for one in averaged["notes"])
    named = cli.json("leaderboard", CONTESTS, "--system", "bt=bradley-terry")
    assert ([one["label"] for one in named["systems"]], named["notes"]) == (["bt"], [note])


def test_matches_of_teams_have_neither(tmp_path: Path, cli: Cli) -> None:
    """Both compare single players."""
    path = tmp_path / "teams.csv"
    lines = ["match,player,team,rank"]
    for match, (won, lost) in enumerate((("abc", "de"), ("ade", "bc"), ("bd", "ace"))):
        lines += [
            f"{match},{player},{rank},{rank}" for rank in (0, 1) for player in (won, lost)[rank]
        ]
    path.write_text("\n".join(lines))
    found = cli.json("leaderboard", str(path))
    assert [one["label"] for one in found["systems"]] == ["elo", "bradley-terry"]
    shown = cli("leaderboard", str(path), "--system", "performance", status=1)
    assert "use --system" not in shown.err


def test_the_order_is_that_of_the_maximum_likelihood(cli: Cli) -> None:
    """Wherever its column is; of the first system where there is none."""
    both = ("--system", "elo", "--system", "performance")
    for arguments in (both, (*both, "--every", "week"), (*both, "--by", "category")):
        boards: dict[tuple[Any, Any], list[float]] = {}
        for row in cli.json("leaderboard", ARENA, *arguments)["rows"]:
            rating = row["ratings"]["performance"]["rating"]
            boards.setdefault((row["group"], row["period"]), []).append(rating)
        assert all(one == sorted(one, reverse=True) for one in boards.values())
    contests = cli.json("leaderboard", CONTESTS)["rows"]
    elo = [row["ratings"]["elo"]["rating"] for row in contests]
    assert elo == sorted(elo, reverse=True)


def test_what_performances_periods_and_groups_need(write: Write, cli: Cli, tmp_path: Path) -> None:
    path = write(
        "sweep.csv", "model_a,model_b,winner,subject\na,b,model_a,x\na,c,model_a,x\nb,c,tie,x\n"
    )
    found = cli.json("leaderboard", path, "--by", "subject", "--system", "performance")
    assert found["notes"] == [
        "performance, x: 3 players have no PPR, because some took every point from others; "
        "`equipoise performance` names them and gives bounds"
    ]
    assert {row["ratings"]["performance"]["rating"] for row in found["rows"]} == {None}
    path = write("history.csv", "match,player,rank,country\n1,ann,1,UK\n1,ben,2,FR\n")
    shown = cli("leaderboard", path, "--every", "week", status=2)
    assert "--column time=NAME names the time column" in shown.err
    shown = cli("leaderboard", path, "--by", "country", status=2)
    assert "country has 'UK' and 'FR' in match 1" in shown.err
    frame = pl.read_csv(ARENA).filter(pl.col("winner").str.starts_with("model"))
    path = tmp_path / "decided.csv"
    frame.write_csv(path)
    found = cli.json("leaderboard", str(path), "--system", "performance", "--system", "strengths")
    means = []
    for label in ("performance", "strengths"):
        ratings = np.array([row["ratings"][label]["rating"] for row in found["rows"]])
        means.append(ratings - ratings.mean())
    assert means[0] == pytest.approx(means[1], abs=1e-6)


def test_performances_of_successive_weeks_are_drawn(tmp_path: Path, cli: Cli) -> None:
    """The line of a player passes through the PPRs of the table: six weeks, five players."""
    pytest.importorskip("matplotlib")
    path = tmp_path / "weeks.svg"
    weeks = ["--every", "week", "--system", "performance"]
    rows = cli.json("leaderboard", ARENA, *weeks, "--chart", str(path))["rows"]
    last = max(row["period"] for row in rows)
    best = max(
        (row["ratings"]["performance"]["rating"], row["player"])
        for row in rows
        if row["period"] == last
    )
    drawn = path.read_text()
    assert "performance of every week, 95 % range (band)" in drawn
    assert f"{best[1]}  {best[0]:.0f}" in drawn


def test_resampled_histories_with_every_match_once_are_the_history() -> None:
    history = eq.read_history(ARENA)
    same = some_matches(history, np.arange(history.matches))
    stops = np.array([100, history.matches])
    first, again = (ratings_after(eq.Glicko2(), one, stops) for one in (history, same))
    for one, other in zip(first, again, strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(first.rating[1], eq.replay(eq.Glicko2(), history).ratings.rating)


def test_the_bootstrap_of_one_pair_is_that_of_a_coin() -> None:
    """Elo with a tiny k adds k (s - 1/2) a game: its deviation is k sqrt(n)/2 for a fair coin."""
    games = 400
    history = eq.read_history(
        {
            "match": np.repeat(np.arange(games), 2),
            "player": ["ann", "ben"] * games,
            "rank": [1, 2, 2, 1] * (games // 2),
        }
    )
    stops = np.array([games])
    found = bootstrap_deviations(eq.Elo(k=0.001), history, stops, rounds=400, seed=1)
    expected = 0.001 * np.sqrt(games) / 2
    # 400 rounds give the deviation to about 1 / sqrt(800) of itself.
    assert found[0] == pytest.approx([expected, expected], rel=0.12)
    again = bootstrap_deviations(eq.Elo(k=0.001), history, stops, rounds=400, seed=1)
    np.testing.assert_array_equal(found, again)


def test_scores_are_those_of_a_backtest_of_each_group(cli: Cli, write: Write) -> None:
    found = cli.json("leaderboard", ARENA, "--by", "category", "--scores")
    groups = [one["group"] for one in found["scores"]]
    assert groups == [name for name in ("coding", "math", "writing") for _ in range(3)]
    maths = [one for one in found["scores"] if one["group"] == "math"]
    assert [one["system"] for one in maths] == ["elo", "bradley-terry", "baseline"]
    history = eq.read_history(ARENA, where={"category": "math"})
    expected = eq.backtest({"elo": eq.Elo()}, history, resamples=0).of("elo").metrics
    names = ("log_loss", "outcome_log_loss", "rps")
    assert [maths[0][name] for name in names] == [expected[name] for name in names]
    assert cli.json("leaderboard", ARENA)["scores"] == []

    lines = cli("leaderboard", ARENA, "--scores").out.splitlines()
    assert lines[-4].split() == ["system", "log_loss", "outcome_loss", "rps"]
    shown = cli("leaderboard", ARENA, "--system", "performance", "--scores", status=2)
    assert "--scores needs a rating system" in shown.err
    rows = "".join(f"{m},a,{m % 3 > 0:d}\n{m},b,{m % 3 == 0:d}\n" for m in range(30))
    path = write("duels.csv", f"match,player,rank\n{rows}")
    words = (path, "--system", "elo", "--scores")
    assert cli("leaderboard", *words).out.splitlines()[-3].split() == ["system", "log_loss"]
    assert cli.json("leaderboard", *words)["scores"][0]["rps"] is None


# Contexts on the command line: who finds them, what they are worth, and ratings in them.


@pytest.fixture(scope="module")
def surfaces(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Write duels of players who are strong on one surface each; the referee means nothing."""
    rng = np.random.default_rng(7)
    names = ("Clay", "Grass", "Hard")
    lines = ["date,surface,referee,player_1,player_2,winner"]
    for number in range(2400):
        one, other = rng.choice(12, 2, replace=False).tolist()
        surface = int(rng.integers(3))
        lead = 250.0 * ((one % 3 == surface) - int(other % 3 == surface))
        won = rng.random() < 1.0 / (1.0 + 10.0 ** (-lead / 400.0))
        day = np.datetime64("2020-01-01") + number // 3
        referee = f"r{int(rng.integers(200))}"
        winner = f"p{one}" if won else f"p{other}"
        lines.append(f"{day},{names[surface]},{referee},p{one},p{other},{winner}")
    path = tmp_path_factory.mktemp("surfaces") / "duels.csv"
    path.write_text("\n".join(lines))
    return str(path)


def test_inspect_names_a_context_and_rate_shows_ratings_in_it(surfaces: str, cli: Cli) -> None:
    notes = cli.json("inspect", surfaces)["notes"]
    named = [note for note in notes if "may be a context" in note]
    assert len(named) == 1
    assert named[0].startswith("surface may be a context of matches (3 values: ")
    assert named[0].endswith("tune tells what --column context=surface is worth")
    shown = cli("inspect", surfaces, "--column", "context=surface", "--json")
    assert "may be a context" not in shown.out
    board = ["leaderboard", surfaces, "--system", "elo", "--json"]
    for few in (["--by", "surface"], ["--until", "2020-01-10"]):
        assert json.loads(cli(*board, *few).out)["gains"] == []
    words = [surfaces, "--system", "elo", "--column", "context=surface"]
    deviation = ["--set", "context_deviation=100"]
    for number, surface in enumerate(("Clay", "Grass", "Hard")):
        rows = [
            line.split()
            for line in cli("rate", *words, *deviation, "--context", surface).out.splitlines()[1:]
        ]
        assert {int(row[0].removeprefix("p")) % 3 for row in rows[:3]} == {number}
        ratings = [float(row[1]) for row in rows]
        assert ratings == sorted(ratings, reverse=True)
    shown = cli("rate", *words, "--context", "Clay", status=2)
    assert "unless context_deviation is set" in shown.err


def test_tune_tells_what_a_context_is_worth(surfaces: str, cli: Cli) -> None:
    """The same figures as those of a backtest, under either name of the column."""
    words = ["--system", "elo", "--metric", "log_loss", "--grid", "k=20,40", "--first", "50%"]
    found = cli.json("tune", surfaces, *words)
    (worth,) = [one for one in found["held_out"]["gains"] if one["kind"] == "context"]
    assert worth["column"] == "surface"
    assert worth["value"] == 100.0
    best = f"k={found['parameters']['k']}"
    pair = ["--system", "with=elo", "--system", "without=elo"]
    for setting in (f"with.{best}", f"without.{best}", "with.context_deviation=100"):
        pair += ["--set", setting]
    history = ["--column", "context=surface", "--from", "50%"]
    alone = cli.json("backtest", surfaces, *history, *pair)["differences"][0]
    assert worth["difference"]["metrics"] == alone["metrics"]
    assert alone["metrics"]["log_loss"] < -0.01
    shown = cli("tune", surfaces, "--column", "context=surface", *words)
    change = f"{alone['metrics']['log_loss']:+.5f}"
    said = f"context as a context (--set context_deviation=100) changes log_loss by {change} "
    err = shown.err
    assert said in err
    assert next(line for line in err.splitlines() if said in line).endswith(": better")


def test_leaderboards_tell_what_columns_are_worth(surfaces: str, cli: Cli) -> None:
    """The same figures as those of a backtest: calibration, a context and a rating period."""
    board = ["leaderboard", surfaces, "--system", "glicko2", "--system", "performance"]
    gains = cli.json(*board)["gains"]
    found = {one["kind"]: one for one in gains}
    assert [one["kind"] for one in gains] == ["calibration", "context", "periods"]
    assert {one["system"] for one in gains} == {"glicko2"}
    assert (found["context"]["column"], found["periods"]["column"]) == ("surface", "time")
    settings = {
        "context": f"with.context_deviation={found['context']['value']}",
        "periods": f"with.period_days={found['periods']['value']}",
    }
    for kind, setting in settings.items():
        pair = ["--system", "with=glicko2", "--system", "without=glicko2", "--set", setting]
        words = ["--column", "context=surface", "--from", "50%", *pair, "--json"]
        alone = json.loads(cli("backtest", surfaces, *words).out)["differences"][0]
        assert found[kind]["difference"]["metrics"] == alone["metrics"]
        assert found[kind]["difference"]["intervals"] == alone["intervals"]
    assert found["context"]["difference"]["intervals"]["log_loss"][1] < 0
    lines = cli(*board).err.splitlines()
    said = "glicko2: surface as a context (--column context=surface --set glicko2.{})".format(
        f"context_deviation={found['context']['value']:g}"
    )
    (line,) = [line for line in lines if line.startswith(said)]
    assert line.endswith(": better")
    assert sum(line.startswith("glicko2: ") for line in lines) == 3

"""equipoise simulate as its users run it."""

from __future__ import annotations

import dataclasses
import gzip
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from equipoise.analysis.files import simulate as workflow
from equipoise.cli import run
from equipoise.cli.files.simulate import Model
from equipoise.evaluate.synthetic_contests import ContestModel, simulate_contests
from equipoise.evaluate.synthetic_teams import TeamModel, simulate_teams
from equipoise.formats import read_history, write_history
from equipoise.formats.times import instant

SMALL = ["--players", "30", "--contests", "6", "--attendance", "0.6", "--seed", "5"]
MODEL = ContestModel(players=30, contests=6, attendance=0.6)


def simulate(*arguments: str) -> int:
    return run(["simulate", *arguments])


@pytest.mark.parametrize("suffix", ["csv", "csv.gz", "tsv", "jsonl"])
def test_streaming_writes_the_bytes_of_the_history_in_memory(tmp_path: Path, suffix: str) -> None:
    streamed, whole = tmp_path / f"s.{suffix}", tmp_path / f"w.{suffix}"
    assert simulate(*SMALL, "--output", str(streamed)) == 0
    history, _ = simulate_contests(MODEL, rng=np.random.default_rng(5))
    write_history(history, whole)
    # Compressed bytes depend on the portions in which they come.
    opened = gzip.decompress if suffix == "csv.gz" else bytes
    assert opened(streamed.read_bytes()) == opened(whole.read_bytes())


def test_parquet_holds_the_same_history(tmp_path: Path) -> None:
    target = tmp_path / "s.parquet"
    assert simulate(*SMALL, "--output", str(target)) == 0
    history, _ = simulate_contests(MODEL, rng=np.random.default_rng(5))
    assert pl.read_parquet(target).equals(history.file_table())


def test_true_skills_come_beside(tmp_path: Path) -> None:
    """Each participation's in a column, and everyone's in a table."""
    target, skills = tmp_path / "s.csv", tmp_path / "skills.parquet"
    arguments = [*SMALL, "--with-skill", "--output", str(target), "--skills", str(skills)]
    assert simulate(*arguments) == 0
    history, truth = simulate_contests(MODEL, rng=np.random.default_rng(5))
    table = pl.read_csv(target)
    assert table.columns == ["match", "time", "player", "rank", "skill"]
    assert table["skill"].to_list() == truth.tolist()
    players = pl.read_parquet(skills)
    assert players.columns == ["player", "skill", "first_skill", "matches"]
    assert players["matches"].to_list() == np.bincount(history.player, minlength=30).tolist()
    last = table.filter(table["match"] == 6)
    assert players["skill"].to_numpy()[last["player"]].tolist() == last["skill"].to_list()


@pytest.mark.parametrize(("rows", "suffix"), [(1, "csv"), (40, "csv"), (40, "parquet")])
def test_the_size_of_pieces_changes_nothing(tmp_path: Path, rows: int, suffix: str) -> None:
    whole, pieces = tmp_path / f"whole.{suffix}", tmp_path / f"pieces.{suffix}"
    assert simulate(*SMALL, "--output", str(whole)) == 0
    parameters = {"players": 30, "contests": 6, "attendance": 0.6}
    request = workflow.SimulateRequest(
        kind="contests", parameters=parameters, seed=5, output=str(pieces)
    )
    assert workflow.simulate(request, rows=rows, rows_written=rows).matches == 6
    one, other = read_history(whole), read_history(pieces)
    assert one.to_polars().equals(other.to_polars())


def test_the_same_seed_gives_the_same_file(tmp_path: Path) -> None:
    files = []
    for name, seed in (("a", "5"), ("b", "5"), ("c", "6")):
        target = tmp_path / f"{name}.csv"
        assert simulate(*SMALL[:-1], seed, "--output", str(target)) == 0
        files.append(target.read_bytes())
    assert files[0] == files[1] != files[2]


def test_ties_and_times_are_as_asked(tmp_path: Path) -> None:
    target = tmp_path / "s.csv"
    times = ["--first-time", "2024-05-01T12:00:00", "--interval", "3600"]
    assert simulate(*SMALL, "--score-step", "200", *times, "--output", str(target)) == 0
    history = read_history(target)
    assert np.all(history.distinct_ranks() < history.sizes())
    assert history.time is not None
    assert history.time[0] == instant("2024-05-01T12:00:00", "")
    assert set(np.diff(history.time)) == {3_600_000_000}


def test_the_answer_says_all_that_is_needed_to_repeat_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = str(tmp_path / "s.csv")
    assert simulate(*SMALL, "--output", target, "--json") == 0
    answer = json.loads(capsys.readouterr().out)
    assert ContestModel(**answer["parameters"]) == MODEL
    assert (answer["kind"], answer["seed"], answer["matches"]) == ("contests", 5, 6)
    assert answer["participations"] == len(pl.read_csv(target))


def test_it_can_be_piped_into_rate(tmp_path: Path) -> None:
    """Without --output CSV goes to standard output."""
    equipoise = f"{sys.executable} -m equipoise"
    line = f"{equipoise} simulate {' '.join(SMALL)} | {equipoise} rate - --format csv --system elo"
    done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=True)
    assert len(done.stdout.splitlines()) == 31


@pytest.mark.parametrize("model", [ContestModel, TeamModel])
def test_defaults_in_the_help_are_those_of_the_models(model: type) -> None:
    """The command line repeats them, as help must not load the models; flags are off."""
    options: dict[str, Any] = {field.name: field.default for field in dataclasses.fields(Model)}
    for field in dataclasses.fields(model):
        option = options[field.name]
        if isinstance(field.default, bool):
            assert not field.default
            continue
        told = re.search(r"\[default: (.+)\]$", option.help)
        assert told is not None
        contests, _, teams = told.group(1).partition("; teams: ")
        default = teams if model is TeamModel and teams else contests
        if field.name == "first_time":
            assert instant(default, "") == field.default * 1_000_000
        elif field.name == "sizes":
            assert workflow.sizes_of(default) == field.default
        else:
            assert float(default) == field.default


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--kind", "duels"], "--kind must be contests or teams; got 'duels'"),
        (["--roles"], "--roles is not an option of --kind contests"),
        (["--players", "0"], "players must be at least 1"),
        (["--attendance", "0"], "attendance must be in (0, 1]"),
        (["--attendance", "1e-12"], "large enough that a player takes part"),
        (["--drift-deviation", "-1"], "drift_deviation must be at least 0"),
        (["--seed", "-1"], "--seed"),
        (["--first-time", "someday"], "--first-time"),
        (["--skills", "skills.doc"], ".parquet"),
        (["--output", "made.json"], "must end in .csv, .csv.gz, .tsv, .parquet, .jsonl"),
        (["--output", "nowhere/made.csv"], "directory of an output"),
    ],
)
def test_wrong_usage_is_refused_and_nothing_is_written(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert simulate(*SMALL, "--output", "made.csv", *arguments) == 2
    assert message in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_json_needs_a_file_for_the_history(capsys: pytest.CaptureFixture[str]) -> None:
    assert simulate(*SMALL, "--json") == 2
    assert "--output" in json.loads(capsys.readouterr().err)["error"]["message"]


TEAMS = ["--kind", "teams", "--players", "40", "--matches", "30", "--seed", "5"]
TEAM_MODEL = TeamModel(players=40, matches=30)
STATISTICS = ("kills", "deaths", "damage")
WEIGHTS = ["--stat", "kills=1", "--stat", "deaths=-1", "--stat", "damage=0.0045"]

#: Options of teams, and what they are in the model.
TEAM_OPTIONS: list[tuple[list[str], dict[str, object]]] = [
    ([], {}),
    (["--sizes", "5v5, 4V3"], {"sizes": ((5, 5), (4, 3))}),
    (["--newcomers", "0.5"], {"newcomers": 0.5}),
    (["--newcomer-gap", "150"], {"newcomer_gap": 150}),
    (["--activity-deviation", "0"], {"activity_deviation": 0}),
    (["--matchmade"], {"matchmade": True}),
    (["--mean-skill", "1000"], {"mean_skill": 1000}),
    (["--skill-deviation", "50"], {"skill_deviation": 50}),
    (["--performance-deviation", "90"], {"performance_deviation": 90}),
    (["--drift-deviation", "9"], {"drift_deviation": 9}),
    (["--draw-margin", "60"], {"draw_margin": 60}),
    (["--leavers", "0.2"], {"leavers": 0.2}),
    (["--roles"], {"roles": True}),
    (["--mean-kills", "3"], {"mean_kills": 3}),
    (["--mean-deaths", "3"], {"mean_deaths": 3}),
    (["--mean-damage", "900"], {"mean_damage": 900}),
    (["--statistics-scale", "150"], {"statistics_scale": 150}),
    (["--first-time", "1970-01-02", "--interval", "60"], {"first_time": 86_400, "interval": 60}),
]


@pytest.mark.parametrize(("options", "parameters"), TEAM_OPTIONS)
def test_teams_are_written_as_the_library_makes_them(
    tmp_path: Path, options: list[str], parameters: dict[str, object]
) -> None:
    """Every option of the command changes what the model of that name changes."""
    target = tmp_path / "teams.csv"
    assert simulate(*TEAMS, *options, "--with-skill", "--output", str(target)) == 0
    model = dataclasses.replace(TEAM_MODEL, **parameters)  # type: ignore[arg-type]
    history, skill = simulate_teams(model, rng=np.random.default_rng(5))
    table = history.file_table().with_columns(skill=skill)
    found = read_history(target, statistics=(*STATISTICS, "skill"))
    assert found.file_table().select(table.columns).equals(table)
    plain, usual = simulate_teams(TEAM_MODEL, rng=np.random.default_rng(5))
    same = plain.file_table().with_columns(skill=usual).equals(table)
    assert same == (not parameters)


@pytest.mark.parametrize("suffix", ["csv", "parquet", "jsonl"])
@pytest.mark.parametrize("rows", [1, 45])
def test_the_size_of_pieces_changes_nothing_of_teams(
    tmp_path: Path, rows: int, suffix: str
) -> None:
    whole, pieces = tmp_path / f"whole.{suffix}", tmp_path / f"pieces.{suffix}"
    options = [*TEAMS, "--roles", "--leavers", "0.2", "--with-skill"]
    assert simulate(*options, "--output", str(whole)) == 0
    request = workflow.SimulateRequest(
        kind="teams",
        parameters={"players": 40, "matches": 30, "roles": True, "leavers": 0.2},
        seed=5,
        output=str(pieces),
        with_skill=True,
    )
    assert workflow.simulate(request, rows=rows, rows_written=rows).matches == 30
    one, other = read_history(whole), read_history(pieces)
    assert one.to_polars().equals(other.to_polars())


def test_teams_have_the_columns_that_mean_something(tmp_path: Path) -> None:
    target = tmp_path / "teams.csv"
    head = ["match", "time", "player", "team", "rank"]
    assert simulate(*TEAMS, "--output", str(target)) == 0
    assert pl.read_csv(target).columns == [*head, *STATISTICS]
    extra = ["--roles", "--leavers", "0.2", "--with-skill"]
    assert simulate(*TEAMS, *extra, "--output", str(target)) == 0
    assert pl.read_csv(target).columns == [*head, "share", *STATISTICS, "role", "skill"]


def test_true_skills_of_teams_are_those_of_the_last_matches(tmp_path: Path) -> None:
    target, skills = tmp_path / "teams.csv", tmp_path / "skills.csv"
    arguments = [*TEAMS, "--with-skill", "--output", str(target), "--skills", str(skills)]
    assert simulate(*arguments) == 0
    table, players = pl.read_csv(target), pl.read_csv(skills)
    last = table.group_by("player").last().sort("player")
    known = players.filter(pl.col("matches") > 0)
    assert known["skill"].to_list() == last["skill"].to_list()
    first = table.group_by("player", maintain_order=True).first().sort("player")
    assert known["first_skill"].to_list() == first["skill"].to_list()


def test_teams_can_be_rated_by_their_statistics(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "teams.csv"
    extra = ["--roles", "--leavers", "0.2", "--draw-margin", "60"]
    assert simulate(*TEAMS, *extra, "--output", str(target)) == 0
    assert run(["rate", str(target), "--system", "team-glicko2", *WEIGHTS]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("player")
    assert "30 matches" in err


def test_the_answer_of_teams_says_all_that_is_needed_to_repeat_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = str(tmp_path / "teams.csv")
    assert simulate(*TEAMS, "--sizes", "2v2", "--output", target, "--json") == 0
    answer = json.loads(capsys.readouterr().out)
    parameters = answer["parameters"]
    parameters["sizes"] = tuple(map(tuple, parameters["sizes"]))
    assert TeamModel(**parameters) == dataclasses.replace(TEAM_MODEL, sizes=((2, 2),))
    assert (answer["kind"], answer["matches"], answer["participations"]) == ("teams", 30, 120)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--contests", "3"], "--contests is not an option of --kind teams"),
        (["--score-step", "3"], "--score-step is not an option of --kind teams"),
        (["--sizes", "5"], "--sizes takes sizes such as 5v5,5v4; got '5'"),
        (["--sizes", "5v5,"], "--sizes takes sizes"),
        (["--sizes", "0v5"], "sizes must be pairs of numbers from 1"),
        (["--sizes", "30v30"], "at least 60 who are not newcomers"),
        (["--leavers", "2"], "leavers must be in [0, 1]"),
    ],
)
def test_wrong_usage_of_teams_is_refused_and_nothing_is_written(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert simulate(*TEAMS, "--output", "made.csv", *arguments) == 2
    assert message in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []

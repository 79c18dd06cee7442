"""equipoise simulate as its users run it; and demo: every step works, and leaves nothing behind."""

from __future__ import annotations

import dataclasses
import gzip
import json
import os
import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import typer.main

from cli.command_line import Cli
from equipoise.analysis.requests import typed_fields
from equipoise.analysis.simulate import SimulateRequest
from equipoise.analysis.simulate import computation as workflow
from equipoise.analysis.simulate.computation import STEPS, Step, tour
from equipoise.cli import run
from equipoise.cli.application import create_application
from equipoise.errors import EquipoiseError
from equipoise.evaluate.synthetic import ContestModel, TeamModel, simulate_contests, simulate_teams
from equipoise.formats import read_history, write_history
from equipoise.formats.times import instant

ROOT = Path(__file__).parents[2]
SMALL = ["--players", "30", "--contests", "6", "--attendance", "0.6", "--seed", "5"]
MODEL = ContestModel(players=30, contests=6, attendance=0.6)


def population(folder: Path, *lines: str) -> str:
    """Write a population of these lines and return its path."""
    path = folder / "population.toml"
    path.write_text("\n".join(lines))
    return str(path)


@pytest.mark.parametrize("suffix", ["csv", "csv.gz", "tsv", "jsonl"])
def test_streaming_writes_the_bytes_of_the_history_in_memory(tmp_path, suffix, cli):
    streamed, whole = tmp_path / f"s.{suffix}", tmp_path / f"w.{suffix}"
    cli("simulate", *SMALL, "--output", str(streamed))
    history, _ = simulate_contests(MODEL, rng=np.random.default_rng(5))
    write_history(history, whole)
    # Compressed bytes depend on the portions in which they come.
    opened = gzip.decompress if suffix == "csv.gz" else bytes
    assert opened(streamed.read_bytes()) == opened(whole.read_bytes())


def test_skills_ties_and_times_are_as_asked_and_the_answer_repeats_it(tmp_path, cli):
    """Each participation's in a column, and everyone's in a table."""
    target, skills = tmp_path / "s.csv", tmp_path / "skills.parquet"
    arguments = [*SMALL, "--with-skill", "--output", str(target), "--skills", str(skills)]
    cli("simulate", *arguments)
    history, truth = simulate_contests(MODEL, rng=np.random.default_rng(5))
    table = pl.read_csv(target)
    assert table.columns == ["match", "time", "player", "rank", "skill"]
    assert table["skill"].to_list() == truth.tolist()
    players = pl.read_parquet(skills)
    assert players.columns == ["player", "skill", "first_skill", "matches"]
    assert players["matches"].to_list() == np.bincount(history.player, minlength=30).tolist()
    last = table.filter(table["match"] == 6)
    assert players["skill"].to_numpy()[last["player"]].tolist() == last["skill"].to_list()
    target = tmp_path / "s.csv"
    times = ['first_time = "2024-05-01T12:00:00"', "interval = 3600"]
    made = population(tmp_path, "score-step = 200", *times)
    cli("simulate", made, *SMALL, "--output", str(target))
    history = read_history(target)
    assert np.all(history.distinct_ranks() < history.sizes())
    assert history.time is not None
    assert history.time[0] == instant("2024-05-01T12:00:00", "")
    assert set(np.diff(history.time)) == {3_600_000_000}
    target = str(tmp_path / "s.csv")
    answer = cli.json("simulate", *SMALL, "--output", target)
    assert ContestModel(**answer["parameters"]) == MODEL
    assert (answer["kind"], answer["seed"], answer["matches"]) == ("contests", 5, 6)
    assert answer["participations"] == len(pl.read_csv(target))
    shown = cli("simulate", *SMALL, "--json", status=2)
    assert "--output" in json.loads(shown.err)["error"]["message"]


def test_without_a_file_csv_is_printed(tmp_path: Path, capfdbinary: Any) -> None:
    target = tmp_path / "s.csv"
    assert run(["simulate", *SMALL, "--output", str(target)]) == 0
    capfdbinary.readouterr()
    assert run(["simulate", *SMALL]) == 0
    assert capfdbinary.readouterr().out == target.read_bytes()


def test_teams_have_the_columns_that_mean_something(tmp_path: Path, cli: Cli) -> None:
    target = tmp_path / "teams.csv"
    head = ["match", "time", "player", "team", "rank"]
    cli("simulate", *TEAMS, "--output", str(target))
    assert pl.read_csv(target).columns == [*head, *STATISTICS]
    extra = [population(tmp_path, "leavers = 0.2", "roles = true"), "--with-skill"]
    cli("simulate", *TEAMS, *extra, "--output", str(target))
    assert pl.read_csv(target).columns == [*head, "share", *STATISTICS, "role", "skill"]


@pytest.mark.parametrize(
    ("model", "part"), [(ContestModel, "## Contests"), (TeamModel, "## Teams")]
)
def test_defaults_in_the_guide_are_those_of_the_models(model: type, part: str) -> None:
    """The guide lists every key of a population; flags are off."""
    guide = (ROOT / "docs" / "guides" / "simulate.md").read_text()
    rows = re.findall(
        r"^\| (`.+?`) \| (.+?) \|", guide.partition(part)[2].partition("\n## ")[0], re.M
    )
    told = {
        key.strip("`"): default
        for keys, defaults in rows
        for key, default in zip(keys.split(", "), defaults.split(", "), strict=True)
    }
    for field in dataclasses.fields(model):
        default = told[field.name]
        if isinstance(field.default, bool):
            assert (field.default, default) == (False, "off")
        elif field.name == "first_time":
            assert instant(default, "") == field.default * 1_000_000
        elif field.name == "sizes":
            assert workflow.sizes_of(default) == field.default
        else:
            assert float(default) == field.default


def test_defaults_in_the_help_are_those_of_the_models() -> None:
    """The command line repeats them, as help must not load the models."""
    helps = {field.name: how.help for field, _, how in typed_fields(SimulateRequest)}
    for name in ("players", "contests", "matches", "attendance", "sizes"):
        told = re.search(r"\[default: (.+)\]$", helps[name])
        assert told is not None
        contests, _, teams = told.group(1).partition("; teams: ")
        for model, default in ((ContestModel, contests), (TeamModel, teams or contests)):
            known = {field.name: field.default for field in dataclasses.fields(model)}
            if name in known:
                read = workflow.sizes_of if name == "sizes" else float
                assert read(default) == known[name]


TEAMS = ["--kind", "teams", "--players", "40", "--matches", "30", "--seed", "5"]
TEAM_MODEL = TeamModel(players=40, matches=30)
STATISTICS = ("kills", "deaths", "damage")

#: Lines of a population, and what they are in the model.
TEAM_KEYS: list[tuple[list[str], dict[str, object]]] = [
    ([], {}),
    (['sizes = "5v5, 4V3"'], {"sizes": ((5, 5), (4, 3))}),
    (["newcomers = 0.5"], {"newcomers": 0.5}),
    (["newcomer_gap = 150"], {"newcomer_gap": 150}),
    (["activity-deviation = 0"], {"activity_deviation": 0}),
    (["matchmade = true"], {"matchmade": True}),
    (["mean-skill = 1000"], {"mean_skill": 1000}),
    (["skill_deviation = 50.0"], {"skill_deviation": 50}),
    (["performance_deviation = 90"], {"performance_deviation": 90}),
    (["drift_deviation = 9"], {"drift_deviation": 9}),
    (["draw_margin = 60"], {"draw_margin": 60}),
    (["leavers = 0.2"], {"leavers": 0.2}),
    (["roles = true"], {"roles": True}),
    (["mean_kills = 3"], {"mean_kills": 3}),
    (["mean_deaths = 3"], {"mean_deaths": 3}),
    (["mean_damage = 900"], {"mean_damage": 900}),
    (["statistics_scale = 150"], {"statistics_scale": 150}),
    (['first_time = "1970-01-02"', "interval = 60"], {"first_time": 86_400, "interval": 60}),
    (["first_time = 1970-01-02", "interval = 60"], {"first_time": 86_400, "interval": 60}),
]


@pytest.mark.parametrize(("lines", "parameters"), TEAM_KEYS)
def test_teams_are_written_as_the_library_makes_them(tmp_path, lines, parameters, cli):
    """Every key of a population changes what the model of that name changes."""
    target, made = tmp_path / "teams.csv", population(tmp_path, *lines)
    cli("simulate", made, *TEAMS, "--with-skill", "--output", str(target))
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
def test_the_size_of_pieces_changes_nothing_of_teams(tmp_path, rows, suffix, cli):
    whole, pieces = tmp_path / f"whole.{suffix}", tmp_path / f"pieces.{suffix}"
    options = [population(tmp_path, "leavers = 0.2"), *TEAMS, "--roles", "--with-skill"]
    cli("simulate", *options, "--output", str(whole))
    request = SimulateRequest(
        kind="teams",
        population={"players": 40, "matches": 30, "roles": True, "leavers": 0.2},
        seed=5,
        output=str(pieces),
        with_skill=True,
    )
    assert workflow.simulate(request, rows=rows, rows_written=rows).matches == 30
    one, other = read_history(whole), read_history(pieces)
    assert one.to_polars().equals(other.to_polars())


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["drift_deviation = -1"], "drift_deviation must be at least 0"),
        (['first_time = "someday"'], "first_time of the population must be"),
        (['kind = "teams"', 'sizes = "5"'], "sizes of the population takes sizes such as 5v5"),
        (['kind = "teams"', "leavers = 2"], "leavers must be in [0, 1]"),
        (["leavers = 0.2"], "leavers must be left out of a population of contests; got 0.2"),
        (["players = 1.5"], "population.toml: players must be a whole number; got 1.5"),
        (["players = true"], "population.toml: players must be a whole number; got True"),
        (["roles = 1"], "population.toml: roles must be true or false; got 1"),
        (["attendence = 1"], "population.toml: attendence must be one of kind, players, contests"),
        (["players"], "population.toml must be TOML"),
        (['kind = "duels"'], "toml: kind must be contests or teams; got 'duels'"),
    ],
)
def test_a_wrong_population_is_refused(tmp_path, lines, message, cli):
    target = tmp_path / "made.csv"
    shown = cli("simulate", population(tmp_path, *lines), "--output", str(target), status=2)
    assert message in shown.err
    assert not target.exists()


def test_options_override_the_population(tmp_path: Path, cli: Cli) -> None:
    target = str(tmp_path / "made.csv")
    example = str(ROOT / "examples" / "population.toml")
    shown = cli("simulate", example, "--players", "90", "--matches", "4", "--output", target)
    assert "4 matches, " in shown.err
    assert "no file" in cli("simulate", str(tmp_path / "none.toml"), status=1).err


def test_every_step_is_shown_with_its_command_and_works(cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    out = cli("demo").out
    assert "kernels are compiled first" in " ".join(out.split())
    for number, step in enumerate(STEPS, start=1):
        assert f"{number}. " in out
        assert f"$ {step.command}" in out
    assert "jade-kite    2301.61" in out
    assert "The tour took" in out
    assert list(tmp_path.iterdir()) == []
    assert Path.cwd() == tmp_path


def test_the_files_of_the_tour_can_be_kept_and_a_step_that_fails_ends_it(tmp_path, cli):
    folder = tmp_path / "tour"
    cli("demo", "--keep", str(folder))
    assert {"contests.csv", "season.npz"} <= set(os.listdir(folder))
    sample = (folder / "contests.csv").read_bytes()
    assert sample == (ROOT / "examples" / "contests.csv").read_bytes()
    assert "new or empty folder" in cli("demo", "--keep", str(folder), status=2).err
    cli("demo", "--keep", str(tmp_path / "no" / "where"), status=2)
    steps = [Step("this works", "fine"), Step("this does not", "broken"), Step("never", "run")]
    seen = []

    def pretend(arguments: object) -> int:
        seen.append(arguments)
        return 0 if arguments == ["fine"] else 1

    with pytest.raises(EquipoiseError, match="step 2 of the tour failed: equipoise broken"):
        tour(pretend, lambda number, step: None, steps=steps)
    assert seen == [["fine"], ["broken"]]
    root: Any = typer.main.get_command(create_application())
    for step in STEPS:
        name, *words = shlex.split(step.arguments)
        known = {option for one in root.commands[name].params for option in one.opts}
        assert {word for word in words if word.startswith("--")} <= known

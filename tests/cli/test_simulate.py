"""equipoise simulate as its users run it."""

from __future__ import annotations

import dataclasses
import gzip
import inspect
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from equipoise.cli import run
from equipoise.cli.simulate import simulate as command
from equipoise.evaluate.synthetic import ContestModel, simulate_contests
from equipoise.formats import read_history, write_history
from equipoise.formats.times import instant
from equipoise.workflows import simulate as workflow

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
    assert pl.read_parquet(target).equals(history.to_polars())


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
def test_the_size_of_pieces_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: int, suffix: str
) -> None:
    whole, pieces = tmp_path / f"whole.{suffix}", tmp_path / f"pieces.{suffix}"
    assert simulate(*SMALL, "--output", str(whole)) == 0
    monkeypatch.setattr(workflow, "_ROWS", rows)
    monkeypatch.setattr("equipoise.formats.pieces._ROWS", rows)
    assert simulate(*SMALL, "--output", str(pieces)) == 0
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


def test_defaults_are_those_of_the_model() -> None:
    """The command line repeats them, as help must not load the model."""
    given = {name: one.default for name, one in inspect.signature(command).parameters.items()}
    for field in dataclasses.fields(ContestModel):
        if field.name == "first_time":
            assert instant(given["first_time"], "") == field.default * 1_000_000
        else:
            assert given[field.name] == field.default


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--kind", "teams"], "--kind must be contests; got 'teams'"),
        (["--players", "0"], "players must be at least 1"),
        (["--attendance", "0"], "attendance must be in (0, 1]"),
        (["--attendance", "1e-12"], "large enough that somebody plays"),
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

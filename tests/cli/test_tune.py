"""equipoise tune as its users run it."""

from __future__ import annotations

import json
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import polars as pl
import pytest

from cli.command_line import SAMPLE, Cli
from equipoise.analysis.tune.computation import Study
from equipoise.cli import run
from equipoise.data.backtest import Trial

GRID = ["--grid", "weight_limit=0.1,0.2,0.4", "--grid", "sigma_limit=40,80,160"]
HALF = ["--first", "50%"]


@pytest.mark.slow
def test_it_says_what_it_found_and_what_the_other_matches_say(cli: Cli) -> None:
    """On this sample what is best on the first half is worse on the second, and so it says."""
    out, err = cli("tune", SAMPLE, "--system", "elo-mmr", *HALF, *GRID)
    lines = out.splitlines()
    assert lines[0] == "On the first 20 matches"
    assert lines[1].split() == ["trial", "weight_limit", "sigma_limit", "pair_inversion"]
    assert lines[2].split()[:3] == ["0", "0.1", "40"]
    # Its defaults, which the parameters themselves leave open.
    given = next(line for line in lines if line.startswith("given"))
    assert given.split()[:3] == ["given", "0.2", "80"]
    assert "\nOn the others\n" in out
    assert lines[-5].split()[:3] == ["tuned", "given", "pair_inv"]
    assert "9 trials in " in err
    assert "found weight_limit=0.1, sigma_limit=40: pair_inversion is 82.134" in err
    assert "at the edge of the values tried: weight_limit, sigma_limit" in err
    assert "on 20 other matches pair_inversion changes by -0.317" in err
    assert "worse, and unlikely to be chance: the first matches are not typical" in err


@pytest.mark.slow
def test_json_holds_everything(cli: Cli) -> None:
    """And the held-out figures are those of a backtest from where the search ended."""
    found = cli.json("tune", SAMPLE, "--system", "elo-mmr", *HALF, *GRID, "--metric", "log_loss")
    assert set(found) == {
        *("system", "parameters", "improved", "best", "given", "held_out", "search", "trials"),
        "history",
    }
    search = found["search"]
    asked = {"metric": "log_loss", "higher_is_better": False, "first": 20}
    assert {name: search[name] for name in asked} == asked
    assert (search["matches"], search["seed"], search["study"]) == (14, None, None)
    assert [one["parameter"] for one in search["choices"]] == ["weight_limit", "sigma_limit"]
    assert search["choices"][0]["values"] == [0.1, 0.2, 0.4]
    assert len(found["trials"]) == 9
    values = [trial["value"] for trial in found["trials"]]
    assert found["best"] == found["trials"][values.index(min(values))]
    assert (found["given"]["number"], found["given"]["parameters"]["sigma_limit"]) == (None, 80)
    assert found["improved"] == (min(values) < found["given"]["value"])
    best = found["best"]["parameters"]
    assert {name: found["parameters"][name] for name in best} == best
    backtest = ["backtest", SAMPLE, "--from", "50%", "--system", "tuned=elo-mmr"]
    backtest += ["--system", "given=elo-mmr"]
    backtest += [word for name in best for word in ("--set", f"tuned.{name}={best[name]}")]
    alone = cli.json(*backtest)
    for part in (*alone["systems"], *found["held_out"]["systems"]):
        part.pop("seconds")
    assert found["held_out"]["systems"] == alone["systems"]
    assert found["held_out"]["difference"] == alone["differences"][0]
    assert found["held_out"]["verdict"] in ("better", "open", "worse")


@pytest.mark.slow
def test_parameters_given_are_where_it_sets_out(cli: Cli) -> None:
    """What is not searched stays as given; where nothing is better all of it does."""
    given = ["--set", "rho=0.04", "--set", "sigma_limit=40", "--set", "weight_limit=0.1"]
    found = cli.json("tune", SAMPLE, "--system", "elo-mmr", *given, *HALF, *GRID)
    assert not found["improved"]
    assert found["held_out"]["verdict"] == "same"
    assert found["parameters"]["rho"] == 0.04
    assert found["given"]["parameters"] == {"weight_limit": 0.1, "sigma_limit": 40}
    assert found["given"]["value"] == found["best"]["value"]
    err = cli("tune", SAMPLE, *given, *HALF, *GRID).err
    assert "no trial is better than the given parameters" in err
    assert "nothing to compare" in err


@pytest.mark.slow
def test_the_files_are_for_the_other_commands(tmp_path: Path, cli: Cli) -> None:
    """The parameters are read by --parameters; table and chart hold every trial."""
    best, table, chart = (tmp_path / name for name in ("best.toml", "trials.csv", "map.svg"))
    files = ["--output", str(best), "--trials-output", str(table), "--chart", str(chart)]
    found = cli.json("tune", SAMPLE, "--system", "elo-mmr", *HALF, *GRID, *files)
    assert best.read_text().startswith("# pair_inversion 82.1341 on the first 20 matches")
    shown = cli("backtest", SAMPLE, "--from", "50%", "--parameters", str(best), "--json")
    alone = json.loads(shown.out)["systems"][0]
    assert alone["parameters"]["sigma_limit"] == 40
    assert alone["pair_inversion"] == found["held_out"]["systems"][0]["pair_inversion"]
    frame = pl.read_csv(table)
    assert frame.columns[:4] == ["trial", "weight_limit", "sigma_limit", "status"]
    assert frame["pair_inversion"].to_list() == [one["value"] for one in found["trials"]]
    assert ET.parse(chart).getroot().tag.endswith("svg")
    before = chart.read_bytes()
    cli("tune", SAMPLE, "--system", "elo-mmr", *HALF, *GRID, "--chart", str(chart))
    assert chart.read_bytes() == before


@pytest.mark.slow
def test_refused_trials_few_matches_and_small_changes_are_told(cli: Cli) -> None:
    refused = "2 trials were refused by the system; the first: k must be positive"
    assert refused in cli("tune", SAMPLE, "--system", "elo", *HALF, "--grid", "k=-5,0,20").err
    tenth = ("--first", "10%", "--min-history", "5")
    said = cli("tune", SAMPLE, "--system", "elo", "--grid", "k=1,2", *tenth, status=1).err
    assert "the first 4 matches (10%; see --first): nothing to score" in said
    assert said.endswith("Try --first 25%\n")
    elo = (SAMPLE, "--system", "elo", *HALF, "--metric", "log_loss", "--grid", "k=32.001")
    err = cli("tune", *elo).err
    assert "-0.00000" not in err
    assert "+0.00000" not in err
    assert "no difference that matters (less than 0.0005)" in err
    assert cli.json("tune", *elo)["held_out"]["verdict"] == "no difference that matters"
    strict = cli.json("tune", *elo, "--least-difference", "0")
    assert strict["held_out"]["verdict"] in ("better", "worse", "open")
    named = cli.json("tune", *elo, "--least-difference", "log_loss=0")
    assert named["held_out"]["verdict"] == strict["held_out"]["verdict"]


@pytest.mark.slow
def test_a_grid_needs_no_optuna(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, cli: Cli) -> None:
    """Samples and studies do, and say how to get it."""
    monkeypatch.setitem(sys.modules, "optuna", None)
    elo = (SAMPLE, "--system", "elo", *HALF)
    cli("tune", *elo, "--grid", "k=10,20")
    assert "pip install '.[tune]'" in cli("tune", *elo, "--trials", "3", status=1).err
    shown = cli("tune", *elo, "--grid", "k=10,20", "--study", str(tmp_path / "s.db"), status=1)
    assert "pip install '.[tune]'" in shown.err


@pytest.mark.slow
def test_a_study_of_a_grid_may_grow_and_keeps_infinity_and_nothing(tmp_path, cli):
    pytest.importorskip("optuna")
    elo = (SAMPLE, "--system", "elo", *HALF, "--study", str(tmp_path / "s.db"))
    first = cli.json("tune", *elo, "--grid", "k=10,20,-1")
    assert first["search"]["recorded"] == 0
    again = cli.json("tune", *elo, "--grid", "k=10,20,-1")
    assert again["search"]["recorded"] == 3
    assert again["trials"] == first["trials"]
    grown = cli.json("tune", *elo, "--grid", "k=10,15,20,-1")
    straight = cli.json("tune", SAMPLE, "--system", "elo", *HALF, "--grid", "k=10,15,20,-1")
    assert grown["search"]["recorded"] == 3
    assert grown["trials"] == straight["trials"]
    pytest.importorskip("optuna")
    mmr = (SAMPLE, "--system", "elo-mmr", *HALF, "--study", str(tmp_path / "s.db"))
    grid = ("--grid", "rho=1,inf", "--grid", "remembered=none,5", "--grid", "split_ties=true,false")
    first = cli.json("tune", *mmr, *grid)
    again = cli.json("tune", *mmr, *grid)
    assert (len(first["trials"]), again["search"]["recorded"]) == (8, 8)
    assert again["trials"] == first["trials"]
    assert {one["parameters"]["rho"] for one in first["trials"]} == {1.0, "inf"}


@pytest.mark.slow
def test_a_study_about_something_else_is_not_gone_on_with(tmp_path: Path, cli: Cli) -> None:
    pytest.importorskip("optuna")
    elo = (SAMPLE, "--system", "elo", "--study", str(tmp_path / "s.db"))
    samples = ("--trials", "2", "--range", "k=4:40")
    cli("tune", *elo, *HALF, *samples)
    for others, what in (
        ((*HALF, *samples, "--seed", "4"), "it differs in seed (seed was 0, now 4)"),
        ((*HALF, *samples, "--set", "scale=300"), "it differs in parameters"),
        ((*HALF, "--trials", "2", "--range", "k=4:50"), "it differs in ranges"),
        ((*HALF, "--grid", "k=5"), "ranges"),
        (("--first", "60%", *samples), "it differs in history"),
    ):
        err = cli("tune", *elo, *others, status=1).err
        assert what in err
        assert "another --study-name" in err
    # Of another name or metric there may be more in one file, and a study may go on.
    cli("tune", *elo, *HALF, *samples, "--seed", "4", "--study-name", "again")
    cli("tune", *elo, *HALF, *samples, "--metric", "ndcg")
    longer = cli.json("tune", *elo, *HALF, "--trials", "3", "--range", "k=4:40")
    assert (longer["search"]["recorded"], len(longer["trials"])) == (2, 3)


@pytest.mark.parametrize(
    ("study", "why"),
    [
        ("nowhere/s.db", "the directory of an output must exist"),
        ("martian://host/s", "cannot be opened"),
    ],
)
def test_a_database_that_is_none_is_wrong_usage(study: str, why: str, cli: Cli) -> None:
    pytest.importorskip("optuna")
    shown = cli(
        "tune", SAMPLE, "--system", "elo", *HALF, "--grid", "k=5", "--study", study, status=2
    )
    assert why in shown.err


@pytest.mark.slow
def test_ctrl_c_says_how_to_go_on(tmp_path, monkeypatch, cli):
    """What is in the study stays there, and the same command ends as if nothing had happened."""
    pytest.importorskip("optuna")
    database = str(tmp_path / "s.db")
    elo = (SAMPLE, "--system", "elo", *HALF, "--grid", "k=5,10,20,40")
    keep = Study.keep

    def stopped(study: Study, trial: Trial) -> None:
        if trial.number == 2:
            raise KeyboardInterrupt
        keep(study, trial)

    with monkeypatch.context() as pressed:
        pressed.setattr(Study, "keep", stopped)
        shown = cli("tune", *elo, "--study", database, status=130)
    assert f"kept in {database}; the same command continues the search" in shown.err
    gone_on = cli.json("tune", *elo, "--study", database)
    assert gone_on["search"]["recorded"] == 2
    assert gone_on["trials"] == cli.json("tune", *elo)["trials"]


@pytest.mark.slow
def test_a_study_keeps_its_number_of_trials_under_way(tmp_path, monkeypatch, cli):
    """It changes what is sampled, whatever the number of processes."""
    pytest.importorskip("optuna")
    elo = (SAMPLE, "--system", "elo", *HALF, "--range", "k=4:160:log")
    study = ("--study", str(tmp_path / "study.db"))
    with monkeypatch.context() as two:
        two.setattr("equipoise.analysis.tune.computation.UNDER_WAY", 2)
        recorded = cli.json("tune", *elo, "--trials", "12", *study)
        straight = cli.json("tune", *elo, "--trials", "20")
    longer = cli.json("tune", *elo, "--trials", "20", "--workers", "2", *study)
    assert (longer["search"]["recorded"], longer["search"]["under_way"]) == (12, 2)
    assert longer["trials"][:12] == recorded["trials"]
    assert longer["trials"] == straight["trials"]
    assert straight["trials"] != cli.json("tune", *elo, "--trials", "20")["trials"]


@pytest.mark.slow
def test_two_searches_at_once_do_not_mix(tmp_path, monkeypatch, cli):
    """Whoever finds trials of another run in the study stops."""
    pytest.importorskip("optuna")
    elo = ["tune", SAMPLE, "--system", "elo", *HALF, "--grid", "k=5,10", "--study"]
    elo.append(str(tmp_path / "s.db"))
    keep = Study.keep

    def beside(study: Study, trial: Trial) -> None:
        monkeypatch.setattr(Study, "keep", keep)
        assert run(elo) == 0
        keep(study, trial)

    monkeypatch.setattr(Study, "keep", beside)
    assert "another search writes to this study" in cli(*elo, status=1).err


def test_what_calibration_is_worth_is_said(cli: Cli) -> None:
    """The same figures as those of a backtest of the tuned parameters with --calibrate."""
    search = ["tune", SAMPLE, "--system", "elo", "--metric", "log_loss", *HALF]
    found = cli.json(*search, "--grid", "k=20,40")
    best = f"k={found['parameters']['k']}"
    words = ["--system", "elo", "--set", best, "--from", "50%", "--calibrate"]
    alone = cli.json("backtest", SAMPLE, *words)["differences"][0]
    gain = found["held_out"]["gains"][0]
    assert (gain["kind"], gain["column"], gain["value"]) == ("calibration", "", None)
    changes = {name: -value for name, value in alone["metrics"].items() if value is not None}
    assert {name: gain["difference"]["metrics"][name] for name in changes} == changes
    for name in changes:
        lower, upper = alone["intervals"][name]
        assert gain["difference"]["intervals"][name] == [-upper, -lower]
    change = f"{-alone['metrics']['log_loss']:+.5f}"
    said = f"calibrating the tuned chances (backtest --calibrate) changes log_loss by {change} "
    assert said in cli(*search, "--grid", "k=20,40").err

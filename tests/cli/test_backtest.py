"""equipoise backtest as its users run it, and the page of --report as they get it."""

from __future__ import annotations

import json
import math
import re
import shutil
import sys
from pathlib import Path

import polars as pl
import pytest

import equipoise as eq
from cli.command_line import LEAGUE, SAMPLE, Cli, Write
from equipoise.analysis.backtest.computation import _able
from equipoise.analysis.backtest.presentation import CALIBRATION, METRIC
from equipoise.cli import run
from equipoise.rating.registry import SYSTEMS, make_system, system_names
from report.report_by_hand import Balanced, part, rows, words

METRICS = (
    *("pair_inversion", "rank_deviation", "pair_inversion_top100", "rank_deviation_top100"),
    *("ndcg", "log_loss", "brier"),
)


def test_the_table_has_a_row_a_system_and_the_baseline_last(tmp_path: Path, cli: Cli) -> None:
    """Plain when piped, and what was scored is said on standard error; elo-mmr is the default."""
    out, err = cli("backtest", SAMPLE, "--system", "elo-mmr", "--system", "elo", "--from", "10%")
    lines = out.splitlines()
    assert [line.split()[0] for line in lines] == ["system", "elo-mmr", "elo", "baseline"]
    assert lines[0].split()[1:3] == ["pair_inv", "rank_dev"]
    assert "the first 4 matches were used only for learning" in err
    assert "fewer than 5 earlier matches" in err
    assert "of 40 matches" in err
    lead = "elo-mmr predicts best by all 5 metrics. The lead over every other system is significant"
    assert f"\n{lead}.\n" in err
    target = tmp_path / "found.csv"
    out, err = cli("backtest", SAMPLE, "--output", target)
    assert out == ""
    assert "elo-mmr is better than the baseline, which has no ratings, by every metric" in err
    written = pl.read_csv(target)
    assert written["label"].to_list() == ["elo-mmr", "baseline"]
    assert {"brier", "brier_lower", "brier_upper", "calibration_error"} <= set(written.columns)


def test_json_holds_everything(cli: Cli) -> None:
    """The seed decides the intervals alone."""
    both = ("--system", "elo-mmr", "--system", "elo", "--set", "elo.k=24")
    found = cli.json("backtest", SAMPLE, *both)
    one, other, baseline = found["systems"]
    assert (one["label"], other["label"], baseline["label"]) == ("elo-mmr", "elo", "baseline")
    assert other["parameters"]["k"] == 24
    assert (baseline["system"], baseline["seconds"]) == ("constant-rate", None)
    assert one["seconds"] > 0
    again = cli.json("backtest", SAMPLE, *both, "--seed", "1")["systems"][0]
    assert again["intervals"] != one["intervals"]
    for name in METRICS:
        lower, upper = one["intervals"][name]
        assert lower <= one[name] <= upper
        assert again[name] == one[name]
    difference = found["differences"][0]
    assert (difference["first"], difference["second"]) == ("elo-mmr", "elo")
    apart = one["brier"] - other["brier"]
    assert difference["metrics"]["brier"] == pytest.approx(apart, abs=1e-15)
    assert len(one["calibration"]["bins"]) == 10
    assert found["scoring"]["min_history"] == 5
    assert found["scoring"]["for_whom"] == "players with 5 or more earlier matches"
    experienced = found["groups"][2]["systems"][0]
    for name in ("pair_inversion", "rank_deviation", "log_loss", "brier"):
        assert experienced[name] == one[name]
        assert experienced["intervals"][name] == one["intervals"][name]
    assert found["history"]["participations"] == 2189


def test_what_nothing_is_known_of_is_null(write: Write, cli: Cli) -> None:
    """A single draw says nothing of orders; the bins of calibration are mostly empty."""
    draw = write("h.csv", "match,player,rank\n1,a,0\n1,b,0\n")
    asked = ("backtest", draw, "--min-history", "0", "--system", "elo")
    found = cli.json(*asked)
    (one, _) = found["systems"]
    assert one["pair_inversion"] is None
    assert one["intervals"]["ndcg"] == [None, None]
    assert one["log_loss"] == pytest.approx(math.log(2))
    assert one["calibration"]["bins"][0]["expected"] is None
    assert found["scoring"]["undecided"] == 1
    assert "left with a single tied pair" in cli(*asked, "--details").err


def test_systems_have_labels_and_parameters_of_their_own(write: Write, cli: Cli) -> None:
    """Labels may hold dots, --set goes by them, and a file is for the system that it names."""
    two = ("--system", "rho0.04=elo-mmr", "--set", "rho0.04.rho=0.04")
    two += ("--system", "endless=elo-mmr", "--set", "endless.rho=inf")
    found = cli.json("backtest", SAMPLE, *two)["systems"]
    assert [one["label"] for one in found] == ["rho0.04", "endless", "baseline"]
    assert [one["parameters"]["rho"] for one in found[:2]] == [0.04, "inf"]
    named = ("--parameters", write("p.toml", 'system = "elo"\n[parameters]\nk = 10\n'))
    both = ("--system", "elo", "--system", "elo-mmr", "--set", "elo.scale=300")
    for more, scale in (((), 400), (both, 300)):
        parameters = cli.json("backtest", SAMPLE, *more, *named)["systems"][0]["parameters"]
        assert (parameters["k"], parameters["scale"]) == (10, scale)


def test_scoring_starts_at_a_share_or_a_time(write: Write, cli: Cli) -> None:
    """The season has a contest a week from 2020 on; a history without times has only shares."""
    for text, learned in (("0", 0), ("25%", 10), ("0.25", 10), ("2020-01-15", 2)):
        assert cli.json("backtest", SAMPLE, "--from", text)["scoring"]["learned"] == learned
    late = cli.json("backtest", SAMPLE, "--until", "2020-05-01")
    assert late["history"]["matches"] < 40
    rows = "".join(f"{m},a,0\n{m},b,1\n" for m in range(20))
    path = write("h.csv", f"match,player,rank\n{rows}")
    assert cli.json("backtest", path, "--from", "50%")["scoring"]["learned"] == 10
    for given in (("--from", "2020-01-01"), ("--set", "drift_per_day=1")):
        assert "no time column" in cli("backtest", path, *given, status=2).err


TEAMS = [name for name in sorted(SYSTEMS) if make_system(name).capabilities.max_team_size != 1]


def team_matches(tmp_path: Path) -> str:
    """Return a history of 12 matches of two against two, in which the first players win."""
    rows = "".join(f"{m},{p},{p // 2}\n" for m in range(12) for p in range(4))
    path = tmp_path / "teams.csv"
    table = pl.read_csv(b"match,player,rank\n" + rows.encode())
    table.with_columns(team=pl.col("rank")).write_csv(path)
    return str(path)


def test_all_is_every_system_that_can_rate_the_history(tmp_path, cli, monkeypatch):
    """The others are named with the reason, once for all that have the same."""
    found = cli.json("backtest", team_matches(tmp_path), "--system", "all")
    assert [one["label"] for one in found["systems"]] == [*TEAMS, "baseline"]
    contests = cli.json("backtest", SAMPLE, "--system", "all", "--from", "80%")
    *order, _ = (one["pair_inversion"] for one in contests["systems"])
    assert order == sorted(order, reverse=True)
    tables = [contests["systems"], *(group["systems"] for group in contests["groups"])]
    assert len({tuple(one["label"] for one in table) for table in tables}) == 1
    (note,) = [one for one in found["history"]["notes"] if one.startswith("left out")]
    reason, _, names = note.partition(": ")
    assert reason == "left out, because they cannot rate teams of 2 (at most 1)"
    assert sorted([*TEAMS, *names.split(", ")]) == sorted(system_names())
    teams = team_matches(tmp_path)
    named = ("--system", "all", "--system", "home=elo", "--system", "trueskill")
    found = cli.json("backtest", teams, *named, "--set", "home.k=20", "--set", "elo.k=40")[
        "systems"
    ]
    labels = [one["label"] for one in found]
    assert sorted(labels) == sorted([*TEAMS, "home", "baseline"])
    assert labels[:2] == ["home", "trueskill"]
    k = {one["label"]: one["parameters"].get("k") for one in found}
    assert (k["home"], k["elo"]) == (20, 40)
    shown = cli("backtest", teams, "--system", "all", "--system", "glicko2", status=1)
    assert "glicko2 cannot rate teams of 2" in shown.err
    teams = team_matches(tmp_path)
    monkeypatch.setattr("equipoise.analysis.backtest.computation._MOST_PAIRS", 0)
    found = cli.json("backtest", teams, "--system", "all")
    pairs = {"bradley-terry", "thurstone-mosteller"}
    labels = [one["label"] for one in found["systems"]]
    assert labels == [*(one for one in TEAMS if one not in pairs), "baseline"]
    (note,) = [one for one in found["history"]["notes"] if "comparing all pairs" in one]
    assert note.endswith("bradley-terry, thurstone-mosteller; --system bradley-terry includes it")
    named = ("--system", "thurstone-mosteller")
    assert len(cli.json("backtest", teams, *named)["systems"]) == 2


def test_all_leaves_out_systems_that_run_away_in_large_fields() -> None:
    """With the note of `rate`; one that is named, or that takes the mean of its pairs, stays."""
    history = eq.read_history(SAMPLE)
    pairs = {"bradley-terry": eq.BradleyTerry(), "thurstone-mosteller": eq.ThurstoneMosteller()}
    able, notes = _able({"elo": eq.Elo(), **pairs}, history, frozenset({"elo", *pairs}))
    assert list(able) == ["elo"]
    assert notes == [f"left out: {one.field_notes(history)[0]}" for one in pairs.values()]
    able, notes = _able(pairs, history, frozenset({"thurstone-mosteller"}))
    assert (list(able), len(notes)) == (["bradley-terry"], 1)
    averaged = {"bt": eq.BradleyTerry(average=True)}
    assert _able(averaged, history, frozenset(averaged)) == (averaged, [])


def test_scores_by_experience_and_details_are_printed(cli: Cli) -> None:
    """For newcomers, few matches, five or more, and all, whatever the main table is about."""
    for arguments in ((), ("--details",)):
        printed = cli("backtest", SAMPLE, "--system", "elo", "--system", "glicko", *arguments)
        told = printed.out if arguments else printed.err
        table = told.partition("By earlier matches of the less experienced of each pair")[2]
        names = [line.split("  ")[0] for line in table.splitlines()[1:14] if " elo " in line]
        assert names == ["0", "1 to 4", "5 or more", "all"]
        titles = ("Intervals (95 % of 1,000 resamples)", "Differences", "Calibration\n")
        assert all((f"\n\n{title}" in printed.out) == bool(arguments) for title in titles)
    groups = cli.json("backtest", SAMPLE, "--system", "elo")["groups"]
    assert [(one["first"], one["last"]) for one in groups] == [(0, 0), (1, 4), (5, None), (0, None)]


def test_small_differences_do_not_matter_and_missing_columns_are_noted_once(cli, tmp_path):
    """By default, and as small as one says; the interval is told all the same."""
    pair = ("--system", "a=elo", "--system", "b=elo", "--set", "b.k=32.001")
    found = cli.json("backtest", SAMPLE, *pair)["differences"][0]
    assert found["judgements"]["log_loss"] == "no difference that matters"
    assert found["intervals"]["log_loss"][0] < found["intervals"]["log_loss"][1]
    shown = cli("backtest", SAMPLE, *pair, "--least-difference", "log_loss=0", "--json")
    told = json.loads(shown.out)
    assert told["differences"][0]["judgements"]["log_loss"] in ("beyond noise", "within noise")
    assert told["scoring"]["least_differences"]["log_loss"] == 0
    assert told["scoring"]["least_differences"]["pair_inversion"] == 0.05
    for wrong, why in (
        ("0.1", "takes METRIC=VALUE"),
        ("luck=1", "about one of pair_inversion"),
        ("brier=-1", "must be a number of at least 0; got '-1'"),
    ):
        assert why in cli("backtest", SAMPLE, *pair, "--least-difference", wrong, status=2).err
    rows = "".join(f"{m},{p},{(p > 'a') ^ (m % 3 > 0):d}\n" for m in range(20) for p in "ab")
    (tmp_path / "games.csv").write_text("match,player,rank\n" + rows, encoding="utf-8")
    named = ("--system", "uscf", "--system", "again=uscf", "--system", "elo")
    found = cli.json(
        "backtest", str(tmp_path / "games.csv"), *named, "--set", "elo.margin_rule=square-root"
    )
    notes = found["history"]["notes"]
    assert sum(one.startswith("no column birth_year: uscf assumes") for one in notes) == 1
    assert sum(one.startswith("elo finds no score column") for one in notes) == 1


def test_players_begin_with_known_ratings(tmp_path, monkeypatch, cli):
    """They change the predictions of systems; what has no effect is noted, or refused if strict."""
    known = tmp_path / "known.csv"
    known.write_text("player,rating,deviation\njade-kite,2400,50\n")
    both = (SAMPLE, "--system", "elo-mmr", "--system", "elo", "--min-history", "0")
    plain, found = cli.json("backtest", *both), cli.json("backtest", *both, "--initial", str(known))
    for one, other in zip(plain["systems"], found["systems"], strict=True):
        assert (one["log_loss"] == other["log_loss"]) == (one["label"] == "baseline")
    told = "elo does not use the deviations of --initial: no rating depends on it"
    assert found["history"]["notes"] == [told]
    monkeypatch.chdir(tmp_path)
    Path("equipoise.toml").write_text("[reading]\nstrict = true\n")
    assert told in cli("backtest", *both, "--initial", str(known), status=2).err
    Path("equipoise.toml").unlink()
    known.write_text("player,rating\nnobody,2400\nno-one,2000\n")
    nobody = cli.json("backtest", *both, "--initial", str(known))
    assert nobody["history"]["notes"] == ["none of the 2 players of --initial is in the history"]
    assert nobody["systems"][0]["log_loss"] == plain["systems"][0]["log_loss"]
    shown = cli("backtest", *both, "--initial", str(known), "--output", str(known), status=2)
    assert "--initial" in shown.err


def test_predictions_and_calibrated_chances_are_written(tmp_path: Path, cli: Cli) -> None:
    path, page = tmp_path / "p.csv", tmp_path / "r.html"
    asked = ("backtest", LEAGUE, "--system", "elo", "--calibrate", "--predictions", path)
    found = cli.json(*asked, "--report", page)
    assert "elo calibrated" in page.read_text()
    assert [one["label"] for one in found["systems"]] == ["elo", "elo calibrated", "baseline"]
    assert found["systems"][1]["parameters"] == found["systems"][0]["parameters"]
    difference = found["differences"][0]
    assert (difference["first"], difference["second"]) == ("elo", "elo calibrated")
    lower, upper = difference["intervals"]["log_loss"]
    assert lower < difference["metrics"]["log_loss"] < upper
    table = pl.read_csv(path)
    assert len(table) == found["systems"][0]["matches"]
    assert {"first", "second", "win", "win_calibrated", "outcome"} <= set(table.columns)


@pytest.mark.parametrize("word", ["-h", "--help"])
def test_the_help_says_of_every_measure_which_value_is_better(word: str, cli: Cli) -> None:
    text = (
        cli("backtest", word)
        .out.partition("Metrics of the predictions")[2]
        .partition("Example:")[0]
    )
    meanings = dict(re.findall(r"(?s)^    (\w+) +(.*?)(?=^    \w|^  \w)", text, re.MULTILINE))
    measures = [one for one in METRIC.values() if not one.key.endswith("top100")]
    assert [*meanings] == [one.column for one in (*measures, CALIBRATION)]
    for one in (*measures, CALIBRATION):
        assert meanings[one.column].strip().endswith(f": {one.better.partition(' ')[0]}")


TWO = ("--system", "elo-mmr", "--system", "slow=elo", "--set", "slow.k=16")


def page_of(folder: Path, *arguments: str, history: Path = Path(SAMPLE)) -> str:
    """Return the page that a run writes into a folder."""
    target = folder / "found.html"
    assert run(["backtest", str(history), "--report", str(target), *arguments]) == 0
    return target.read_text(encoding="utf-8")


def test_the_page_shows_what_the_tables_show(tmp_path, capsys, cli):
    """The same numbers as in JSON, which a report does not change; it is told where it went."""
    page = page_of(tmp_path, *TWO, "--from", "10%")
    out, err = capsys.readouterr()
    assert out.startswith("system ")
    assert f"wrote {tmp_path / 'found.html'}" in err
    found = cli.json("backtest", SAMPLE, *TWO, "--from", "10%")
    for one, row in zip(found["systems"], list(rows(page, "metrics-table"))[1:], strict=True):
        lower, upper = one["intervals"]["log_loss"]
        assert row[0] == one["label"]
        assert row[3] == f"{one['log_loss']:.5f} | {lower:.5f} to {upper:.5f}"
        assert row[6] == f"{one['calibration']['error']:.5f}"
    section = words(part(page, "history"))
    assert "source contests.csv" in section
    assert "period 2020-01-01 to 2020-09-30" in section
    assert [words(one) for one in part(page, "systems").iter("strong")] == ["k 16.0"]
    Balanced(page)


def test_the_same_history_gives_the_same_bytes_and_an_old_page_stays_where_a_new_one_fails(
    tmp_path: Path, write: Write, cli: Cli
) -> None:
    """Neither a clock nor a path of the machine goes into the page, and threads do not show."""
    pages = []
    for name in ("here", "there"):
        folder = tmp_path / name
        folder.mkdir()
        copy = Path(shutil.copy(Path(SAMPLE), folder))
        pages.append(page_of(folder, *TWO, history=copy))
    assert pages[0] == pages[1]
    assert str(tmp_path) not in pages[0]
    old = Path(write("found.html", "old"))
    cli("backtest", SAMPLE, "--report", old, "--min-history", "1000", status=1)
    assert old.read_text() == "old"
    assert {one.name for one in tmp_path.iterdir()} == {"here", "there", old.name}


def test_the_command_can_be_typed_again(tmp_path: Path, write: Write) -> None:
    """As it was given, defaults left out; of files the names, without their folders."""
    settings = write("my settings.toml", 'system = "elo"\n[parameters]\nk = 10\n')
    table = tmp_path / "table.csv"
    page = page_of(
        tmp_path,
        *("--system", "elo", "--system", "<b>=elo", "--parameters", settings),
        *("--ties-as-authors", "--skip-bad", "--output", str(table)),
    )
    command = part(page, "command").find("pre/code")
    assert command is not None
    assert command.text == (
        "equipoise backtest contests.csv --system elo --system '<b>=elo' "
        "--parameters 'my settings.toml' --ties-as-authors --output table.csv "
        "--report found.html --skip-bad"
    )
    assert table.exists()
    assert "as the authors of Elo-MMR count it" in words(part(page, "scoring"))


def test_settings_of_the_project_are_in_the_command(tmp_path, monkeypatch):
    """Their values too: without them, the command would read the file in another way.

    What the command has no option for is a comment, in the form of the file.
    """
    monkeypatch.chdir(tmp_path)
    Path("names.csv").write_text("name,same_as\nx,y\n")
    Path("equipoise.toml").write_text(
        'system = "elo"\n'
        '[reading]\nskip-bad = "rows"\nstrict = true\ntime-format = "s"\nunplaced = "last"\n'
        'from = 1577836800\nsynonyms = "names.csv"\nwhere = { match = "1" }\n'
    )
    page = page_of(tmp_path, "--where", "match=2")
    shown = words(part(page, "command"))
    assert "--where match=2" in shown
    assert "--skip-bad=rows --time-format s" in shown
    assert "--system elo" in shown
    assert shown.rstrip().endswith(
        '# with unplaced = "last", from = "1577836800", synonyms = "names.csv", strict = true '
        "below [reading] in equipoise.toml"
    )


def test_bad_rows_are_listed_without_folders(tmp_path, capsys):
    """Also where the answer is JSON, and the page is written beside it."""
    history = tmp_path / "h.csv"
    good = "".join(f"{m},a,0\n{m},b,1\n" for m in range(10))
    history.write_text("match,player,rank\n" + good + "10,a,zero<i>\n10,b,1\n")
    page = page_of(tmp_path, "--skip-bad=rows", "--json", history=history)
    assert json.loads(capsys.readouterr().out)["systems"][0]["label"] == "elo-mmr"
    row = list(rows(page, "problems"))[1]
    assert row[:3] == ["h.csv", "22", "rank"]
    assert "zero<i>" in row[4]
    assert "without times" in words(part(page, "history"))
    assert "--skip-bad=rows" in words(part(page, "command"))


@pytest.mark.parametrize("library", ["matplotlib", "jinja2"])
def test_a_library_that_is_missing_is_named_before_anything_is_rated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, library: str, cli: Cli
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    target = tmp_path / "found.html"
    out, err = cli("backtest", SAMPLE, "--system", "elo", "--report", str(target), status=1)
    assert f"HTML reports need {library}, which is not installed: pip install" in err
    assert out == ""
    assert not target.exists()

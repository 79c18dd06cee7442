"""`equipoise matchmaking simulate`: JSON, the page, a trace, and what it refuses."""

from __future__ import annotations

import json
import runpy
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from equipoise.cli import run

pytestmark = pytest.mark.no_kernel


@pytest.fixture
def rulesets(tmp_path: Path) -> list[str]:
    """Return the options of two rulesets, near and far."""
    words = []
    for label, reference in (("near", 50), ("far", 400)):
        path = tmp_path / f"{label}.json"
        rule = {"attribute": "mmr", "criteria": "distance", "reference": reference}
        sizes = {"min_number": 2, "max_number": 2, "player_min_number": 1, "player_max_number": 1}
        path.write_text(json.dumps({"alliance": sizes, "matching_rule": [rule]}))
        words += ["--ruleset", str(path)]
    return words


def test_json_repeats_every_assumption(rulesets, tmp_path, capsys) -> None:
    day = tmp_path / "day.toml"
    day.write_text('tickets = 1000\nregions = "two"\n')
    command = ["matchmaking", "simulate", *rulesets, "--config", str(day), "--days", "3"]
    assert run([*command, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["rulesets"] == ["near", "far"]
    assert answer["assumptions"]["tickets"] == 1000
    assert answer["assumptions"]["patience_mean"] == 300
    assert answer["tick"] == {"near": "compiled", "far": "compiled"}
    assert answer["differences"]["far"]["gave_up"]["upper"] < 0
    assert answer["verdict"][0].startswith("far, compared with near: ")


def test_the_page_has_verdict_chart_and_assumptions(rulesets, tmp_path, capsys) -> None:
    pytest.importorskip("matplotlib")
    page = tmp_path / "days.html"
    day = tmp_path / "day.toml"
    day.write_text("tickets = 500\n")
    command = ["matchmaking", "simulate", *rulesets, "--config", str(day), "--days", "2"]
    assert run([*command, "--report", str(page)]) == 0
    text = page.read_text()
    for part in ("far, compared with near", "data:image/svg+xml", "party_correlation", "$ equip"):
        assert part in text


def test_a_trace_is_the_players_of_real_games(rulesets, tmp_path, capsys) -> None:
    history = tmp_path / "games.csv"
    rows = [
        f"{n},{1577836800 + 60 * n},p{(n * k) % 17 + 20 * k},{k}"
        for n in range(200)
        for k in (0, 1)
    ]
    history.write_text("match,time,player,rank\n" + "\n".join(rows) + "\n")
    command = ["matchmaking", "simulate", *rulesets, "--trace", str(history), "--json"]
    assert run(command) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["days"] == 1
    assert 390 <= answer["measures"]["near"]["tickets"]["mean"] <= 400
    assert any("blocks of an hour" in note for note in answer["notes"])


def test_a_trace_is_a_table_of_tickets(tmp_path, capsys) -> None:
    """Two duos of one region meet; who is of another region, or too far away, waits."""
    path, day, trace = tmp_path / "duos.json", tmp_path / "day.toml", tmp_path / "tickets.csv"
    sizes = {"min_number": 2, "max_number": 2, "player_min_number": 2, "player_max_number": 2}
    rule = {"attribute": "mmr", "criteria": "distance", "reference": 100}
    limit = {"region_latency_max_ms": 60, "region_latency_initial_range_ms": 60}
    path.write_text(json.dumps({"alliance": sizes, "matching_rule": [rule], **limit}))
    day.write_text('regions = "two"\nrating_deviation = 0\nlatency_spread = 0\npatience = "none"\n')
    trace.write_text(
        "ticket,time,ratings,region\nd,35.5,1500 1520,east\na,10,1500 1600,east\n"
        "b,20,1500 1500,west\nc,30,1900 1900,east\n"
    )
    command = ["matchmaking", "simulate", "--ruleset", str(path), "--config", str(day)]
    assert run([*command, "--trace", str(trace), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    means = {name: one["mean"] for name, one in answer["measures"]["duos"].items()}
    assert (means["tickets"], means["matches"], means["still_waiting"]) == (4, 1, 0.5)
    assert means["wait_max"] == pytest.approx(26.0)
    assert means["team_distance"] == pytest.approx(40.0)
    assert answer["assumptions"]["party_sizes"] == [0, 1]
    for rows, message in (
        ("a,x,1500,east", "time: must be a number of seconds"),
        ("a,1,1500 y,east", "ratings: must be a number for each player"),
        ("a,1,1500,mars", "region: must be one of east, west"),
        ("a,1,1 2 3,east\nb,2,1,east", "--trace must be a trace whose parties fit into a team"),
    ):
        trace.write_text(f"ticket,time,ratings,region\n{rows}\n")
        assert run([*command, "--trace", str(trace)]) != 0
        assert message in capsys.readouterr().err


def test_a_sweep_tries_each_value_and_draws_a_curve(rulesets, tmp_path, capsys) -> None:
    pytest.importorskip("matplotlib")
    day, page = tmp_path / "day.toml", tmp_path / "sweep.html"
    day.write_text("tickets = 600\n")
    command = ["matchmaking", "simulate", *rulesets[:2], "--config", str(day), "--days", "2"]
    sweep = ["--sweep", "matching_rule[0].reference=20,60,400", "--report", str(page)]
    assert run([*command, *sweep, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["rulesets"] == ["reference 20", "reference 60", "reference 400"]
    for rows in answer["chances"].values():
        assert sum(row["matches"] for row in rows) == pytest.approx(1.0)
    spread = [answer["measures"][label]["spread"]["mean"] for label in answer["rulesets"]]
    assert spread == sorted(spread)
    text = page.read_text()
    assert all(
        f"{title} by" in text
        for title in ("Arrivals and waits", "Waits and fairness", "Win probabilities")
    )


def test_the_figure_in_the_guide_is_what_its_script_draws(tmp_path: Path) -> None:
    """docs/figures/matchmaking_ratings.svg is not edited by hand."""
    pytest.importorskip("matplotlib")
    figures = Path(__file__).parents[2] / "docs" / "figures"
    target = tmp_path / "matchmaking_ratings.svg"
    runpy.run_path(str(figures / "matchmaking_ratings.py"))["draw"](target)
    shapes = [
        [element.tag for element in ET.parse(path).getroot().iter()]
        for path in (target, figures / "matchmaking_ratings.svg")
    ]
    assert shapes[0] == shapes[1]


def test_a_sweep_of_the_price_of_waiting(rulesets, tmp_path, capsys) -> None:
    day = tmp_path / "day.toml"
    day.write_text("tickets = 40\nhours = 1\ninterval = 10\n")
    command = ["matchmaking", "simulate", *rulesets[2:], "--config", str(day), "--days", "1"]
    sweep = ["--objective", "fair", "--sweep", "waiting_price=0.0001,1", "--json"]
    assert run([*command, *sweep]) == 0
    answer = json.loads(capsys.readouterr().out)
    matches = [answer["measures"][label]["matches"]["mean"] for label in answer["rulesets"]]
    assert matches[0] < matches[1]


def test_a_sweep_of_an_unknown_field_is_refused(rulesets, capsys) -> None:
    command = ["matchmaking", "simulate", *rulesets[:2], "--sweep"]
    assert run([*command, "flexing_rule[0].reference=1,2"]) != 0
    assert "the ruleset has no flexing_rule[0].reference" in capsys.readouterr().err
    assert run([*command, "tolerance=1,2"]) != 0
    assert "near.json, ruleset.tolerance: must be a known field" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--sweep", "waiting_price=1,2"], "--sweep must be given with one ruleset"),
        (["--sweep", "[]=1,2"], "--sweep must be FIELD=VALUE,VALUE"),
        (["--precision", "0"], "--precision must be a number above 0"),
        (["--waiting-price", "0.01"], "--waiting-price needs --objective fair"),
        (["--report", "days.pdf"], "--report must be a file that ends in .html"),
    ],
)
def test_refuses_options_that_do_not_fit(rulesets, words, message, capsys) -> None:
    assert run(["matchmaking", "simulate", *rulesets, *words]) != 0
    assert message in capsys.readouterr().err


def test_a_day_that_breaks_a_rule_is_told_with_its_file(rulesets, tmp_path, capsys) -> None:
    day = tmp_path / "day.toml"
    day.write_text('patience = "never"\n')
    assert run(["matchmaking", "simulate", *rulesets, "--config", str(day)]) == 2
    assert f"{day}: patience must be one of" in capsys.readouterr().err

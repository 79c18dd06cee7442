"""`equipoise matchmaking simulate`: JSON, the page, a trace, and what it refuses."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from equipoise.cli import run

pytestmark = pytest.mark.no_kernel


def ruleset(path: Path, size: int = 1, reference: float = 100, **others: Any) -> list[str]:
    """Write a ruleset of two teams, and return its option."""
    rule = {"attribute": "mmr", "criteria": "distance", "reference": reference}
    sizes = {"min_number": 2, "max_number": 2, "player_min_number": size, "player_max_number": size}
    path.write_text(json.dumps({"alliance": sizes, "matching_rule": [rule], **others}))
    return ["--ruleset", str(path)]


@pytest.fixture
def near(tmp_path: Path) -> list[str]:
    return ruleset(tmp_path / "near.json", reference=50)


@pytest.fixture
def simulated(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., dict[str, Any]]:
    """Return a function that simulates a day, given as TOML, and returns the JSON message."""

    def simulate(day: str, *words: str) -> dict[str, Any]:
        path = tmp_path / "day.toml"
        path.write_text(day)
        command = ["matchmaking", "simulate", *words, "--config", str(path), "--json"]
        assert run(command) == 0
        return json.loads(capsys.readouterr().out)

    return simulate


def test_a_trace_is_the_players_of_real_games(near, simulated, tmp_path) -> None:
    history = tmp_path / "games.csv"
    rows = [
        f"{n},{1577836800 + 60 * n},p{(n * k) % 17 + 20 * k},{k}"
        for n in range(200)
        for k in (0, 1)
    ]
    history.write_text("match,time,player,rank\n" + "\n".join(rows) + "\n")
    far = ruleset(tmp_path / "far.json", reference=400)
    answer = simulated("", *near, *far, "--trace", str(history))
    assert answer["rulesets"] == ["near", "far"]
    assert answer["days"] == 1
    assert 390 <= answer["measures"]["near"]["tickets"]["mean"] <= 400
    assert any("blocks of an hour" in note for note in answer["notes"])


def test_a_trace_is_a_table_of_tickets(simulated, tmp_path, capsys) -> None:
    """Two duos of one region meet; who is of another region, or too far away, waits."""
    trace = tmp_path / "tickets.csv"
    limit = {"region_latency_max_ms": 60, "region_latency_initial_range_ms": 60}
    words = [*ruleset(tmp_path / "duos.json", 2, **limit), "--trace", str(trace)]
    trace.write_text(
        "ticket,time,ratings,region\nd,35.5,1500 1520,east\na,10,1500 1600,east\n"
        "b,20,1500 1500,west\nc,30,1900 1900,east\n"
    )
    day = 'regions = "two"\nrating_deviation = 0\nlatency_spread = 0\npatience = "none"\n'
    answer = simulated(day, *words)
    means = {name: estimate["mean"] for name, estimate in answer["measures"]["duos"].items()}
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
        command = ["matchmaking", "simulate", *words, "--config", str(tmp_path / "day.toml")]
        assert run(command) != 0
        assert message in capsys.readouterr().err


def test_the_page_of_a_sweep_has_a_curve_and_every_assumption(near, simulated, tmp_path) -> None:
    pytest.importorskip("matplotlib")
    page = tmp_path / "sweep.html"
    sweep = ["--sweep", "matching_rule[0].reference=20,60,400", "--report", str(page)]
    answer = simulated("tickets = 600\n", *near, "--days", "2", *sweep)
    assert answer["rulesets"] == ["reference 20", "reference 60", "reference 400"]
    for rows in answer["chances"].values():
        for by in ("true skills", "ratings"):
            shares = [row["matches"] for row in rows if f"by {by}" in row["by"]]
            assert sum(shares) == pytest.approx(1.0)
    spread = [answer["measures"][label]["spread"]["mean"] for label in answer["rulesets"]]
    assert spread == sorted(spread)
    assert answer["assumptions"]["tickets"] == 600
    assert answer["assumptions"]["patience_mean"] == 300
    assert set(answer["tick"].values()) == {"compiled"}
    assert answer["differences"]["reference 400"]["gave_up"]["mean"] < 0
    assert answer["verdict"][0].startswith("reference 60, compared with reference 20: ")
    text = page.read_text()
    for part in (
        "reference 60, compared with reference 20",
        "data:image/svg+xml",
        "Arrivals and waits by",
        "Waits and fairness by",
        "Win probabilities by",
        "party_correlation",
        "$ equip",
    ):
        assert part in text


def test_a_sweep_of_the_price_of_waiting(simulated, tmp_path) -> None:
    words = [*ruleset(tmp_path / "far.json", reference=400), "--days", "1", "--objective", "fair"]
    day = "tickets = 40\nhours = 1\ninterval = 10\n"
    answer = simulated(day, *words, "--sweep", "waiting_price=0.0001,1")
    matches = [answer["measures"][label]["matches"]["mean"] for label in answer["rulesets"]]
    assert matches[0] < matches[1]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--sweep", "flexing_rule[0].reference=1,2"], "has no flexing_rule[0].reference"),
        (["--sweep", "tolerance=1,2"], "near.json, ruleset.tolerance: must be a known field"),
        (["--sweep", "[]=1,2"], "--sweep must be FIELD=VALUE,VALUE"),
        (["--sweep", "a=1,2", "--ruleset", "x"], "--sweep must be given with one ruleset"),
        (["--precision", "0"], "--precision must be a number above 0"),
        (["--waiting-price", "0.01"], "--waiting-price needs --objective fair"),
        (["--report", "days.pdf"], "--report must be a file that ends in .html"),
    ],
)
def test_refuses_options_that_do_not_fit(near, words, message, capsys) -> None:
    assert run(["matchmaking", "simulate", *near, *words]) != 0
    assert message in capsys.readouterr().err

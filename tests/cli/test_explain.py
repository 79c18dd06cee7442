"""equipoise explain as its users run it: the words, and the numbers beside them."""

from __future__ import annotations

import json
import math
import re
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.command_line import SAMPLE, Cli, Write
from equipoise.analysis.explain.command import ordinal, print_explanation, rounded_parts, summary
from equipoise.analysis.explain.computation import explain_message, written
from equipoise.data.explanation import Contribution, Explanation, Opponent, Quantity, Remembered


def made(**instead: Any) -> Explanation:
    """Return an explanation made by hand; its parts do not show their sum when rounded alone."""
    plain = {
        "system": "elo-mmr",
        "match": 40,
        "player": "jade-kite",
        "time": 18_535.5,
        "rank": 3,
        "tied": 0,
        "teams": 48,
        "weight": 1.0,
        "rating_before": 1812.304,
        "deviation_before": 61.234,
        "rating": 1835.717,
        "deviation": 60.8,
        "expected": 0.83,
        "score": 45 / 47,
        "contributions": (
            Contribution(name="this match", change=20.0049, reason="it went well"),
            Contribution(name="earlier performances", change=3.4041, reason="they count more"),
            Contribution(name="prior", change=0.004, reason="it faded"),
        ),
        "quantities": (
            Quantity(name="performance", value=2000.0, unit="points", meaning="as it was"),
            Quantity(name="volatility", value=0.0599961, unit="", meaning="hardly changed"),
            Quantity(name="v", value=math.nan, unit="points^2", meaning="nobody knows"),
        ),
        "opponents": (
            Opponent(
                player="umber-fox",
                rank=2,
                rating=1900.0,
                deviation=math.nan,
                score=0.0,
                expected=0.31,
                effect=-12.0,
            ),
        ),
        "remembered": tuple(
            Remembered(
                match=40 - k if k < 13 else None,
                time=18_535.5 - 7 * k if k < 13 else math.nan,
                performance=1820.0 + k,
                weight=1 / 14,
                change=23.413 / 14,
            )
            for k in range(14)
        ),
        "least_change": -70.0,
        "largest_change": 80.0,
    }
    return Explanation(**(plain | instead))


def printed(capsys: pytest.CaptureFixture[str], found: Explanation) -> str:
    print_explanation(explain_message(found, partial(written, kind="seconds")))
    return capsys.readouterr().out


def test_it_begins_with_what_happened() -> None:
    assert summary(explain_message(made(), partial(written, kind="seconds"))) == (
        "jade-kite came 3rd of 48 (expected about 9th) in match 40, 2020-09-30, and gained 23.42 "
        "points: 1812.30 +- 120 -> 1835.72 +- 119 (95 %)."
    )
    tied = made(tied=2, rating=1812.304, rating_before=1835.717, time=math.nan)
    assert summary(explain_message(tied, partial(written, kind="date"))) == (
        "jade-kite came 3rd of 48, tied with 2 others (expected about 9th) in match 40, and lost "
        "23.42 points: 1835.72 +- 120 -> 1812.30 +- 119 (95 %)."
    )


@pytest.mark.parametrize(
    ("score", "words"), [(1.0, "won against"), (0.5, "drew against"), (0.0, "lost against")]
)
def test_a_duel_is_told_as_one(score: float, words: str) -> None:
    same = {"rating": 1500.0, "rating_before": 1500.0}
    none = {"deviation": math.nan, "deviation_before": math.nan}
    found = made(teams=2, score=score, expected=0.314, **same, **none)
    assert summary(explain_message(found, partial(written, kind="seconds"))) == (
        f"jade-kite {words} umber-fox (expected score 0.31) in match 40, 2020-09-30, and neither "
        "gained nor lost points: 1500.00 -> 1500.00."
    )


def test_what_is_printed_adds_up(capsys: pytest.CaptureFixture[str]) -> None:
    """To the last digit shown, in both tables."""
    first, *others = printed(capsys, made()).split("\n\n")[1:]
    parts = [float(re.findall(r"[+-]\d+\.\d\d", line)[0]) for line in first.splitlines()[1:]]
    assert sum(parts[:-1]) == pytest.approx(parts[-1], abs=1e-9)
    assert parts[-1] == 23.42
    remembered = next(one for one in others if one.startswith("The new rating")).splitlines()[2:]
    assert [line.split()[0] for line in remembered] == [
        *(str(40 - k) for k in range(10)),
        *("3", "before", "all"),
    ]
    points = [float(line.split()[-1]) for line in remembered]
    assert sum(points[:-1]) == pytest.approx(points[-1], abs=1e-9)
    shares = [float(line.split()[-3]) for line in remembered]
    assert sum(shares[:-1]) == pytest.approx(100, abs=1e-9)
    found = made(least_change=-70.0, largest_change=23.413, rating_before=1812.304)
    print_explanation(explain_message(found, partial(written, kind="date")))
    out = " ".join(capsys.readouterr().out.split())
    assert "gained 23.42 points" in out
    assert "gives a change between -70.00 and +23.42 points." in out


def test_what_is_not_known_is_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(capsys, made())
    assert re.search(r"^v +unknown +points\^2 +nobody knows$", text, re.MULTILINE)
    assert "0.059996" in text
    assert "between -70.00 and +80.00 points" in text
    assert "nan" not in text
    bare = printed(capsys, made(quantities=(), opponents=(), remembered=(), least_change=math.nan))
    assert "Intermediate values" not in bare
    assert "Opponents" not in bare
    assert "The new rating" not in bare
    assert "Any result of this match" not in bare


@given(
    st.lists(st.floats(-500, 500), min_size=1, max_size=12),
    st.integers(0, 4),
    st.floats(-0.01, 0.01),
)
def test_rounded_parts_add_up(parts: list[float], digits: int, off: float) -> None:
    """Each is moved by less than a unit, but for what the total itself was rounded by."""
    unit = 10.0**-digits
    total = round(math.fsum(parts) + off * unit, digits)
    found = rounded_parts(parts, total, digits)
    assert math.fsum(found) == pytest.approx(total, abs=1e-6 * unit)
    for part, shown in zip(parts, found, strict=True):
        assert abs(part - shown) < 1.02 * unit


def test_places_are_ordinals_and_times_are_written_as_the_history_has_them() -> None:
    places = (1, 2, 3, 4, 11, 112, 21)
    assert [*map(ordinal, places)] == ["1st", "2nd", "3rd", "4th", "11th", "112th", "21st"]
    assert written(18_535.5, "seconds") == 1_601_467_200
    assert written(18_535.5, "datetime") == "2020-09-30T12:00:00"
    assert written(18_535.0, "date") == "2020-09-30"
    assert written(math.nan, "date") is None


def test_the_sample_is_explained_as_it_was_rated(tmp_path: Path, cli: Cli) -> None:
    """Text and JSON, held against the trace."""
    trace = tmp_path / "trace.jsonl"
    cli("rate", SAMPLE, "--trace", str(trace), "--output", str(tmp_path / "r.csv"))
    rows = [json.loads(line) for line in trace.read_text().splitlines()]
    last = [row for row in rows if row["player"] == "cedar-bear"][-1]
    out = cli("explain", SAMPLE, "--player", "cedar-bear").out
    assert out.startswith("cedar-bear came ")
    assert (
        f"-> {last['rating']:.2f} +- {1.96 * last['deviation']:.0f} (95 %)." in out.splitlines()[0]
    )
    found = cli.json("explain", SAMPLE, "--player", "cedar-bear")
    assert (found["match"], found["time"]) == (last["match"], last["time"])
    assert found["rating"] == pytest.approx(last["rating"], abs=1e-9)
    parts = [part["change"] for part in found["contributions"]]
    assert math.fsum(parts) == pytest.approx(found["change"], abs=1e-9)


@pytest.mark.parametrize(
    "arguments",
    [["--system", "elo"], ["--set", "rho=0.04"], ["--system", "elo", "--set", "home_advantage=50"]],
)
def test_a_duel_without_times(write: Write, cli: Cli, arguments: list[str]) -> None:
    path = write(
        "h.csv", "match,player,rank,side\n7,1,0,home\n7,2,1,away\n8,2,0,home\n8,1,0,away\n"
    )
    shown = cli("explain", path, "--player", "1", *arguments)
    assert "1 drew against 2 (expected score 0." in shown.out
    found = cli.json("explain", path, "--player", "1", "--match", "7", *arguments)
    assert (found["player"], found["match"], found["time"]) == (1, 7, None)


def test_a_saved_state_is_gone_on_from(tmp_path: Path, cli: Cli) -> None:
    """With its system; a match that it has rated cannot be explained from it."""
    state, half = str(tmp_path / "state.npz"), "2020-05-01"
    arguments = ["--until", half, "--set", "rho=0.5", "--output", str(tmp_path / "r.csv")]
    cli("rate", SAMPLE, *arguments, "--save", state)
    player = ["--player", "jade-ant"]
    straight = cli("explain", SAMPLE, *player, "--set", "rho=0.5").out
    assert cli("explain", SAMPLE, *player, "--state", state).out == straight
    shown = cli(
        "explain", SAMPLE, "--player", "cedar-bear", "--match", "1", "--state", state, status=1
    )
    assert "has rated match 1 already" in shown.err
    one = ["--player", "cedar-bear", "--match", "1"]
    straight = cli("explain", SAMPLE, *one, "--set", "rho=0.5").out
    assert cli("explain", SAMPLE, *one, "--state", state, "--restart").out == straight


def test_the_chain_begins_with_the_statistics(tmp_path, write, cli, monkeypatch):
    """What each statistic adds comes first, and adds up to the performance [TG2] (5)."""
    rows = ["match,player,team,rank,kills,deaths"]
    rows += ["1,ann,A,0,9,4", "1,bob,A,0,5,5", "1,cyd,B,1,7,6", "1,dan,B,1,2,8"]
    path = write("teams.csv", "\n".join(rows) + "\n")
    monkeypatch.chdir(tmp_path)
    Path("equipoise.toml").write_text("[reading.stat]\nkills = 1\ndeaths = -0.5\n")
    arguments = [path, "--player=ann", "--system=team-glicko2", "--json"]
    quantities = json.loads(cli("explain", *arguments).out)["quantities"]
    named = {one["name"]: one["value"] for one in quantities}
    assert list(named)[:3] == ["kills", "deaths", "performance"]
    assert named["kills"] - 0.5 * named["deaths"] == named["performance"] == 7.0
    assert "-2.00 of the performance" in quantities[1]["meaning"]


def test_the_default_system_and_missing_columns_are_named(write: Write, cli: Cli) -> None:
    """A list of another system shows another change."""
    source = write("games.csv", "match,player,rank\n1,ada,1\n1,ben,2\n")
    for named, arguments in ((True, []), (False, ["--system", "elo"])):
        shown = cli("explain", source, "--player", "ada", *arguments)
        assert ("rated by elo-mmr" in shown.err) == named
    shown = cli("explain", source, "--player", "ada", "--system", "uscf")
    assert "no column birth_year: uscf assumes" in " ".join(shown.err.split())


def test_the_posterior_is_printed_drawn_and_a_message(tmp_path: Path, cli: Cli) -> None:
    """Mode and deviation are those of the explanation; the density integrates to 1."""
    arguments = [SAMPLE, "--player", "jade-kite", "--posterior"]
    message = cli.json("explain", *arguments)
    one = message["posterior"]
    assert one["rating"] == message["rating"]
    assert one["deviation"] == message["deviation"]
    step = one["skill"][1] - one["skill"][0]
    assert math.fsum(one["density"]) * step == pytest.approx(1.0, abs=1e-9)
    chart = tmp_path / "skill.svg"
    shown = cli("explain", *arguments, "--chart", str(chart))
    assert f"mean                {one['mean']:.2f}" in shown.out
    assert "Skill of jade-kite" in chart.read_text()


def test_all_matches_since_a_time_are_explained_as_each_alone(cli: Cli) -> None:
    """With the earlier matches, which --from leaves out."""
    player = [SAMPLE, "--player", "jade-kite"]
    found = cli.json("explain", *player, "--since", "2020-08-20")
    alone = [cli.json("explain", *player, "--match", str(one["match"])) for one in found["matches"]]
    assert len(alone) > 1
    for one in alone:
        del one["history"]
    assert found["matches"] == alone
    assert found["change"] == alone[-1]["rating"] - alone[0]["rating_before"]
    told = cli("explain", *player, "--since", "2020-08-20").out.splitlines()
    # As --from reads it, not as seconds.
    assert cli("explain", *player, "--since", "20200820").out.splitlines() == told
    assert [line.split(" (")[0] for line in told[: len(alone)]] == [
        f"jade-kite came {ordinal(one['rank'])} of {one['teams']}" for one in alone
    ]
    assert told[-1].startswith(f"In {len(alone)} matches: ")
    assert "since then changed" in cli("explain", *player, "--since", "2021-01-01", status=1).err
    assert "--match" in cli("explain", *player, "--since", "2020", "--match", "1", status=2).err
    assert "--since explains" in cli("explain", *player, "--from", "2020-08-01").err


@pytest.mark.parametrize(
    ("header", "times", "options"),
    [
        ("round", ["1", "2"], ["--since", "2"]),
        ("time", ["2020-08-19", "2020-08-20"], ["--since", "20200820"]),
        (
            "time",
            ["19.08.2020", "20.08.2020"],
            ["--time-format", "%d.%m.%Y", "--since", "20.08.2020"],
        ),
    ],
)
def test_since_is_written_as_the_times_of_the_history(
    cli: Cli, tmp_path: Path, header: str, times: list[str], options: list[str]
) -> None:
    path = tmp_path / "games.csv"
    rows = "".join(f"{time},ann,ben,1-0\n" for time in times)
    path.write_text(f"{header},player1,player2,result\n{rows}")
    words = ["explain", str(path), "--player", "ann"]
    assert len(cli.json(*words, *options)["matches"]) == 1
    path.write_text("match,player,rank\n1,ann,1\n1,ben,2\n")
    assert "needs a history with times" in cli(*words, "--since", "20200820", status=2).err

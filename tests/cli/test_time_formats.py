"""Times on the command line: what is read, what is refused, and what earlier versions left."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

#: A history of two rounds, and the state in which the version before orders without dates left it.
EARLIER = Path(__file__).parent / "earlier_versions"

MATCHES = (("a1", "ann", "bob"), ("a2", "cyd", "dan"), ("b1", "cyd", "ann"), ("b2", "bob", "dan"))
ELO = ("--system", "elo")


@pytest.fixture
def history(tmp_path: Path):
    """Return what writes a history of four matches at four times."""

    def write(*times: object, name: str = "history.csv") -> str:
        rows = [
            f"{match},{time},{player},{rank}"
            for (match, *pair), time in zip(MATCHES, times, strict=True)
            for rank, player in enumerate(pair)
        ]
        path = tmp_path / name
        path.write_text("\n".join(["match,time,player,rank", *rows]) + "\n")
        return str(path)

    return write


def columns(path: Path | str, *names: str) -> dict[str, list[object]]:
    table = pl.read_csv(path)
    return {name: table[name].to_list() for name in names}


def test_an_order_keeps_its_numbers_in_every_table_and_sentence(history, tmp_path, cli):
    """Traces and ratings; and the trace is read as the same order again."""
    source = history(1, 1, 2, 3)
    trace, output = tmp_path / "trace.csv", tmp_path / "ratings.csv"
    shown = cli("rate", source, *ELO, "--trace", str(trace), "--output", str(output))
    assert "an order without dates" in shown.err
    assert columns(trace, "time") == {"time": [1, 1, 1, 1, 2, 2, 3, 3]}
    ratings = columns(output, "player", "last_time")
    last = dict(zip(ratings["player"], ratings["last_time"], strict=True))
    assert last == {"ann": 2, "bob": 3, "cyd": 2, "dan": 3}
    again = tmp_path / "again.csv"
    cli("rate", str(trace), *ELO, "--output", str(again))
    assert again.read_text() == output.read_text()
    source, table = history(1, 1, 2, 3), tmp_path / "drift.csv"
    cli("audit", "drift", source, *ELO, "--output", str(table))
    assert columns(table, "time") == {"time": [1, 1, 2, 3]}
    assert "in match b2, 3" in cli("explain", source, "--player", "bob", *ELO).out


@pytest.mark.parametrize(
    "options",
    [
        ["rate", "--at", "2024-01-01", *ELO],
        ["rate", "--system", "glicko2", "--set", "period_days=7"],
        ["rate", "--system", "elo-mmr", "--set", "drift_per_day=1"],
        ["backtest", "--system", "glicko2", "--set", "period_days=7"],
        ["plot", "--player", "ann", "--by", "time", *ELO],
        ["audit", "drift", "--active-days", "30", *ELO],
    ],
)
def test_options_that_need_dates_are_refused_for_an_order(history, cli, options):
    """Where they are given; the message says how the numbers become seconds."""
    command, *rest = options
    sub = [command, rest.pop(0)] if command == "audit" else [command]
    assert "order without dates" in cli(*sub, history(1, 1, 2, 3), *rest, status=2).err


def test_serial_numbers_are_refused_and_read_with_excel(history, cli, tmp_path):
    """The refusal names the formats."""
    source = history(45322, 45322, 45323, 45351)
    error = cli("rate", source, *ELO, status=1).err
    assert "--time-format s " in error
    assert "--time-format excel" in error
    assert "got '45322'" in error
    rows = cli.json("rate", source, *ELO, "--time-format", "excel")["ratings"]
    assert {row["last_time"] for row in rows} == {"2024-02-01", "2024-02-29"}
    state = str(tmp_path / "state.npz")
    cli("rate", history(*["2024-01-31"] * 4), *ELO, "--save", state)
    match = ["predict", "--state", state, "--team", "ann", "--team", "bob", "--at"]
    cli(*match, "20240301")
    assert "--time-format s" in cli(*match, "45322", status=2).err
    cli(*match, "45352", "--time-format", "excel")
    cli("rate", history(1, 1, 2, 3), *ELO, "--save", state)
    assert "an order without dates" in cli(*match, "2024-03-01", status=2).err


def test_a_state_of_an_order_goes_on_with_an_order_only(history, tmp_path, cli):
    """And one with dates with dates only."""
    ordered, dated = history(1, 1, 2, 3), history(*["2024-01-31"] * 4, name="dated.csv")
    state = str(tmp_path / "state.npz")
    cli("rate", ordered, *ELO, "--until", "3", "--save", state)
    answer = cli.json("rate", ordered, "--state", state)
    assert (answer["summary"]["known_matches"], answer["summary"]["matches"]) == (3, 1)
    last = {row["player"]: row["last_time"] for row in answer["ratings"]}
    assert last == {"ann": 2, "bob": 3, "cyd": 2, "dan": 3}
    shown = cli("rate", dated, "--state", state, status=1)
    assert "rated by an order without dates, up to 2, and this history has dates" in (shown.err)
    cli("rate", dated, *ELO, "--save", state)
    error = cli("rate", ordered, "--state", state, status=1).err
    assert "rated with dates" in error
    assert "--time-format s" in error
    state = str(tmp_path / "state.npz")
    cli("rate", history(5, 5, 6, 7), *ELO, "--save", state)
    late = tmp_path / "late.csv"
    late.write_text("match,time,player,rank\nz,4,ann,0\nz,4,bob,1\n")
    shown = cli("rate", str(late), "--state", state, status=1)
    assert "older than the last match of the saved state" in shown.err
    late.write_text("match,time,player,rank\nz,7,ann,0\nz,7,bob,1\n")
    cli("rate", str(late), "--state", state)


def test_a_state_saved_by_an_earlier_version_goes_on_with_its_seconds(write, cli):
    """It took the numbers of rounds for seconds since 1970; --time-format s still does."""
    state, rounds = str(EARLIER / "rounds.npz"), str(EARLIER / "rounds.csv")
    longer = write("longer.csv", Path(rounds).read_text() + "c1,3,ann,0\nc1,3,dan,1\n")
    assert "--time-format s" in cli("rate", longer, "--state", state, status=1).err
    resumed = cli.json("rate", longer, "--state", state, "--time-format", "s")
    assert resumed["summary"]["known_matches"] == 4
    shown = cli.json("rate", longer, *ELO, "--time-format", "s")
    assert shown["ratings"] == resumed["ratings"]


def test_simulated_times_are_read_as_they_were_made(tmp_path, cli):
    """Whenever the first match is."""
    made = str(tmp_path / "made.csv")
    for first, written in (
        ("1970-01-02", "1970-01-02T00:00:00.000000"),
        ("20240131", "1706659200"),
        ("1900-01-01", "1900-01-01T00:00:00.000000"),
    ):
        population = tmp_path / "population.toml"
        population.write_text(f'first_time = "{first}"')
        options = ["--players", "4", "--contests", "3", "--seed", "1"]
        cli("simulate", str(population), *options, "--output", made)
        assert Path(made).read_text().splitlines()[1].split(",")[1] == written
        assert cli.json("rate", made)["summary"]["matches"] == 3
    population.write_text('first_time = "45322"')
    cli("simulate", str(population), "--output", made, status=2)

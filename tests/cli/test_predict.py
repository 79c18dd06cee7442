"""equipoise predict as its users run it."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

import equipoise as eq
from cli.command_line import SAMPLE, Cli
from equipoise.analysis.predict.command import _print_teams
from equipoise.cli import run
from equipoise.messages.questions import PredictedPlayer, PredictedTeam, PredictMessage

FOUR = ["jade-kite", "cedar-bear", "amber-deer", "dune-crane"]


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the saved state of the sample season."""
    folder = tmp_path_factory.mktemp("pool")
    path = str(folder / "pool.npz")
    assert run(["rate", SAMPLE, "--save", path, "--output", str(folder / "ratings.csv")]) == 0
    return path


def state_of(folder: Path, text: str, *arguments: str) -> str:
    """Return the saved state of a small history."""
    (folder / "h.csv").write_text(text)
    path = str(folder / "small.npz")
    wanted = ["--save", path, "--output", str(folder / "r.csv"), *arguments]
    assert run(["rate", str(folder / "h.csv"), *wanted]) == 0
    return path


def predict(state: str, *arguments: str) -> int:
    return run(["predict", "--state", state, *arguments])


def teams(*players: str) -> list[str]:
    return [word for player in players for word in ("--team", player)]


def test_calibrate_shows_the_uncorrected_chance_beside_the_corrected(saved: str, cli: Cli) -> None:
    two = teams("jade-kite", "cedar-bear")
    plain = cli.json("predict", "--state", saved, *two)
    assert plain["uncalibrated"] is None
    found = cli.json("predict", "--state", saved, *two, "--calibrate", SAMPLE)
    assert found["uncalibrated"] == [team["expected"] for team in plain["teams"]]
    assert "chances are calibrated by the matches so far" in found["notes"]
    # The curve is that of the library.
    pool = eq.replay(eq.EloMMR(), eq.read_history(SAMPLE), calibrate=True).state
    expected = eq.predict(eq.EloMMR(), pool, [["jade-kite"], ["cedar-bear"]]).expected
    assert [team["expected"] for team in found["teams"]] == list(expected)
    assert expected != tuple(found["uncalibrated"])
    lines = cli("predict", "--state", saved, *two, "--calibrate", SAMPLE).out.splitlines()
    assert lines[0].split() == ["player", "rating", "deviation", "expected", "uncalibrated"]
    assert lines[1].split()[-1] == f"{found['uncalibrated'][0]:.4f}"


def test_a_duel_is_one_table_and_what_each_result_would_do(saved: str, cli: Cli) -> None:
    lines = cli(
        "predict", "--state", saved, *teams("cedar-bear", "jade-kite"), "--what-if"
    ).out.splitlines()
    assert lines[0].split() == ["player", "rating", "deviation", "expected"]
    expected = {line.split()[0]: float(line.split()[3]) for line in lines[1:3]}
    assert list(expected) == ["jade-kite", "cedar-bear"]
    assert sum(expected.values()) == pytest.approx(1, abs=1e-9)
    assert lines[4] == "match quality 0.730 (estimated)"
    assert lines[6].startswith("Rating of cedar-bear after each result, now 2134.73 +- 157 (95 %)")
    results = {line.split()[0]: float(line.split()[1]) for line in lines[8:]}
    assert list(results) == ["win", "draw", "loss"]
    assert results["win"] > results["draw"] > results["loss"]


def test_a_small_field_shows_every_pair_best_first(saved: str, cli: Cli) -> None:
    tables = cli("predict", "--state", saved, *teams(*reversed(FOUR)), "--places").out.split("\n\n")
    assert [line.split()[0] for line in tables[0].splitlines()[1:]] == FOUR
    assert tables[1].startswith("Places in 10,000 sampled matches (seed 0)")
    assert "first" in tables[1]
    assert "top3" in tables[1]
    assert "top10" not in tables[1]
    rows = [line.split() for line in tables[2].splitlines()[2:]]
    chance = [[50 if cell == "-" else int(cell) for cell in row[2:]] for row in rows]
    assert all(chance[i][j] + chance[j][i] in (99, 100, 101) for i in range(4) for j in range(4))


def test_json_keeps_the_order_that_was_given(saved: str, cli: Cli) -> None:
    """The expected score is the mean chance to beat another; places agree with it."""
    given = list(reversed(FOUR))
    found = cli.json("predict", "--state", saved, *teams(*given), "--places", "--samples", "5000")
    assert [team["players"][0]["player"] for team in found["teams"]] == given
    assert (found["samples"], found["seed"], found["what_if"]) == (5000, 0, [])
    for row, team in zip(found["pairs"], found["teams"], strict=True):
        assert team["expected"] == pytest.approx((sum(row) - 0.5) / 3, abs=1e-12)
        assert team["expected_place"] == pytest.approx(1 + 3 * (1 - team["expected"]), abs=1e-12)
        # The deviation of a place of four is less than 1.2.
        assert team["places"]["mean"] == pytest.approx(team["expected_place"], abs=0.07)
        assert team["places"]["top10"] is None


def test_a_field_comes_from_a_file_or_a_pipe(saved, tmp_path, monkeypatch, cli):
    """A player a line; the first column; or the column `player`, as `rate` writes it."""
    found = []
    for text in (
        "\n".join(FOUR),
        "\ufeff" + "\r\n".join(FOUR) + "\r\n\r\n",
        "\n".join(f"{player},7" for player in FOUR),
        "seat,player\n" + "\n".join(f"1,{player}" for player in FOUR),
    ):
        (tmp_path / "field.csv").write_text(text, encoding="utf-8")
        found.append(cli.json("predict", "--state", saved, "--field", str(tmp_path / "field.csv")))
    monkeypatch.setattr(sys, "stdin", io.StringIO("\n".join(FOUR[1:])))
    shown = cli.json("predict", "--state", saved, "--team", FOUR[0], "--field", "-")
    assert all(one == found[0] for one in [*found, shown])


def test_a_whole_pool_meets_and_is_printed_in_a_pipe(saved: str, cli: Cli) -> None:
    """120 players: a row each, every place, but no table of pairs."""
    ratings = str(Path(saved).with_name("ratings.csv"))
    arguments = ["--field", ratings, "--what-if", "--player", "fjord-kite", "--player", FOUR[0]]
    first, *tried = cli("predict", "--state", saved, *arguments).out.split("\n\n")
    assert len(first.splitlines()) == 121
    assert [one.splitlines()[0].split()[2] for one in tried] == ["fjord-kite", "jade-kite"]
    assert [len(one.splitlines()) for one in tried] == [122, 122]
    found = cli.json("predict", "--state", saved, *arguments)
    assert found["pairs"] is None
    assert [len(one["outcomes"]) for one in found["what_if"]] == [120, 120]


def test_ids_teams_and_times_are_those_of_the_state(tmp_path: Path, cli: Cli) -> None:
    text = 'match,player,team,rank\n1,"Li, An",x,0\n1,"O""Hara",x,0\n1,bo,y,1\n1,cy,y,1\n'
    state = state_of(tmp_path, text, "--system", "elo")
    found = cli.json(
        "predict", "--state", state, "--team", '"Li, An","O""Hara"', "--team", "bo, cy"
    )["teams"]
    assert [[one["player"] for one in team["players"]] for team in found] == [
        ["Li, An", 'O"Hara'],
        ["bo", "cy"],
    ]
    assert found[0]["deviation"] is None
    numbers = state_of(tmp_path, "match,player,rank\n1,7,0\n1,8,1\n")
    found = cli.json("predict", "--state", numbers, *teams("8", "7"), "--what-if")
    assert found["teams"][0]["players"][0]["player"] == 8
    assert found["what_if"][0]["player"] == 8
    rows = "".join(f"1,{name},{name[0]},{rank}\n" for rank, name in enumerate(["a1", "b1", "c1"]))
    state = state_of(tmp_path, "match,player,team,rank\n" + rows, "--system", "elo")
    out = cli("predict", "--state", state, *teams("a1,c1", "b1"), "--what-if", "--player", "c1").out
    assert out.splitlines()[0].split()[0] == "team"
    assert "a1, c1" in out
    assert "Rating of c1 after each" in out
    state = state_of(tmp_path, "match,player,rank\n1,a,0\n1,b,1\n")
    cli("predict", "--state", state, *teams("a", "b"), "--what-if")
    shown = cli("predict", "--state", state, *teams("a", "b"), "--at", "2024-01-01", status=2)
    assert "needs a state with times" in shown.err


def test_home_and_time_count_where_the_system_knows_them(tmp_path: Path, cli: Cli) -> None:
    text = "match,time,player,rank,side\n1,2024-01-01,a,0,home\n1,2024-01-01,b,0,away\n"
    state = state_of(tmp_path, text, "--system", "elo", "--set", "home_advantage=60")
    expected = []
    for more in ([], ["--home", "a"], ["--home", "b", "--at", "2024-05-01"]):
        shown = cli.json("predict", "--state", state, *teams("a", "b"), *more)
        expected.append(shown["teams"][0]["expected"])
    assert expected[2] < expected[0] < expected[1]
    told, draws = cli.json("predict", "--state", state, *teams("a", "b"), "--at", "2024-05-01")[
        "notes"
    ]
    assert told == "elo does not use --at: no rating depends on it"
    assert "elo does not model draws" in draws
    drifts = state_of(tmp_path, text, "--set", "drift_per_day=10")
    later = cli.json("predict", "--state", drifts, *teams("a", "b"), "--at", "2024-05-01")
    assert later["at"] == "2024-05-01"
    assert not [one for one in later["notes"] if "--at" in one]
    now = cli.json("predict", "--state", drifts, *teams("a", "b"))["teams"][0]
    assert later["teams"][0]["deviation"] ** 2 == pytest.approx(now["deviation"] ** 2 + 1210)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "must name a player on every line"),
        (b"player,x\n,2\nb,1\n", "must name a player on every line"),
        (b"\xff\xfe\x00", "must be UTF-8 text with one player on each line"),
    ],
)
def test_a_field_that_cannot_be_read_is_explained(saved, tmp_path, cli, content, message):
    (tmp_path / "field.csv").write_bytes(content)
    error = json.loads(
        cli(
            "predict", "--state", saved, "--field", str(tmp_path / "field.csv"), "--json", status=1
        ).err
    )["error"]
    assert error["code"] == "invalid-data"
    assert error["problems"][0]["rule"] == message


def test_win_and_draw_of_two_teams(tmp_path: Path, cli: Cli) -> None:
    """The model's, or estimated from 50 matches or more; below there are none."""
    rows = [
        f"{number},{name},{0 if number % 3 == 0 else place}\n"
        for number in range(60)
        for place, name in enumerate(("ann", "bob") if number % 2 else ("bob", "ann"))
    ]
    head = "match,player,rank\n"
    state = state_of(tmp_path, head + "".join(rows), "--system", "glicko2")
    found = cli.json("predict", "--state", state, *teams("ann", "bob"))
    assert (found["by"], found["draw_by"]) == ("glicko2", "estimate")
    # A third of the matches were drawn, and the two are about equal.
    assert found["draw"] == pytest.approx(1 / 3, abs=0.02)
    for win, team in zip(found["win"], found["teams"], strict=True):
        assert win + found["draw"] / 2 == pytest.approx(team["expected"], abs=1e-15)
    shown = cli("predict", "--state", state, *teams("ann", "bob"))
    assert "% (estimated from earlier draws)" in shown.out
    state = state_of(tmp_path, head + "".join(rows[:98]), "--system", "glicko2")
    found = cli.json("predict", "--state", state, *teams("ann", "bob"))
    assert found["win"] is found["draw"] is found["draw_by"] is None
    assert sum(team["expected"] for team in found["teams"]) == pytest.approx(1)
    state = state_of(tmp_path, head + "".join(rows[:2]), "--system", "trueskill")
    assert cli.json("predict", "--state", state, *teams("ann", "bob"))["draw_by"] == "trueskill"


def test_a_prediction_needs_a_state_or_known_ratings(saved, write, cli, tmp_path):
    known = write("known.csv", "player,rating\nann,1800\n")
    two = teams("ann", "bob")
    for arguments, message in (
        ((), "a prediction needs ratings: a saved state (--state), or known ratings"),
        (("--state", saved, "--initial", known), "--initial cannot be combined with"),
        (("--initial", known, "--at", "2024-01-01"), "--at cannot be combined with --initial"),
        (("--state", saved, "--system", "elo"), "the system must be the same"),
    ):
        assert message in cli("predict", *arguments, *two, status=2).err
    known = write("known.csv", "player,rating\na,1600\nb,1500\n")
    given = [*teams("a", "b"), "--calibrate", SAMPLE]
    shown = cli("predict", "--initial", known, *given, status=2)
    assert "--calibrate needs --state" in shown.err
    state = state_of(tmp_path, "match,player,rank\n1,a,1\n1,b,2\n", "--initial", known)
    shown = cli("predict", "--state", state, *given, status=2)
    assert "a state that started from known ratings" in shown.err


def test_draw_rates_mean_ratings_and_newcomers_are_told(saved, cli, capsys):
    shown = cli(
        "predict", "--state", saved, *teams("jade-kite", "cedar-bear"), "--draw-rate", "0.2"
    ).out
    assert "(estimated from the given draw rate)" in shown
    found = cli.json(
        "predict", "--state", saved, *teams("jade-kite", "cedar-bear"), "--draw-rate", "0.2"
    )
    assert found["draw_by"] == "draw_rate"
    assert sum(found["win"]) + found["draw"] == pytest.approx(1, abs=1e-12)
    shown = cli(
        "predict", "--state", saved, *teams("jade-kite", "cedar-bear"), "--draw-rate", "2", status=2
    )
    assert "draw_rate must be a probability from 0 to 1" in shown.err
    two = teams("jade-kite,dune-kite", "jade-ant,cedar-bear")
    assert cli.json("predict", "--state", saved, *two)["by"] == "team mean"
    shown = cli("predict", "--state", saved, *two)
    assert "elo-mmr cannot rate these teams; they are compared by their mean ratings" in shown.out
    found = cli.json("predict", "--state", saved, *teams("jade-kite", "jade-kit"))
    assert [one["newcomer"] for team in found["teams"] for one in team["players"]] == [False, True]
    assert found["newcomers"] == ["jade-kit"]
    assert "did you mean jade-kite" in found["notes"][0]
    shown = cli(
        "predict",
        "--state",
        saved,
        *teams("jade-kite", "jade-kit"),
        "--what-if",
        "--player",
        "jade-kit",
    )
    assert "jade-kit (new)" in shown.out
    two = [
        PredictedTeam([PredictedPlayer(name, 1500.0, None)], 1500.0, None, score, place, None)
        for name, score, place in (("ann", 0.6, 1.4), ("bob", 0.4, 1.6))
    ]
    _print_teams(
        PredictMessage("trueskill", {}, None, two, None, [0.5, 0.3], 0.2, None, None, []), [0, 1]
    )
    assert "ann wins 50.0 %, draw 20.0 %, bob wins 30.0 %" in capsys.readouterr().out

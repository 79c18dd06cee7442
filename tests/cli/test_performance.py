"""equipoise performance and strengths: tables, promises and errors, as a user meets them."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import polars as pl
import pytest

from cli.command_line import Cli, Write
from equipoise.analysis.performance.command import _NUMBERS
from equipoise.tournament.tie_breaks import TIE_BREAKS

ROOT = Path(__file__).parents[2]
INTERZONAL = str(ROOT / "examples" / "interzonal1970.csv")
WORLD_CUP = str(ROOT / "examples" / "worldcup2022.csv")

#: Every key that INTERFACES names for a player.
PLAYER_KEYS = {
    *("player", "games", "points", "rating", "average_opponent", "tpr", "cpr", "fide", "ppr"),
    *("error", "status", "class", "class_ppr", "lower", "upper"),
}


def test_the_interzonal_of_1970(cli: Cli) -> None:
    """[PRE]_ Table 3 and READINGS C5: all 276 games put the last two at 2372 and 2352."""
    found = cli.json("performance", INTERZONAL, "--anchor", "2557")
    assert found["exists"]
    assert not found["relative"]
    players = found["players"]
    assert set(players[0]) >= PLAYER_KEYS
    assert [one["player"] for one in players[:4]] == ["Fischer", "Geller", "Huebner", "Larsen"]
    assert round(players[0]["ppr"]) == 2806
    assert [round(one["ppr"]) for one in players[-2:]] == [2372, 2352]
    for one in players:
        assert one["expected"] == pytest.approx(one["points"], abs=1e-9)
    lines = cli("performance", INTERZONAL, "--anchor", "2557").out.splitlines()
    assert lines[0].split() == ["player", "games", "points", "expected", "PPR", "+-"]
    assert lines[1].split() == ["1", "Fischer", "23", "18.5", "18.5000", "2805.8", "116.1"]
    assert any(line.startswith("The PPRs predict every score: expected and") for line in lines)
    found = cli.json(
        "performance", INTERZONAL, "--superiority", "--player", "Fischer", "--player", "Jimenez"
    )
    assert found["superiority"]["players"] == ["Fischer", "Jimenez"]
    matrix = found["superiority"]["probability"]
    assert matrix[0][0] is None
    assert matrix[0][1] > 0.999
    assert matrix[0][1] + matrix[1][0] == pytest.approx(1.0)


def test_the_world_cup_has_none_and_says_why(cli: Cli) -> None:
    """64 matches: Qatar and Canada lost all, and one half of the draw won both semi-finals."""
    found = cli.json("performance", WORLD_CUP)
    assert not found["exists"]
    assert [(len(one["winners"]), len(one["losers"]), one["games"]) for one in found["sweeps"]] == [
        (15, 1, 3.0),
        (15, 15, 2.0),
        (15, 1, 3.0),
    ]
    by_name = {one["player"]: one for one in found["players"]}
    assert all(one["ppr"] is None for one in by_name.values())
    assert by_name["Qatar"]["status"] == "none-won"
    assert by_name["Qatar"]["class_ppr"] is None
    assert by_name["Qatar"]["upper"] < by_name["France"]["class_ppr"]
    assert by_name["Argentina"]["status"] == "swept"
    error = json.loads(cli("performance", WORLD_CUP, "--strict", "--json", status=1).err)["error"]
    assert error["code"] == "no-equilibrium"
    assert "took every point of Qatar (3 games)" in error["message"]
    assert "(--prior 1 gives some)" in error["message"]


@pytest.mark.parametrize(
    ("words", "relative", "said"),
    [
        (INTERZONAL, True, ["Relative: no rating is known and no --anchor is given, so the PPRs"]),
        (f"{INTERZONAL} --anchor Fischer=2800", False, ["The PPRs predict every score"]),
        (
            WORLD_CUP,
            True,
            [
                "No finite ratings predict every player's score exactly",
                "Qatar lost all 3 games.",
                "Qatar cannot be placed above or below Canada.",
                "so the ratings within every class have mean 0.",
            ],
        ),
        (
            f"{WORLD_CUP} --anchor 1500",
            False,
            [
                "Each class has the average rating by itself",
                "the columns `at least` and `at most`, on the scale of that class.",
            ],
        ),
        (
            f"{WORLD_CUP} --anchor France=2000",
            False,
            ["Only the class of France has a known level."],
        ),
        (
            f"{WORLD_CUP} --prior 1",
            True,
            [
                "Regularised: every player was given 1 drawn game against",
                "no --anchor is given, so the average player is at 0.",
            ],
        ),
        (f"{WORLD_CUP} --prior 1 --anchor Qatar=1500", False, ["Regularised"]),
    ],
    ids=["free", "held", "classes", "average", "held in a class", "prior", "prior and held"],
)
def test_the_level_of_the_ratings_is_told(words, relative, said, cli):
    """`tests/tournament/test_anchors.py` has the numbers."""
    found = cli.json("performance", *words.split())
    assert (found["relative"], found["regularised"]) == (relative, "--prior" in words)
    assert all(one["ppr"] is not None for one in found["players"]) == (
        WORLD_CUP not in words or "--prior" in words
    )
    levels = {one["player"]: one["ppr"] or one["class_ppr"] for one in found["players"]}
    held = dict(re.findall(r"(\w+)=(\d+)", words))
    assert found["held"] == [*held]
    assert {name: levels[name] for name in held} == pytest.approx(
        {name: float(rating) for name, rating in held.items()}, abs=1e-9
    )
    if relative and found["exists"]:
        assert sum(levels.values()) == pytest.approx(0.0, abs=1e-6)
    out = cli("performance", *words.split()).out
    assert [sentence for sentence in said if sentence not in out] == []
    assert ("Relative" in out) == relative
    assert ("Each class has the average rating" in out) == words.endswith("--anchor 1500")


def test_colours_and_draws_are_estimated_on_request(cli: Cli) -> None:
    """Ratings in error bars: nearly as far apart as those whose bars allow for draws anyway."""
    plain = cli.json("performance", INTERZONAL)
    found = cli.json(
        "performance", INTERZONAL, "--colour-advantage", "estimate", "--draws", "davidson"
    )
    assert 20 < found["colour_advantage"] < 150
    assert found["draw_parameter"] > 0
    best, plainly = found["players"][0], plain["players"][0]
    assert best["ppr"] / best["error"] == pytest.approx(plainly["ppr"] / plainly["error"], rel=0.1)
    for one in found["players"]:
        assert one["expected"] == pytest.approx(one["points"], abs=1e-9)


def test_output_and_chart_are_written(tmp_path: Path, cli: Cli) -> None:
    table, chart = tmp_path / "table.csv", tmp_path / "chart.svg"
    arguments = ["performance", INTERZONAL, "--also", "linear", "--also", "recursive"]
    cli(*arguments, "--output", str(table), "--chart", str(chart))
    with table.open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 24
    assert {"linear", "recursive"} <= set(rows[0])
    assert chart.read_text().lstrip().startswith("<?xml")
    cli("performance", WORLD_CUP, "--chart", str(chart))
    assert "no equilibrium" in chart.read_text()


def test_tie_breaks_and_ratings_are_columns(cli: Cli, write: Write, tmp_path: Path) -> None:
    """Names are separated by commas or repeated; JSON has them in `extra`."""
    given = ["--tie-breaks", "sonneborn-berger,wins", "--tie-breaks", "buchholz-cut1,wins"]
    found = cli.json("performance", INTERZONAL, *given)
    best = found["players"][0]
    tie_breaks = {"sonneborn_berger": 206.0, "wins": 15.0, "buchholz_cut1": 252.0}
    assert best["extra"] == {"place": 1.0, **tie_breaks}
    assert "SB  won  BH-C1" in cli("performance", INTERZONAL, *given).out
    games = write(
        "games.csv", "white,black,result\nana,bo,1-0\nbo,cy,1-0\ncy,ana,1/2-1/2\ndan,ana,1-0\n"
    )
    found = cli.json("performance", games, "--tie-breaks", "buchholz,wins")
    assert {row["extra"]["buchholz"] for row in found["players"]} == {None}
    assert "3 players have fewer games than others" in found["notes"][-1]
    found = cli.json("performance", games, "--tie-breaks", "buchholz", "--unplayed", "ignore")
    points = {row["player"]: row["extra"]["buchholz"] for row in found["players"]}
    assert points["dan"] == 1.5
    games = write("games.csv", RATED)
    heads = cli("performance", games, "--tie-breaks", "tpr").out.splitlines()[0]
    assert "TPR" in heads.replace("FIDE TPR", "")
    assert "FIDE TPR" in heads
    given = ["--tie-breaks", ",".join(TIE_BREAKS), "--also", "linear", "--k-factor", "20"]
    cli("performance", games, *given, "--unplayed", "ignore")
    heads = [head for head, _ in _NUMBERS.values()]
    assert len(set(heads)) == len(heads)
    games = write("games.csv", RATED)
    shown = cli("performance", games)
    out = shown.out.splitlines()
    assert [line[:5] for line in out if line[:4] in ("TPR:", "CPR:", "FIDE")] == [
        "TPR: ",
        "CPR: ",
        "FIDE:",
    ]
    assert "TPR" not in cli("performance", INTERZONAL).out
    games = tmp_path / "games.csv"
    games.write_text(RATED)
    given = [str(games), "--k-factor", "20", "--tie-breaks", "wins,aro,tpr"]
    assert not any("empty" in note for note in cli.json("performance", *given)["notes"])
    lines = [line.rsplit(",", 2)[0] for line in RATED.splitlines()]
    games.write_text("\n".join(lines) + "\n")
    (note,) = (note for note in cli.json("performance", *given)["notes"] if "empty" in note)
    assert "ratings" in note
    assert note.endswith(": aro, fide-performance, fide_change")
    assert "fide_change" in cli("performance", str(games), "--k-factor", "20").err


RATED = (
    "white,black,result,white_rating,black_rating\n"
    "ana,bo,1-0,2000,1900\nbo,cy,1-0,1900,1800\ncy,ana,1/2-1/2,1800,2000\n"
)


def test_bad_games_are_refused_with_their_lines_or_skipped_on_request(tmp_path, cli, write):
    """Against oneself, an impossible result: both told at once, and nothing written."""
    games, table = tmp_path / "games.csv", tmp_path / "table.csv"
    games.write_text("white,black,result\nann,bob,1-0\ncyd,cyd,1-0\nann,cyd,2-0\n")
    problems = json.loads(
        cli("performance", str(games), "--output", str(table), "--json", status=1).err
    )["error"]["problems"]
    assert [one["line"] for one in problems] == [3, 4]
    assert not table.exists()
    path = write("games.pgn", BAD_PGN)
    assert "line 10, Result" in cli("performance", path, status=1).err
    out, err = cli("performance", path, "--skip-bad")
    assert "expected and actual points agree exactly" in out
    lines = err.splitlines()
    assert lines[0] == "1 bad result was skipped"
    assert lines[1].startswith(f"  {path}, line 10, Result: must be a result")
    assert "1 rating is marked as provisional (as '1500?'); the number is read." in lines
    answer = cli.json("performance", path, "--skip-bad")
    assert answer["skipped"] == 1
    assert [one["line"] for one in answer["problems"]] == [10]
    shown = cli("performance", path, "--skip-bad=rows", status=2)
    assert "--skip-bad takes no value for games" in shown.err


BAD_PGN = """\
[White "Ann"]
[Black "Bob"]
[Result "1-0"]
[WhiteElo "1500?"]

1. e4 1-0

[White "Bob"]
[Black "Ann"]
[Result "2-0"]

1. e4 2-0

[White "Bob"]
[Black "Ann"]
[Result "1-0"]

1. e4 1-0
"""


CONTESTS = str(Path(__file__).parents[2] / "examples" / "contests.csv")
#: The second test data of choix 0.4.1; tests/tournament/test_rankings.py has its estimates.
RANKINGS = "match,player,rank\n1,a,1\n1,b,2\n1,c,3\n2,d,1\n2,c,2\n2,a,3\n3,b,1\n3,d,2\n"


def test_strengths_are_a_table_and_a_file_and_groups_without_them_are_named(tmp_path, cli, write):
    games = write("rankings.csv", RANKINGS)
    lines = cli("strengths", games, "--anchor", "1500").out.splitlines()
    assert lines[0].split() == ["player", "rating", "+-", "matches", "chosen", "expected"]
    assert lines[1].split()[:3] == ["1", "b", "1620.7"]
    assert lines[-1].startswith("Chosen and expected choices differ by at most")
    table = tmp_path / "table.csv"
    cli("strengths", games, "--anchor", "1500", "--output", str(table))
    assert pl.read_csv(table)["player"].to_list() == ["b", "d", "a", "c"]
    chain = write("rankings.csv", "match,player,rank\n1,a,1\n1,b,2\n2,b,1\n2,c,2\n")
    told = cli("strengths", chain, status=1).err
    assert "no finite strengths exist" in told
    assert "a was never beaten by b" in told
    shown = cli("strengths", chain, "--prior", "1")
    assert "Regularised: every player was given 1 drawn game" in shown.out
    text = (
        "match,player,rank\n1,a,1\n1,b,2\n1,c,2\n1,d,3\n2,b,1\n2,a,2\n2,d,2\n2,c,3\n3,c,1\n3,a,2\n"
    )
    ranked = write("rankings.csv", text + "4,d,1\n4,c,2\n")
    assert "must not be shared above the last place" in cli("strengths", ranked, status=1).err
    chosen = {
        one["player"]: one["chosen"]
        for one in cli.json("strengths", ranked, "--top", "1")["players"]
    }
    assert chosen == {"a": 1.0, "b": 1.0, "c": 1.0, "d": 1.0}
    cli("strengths", ranked, "--ties", "breslow")
    cli("strengths", ranked, "--confidence", "2", status=2)
    pairs = [("a", "b"), ("b", "a"), ("c", "d"), ("d", "c")]
    rows = [f"{at},{one},{rank}" for at, two in enumerate(pairs) for rank, one in enumerate(two, 1)]
    out = cli("strengths", write("rankings.csv", "\n".join(["match,player,rank", *rows]))).out
    assert out.splitlines()[0].split()[-1] == "group"
    assert "2 groups of players never met one another" in out

"""equipoise inspect, and --dry-run of the commands that read matches, as their users run them."""

from __future__ import annotations

import io
import json
import random
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from cli.command_line import Cli
from equipoise.analysis.inspect.inspection import InspectRequest, inspect_source
from equipoise.analysis.reading import HistoryRequest
from equipoise.cli import run
from equipoise.errors import EquipoiseError
from formats.test_opening import FILES
from fuzz.damage import damaged

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"

BAD = """match,time,player,rank
1,2024-01-01,ann,1
1,2024-01-01,ben,2
2,2024-01-02,ann,1
2,2024-01-02,ann,2
3,2024-01-03,ben,1
3,2024-01-03,ann,x
"""


def write(path: Path, text: str) -> str:
    path.write_text(text)
    return str(path)


Inspected: TypeAlias = Callable[..., dict[str, Any]]


@pytest.fixture
def inspected(capsys: pytest.CaptureFixture[str]) -> Inspected:
    """Give what returns the JSON answer; the exit status says whether the file is ready."""

    def answered(*arguments: str) -> dict[str, Any]:
        status = run(["inspect", *arguments, "--json"])
        answer: dict[str, Any] = json.loads(capsys.readouterr().out)
        assert status == (0 if answer["ready"] else 1)
        return answer

    return answered


def test_a_history_is_described_in_json_and_text(inspected, cli, tmp_path):
    """The counts are those of `equipoise rate` on the same file."""
    answer = inspected(str(EXAMPLES / "contests.csv"))
    assert (answer["format"], answer["kind"], answer["ready"]) == ("csv", "history", True)
    contents = answer["contents"]
    assert (contents["matches"], contents["participations"], contents["players"]) == (40, 2189, 120)
    meanings = [column["meaning"] for column in answer["columns"]]
    assert meanings == ["match", "player", "time", "rank"]
    assert len(answer["matches"]) == 5
    assert answer["matches"][0]["result"].startswith("cedar-bear = cedar-crane, fjord-kite")
    out, err = cli("inspect", str(EXAMPLES / "worldcup2022.csv"), "--matches", "2")
    assert "  64 matches, 128 participations, 32 players\n  2022-11-20 to 2022-12-18\n" in out
    assert "Qatar (white) against Ecuador        Ecuador won" in out
    assert "against Iran" not in out
    for heading in ("Contents", "Columns", "First matches", "Next"):
        assert f"\n{heading}\n" in out
    assert "read 64 games of white and black" in err
    duels = write(tmp_path / "duels.csv", "white,black,result\na,b,1-0\nb,c,0-1\n")
    assert inspected(duels)["next"]["command"].endswith("--system glicko2")
    season = write(tmp_path / "s.csv", "white,black,result,round,date\na,b,1-0,1,2024-05-01\n")
    assert inspected(season)["next"]["command"].startswith("equipoise rate ")
    text = "left,right,result\na,b,left\nb,c,tie\nc,a,right\na,c,left\n"
    votes = write(tmp_path / "votes.csv", text)
    assert inspected(votes)["next"]["command"] == f"equipoise leaderboard {votes}"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("contests.csv", "rate"),
        ("worldcup2022.csv", "rate"),
        ("interzonal1970.csv", "performance"),
        ("lobby.csv", "balance"),
        ("rebalance.json", "rebalance"),
    ],
)
def test_the_command_to_type_next_runs(name, expected, monkeypatch, inspected):
    monkeypatch.chdir(ROOT)
    command = inspected(f"examples/{name}")["next"]["command"]
    assert command.startswith(f"equipoise {expected} ")
    assert run(shlex.split(command)[1:]) == 0, command


def test_reading_options_are_in_the_commands_to_type_next(tmp_path, inspected):
    text = BAD.replace("match,", "spiel nr,").replace("x\n", "2\n")
    path = write(tmp_path / "my games.txt", text)
    options = ["--format", "csv", "--column", "match=spiel nr", "--skip-bad"]
    options += ["--until", "2024-02-01"]
    answer = inspected(path, *options)
    assert answer["contents"]["dropped_matches"] == 1
    words = shlex.split(answer["next"]["command"])
    assert words[2] == path
    assert {*options} <= {*words}
    assert run(words[1:]) == 0


def test_problems_are_counted_by_rule_and_the_rest_is_described(tmp_path, inspected):
    answer = inspected(write(tmp_path / "bad.csv", BAD))
    assert answer["ready"] is False
    rules = {(one["field"], one["count"]): one["advice"] for one in answer["rules"]}
    assert set(rules) == {("player", 1), ("rank", 1)}
    assert "--column match=NAME" in rules["player", 1]
    assert answer["contents"]["matches"] == 1
    assert answer["contents"]["dropped_matches"] == 2
    assert answer["matches"][0]["who"] == "ann against ben"
    command = answer["next"]["command"]
    assert "--skip-bad" in command
    assert run(shlex.split(command)[1:]) == 0


def test_standard_input_is_read_once(monkeypatch: pytest.MonkeyPatch, inspected: Inspected) -> None:
    """Also if it is read a second time, without the bad matches."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(BAD.encode())))
    answer = inspected("-", "--format", "csv")
    assert answer["source"] == "standard input"
    assert answer["contents"]["matches"] == 1
    assert answer["next"]["command"] == "equipoise rate - --skip-bad --format csv --system glicko2"


MANY = "".join(f"p{at},{1500 + at},50\n" for at in range(200))


@pytest.mark.parametrize(
    ("name", "text", "kind", "command"),
    [
        ("lobby.csv", "player,rating,party\nann,1500,\nben,1600,\n", "lobby", "balance"),
        ("pool.csv", f"player,rating,deviation\n{MANY}", "lobby", "balance --ratings"),
        ("log.ndjson", '{"equipoise_log":3,"pool":"x"}\n', "log", "db import"),
        ("no.csv", "colour,weight\nred,3\nblue,4\n", "", None),
    ],
    ids=["lobby", "many rated players", "log", "nothing"],
)
def test_other_kinds_name_the_command_that_reads_them(
    name: str, text: str, kind: str, command: str | None, tmp_path: Path, inspected: Inspected
) -> None:
    answer = inspected(write(tmp_path / name, text))
    assert answer["kind"] == kind
    if command is None:
        assert [one["column"] for one in answer["columns"]] == ["colour", "weight"]
        assert "'red', 'blue'" in answer["columns"][0]["use"]
        assert len(answer["problems"]) == 1
        assert answer["next"] is None
        return
    assert answer["next"]["command"].startswith(f"equipoise {command} ")
    if command.startswith("balance"):
        assert run(shlex.split(answer["next"]["command"])[1:]) == 0


DRY = [
    ("rate", "contests.csv", ["--output", "ratings.csv"]),
    ("backtest", "contests.csv", ["--system", "elo", "--report", "page.html"]),
    ("tune", "contests.csv", ["--first", "50%", "--output", "best.toml"]),
    ("performance", "interzonal1970.csv", ["--anchor", "2557", "--output", "table.csv"]),
    ("db import", "contests.csv", ["--pool", "x", "--create"]),
]


@pytest.mark.parametrize(("command", "name", "options"), DRY, ids=[one[0] for one in DRY])
def test_a_dry_run_does_nothing_and_gives_the_command_back(
    command: str,
    name: str,
    options: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    cli: Cli,
) -> None:
    if command == "db import":
        pytest.importorskip("sqlalchemy")
    monkeypatch.chdir(tmp_path)
    path = str(EXAMPLES / name)
    command_words = command.split()
    answer = cli.json(*command_words, path, *options, "--dry-run")
    words = shlex.split(answer["next"]["command"])
    named = ["equipoise", *command_words, path]
    assert words[: len(named)] == named
    assert sorted(words[len(named) :]) == sorted([*options, "--json"])
    assert list(tmp_path.iterdir()) == []


def test_a_dry_run_says_what_would_be_refused(cli: Cli) -> None:
    path = str(EXAMPLES / "contests.csv")
    out, err = cli("rate", path, "--system", "glicko2", "--dry-run", status=1)
    assert "glicko2 cannot rate matches of 67 players" in err
    assert f"equipoise rate {path}\n" in out
    cli("rate", str(EXAMPLES / "lobby.csv"), "--dry-run", status=1)


def test_damaged_files_never_fail_in_another_way() -> None:
    """Whatever the accident, there is an answer or an error of ours."""
    rng = random.Random(0)
    pieces = [b"\n", b",", b'"', b"nan", b"\xff", b"\0", b"{", b"1e400", b"match"]
    for format in ("csv", "jsonl", "tsv"):
        for _ in range(10):
            content = damaged([FILES[format]], pieces, rng)
            stream = io.BytesIO(content)
            try:
                answer = inspect_source(
                    InspectRequest(history=HistoryRequest(source=stream, format=format))
                )
            except EquipoiseError:
                continue
            assert answer.ready or answer.problems or answer.next is None


def test_the_format_of_times_is_suggested(tmp_path: Path, inspected: Inspected) -> None:
    """The day comes first if both orders fit. The command runs, and the file is then ready."""
    text = (
        "home_team,away_team,home_goals,away_goals,date\nA,B,2,1,05/04/2024\nB,A,0,0,06/04/2024\n"
    )
    path = write(tmp_path / "dates.csv", text)
    answer = inspected(path)
    assert answer["ready"] is False
    assert answer["next"]["does"] == (
        "reads the times as day/month/year, if that is what they are: month/day/year is possible "
        "too"
    )
    words = shlex.split(answer["next"]["command"])[1:]
    assert words == ["inspect", path, "--time-format", "%d/%m/%Y"]
    assert inspected(*words[1:])["ready"] is True


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("t.csv", "player,ann,ben\nann,,1\nben,0,\n", "a cross table, whose games are read as"),
        ("t.csv", "player,ann,ben\nann,,22\nben,7,\n", "a cross table, whose games are read as"),
        ("t.csv", "player,opponent,result\nann,ben,1\n", "with a row for a player and an opponent"),
        ("t.pgn", '[White "a"]\n[Black "b"]\n[Result "1-0"]\n\n1-0\n', "games, which are read as"),
    ],
    ids=["crosstable", "crosstable with problems", "pairs", "pgn"],
)
def test_a_source_of_games_is_called_what_it_is(name, text, said, capsys, tmp_path):
    run(["inspect", write(tmp_path / name, text)])
    assert said in capsys.readouterr().out.split("\n")[0]


CLOCK = (
    "Date,Time,HomeTeam,AwayTeam,FTHG,FTAG\n13/08/2023,15:00,a,b,1,0\n14/08/2023,15:00,b,a,2,2\n"
)


def test_columns_that_are_not_what_their_names_say_can_be_set_aside(tmp_path, inspected):
    """A lap time beside a place. The command runs. A time of day beside a date is read with it."""
    answer = inspected(write(tmp_path / "clock.csv", CLOCK))
    assert "Date and Time together are the times" in answer["notes"]
    words = shlex.split(answer["next"]["command"])[1:]
    assert words == ["inspect", str(tmp_path / "clock.csv"), "--time-format", "%d/%m/%Y %H:%M"]
    assert inspected(*words[1:])["contents"]["dated"]
    path = write(tmp_path / "laps.csv", "Race,Driver,Position,Time\n1,a,1,1:20.5\n1,b,2,1:21.5\n")
    words = shlex.split(inspected(path)["next"]["command"])[1:]
    assert words == ["inspect", path, "--column", "unused=Time"]
    assert inspected(*words[1:])["ready"]
    text = "winner,loser,round,tourney_date,time\na,b,R32,20230105,\nb,c,R16,20230106,\n"
    answer = inspected(write(tmp_path / "tennis.csv", text))
    uses = {one["column"]: one["use"] for one in answer["columns"]}
    assert uses["round"] == "kept; no rating depends on it"
    assert uses["time"] == "has no values, so the order of the file counts"
    text = text.replace(",time\n", "\n").replace(",\n", "\n").replace("tourney", "start")
    answer = inspected(write(tmp_path / "tennis.csv", text))
    advice = {one["kind"]: one["advice"] for one in answer["oddities"]}
    assert advice["unread-times"] == "if so, name the column: --column time=start_date"


def test_reversed_ranks_are_read_as_scores_under_their_name_in_the_file(tmp_path, inspected):
    rows = "".join(
        f"{match},{player},{place},{place * 10}\n"
        for match in range(6)
        for place, player in enumerate("abc", 1)
    )
    path = write(tmp_path / "reversed.csv", f"Match,Player,Order,points\n{rows}")
    answer = inspected(path, "--column", "rank=Order")
    assert answer["next"]["does"].endswith(", if the highest rank is the best")
    assert "--column score=Order" in answer["next"]["command"]
    assert "--column score=Order" in answer["oddities"][0]["advice"]
    turned = inspected(path, "--column", "score=Order")
    assert turned["matches"][0]["result"] == "c, b, a"


def test_the_way_to_skip_that_keeps_most_is_offered_with_what_it_costs(tmp_path, inspected):
    rows = [
        f"{match},{player},{'DNF' if match < 4 and player == 'd' else place}\n"
        for match in range(1, 7)
        for place, player in enumerate("abcd", 1)
    ]
    path = write(tmp_path / "contests.csv", "match,player,rank\n" + "".join(rows))
    answer = inspected(path)
    assert answer["next"]["command"] == f"equipoise rate {path} --skip-bad=rows"
    assert "leaves out 3 rows" in answer["next"]["does"]
    assert "no match" in answer["next"]["does"]
    assert answer["contents"]["matches"] == 6
    rows = '1,a,"1,200"\n1,b,900\n2,a,"2,200"\n2,b,950\n'
    path = write(tmp_path / "scores.csv", f"match,player,score\n{rows}")
    answer = inspected(path)
    assert answer["next"] is None
    (rule,) = answer["rules"]
    assert rule["advice"].startswith("correct these cells")


def test_equal_problems_odd_names_and_dates_beside_texts_have_their_advice(
    tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch, write
) -> None:
    rows = "".join(f"{match},a,DNF\n{match},b,1\n" for match in range(20))
    path = write(tmp_path / "x.csv", f"match,player,rank\n{rows}")
    lines = [line for line in cli("rate", path, status=1).err.splitlines() if "got 'DNF'" in line]
    assert len(lines) == 1
    assert "line 2" in lines[0]
    assert "20 times to line 40" in lines[0]
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "-x.csv", "match,player,rank\n1,a,1\n1,b,2\n")
    answer = json.loads(cli("inspect", "--json", "--", "-x.csv").out)
    assert answer["next"]["command"] == "equipoise rate ./-x.csv --system glicko2"
    rows = ["2026-08-11,a,b,3:2", "2026-08-12,b,a,3:0", "18.8.2026,a,b,0:3", "Total games,,,3"]
    path = write("club.csv", "\n".join(["Date,Home,Guest,Result", *rows]))
    command = json.loads(cli("inspect", path, "--json", status=1).out)["next"]["command"]
    assert command.endswith("--time-format %d.%m.%Y")

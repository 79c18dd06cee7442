"""The list of public histories: every command in it can be typed, and reads tables of that form."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import typer.main

from equipoise.analysis.public_histories import PUBLIC_HISTORIES
from equipoise.cli import run
from equipoise.cli.application import create_application

COMMANDS = [(one.name, line) for one in PUBLIC_HISTORIES for line in one.commands]


@pytest.mark.parametrize(("name", "line"), COMMANDS)
def test_every_command_parses(name: str, line: str) -> None:
    """As the parser of the command line does, without running it."""
    words = shlex.split(line)
    assert words[0] == "equipoise", name
    root: Any = typer.main.get_command(create_application(words[1]))
    context = root.commands[words[1]].make_context(words[1], words[2:])
    assert context.params["history"]


#: First rows of files of each form, with the columns that matter and one that does not.
ROWS = {
    "football-internationals": "date,home_team,away_team,home_score,away_score,tournament,city,"
    "country,neutral\n1872-11-30,Scotland,England,0,0,Friendly,Glasgow,Scotland,FALSE\n"
    "1873-03-08,England,Scotland,4,2,Friendly,London,England,FALSE\n",
    "football-leagues": "Date,HomeTeam,AwayTeam,FTHG,FTAG,FTR\n"
    "2024-08-16,Man United,Fulham,1,0,H\n2024-08-17,Ipswich,Liverpool,0,2,A\n",
    "tennis-atp": "tourney_id,surface,tourney_date,match_num,winner_name,loser_name,score,best_of,"
    "round\n2023-9900,Hard,20230102,300,Taylor Fritz,Matteo Berrettini,7-6(4) 7-6(6),3,F\n"
    "2023-9900,Hard,20230102,299,Frances Tiafoe,Lorenzo Musetti,6-2 RET,3,F\n",
}


@pytest.mark.parametrize("name", [*ROWS, "chatbot-arena"])
def test_the_command_reads_a_file_of_that_form(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    one = next(one for one in PUBLIC_HISTORIES if one.name == name)
    words = shlex.split(one.commands[0])
    if name in ROWS:
        Path(words[2]).write_text(ROWS[name])
    else:
        turns = [[{"content": "hello", "role": "user"}]] * 2
        votes = {"model_a": ["x", "y"], "model_b": ["y", "z"], "winner": ["model_a", "tie"]}
        table = pl.DataFrame(
            {**votes, "conversation_a": turns, "tstamp": [1682351591.1, 1682351600.5]}
        )
        table.write_parquet(words[2])
    assert run([*words[1:], "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["summary"]["matches"] == 2


def test_the_list_shows_every_fact(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["data"]) == 0
    shown = capsys.readouterr().out
    for one in PUBLIC_HISTORIES:
        assert re.search(rf"^{one.name}$", shown, re.MULTILINE)
        assert re.fullmatch(r"https://\S+", one.address)
        assert one.licence.split()[0] in shown
        assert re.fullmatch(r"\d{4}(-\d\d(-\d\d)?)?", one.as_of)
        for command in one.commands:
            assert f"  $ {command}\n" in shown
    assert run(["data", "--json"]) == 0
    assert [one["name"] for one in json.loads(capsys.readouterr().out)] == [
        one.name for one in PUBLIC_HISTORIES
    ]


def test_one_history_is_shown_alone_and_a_wrong_name_is_told(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["data", "tennis-atp"]) == 0
    assert capsys.readouterr().out.startswith("tennis-atp\n")
    assert run(["data", "tennis"]) == 2
    assert "did you mean tennis-atp?" in capsys.readouterr().err

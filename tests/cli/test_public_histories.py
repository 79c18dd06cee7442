"""The page of public histories: its commands read tables of the form that it describes."""

from __future__ import annotations

import shlex
from pathlib import Path

import polars as pl
import pytest

from cli.command_line import Cli

PAGE = Path(__file__).parents[2] / "docs" / "guides" / "public-histories.md"

#: First rows of files of each form, with the columns that matter and one that does not.
ROWS = {
    "Football": "date,home_team,away_team,home_score,away_score,tournament,city,"
    "country,neutral\n1872-11-30,Scotland,England,0,0,Friendly,Glasgow,Scotland,FALSE\n"
    "1873-03-08,England,Scotland,4,2,Friendly,London,England,FALSE\n",
    "Football leagues": "Date,HomeTeam,AwayTeam,FTHG,FTAG,FTR\n"
    "2024-08-16,Man United,Fulham,1,0,H\n2024-08-17,Ipswich,Liverpool,0,2,A\n",
    "Tennis": "tourney_id,surface,tourney_date,match_num,winner_name,loser_name,score,best_of,"
    "round\n2023-9900,Hard,20230102,300,Taylor Fritz,Matteo Berrettini,7-6(4) 7-6(6),3,F\n"
    "2023-9900,Hard,20230102,299,Frances Tiafoe,Lorenzo Musetti,6-2 RET,3,F\n",
}


@pytest.mark.parametrize("name", [*ROWS, "Language models"])
def test_the_command_reads_a_file_of_that_form(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:
    monkeypatch.chdir(tmp_path)
    section = PAGE.read_text().partition(f"\n{name}:\n")[2]
    words = shlex.split(section.partition("\n$ ")[2].partition("\n")[0])
    if name in ROWS:
        Path(words[2]).write_text(ROWS[name])
    else:
        turns = [[{"content": "hello", "role": "user"}]] * 2
        votes = {"model_a": ["x", "y"], "model_b": ["y", "z"], "winner": ["model_a", "tie"]}
        table = pl.DataFrame(
            {**votes, "conversation_a": turns, "tstamp": [1682351591.1, 1682351600.5]}
        )
        table.write_parquet(words[2])
    assert cli.json(*words[1:])["summary"]["matches"] == 2

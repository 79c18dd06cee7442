"""equipoise convert as its users run it."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import polars as pl
import pytest

from cli.command_line import EXAMPLES, Cli
from equipoise.cli import run
from equipoise.formats import read_history
from formats.comparing import assert_same_history


@pytest.mark.parametrize("suffix", ["csv", "csv.gz", "tsv", "parquet", "jsonl", "json", "arrow"])
@pytest.mark.parametrize("name", ["contests.csv", "worldcup2022.csv"])
def test_a_long_table_is_the_same_history(name: str, suffix: str, tmp_path: Path, cli: Cli) -> None:
    source, target = str(EXAMPLES / name), str(tmp_path / f"out.{suffix}")
    assert "nothing is lost" in cli("convert", source, target).err
    assert_same_history(read_history(target), read_history(source))


@pytest.mark.parametrize(
    ("name", "target", "options", "written"),
    [
        ("league.csv", "games.parquet", ["--as", "games"], 1080),
        ("interzonal1970.csv", "cup.trf", [], 276),
    ],
)
def test_other_forms_follow_the_suffix_or_the_option(name, target, options, written, tmp_path, cli):
    """Each is then read by the command that reads this form."""
    path = str(tmp_path / target)
    assert cli.json("convert", str(EXAMPLES / name), path, *options)["written"] == written
    assert cli.json("inspect", path)["contents"]["matches"] == written


def test_options_select_several_files_become_one_and_ids_that_change_are_told(tmp_path, cli, write):
    target = tmp_path / "out.csv"
    source = str(EXAMPLES / "contests.csv")
    cli("convert", source, target, "--from", "2020-06-01", "--overwrite")
    assert 0 < pl.read_csv(target)["match"].n_unique() < 40
    source = write(
        "in.jsonl",
        '{"match": 1, "player": "7", "rank": 1}\n{"match": 1, "player": "8", "rank": 2}\n',
    )
    shown = cli("convert", source, target, "--overwrite")
    assert "some values have another type: ids of players" in shown.err
    assert "nothing is lost" in cli("convert", source, str(tmp_path / "out.parquet")).err
    rows = (EXAMPLES / "contests.csv").read_text().splitlines()
    head, first, second = rows[0], rows[1:60], rows[60:117]
    for name, part in (("a.csv", first), ("b.csv", second)):
        (tmp_path / name).write_text("\n".join([head, *part]) + "\n")
    target = str(tmp_path / "all.parquet")
    cli("convert", str(tmp_path / "a.csv"), str(tmp_path / "b.csv"), target)
    assert read_history(target).participations == 116


@pytest.mark.parametrize(
    ("arguments", "said", "status"),
    [
        (["contests.csv", "contests.csv"], "name the same file", 2),
        (["contests.csv", "out.xyz"], "must end in .csv", 2),
        (["contests.csv", "out.csv", "--as", "trf"], "must end in .trf", 2),
        (["contests.csv", "out.pgn"], "PGN and contest JSON are no longer written: write a", 2),
        (["contests.csv", "out.zip"], "PGN and contest JSON are no longer written: write a", 2),
        (["contests.csv", "out.pgn", "--as", "pgn"], "are no longer written: write a table", 2),
        (["contests.csv", "out.json", "--as", "contests"], "are no longer written: write a", 2),
        (["contests.csv", "out.csv", "--as", "games"], "between two single players", 1),
        (["contests.csv", "out.trf"], "between two single players", 1),
        (["league.csv", "out.trf"], "needs the round of every game", 1),
        (["lobby.csv", "out.parquet"], "problem", 1),
    ],
)
def test_what_cannot_be_written_is_refused_and_nothing_is_written(
    arguments: list[str],
    said: str,
    status: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    cli: Cli,
) -> None:
    for name in ("contests.csv", "league.csv", "lobby.csv"):
        (tmp_path / name).write_bytes((EXAMPLES / name).read_bytes())
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    monkeypatch.chdir(tmp_path)
    assert said in cli("convert", *arguments, status=status).err
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_file_that_exists_is_only_replaced_on_request(tmp_path: Path, cli: Cli) -> None:
    """A pattern that a shell expands must not lose its last file."""
    for name in ("one.csv", "two.csv"):
        (tmp_path / name).write_bytes((EXAMPLES / "worldcup2022.csv").read_bytes())
    before = (tmp_path / "two.csv").read_bytes()
    names = [str(tmp_path / "one.csv"), str(tmp_path / "two.csv")]
    assert "add --overwrite to replace it" in cli("convert", *names, status=2).err
    assert (tmp_path / "two.csv").read_bytes() == before
    cli("convert", *names, "--overwrite")
    assert (tmp_path / "two.csv").read_bytes() != before


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limit of the size of files")
@pytest.mark.parametrize("ending", ["csv", "csv.gz", "jsonl", "tsv", "parquet"])
def test_a_full_disk_is_named_with_the_file(ending, tmp_path, capsys):
    """A limit of the size of files takes the part of the disk. Parquet gave a traceback."""
    import resource

    source, target = tmp_path / "in.csv", tmp_path / f"out.{ending}"
    rows = [f"{at},{at * 7919 % 100_003}{side},{side}\n" for at in range(4000) for side in (1, 2)]
    source.write_text("match,player,rank\n" + "".join(rows))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, before[1]))
    try:
        status = run(["convert", str(source), str(target)])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert status == 1
    assert capsys.readouterr().err == f"equipoise: {target}: File too large\n"
    assert [one.name for one in tmp_path.iterdir()] == ["in.csv"]


# The page of public histories: its commands read tables of the form that it describes.


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
def test_the_command_reads_a_file_of_that_form(name, tmp_path, monkeypatch, cli):
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

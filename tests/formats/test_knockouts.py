"""Tables of tournaments: the order of rounds, walkovers and retirements."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from equipoise import read_history
from equipoise.cli import run
from equipoise.errors import InvalidParameterError
from equipoise.formats.histories import scan_history

#: Rows as collections of tennis results have them, the final first.
TENNIS = """tourney_id,surface,tourney_date,winner_name,loser_name,score,best_of,round
A,Hard,20190107,ann,bea,6-4 6-2,3,F
A,Hard,20190107,ann,cid,6-4 3-1 RET,3,SF
A,Hard,20190107,bea,dan,W/O,3,SF
B,Clay,20181231,bea,ann,7-6(6) 6-2,3,F
B,Clay,20181231,ann,eva,6-1 6-1,3,R16
B,Clay,20181231,bea,cid,6-1 Def.,3,QF
"""


@pytest.fixture
def tennis(tmp_path: Path) -> Path:
    path = tmp_path / "tennis.csv"
    path.write_text(TENNIS)
    return path


def ids(path: Path, **options: object) -> list[int]:
    history = read_history(str(path), **options)  # type: ignore[arg-type]
    return [int(one) for one in history.match_ids]


def test_the_day_of_the_tournament_and_the_round_give_the_order(tennis: Path) -> None:
    """Ids are the rows of the file: rounds of the same day go from the first to the final."""
    assert ids(tennis) == [5, 6, 4, 2, 3, 1]
    notes = scan_history(str(tennis)).notes
    day = "tourney_date is the day of the matches"
    assert f"{day}; round gives the order within a day, the final last" in notes


def test_walkovers_can_be_left_out(tennis: Path, capsys: pytest.CaptureFixture[str]) -> None:
    reading = scan_history(str(tennis), walkovers="drop")
    assert reading.history.match_ids.tolist() == [5, 6, 4, 2, 1]
    assert "left out: 1 walkover" in reading.notes
    assert "2 matches ended by a retirement or default, and counted as won" in reading.notes

    assert run(["rate", str(tennis), "--walkovers", "drop"]) == 0
    assert "left out: 1 walkover\n" in capsys.readouterr().err


def test_walkovers_count_and_are_said(tennis: Path) -> None:
    said = 'counted as won (walkovers="drop" leaves them out)'
    assert f"1 walkover {said}" in scan_history(str(tennis)).notes


def test_rejects_other_words_for_walkovers(tennis: Path) -> None:
    with pytest.raises(InvalidParameterError, match="drop"):
        read_history(str(tennis), walkovers="lose")  # type: ignore[arg-type]


def test_rounds_of_a_day_follow_each_other(tmp_path: Path) -> None:
    """Most words of the dictionary, and ordinal numbers, from the first round to the final."""
    rounds = ["Q1", "1st Round", "2nd round", "RR", "R64", "R16"]
    rounds += ["Quarterfinals", "SF", "BR", "The Final"]
    path = tmp_path / "t.csv"
    frame = pl.DataFrame(
        {
            "date": ["2020-01-01"] * len(rounds),
            "winner": ["a"] * len(rounds),
            "loser": ["b"] * len(rounds),
            "round": rounds[::-1],
        }
    )
    frame.write_csv(path)
    assert ids(path) == list(range(len(rounds), 0, -1))


@pytest.mark.parametrize("word", ["group A", ""])
def test_unknown_rounds_change_nothing(tmp_path: Path, word: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text(TENNIS.replace("R16", word))
    assert ids(path) == [1, 2, 3, 4, 5, 6]
    assert read_history(str(path)).time is None


def test_a_problem_names_the_line_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(TENNIS.replace("ann,eva", "ann,ann"))
    (problem,) = scan_history(str(path)).problems
    assert problem.line == 6

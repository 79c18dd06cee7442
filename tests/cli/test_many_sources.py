"""Commands with several files, sheets, standard input without a format, and outputs beside them."""

from __future__ import annotations

from pathlib import Path

import openpyxl
import pytest

from equipoise.cli import run as run_command

HEAD = "white,black,result\n"


@pytest.fixture(autouse=True)
def season(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder with two files of games, and a workbook with two sheets."""
    monkeypatch.chdir(tmp_path)
    Path("r1.csv").write_text(HEAD + "ann,ben,1-0\nben,cid,1-0\n")
    Path("r2.csv").write_text(HEAD + "cid,ann,1/2-1/2\n")
    book = openpyxl.Workbook()
    for name in ("Spring 24", "Autumn"):
        sheet = book.create_sheet(name)
        for row in (["white", "black", "result"], ["ann", "ben", "1-0"], ["ben", "ann", "1-0"]):
            sheet.append(row)
    book.save("league.xlsx")
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Return the status, the output and the messages of a command."""
    status = run_command(list(arguments))
    told = capsys.readouterr()
    return status, told.out, told.err


@pytest.mark.parametrize("source", [["r1.csv", "r2.csv"], ["r*.csv"]])
def test_several_files_are_rated_together(
    source: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    status, _, messages = run(capsys, "rate", *source, "--system", "elo")
    assert status == 0
    assert "3 matches" in messages
    assert "without times, matches are in the order of the files: r1.csv, r2.csv" in messages


def test_a_sheet_is_asked_for_with_an_option_that_can_be_copied(
    capsys: pytest.CaptureFixture[str],
) -> None:
    status, _, messages = run(capsys, "rate", "league.xlsx", "--system", "elo")
    assert status == 1
    assert "'Spring 24', 'Autumn'; for example --sheet 'Spring 24'" in messages
    assert run(capsys, "performance", "league.xlsx")[0] == 1
    Path("equipoise.toml").write_text('[reading]\nsheet = "Spring 24"\n')
    for command in (("rate", "--system", "elo", "--sheet", "Spring 24"), ("performance",)):
        status, _, messages = run(capsys, *command, "league.xlsx")
        assert status == 0
        assert "sheet 'Spring 24'" in messages
    Path("equipoise.toml").unlink()


def test_no_output_replaces_one_of_the_files(capsys: pytest.CaptureFixture[str]) -> None:
    """Also if a pattern names it."""
    before = Path("r2.csv").read_bytes()
    for source in (["r1.csv", "r2.csv"], ["r?.csv"], ["."]):
        for command in (["rate"], ["performance"]):
            status, _, messages = run(capsys, *command, *source, "--output", "r2.csv")
            assert status == 2
            assert "name the same file" in messages
    assert Path("r2.csv").read_bytes() == before


def test_a_slip_in_a_name_is_answered_with_the_name(capsys: pytest.CaptureFixture[str]) -> None:
    status, _, messages = run(capsys, "rate", "leage.xlsx")
    assert status == 1
    assert "did you mean league.xlsx?" in messages

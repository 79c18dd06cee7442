"""Commands with several files, sheets, standard input without a format, and outputs beside them."""

from __future__ import annotations

from pathlib import Path

import openpyxl
import pytest

from cli.command_line import Cli

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


@pytest.mark.parametrize("source", [["r1.csv", "r2.csv"], ["r*.csv"]])
def test_several_files_are_rated_together(source: list[str], cli: Cli) -> None:
    messages = cli("rate", *source, "--system", "elo").err
    assert "3 matches" in messages
    assert "without times, matches are in the order of the files: r1.csv, r2.csv" in messages


def test_a_sheet_or_another_name_is_offered(cli: Cli) -> None:
    messages = cli("rate", "league.xlsx", "--system", "elo", status=1).err
    assert "'Spring 24', 'Autumn'; for example --sheet 'Spring 24'" in messages
    cli("performance", "league.xlsx", status=1)
    Path("equipoise.toml").write_text('[reading]\nsheet = "Spring 24"\n')
    for command in (("rate", "--system", "elo", "--sheet", "Spring 24"), ("performance",)):
        assert "sheet 'Spring 24'" in cli(*command, "league.xlsx").err
    Path("equipoise.toml").unlink()
    assert "did you mean league.xlsx?" in cli("rate", "leage.xlsx", status=1).err


def test_no_output_replaces_one_of_the_files(cli: Cli) -> None:
    """Also if a pattern names it."""
    before = Path("r2.csv").read_bytes()
    for source in (["r1.csv", "r2.csv"], ["r?.csv"], ["."]):
        for command in (["rate"], ["performance"]):
            messages = cli(*command, *source, "--output", "r2.csv", status=2).err
            assert "name the same file" in messages
    assert Path("r2.csv").read_bytes() == before

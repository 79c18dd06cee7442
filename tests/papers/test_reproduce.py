"""`python -m papers.reproduce`: what documents print beside what is computed."""

from __future__ import annotations

import json
import re
from pathlib import Path

import polars as pl
import pytest
from papers.comparing import compare
from papers.documents import DOCUMENTS
from papers.items import Facts
from papers.reproduce import _table, main


def run(arguments: list[str]) -> int | str | None:
    """Run the command line and return its exit status."""
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    return stopped.value.code


def test_a_statement_is_printed_as_a_table_as_json_and_into_a_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    quick = ["--cases", "50"]
    assert run(["team-glicko2", "claim-11.3", *quick]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[2].split() == ["statement", "what", "printed", "ours", "outcome"]
    assert "3 lines: 1 beyond, 2 reproduced." in lines
    assert run(["team-glicko2", "equation 14", *quick, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    (document,) = answer["documents"]
    assert (answer["cases"], document["outcomes"]) == (50, {"reproduced": 1})
    (line,) = document["statements"][0]["lines"]
    assert line["difference"] < 1e-9
    path = tmp_path / "lines.csv"
    assert run(["team-glicko2", "options", *quick, "--output", str(path)]) == 0
    table = pl.read_csv(path)
    assert set(table["outcome"]) == {"reproduced"}
    assert set(table["statement"]) == {"option-8.2", "option-13.4-top-two", "option-13.4-uneven"}
    assert capsys.readouterr().out == ""


def test_figures_are_drawn_as_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The figure of the page on equations is the same, to the byte."""
    folder = tmp_path / "figures"
    assert run(["elo-mmr", "figures", "--charts", str(folder)]) == 0
    drawn = folder / "elo-mmr-figure-1.svg"
    assert f"drew {drawn}" in capsys.readouterr().err
    shown = Path(__file__).parents[2] / "docs" / "figures" / "elo-mmr-figure-1.svg"
    assert drawn.read_bytes() == shown.read_bytes()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["elo"], "document must be one of team-glicko2, elo-mmr"),
        (["elo-mmr", "table-7"], "elo-mmr has no 'table-7' among its"),
        (["elo-mmr", "table-1", "--data", "nowhere"], "data must be an existing folder"),
        (["elo-mmr", "figures", "--output", "lines.doc"], "lines.doc"),
    ],
)
def test_what_cannot_be_reproduced_is_refused(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) != 0
    assert message in capsys.readouterr().err


def test_a_table_fits_the_terminal():
    """Names are a column where there is space, and lines of their own where there is not."""
    chosen = DOCUMENTS["performance"]
    (document,) = compare([(chosen, chosen.chosen("claim"))], Facts(cases=10))
    for columns in (60, 120, 200):
        table, _ = _table(document, columns)
        assert sum(table.widths()) + 3 * len(table.columns) - 1 <= columns
        assert ("what" in table.columns) == (columns > 120)
        assert "claim-note-11" in "".join(row[0] for row in table.rows)


def test_pages_show_commands_that_there_are(capsys: pytest.CaptureFixture[str]):
    pages = (Path(__file__).parents[2] / "docs" / "papers").glob("*.md")
    text = "".join(page.read_text(encoding="utf-8") for page in pages)
    shown = re.findall(r"\bpython -m papers\.reproduce ([^`\n]+)", text)
    assert len(shown) > 10
    assert run(["--help"]) == 0
    options = capsys.readouterr().out
    for line in shown:
        document, _, rest = line.partition(" ")
        statement = re.match(r"\w[\w-]*", rest)
        assert DOCUMENTS[document].chosen(statement and statement[0])
        assert all(f" {one} " in options for one in re.findall(r"--\w+", rest))

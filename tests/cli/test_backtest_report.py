"""equipoise backtest --report: the page, as its users get it."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest

from equipoise.cli import run
from report.report_by_hand import Balanced, part, rows, words

SAMPLE = Path(__file__).parents[2] / "examples" / "contests.csv"
TWO = ("--system", "elo-mmr", "--system", "slow=elo", "--set", "slow.k=16")


def page_of(folder: Path, *arguments: str, history: Path = SAMPLE) -> str:
    """Return the page that a run writes into a folder."""
    target = folder / "found.html"
    assert run(["backtest", str(history), "--report", str(target), *arguments]) == 0
    return target.read_text(encoding="utf-8")


def test_the_page_shows_what_the_tables_show(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same numbers as in JSON, which a report does not change; it is told where it went."""
    page = page_of(tmp_path, *TWO, "--from", "10%")
    out, err = capsys.readouterr()
    assert out.startswith("system ")
    assert f"wrote {tmp_path / 'found.html'}" in err
    assert run(["backtest", str(SAMPLE), *TWO, "--from", "10%", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    for one, row in zip(found["systems"], list(rows(page, "metrics-table"))[1:], strict=True):
        lower, upper = one["intervals"]["log_loss"]
        assert row[0] == one["label"]
        assert row[3] == f"{one['log_loss']:.5f} | {lower:.5f} to {upper:.5f}"
        assert row[6] == f"{one['calibration']['error']:.5f}"
    section = words(part(page, "history"))
    assert "source contests.csv" in section
    assert "period 2020-01-01 to 2020-09-30" in section
    assert [words(one) for one in part(page, "systems").iter("strong")] == ["k 16.0"]
    Balanced(page)


def test_the_same_history_gives_the_same_bytes_in_any_folder(tmp_path: Path) -> None:
    """Neither a clock nor a path of the machine goes into the page, and threads do not show."""
    pages = []
    for name in ("here", "there"):
        folder = tmp_path / name
        folder.mkdir()
        copy = Path(shutil.copy(SAMPLE, folder))
        pages.append(page_of(folder, *TWO, "--resamples", "50", history=copy))
    assert pages[0] == pages[1]
    assert str(tmp_path) not in pages[0]


def test_the_command_can_be_typed_again(tmp_path: Path) -> None:
    """As it was given, defaults left out; of files the names, without their folders."""
    settings = tmp_path / "my settings.toml"
    settings.write_text('system = "elo"\n[parameters]\nk = 10\n')
    table = tmp_path / "table.csv"
    page = page_of(
        tmp_path,
        *("--system", "elo", "--system", "<b>=elo", "--parameters", str(settings)),
        *("--resamples", "20", "--ties-as-authors", "--skip-bad", "--output", str(table)),
    )
    command = part(page, "command").find("pre/code")
    assert command is not None
    assert command.text == (
        "equipoise backtest contests.csv --system elo --system '<b>=elo' "
        "--parameters 'my settings.toml' --ties-as-authors --resamples 20 --output table.csv "
        "--report found.html --skip-bad"
    )
    assert table.exists()
    assert "as the authors of Elo-MMR count it" in words(part(page, "scoring"))


def test_settings_of_the_project_are_in_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their values too: without them, the command would read the file in another way.

    What the command has no option for is a comment, in the form of the file.
    """
    monkeypatch.chdir(tmp_path)
    Path("names.csv").write_text("name,same_as\nx,y\n")
    Path("equipoise.toml").write_text(
        '[reading]\nskip-bad = "rows"\nstrict = true\ntime-format = "s"\nunplaced = "last"\n'
        'from = 1577836800\nsynonyms = "names.csv"\nwhere = { match = "1" }\n'
    )
    page = page_of(tmp_path, "--system", "elo", "--resamples", "0", "--where", "match=2")
    shown = words(part(page, "command"))
    assert "--where match=2 --skip-bad=rows --time-format s" in shown
    assert shown.rstrip().endswith(
        '# with unplaced = "last", from = "1577836800", synonyms = "names.csv", strict = true '
        "below [reading] in equipoise.toml"
    )


def test_bad_rows_are_listed_without_folders(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also where the answer is JSON, and the page is written beside it."""
    history = tmp_path / "h.csv"
    good = "".join(f"{m},a,0\n{m},b,1\n" for m in range(10))
    history.write_text("match,player,rank\n" + good + "10,a,zero<i>\n10,b,1\n")
    page = page_of(tmp_path, "--skip-bad=rows", "--resamples", "0", "--json", history=history)
    assert json.loads(capsys.readouterr().out)["systems"][0]["label"] == "elo-mmr"
    row = list(rows(page, "problems"))[1]
    assert row[:3] == ["h.csv", "22", "rank"]
    assert "zero<i>" in row[4]
    assert "without times" in words(part(page, "history"))
    assert "--skip-bad=rows" in words(part(page, "command"))


def test_an_old_page_stays_where_the_new_one_fails(tmp_path: Path) -> None:
    old = tmp_path / "found.html"
    old.write_text("old")
    arguments = ["--report", str(old), "--min-history", "1000"]
    assert run(["backtest", str(SAMPLE), *arguments]) == 1
    assert old.read_text() == "old"
    assert list(tmp_path.iterdir()) == [old]


@pytest.mark.parametrize("library", ["matplotlib", "jinja2"])
def test_a_library_that_is_missing_is_named_before_anything_is_rated(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    library: str,
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    target = tmp_path / "found.html"
    assert run(["backtest", str(SAMPLE), "--system", "elo", "--report", str(target)]) == 1
    out, err = capsys.readouterr()
    assert f"HTML reports need {library}, which is not installed: pip install" in err
    assert out == ""
    assert not target.exists()

"""equipoise rate as its users run it."""

from __future__ import annotations

import io
import json
import re
import sys
from pathlib import Path
from xml.etree import ElementTree

import polars as pl
import pytest

from equipoise.cli import run

ROOT = Path(__file__).parents[2]
SAMPLE = str(ROOT / "examples" / "contests.csv")


def rate(*arguments: str) -> int:
    return run(["rate", *arguments])


def write(path: Path, text: str) -> str:
    path.write_text(text)
    return str(path)


def test_the_table_is_printed_plain_when_piped(capsys: pytest.CaptureFixture[str]) -> None:
    """Sorted by rating, one line a player; the summary goes to standard error."""
    assert rate(SAMPLE) == 0
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert lines[0].split() == ["player", "rating", "deviation", "matches", "last_time"]
    assert len(lines) == 121
    ratings = [float(line.split()[1]) for line in lines[1:]]
    assert ratings == sorted(ratings, reverse=True)
    assert "elo-mmr: 40 matches, 2,189 participations, 120 players" in err
    assert re.search(r"rated \d+\.\d\d s( \([\d,]+ participations/s\))?, wrote \d", err)


def test_the_default_system_is_told_if_nothing_chooses_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    note = "rated by elo-mmr, the default system; --system chooses another system"
    state = str(tmp_path / "state.npz")
    assert rate(SAMPLE, "--save", state) == 0
    assert note in capsys.readouterr().err
    assert rate(SAMPLE, "--json") == 0
    assert note in json.loads(capsys.readouterr().out)["summary"]["notes"]
    for chosen in (["--system", "elo-mmr"], ["--state", state], ["--initial", state]):
        assert rate(SAMPLE, *chosen) == 0
        assert "the default system" not in capsys.readouterr().err


def test_scores_make_the_places(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The highest is first, or the lowest; one line says which."""
    text = "match,player,{0}\n1,ann,{1}\n1,bob,{2}\n1,cyd,{2}\n2,ann,{2}\n2,cyd,{1}\n"
    source = write(tmp_path / "scores.csv", text.format("score", 71.5, 68))
    printed = []
    for more, ranks, first in (
        ([], (0, 1), "highest"),
        (["--lower-score-is-better"], (1, 0), "lowest"),
    ):
        assert rate(source, *more) == 0
        out, err = capsys.readouterr()
        assert f"the column score decides the places: the {first} is first" in err
        same = write(tmp_path / "ranks.csv", text.format("rank", *ranks))
        assert rate(same) == 0
        assert capsys.readouterr().out == out
        printed.append(out)
    assert printed[0] != printed[1]
    assert rate(same, "--lower-score-is-better") == 2
    assert "here rank decides them" in capsys.readouterr().err


FULL = (
    "match,time,player,rank,weight,performance_ceiling,share,at_home,kills\n"
    "1,1600000000,ann,0,2,1600,0.5,true,3\n1,1600000000,bob,1,2,1600,1,false,1\n"
)


@pytest.mark.parametrize(
    ("arguments", "unused"),
    [
        (["--system", "elo"], ["performance_ceiling", "share", "at_home (needs home_advantage)"]),
        (["--system", "elo", "--set", "home_advantage=60"], ["performance_ceiling", "share"]),
        (["--system", "codeforces"], ["share", "at_home"]),
        (
            ["--system", "glicko", "--stat", "kills=1"],
            ["performance_ceiling", "--stat", "share", "at_home (needs home_advantage)"],
        ),
        (
            ["--system", "elo-mmx", "--set", "rho=0.5", "--set", "remembered=3"],
            ["share", "at_home", "parameter rho", "parameter remembered"],
        ),
        (
            ["--system", "elo-mmr", "--at", "2021-01-01"],
            ["share", "at_home", "--at (needs drift_per_day)"],
        ),
    ],
)
def test_what_the_system_does_not_use_is_said_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], unused: list[str]
) -> None:
    """And refused with --strict, before anything is written."""
    source, output = write(tmp_path / "full.csv", FULL), tmp_path / "ratings.csv"
    line = f"{arguments[1]} does not use {', '.join(unused)}: no rating depends on them"
    assert rate(source, *arguments) == 0
    assert capsys.readouterr().err.splitlines().count(line) == 1
    assert rate(source, *arguments, "--json") == 0
    summary = json.loads(capsys.readouterr().out)["summary"]
    assert summary["unused"] == unused
    assert line in summary["notes"]
    assert rate(source, *arguments, "--strict", "--output", str(output)) == 2
    assert f"{line} (refused by --strict)" in capsys.readouterr().err
    assert not output.exists()


def test_strict_takes_what_is_used(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert rate(SAMPLE, "--strict") == 0
    assert "does not use" not in capsys.readouterr().err
    one = FULL.replace(",share,at_home,kills", "").replace(",0.5,true,3", "")
    source = write(tmp_path / "one.csv", one.replace(",1,false,1", ""))
    assert rate(source, "--system", "glicko2") == 0
    line = "glicko2 does not use performance_ceiling: no rating depends on it"
    assert line in capsys.readouterr().err.splitlines()


@pytest.mark.parametrize(
    "command",
    [
        ["backtest", "--system", "elo", "--system", "b=glicko2"],
        ["audit", "drift", "--system", "elo", "--system", "b=glicko2"],
        ["plot", "--system", "elo", "--player", "ann"],
        ["explain", "--system", "elo", "--player", "ann"],
    ],
)
def test_every_command_says_what_is_not_used(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    command: list[str],
) -> None:
    rows = [f"{m},{10**9 + m},{p},{(p > 'b') ^ (m % 3 > 0):d},0.5" for m in range(9) for p in "ab"]
    text = "match,time,player,rank,share\n" + "\n".join(rows).replace(",a,", ",ann,")
    source = write(tmp_path / "share.csv", text)
    words = 2 if command[0] == "audit" else 1
    arguments = [*command[:words], source, *command[words:]]
    systems = ["elo", "b (glicko2)"] if "b=glicko2" in command else ["elo"]
    assert run(arguments) == 0
    err = capsys.readouterr().err.splitlines()
    for name in systems:
        assert err.count(f"{name} does not use share: no rating depends on it") == 1
    monkeypatch.chdir(tmp_path)
    Path("equipoise.toml").write_text("[reading]\nstrict = true\n")
    assert run(arguments) == 2
    assert "elo does not use share" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        (
            ["elo", "--set", "margin_rule=square-root"],
            "elo has no column score: no margin counts",
        ),
        (["plackett-luce", "--set", "margin=2"], "plackett-luce has no column score: no margin"),
        (
            ["trueskill", "--set", "shares=play"],
            "trueskill has no column share: every player counts whole",
        ),
        (
            ["elo", "--set", "home_advantage_drift=1"],
            "parameter home_advantage_drift (needs learn_home_advantage): no rating depends",
        ),
        (
            ["trueskill", "--set", "draw_rule=players"],
            "parameter draw_rule (needs draw_slope): no rating depends on",
        ),
        (["elo", "--set", "learn_home_advantage=true"], "learned home advantage: "),
    ],
)
def test_what_has_no_effect_says_what_is_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], settings: list[str], told: str
) -> None:
    """And what a pool has learned is shown."""
    rows = "".join(f"{m},{p},{(p > 'a'):d},{p > 'a'}\n" for m in range(3) for p in "ab")
    source = write(tmp_path / "games.csv", "match,player,rank,at_home\n" + rows)
    assert run(["rate", source, "--system", *settings]) == 0
    out = capsys.readouterr()
    assert told in out.out + out.err


def test_systems_and_searches_are_told_apart(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two of one name by their labels; a column counts where its parameter is searched."""
    rows = [
        f"{m},{10**9 + m},{p},{(p > 'a') ^ (m % 3 > 0):d},{p > 'a'}"
        for m in range(20)
        for p in "ab"
    ]
    source = write(tmp_path / "home.csv", "match,time,player,rank,at_home\n" + "\n".join(rows))
    unused = "does not use at_home (needs home_advantage): no rating depends on it"
    two = ["--system", "elo", "--system", "home=elo", "--set", "home.home_advantage=60"]
    assert run(["backtest", source, *two, "--set", "elo.k=20"]) == 0
    told = [line for line in capsys.readouterr().err.splitlines() if "does not use" in line]
    assert told == [f"elo {unused}"]
    monkeypatch.chdir(tmp_path)
    Path("equipoise.toml").write_text("[reading]\nstrict = true\n")
    assert run(["backtest", source, "--system", "home=elo"]) == 2
    assert f"home (elo) {unused}" in capsys.readouterr().err
    grid = ["--system", "elo", "--grid", "home_advantage=0,60", "--first", "50%"]
    assert run(["tune", source, *grid]) == 0
    assert "does not use" not in capsys.readouterr().err
    Path("equipoise.toml").unlink()
    assert run(["tune", source, "--system", "elo", "--grid", "k=10,20", "--first", "50%"]) == 0
    assert f"elo {unused}" in capsys.readouterr().err


def test_json_has_the_summary_and_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    """One object on standard output; missing deviations are null."""
    assert rate(SAMPLE, "--system", "elo", "--json") == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["summary"]["system"] == "elo"
    assert answer["summary"]["participations"] == 2189
    assert len(answer["ratings"]) == 120
    assert answer["ratings"][0]["deviation"] is None
    assert set(answer["summary"]["seconds"]) == {"read", "rate", "write"}


def test_the_trace_has_a_row_a_participation(tmp_path: Path) -> None:
    trace = tmp_path / "trace.parquet"
    assert rate(SAMPLE, "--trace", str(trace), "--output", str(tmp_path / "r.csv")) == 0
    table = pl.read_parquet(trace)
    assert table.columns == [
        *("match", "time", "player", "team", "rank", "expected", "rating_before"),
        *("deviation_before", "rating", "deviation", "performance"),
    ]
    assert len(table) == 2189
    assert table["rating"].null_count() == 0


def test_saving_and_resuming_gives_the_same_bits(tmp_path: Path) -> None:
    """With the whole history, and with its continuation alone."""
    half = "2020-05-01"
    state, straight = str(tmp_path / "state.npz"), str(tmp_path / "straight.parquet")
    assert rate(SAMPLE, "--output", straight) == 0
    assert rate(SAMPLE, "--until", half, "--save", state, "--output", str(tmp_path / "x.csv")) == 0
    whole, rest = str(tmp_path / "whole.parquet"), str(tmp_path / "rest.parquet")
    assert rate(SAMPLE, "--state", state, "--output", whole) == 0
    assert rate(SAMPLE, "--state", state, "--from", half, "--output", rest) == 0
    tables = [pl.read_parquet(path).sort("player") for path in (straight, whole, rest)]
    assert tables[0].equals(tables[1])
    assert tables[0].equals(tables[2])


def test_resuming_takes_the_system_of_the_state(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Only another system or other parameters are refused, and what differs is told."""
    state, target = str(tmp_path / "state.npz"), str(tmp_path / "r.csv")
    assert (
        rate(SAMPLE, "--system", "elo", "--set", "k=20", "--save", state, "--output", target) == 0
    )
    assert rate(SAMPLE, "--state", state, "--output", target) == 0
    told = capsys.readouterr().err
    assert "elo: 0 matches" in told
    assert "not updated" not in told
    assert rate(SAMPLE, "--state", state, "--system", "elo", "--set", "k=21") == 2
    assert "k was 20.0, not 21.0" in capsys.readouterr().err
    assert rate(SAMPLE, "--state", state, "--system", "elo-mmr") == 2
    assert "the state is of elo, not elo-mmr" in capsys.readouterr().err


#: A history in which the fourth row and the sixth are there to be altered.
LEAGUE = """match,time,player,rank
1,2024-01-01,ann,0
1,2024-01-01,bob,1
2,2024-01-02,bob,0
2,2024-01-02,cyd,1
3,2024-01-03,cyd,0
3,2024-01-03,ann,1
4,2024-01-04,ann,0
4,2024-01-04,bob,1
"""


def test_a_page_to_print_has_the_table_with_places(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Names stay text, players of one rating share a place, and the page is written whole."""
    rows = "1,<b>ann</b>,1\n1,ben,2\n1,cyd,2\n"
    history, page = write(tmp_path / "h.csv", f"match,player,rank\n{rows}"), tmp_path / "r.html"
    assert rate(history, "--system", "elo", "--report", str(page)) == 0
    assert f"wrote {page}" in capsys.readouterr().err
    body = ElementTree.fromstring(page.read_text().partition("\n")[2]).find("body")
    assert body is not None
    assert body.findtext("h1") == "h"
    assert body.findtext("p") == "Ratings by elo: 3 players, 1 match"
    heads = [one.text for one in body.iter("th")]
    # There are no deviations and no times.
    assert heads == ["place", "player", "rating", "matches"]
    cells = [[one.text or "" for one in row.iter("td")] for row in body.iter("tr")][1:]
    assert cells == [
        ["1", "<b>ann</b>", "1516", "1"],
        ["2", "ben", "1492", "1"],
        ["2", "cyd", "1492", "1"],
    ]
    assert "@media print" in page.read_text()
    assert rate(history, "-o", str(page)) == 2
    assert f"--report {page} writes a page" in capsys.readouterr().err
    assert rate(history, "-o", str(tmp_path / "r.xlsx")) == 2
    assert "r.xlsx'; spreadsheet programs open .csv\n" in capsys.readouterr().err
    assert rate(history, "--report", str(tmp_path / "r.pdf")) == 2
    assert "--report must be a file that ends in .html" in capsys.readouterr().err
    assert rate(history, "--report", str(page), "--by", "match", "--output", "o/") == 2
    assert "--report cannot be combined with --by" in capsys.readouterr().err


def test_a_page_has_the_matches_of_the_state_and_no_column_of_one_number(tmp_path: Path) -> None:
    games = LEAGUE.splitlines(keepends=True)
    may = write(tmp_path / "may.csv", "".join(games[:5]))
    june = write(tmp_path / "june.csv", "".join([games[0], *games[5:]]))
    state, page = str(tmp_path / "s.npz"), tmp_path / "r.html"
    assert rate(may, "--system", "glicko2", "--save", state) == 0
    assert rate(june, "--state", state, "--report", str(page)) == 0
    text = page.read_text()
    assert "3 players, 4 matches, 2 matches of them new" in text
    assert "volatility" not in text
    assert ">deviation<" in text
    assert re.search(r"<td[^>]*>1\d{3}</td>", text)
    small = ["--system", "elo", "--set", "initial_rating=25", "--report", str(page)]
    assert rate(may, *small) == 0
    assert re.search(r"<td[^>]*>\d\d\.\d\d</td>", page.read_text())


@pytest.mark.parametrize(("times", "same_day"), [("date", "2"), ("round", "3")])
def test_new_games_without_ids_continue_a_state_that_is_older(
    times: str, same_day: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every file numbers them from 1; later the complete history continues the new state."""
    may, june, july = (
        write(
            tmp_path / f"{name}.csv", f"{times},white,black,result\n{rows.replace('X', same_day)}"
        )
        for name, rows in (
            ("may", "D1,ann,ben,1-0\nD2,ben,ann,1-0\n".replace("D", _DAYS[times])),
            ("june", "DX,ann,eve,1-0\nD3,ann,ben,1/2-1/2\n".replace("D", _DAYS[times])),
            ("july", "D4,ann,ben,1-0\n".replace("D", _DAYS[times])),
        )
    )
    state = str(tmp_path / "state.npz")
    assert rate(may, "--system", "elo", "--save", state) == 0
    capsys.readouterr()
    assert rate("--state", state, june, "--save", state) == 0
    continued = capsys.readouterr()
    assert "not updated" not in continued.err
    assert "newer than those of the saved state: they are numbered from 3" in continued.err
    assert rate(may, june, "--system", "elo") == 0
    assert continued.out == capsys.readouterr().out
    assert rate(may, june, july, "--state", state) == 0
    told = capsys.readouterr().err
    assert "4 matches were rated before and skipped" in told
    assert "the saved state is not updated: --save FILE.npz writes the new one" in told
    assert run(["explain", july, "--state", state, "--player", "ben"]) == 0
    assert "in match 5" in capsys.readouterr().out


#: The beginning of a day, and of a number of an order without dates.
_DAYS = {"date": "2026-05-0", "round": ""}


@pytest.mark.parametrize(
    ("head", "rows"),
    [
        ("white,black,result", "ann,ben,1/2-1/2"),
        ("date,white,black,result", "2026-04-01,ann,ben,1/2-1/2"),
    ],
    ids=["without times", "older"],
)
def test_new_games_without_ids_need_the_earlier_files_if_they_may_be_old(
    head: str, rows: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every file numbers them from 1, so alone they have the numbers of rated matches."""
    state = str(tmp_path / "state.npz")
    first = ["ann,ben,1-0", "ben,ann,1-0"]
    if "date" in head:
        first = [f"2026-05-01,{one}" for one in first]
    may = write(tmp_path / "may.csv", "\n".join((head, *first)) + "\n")
    june = write(tmp_path / "june.csv", f"{head}\n{rows}\n")
    assert rate(may, "--system", "elo", "--save", state) == 0
    capsys.readouterr()
    assert rate(june, "--state", state) == 1
    told = capsys.readouterr().err
    assert "has none of the matches that the saved state has rated" in told
    assert "first the files that were rated and then the new ones" in told
    if "date" not in head:
        assert rate(may, june, "--state", state) == 0


def test_a_changed_match_is_refused_until_a_restart(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is written, the match is named, and --restart gives what rating anew gives."""
    history, state = write(tmp_path / "h.csv", LEAGUE), str(tmp_path / "state.npz")
    target, straight = tmp_path / "r.csv", tmp_path / "straight.csv"
    arguments = ["--state", state, "--output", str(target)]
    assert rate(history, "--until", "2024-01-04", "--save", state, "--json") == 0
    write(tmp_path / "h.csv", LEAGUE.replace("2,2024-01-02,cyd,1", "2,2024-01-02,cyd,0"))
    kept = Path(state).read_bytes()
    capsys.readouterr()
    assert rate(history, *arguments, "--save", state) == 1
    told = capsys.readouterr().err
    assert "match 2 has changed since the saved state was rated" in told
    assert "--restart" in told
    assert not target.exists()
    assert Path(state).read_bytes() == kept
    assert rate(history, *arguments, "--restart") == 0
    assert rate(history, "--output", str(straight)) == 0
    assert target.read_bytes() == straight.read_bytes()


def test_a_state_of_version_1_goes_on_and_says_so_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Saved again, it compares the matches that came since."""
    old = ROOT / "tests" / "rating" / "states_version_1"
    history, state = str(old / "contests.csv"), str(tmp_path / "new.npz")
    told = "the saved state is of an earlier version: its matches were not compared"
    assert rate(history, "--state", str(old / "contests.npz"), "--save", state) == 0
    assert capsys.readouterr().err.count(told) == 1
    assert rate(history, "--state", state) == 0
    assert told not in capsys.readouterr().err


def test_players_begin_with_known_ratings(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Those of a table; the others enter as newcomers. A saved state keeps both."""
    history, state = write(tmp_path / "h.csv", LEAGUE), str(tmp_path / "state.npz")
    known = write(tmp_path / "known.csv", "player,rating\nann,1800\n")
    learned = ("--system", "elo", "--set", "entry=learned", "--set", "hold_level=0.05")
    assert rate(history, *learned, "--initial", known, "--save", state, "--json") == 0
    first = json.loads(capsys.readouterr().out)
    assert first["summary"]["parameters"]["entry"] == "learned"
    assert {one["player"]: one["rating"] for one in first["ratings"]}["ann"] > 1700
    assert rate(history, "--state", state, "--json") == 0
    assert json.loads(capsys.readouterr().out)["ratings"] == first["ratings"]
    assert rate(history, "--state", state, "--initial", known) == 2
    assert "initial ratings come before the first match" in capsys.readouterr().err
    bad = write(tmp_path / "bad.csv", "player,rating\nann,high\n")
    assert rate(history, "--initial", bad) == 1
    assert "must be a number" in capsys.readouterr().err


def test_known_ratings_of_another_scale_are_converted_by_a_mapping(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A table is converted as said; a saved state of another scale is refused without a mapping."""
    history, state = write(tmp_path / "h.csv", LEAGUE), str(tmp_path / "state.npz")
    known = write(tmp_path / "known.csv", "player,rating\nann,1800\n")
    here = ("--system", "elo", "--set", "initial_rating=0", "--set", "scale=40", "--set", "k=3.2")
    direct = write(tmp_path / "direct.csv", "player,rating\nann,30\n")
    assert rate(history, *here, "--initial", direct, "--json") == 0
    expected = json.loads(capsys.readouterr().out)["ratings"]
    mapping = ("--initial-mapping", "1500=0,1600=10")
    assert rate(history, *here, "--initial", known, *mapping, "--json") == 0
    assert json.loads(capsys.readouterr().out)["ratings"] == expected
    assert rate(history, "--system", "elo", "--save", state, "--json") == 0
    before = {
        one["player"]: one["rating"] for one in json.loads(capsys.readouterr().out)["ratings"]
    }
    assert rate(history, *here, "--initial", state) == 2
    error = capsys.readouterr().err
    assert "has ratings of elo with initial_rating 1500.0, not 0.0 and scale 400.0" in error
    assert "--initial-mapping THERE=HERE" in error
    assert rate(history, *here, "--initial", state, *mapping, "--json") == 0
    capsys.readouterr()
    assert rate(history, "--system", "elo", "--set", "k=1e-9", "--initial", state, "--json") == 0
    after = json.loads(capsys.readouterr().out)["ratings"]
    assert {one["player"]: round(one["rating"], 3) for one in after} == {
        name: round(rating, 3) for name, rating in before.items()
    }
    assert rate(history, *mapping) == 2
    assert "--initial-mapping needs --initial" in capsys.readouterr().err


def test_standard_input_is_recognised_by_its_content(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Piped:
        buffer = io.BytesIO(Path(SAMPLE).read_bytes())

    monkeypatch.setattr(sys, "stdin", Piped())
    for given in ((), ("--format", "csv")):
        monkeypatch.setattr(sys, "stdin", Piped())
        Piped.buffer.seek(0)
        assert rate("-", *given, "--system", "elo") == 0
        assert len(capsys.readouterr().out.splitlines()) == 121
    Piped.buffer.seek(0)
    assert rate("-", "--format", "parquet", "--system", "elo") == 1
    assert "Parquet" in capsys.readouterr().err


def test_parameters_come_from_a_file_and_set_wins(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path / "p.toml", 'system = "elo"\n[parameters]\nk = 10\nscale = 300\n')
    assert rate(SAMPLE, "--parameters", path, "--set", "k=12", "--json") == 0
    summary = json.loads(capsys.readouterr().out)["summary"]
    assert summary["system"] == "elo"
    assert (summary["parameters"]["k"], summary["parameters"]["scale"]) == (12, 300)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("system = 3", "system: must be text; got 3"),
        ("speed = 3", "speed: must be one of system, parameters, statistics"),
        ("system = ", "must be TOML"),
        ('system = "elo"\n[parameters]\nkk = 1', "no parameter 'kk'"),
    ],
)
def test_a_wrong_parameter_file_is_explained(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, message: str
) -> None:
    path = write(tmp_path / "p.toml", text)
    assert rate(SAMPLE, "--parameters", path) in (1, 2)
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("h.csv", "match,player,rank\n1,a,first\n1,b,1\n", "line 2, rank"),
        ("h.csv.gz", b"\x1f\x8b\x08\x00truncated", "gzip"),
        ("h.csv", "match,player,rank,weight\n1,a,0,-2\n1,b,1,-2\n", "weight"),
    ],
)
def test_a_bad_history_is_refused_with_its_place_and_nothing_is_written(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    name: str,
    content: str | bytes,
    message: str,
) -> None:
    """Exit 1, file and place named, no output; JSON has the same. `formats` has every kind."""
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    out, trace, save = (str(tmp_path / f) for f in ("r.csv", "t.csv", "s.npz"))
    arguments = [str(path), "--output", out, "--trace", trace, "--save", save]
    assert rate(*arguments) == 1
    text = capsys.readouterr().err
    assert message in text
    assert name in text
    assert [found.name for found in tmp_path.iterdir()] == [name]
    assert rate(*arguments, "--json") == 1
    error = json.loads(capsys.readouterr().err)["error"]
    assert error["code"] == "invalid-data"
    assert error["problems"]
    assert set(error["problems"][0]) == {"file", "line", "field", "rule", "got"}
    assert [found.name for found in tmp_path.iterdir()] == [name]


def test_twenty_problems_are_shown_and_the_rest_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = "".join(f"{m},a,{f'x{m}' if m % 2 else 0}\n{m},b,-{m}\n" for m in range(1, 20))
    path = write(tmp_path / "h.csv", "match,player,rank\n" + rows)
    assert rate(path) == 1
    err = capsys.readouterr().err
    assert err.count("rank: must") == 20 + err.splitlines()[0].count("rank: must")
    assert "... and 9 more" in err


def test_bad_matches_are_dropped_on_request_and_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path / "h.csv", "match,player,rank\n1,a,0\n1,b,1\n2,a,zero\n2,b,0\n2,c,1\n")
    assert rate(path, "--skip-bad", "--system", "elo") == 0
    out, err = capsys.readouterr()
    assert len(out.splitlines()) == 3
    assert "1 bad match was dropped" in err
    assert "line 4" in err
    assert rate(path, "--skip-bad=rows", "--system", "elo") == 0
    out, err = capsys.readouterr()
    assert len(out.splitlines()) == 4
    assert "1 bad row was dropped, and its match was kept" in err


def test_times_that_are_missing_make_some_options_wrong_usage(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """INTERFACES: without times nothing decays, and nothing can be selected by time."""
    path = write(tmp_path / "h.csv", "match,player,rank\n1,a,0\n1,b,1\n")
    for arguments in (
        ["--at", "2020-01-01"],
        ["--from", "2020-01-01"],
        ["--until", "2020-01-01"],
        ["--set", "drift_per_day=1"],
    ):
        assert rate(path, *arguments) == 2
        assert "time" in capsys.readouterr().err
    assert rate(path) == 0


def test_ratings_as_of_a_later_time_are_less_certain(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path / "h.csv", "match,time,player,rank\n1,2020-01-01,a,0\n1,2020-01-01,b,1\n")
    arguments = [path, "--set", "drift_per_day=10", "--json"]
    assert rate(*arguments) == 0
    now = json.loads(capsys.readouterr().out)["ratings"][0]
    assert rate(*arguments, "--at", "2020-01-11") == 0
    later = json.loads(capsys.readouterr().out)["ratings"][0]
    assert later["deviation"] ** 2 - now["deviation"] ** 2 == pytest.approx(100, abs=1e-6)
    assert later["last_time"] == "2020-01-01"


def test_statistics_become_the_performance(tmp_path: Path) -> None:
    path = write(tmp_path / "h.csv", "match,player,rank,kills\n1,a,0,3\n1,b,1,many\n")
    assert rate(path, "--stat", "kills=1") == 1
    assert rate(path, "--stat", "kills=much") == 2
    assert rate(path) == 0


def test_ratings_are_written_for_spreadsheets_unless_raw(tmp_path: Path) -> None:
    """The ratings are read back as they were, here to balance the same players."""
    content = "match,player,rank\n1,=1+1,1\n1,-a,2\n2,=1+1,1\n2,b,2\n2,-2,3\n"
    history = write(tmp_path / "history.csv", content)
    plain, raw = tmp_path / "ratings.csv", tmp_path / "raw.csv"
    assert rate(history, "--output", str(plain)) == 0
    assert rate(history, "--output", str(raw), "--no-escape-formulas") == 0
    names = {line.partition(",")[0] for line in plain.read_text().splitlines()[1:]}
    assert names == {"'=1+1", "'-a", "b", "-2"}
    assert raw.read_text() == plain.read_text().replace("'", "")
    teams = [tmp_path / f"{name}.csv" for name in ("plain", "raw")]
    for source, target in zip((plain, raw), teams, strict=True):
        assert run(["balance", str(source), "--output", str(target), "--no-escape-formulas"]) == 0
    assert teams[0].read_text() == teams[1].read_text()
    assert "=1+1" in teams[0].read_text().replace("\n", ",").split(",")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a device that is full")
def test_a_full_disk_is_a_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "full.csv"
    target.symlink_to("/dev/full")
    assert rate(SAMPLE, "--system", "elo", "--output", str(target), "--json") == 1
    error = json.loads(capsys.readouterr().err.splitlines()[-1])["error"]
    assert (error["code"], "No space left on device" in error["message"]) == ("system", True)

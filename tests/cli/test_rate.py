"""equipoise rate as its users run it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import polars as pl
import pytest

from cli.command_line import ROOT, SAMPLE, Cli, Write
from equipoise.cli import run
from rating.histories import shared_file


def test_the_table_is_printed_plain_when_piped_and_the_default_system_is_told(cli, tmp_path):
    """Sorted by rating, one line a player; the summary goes to standard error."""
    out, err = cli("rate", SAMPLE, "--strict")
    lines = out.splitlines()
    assert lines[0].split() == ["player", "rating", "deviation", "matches", "last_time"]
    assert len(lines) == 121
    ratings = [float(line.split()[1]) for line in lines[1:]]
    assert ratings == sorted(ratings, reverse=True)
    assert "elo-mmr: 40 matches, 2,189 participations, 120 players" in err
    assert re.search(r"rated \d+\.\d\d s( \([\d,]+ participations/s\))?, wrote \d", err)
    note = "rated by elo-mmr, the default system; --system chooses another system"
    state = str(tmp_path / "state.npz")
    assert note in cli("rate", SAMPLE, "--save", state).err
    assert note in cli.json("rate", SAMPLE)["summary"]["notes"]
    for chosen in (["--system", "elo-mmr"], ["--state", state], ["--initial", state]):
        assert "the default system" not in cli("rate", SAMPLE, *chosen).err


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
def test_what_the_system_does_not_use_is_said_in_one_line(tmp_path, cli, arguments, unused, write):
    """And refused with --strict, before anything is written."""
    source, output = write("full.csv", FULL), tmp_path / "ratings.csv"
    line = f"{arguments[1]} does not use {', '.join(unused)}: no rating depends on them"
    assert cli("rate", source, *arguments).err.splitlines().count(line) == 1
    summary = cli.json("rate", source, *arguments)["summary"]
    assert summary["unused"] == unused
    assert line in summary["notes"]
    shown = cli("rate", source, *arguments, "--strict", "--output", str(output), status=2)
    assert f"{line} (refused by --strict)" in shown.err
    assert not output.exists()


@pytest.mark.parametrize(
    "command",
    [
        ["backtest", "--system", "elo", "--system", "b=glicko2"],
        ["audit", "drift", "--system", "elo", "--system", "b=glicko2"],
        ["plot", "--system", "elo", "--player", "ann"],
        ["explain", "--system", "elo", "--player", "ann"],
    ],
)
def test_every_command_says_what_is_not_used(tmp_path, cli, monkeypatch, command, write):
    rows = [f"{m},{10**9 + m},{p},{(p > 'b') ^ (m % 3 > 0):d},0.5" for m in range(9) for p in "ab"]
    text = "match,time,player,rank,share\n" + "\n".join(rows).replace(",a,", ",ann,")
    source = write("share.csv", text)
    words = 2 if command[0] == "audit" else 1
    arguments = [*command[:words], source, *command[words:]]
    systems = ["elo", "b (glicko2)"] if "b=glicko2" in command else ["elo"]
    err = cli(*arguments).err.splitlines()
    for name in systems:
        assert err.count(f"{name} does not use share: no rating depends on it") == 1
    monkeypatch.chdir(tmp_path)
    Path("equipoise.toml").write_text("[reading]\nstrict = true\n")
    assert "elo does not use share" in cli(*arguments, status=2).err


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        (["elo", "--set", "margin_rule=square-root"], "elo finds no score column: margins do not"),
        (["plackett-luce", "--set", "margin=2"], "plackett-luce finds no score column: margins"),
        (
            ["trueskill", "--set", "shares=play"],
            "trueskill finds no share column: every player counts whole",
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
def test_what_has_no_effect_says_what_is_missing(cli, settings, told, write):
    """And what a pool has learned is shown."""
    rows = "".join(f"{m},{p},{(p > 'a'):d},{p > 'a'}\n" for m in range(3) for p in "ab")
    source = write("games.csv", "match,player,rank,at_home\n" + rows)
    out = cli("rate", source, "--system", *settings)
    assert told in out.out + out.err


def test_systems_and_searches_are_told_apart(tmp_path, cli, monkeypatch, write):
    """Two of one name by their labels; a column counts where its parameter is searched."""
    rows = [
        f"{m},{10**9 + m},{p},{(p > 'a') ^ (m % 3 > 0):d},{p > 'a'}"
        for m in range(20)
        for p in "ab"
    ]
    source = write("home.csv", "match,time,player,rank,at_home\n" + "\n".join(rows))
    unused = "does not use at_home (needs home_advantage): no rating depends on it"
    two = ["--system", "elo", "--system", "home=elo", "--set", "home.home_advantage=60"]
    told = [
        line
        for line in cli("backtest", source, *two, "--set", "elo.k=20").err.splitlines()
        if "does not use" in line
    ]
    assert told == [f"elo {unused}"]
    monkeypatch.chdir(tmp_path)
    Path("equipoise.toml").write_text("[reading]\nstrict = true\n")
    assert f"home (elo) {unused}" in cli("backtest", source, "--system", "home=elo", status=2).err
    grid = ["--system", "elo", "--grid", "home_advantage=0,60", "--first", "50%"]
    assert "does not use" not in cli("tune", source, *grid).err
    Path("equipoise.toml").unlink()
    shown = cli("tune", source, "--system", "elo", "--grid", "k=10,20", "--first", "50%")
    assert f"elo {unused}" in shown.err


def test_json_and_the_trace_have_the_numbers_and_parameters_come_from_a_file(cli, tmp_path, write):
    """One object on standard output; missing deviations are null."""
    answer = cli.json("rate", SAMPLE, "--system", "elo")
    assert answer["summary"]["system"] == "elo"
    assert answer["summary"]["participations"] == 2189
    assert len(answer["ratings"]) == 120
    assert answer["ratings"][0]["deviation"] is None
    assert set(answer["summary"]["seconds"]) == {"read", "rate", "write"}
    trace = tmp_path / "trace.parquet"
    cli("rate", SAMPLE, "--trace", str(trace), "--output", str(tmp_path / "r.csv"))
    table = pl.read_parquet(trace)
    assert table.columns == [
        *("match", "time", "player", "team", "rank", "expected", "rating_before"),
        *("deviation_before", "rating", "deviation", "performance"),
    ]
    assert len(table) == 2189
    assert table["rating"].null_count() == 0
    path = write("p.toml", 'system = "elo"\n[parameters]\nk = 10\nscale = 300\n')
    summary = cli.json("rate", SAMPLE, "--parameters", path, "--set", "k=12")["summary"]
    assert summary["system"] == "elo"
    assert (summary["parameters"]["k"], summary["parameters"]["scale"]) == (12, 300)


def test_saving_and_resuming_gives_the_same_bits(tmp_path: Path, cli: Cli) -> None:
    """With the whole history, and with its continuation alone."""
    half = "2020-05-01"
    state, straight = str(tmp_path / "state.npz"), str(tmp_path / "straight.parquet")
    cli("rate", SAMPLE, "--output", straight)
    cli("rate", SAMPLE, "--until", half, "--save", state, "--output", str(tmp_path / "x.csv"))
    whole, rest = str(tmp_path / "whole.parquet"), str(tmp_path / "rest.parquet")
    cli("rate", SAMPLE, "--state", state, "--output", whole)
    cli("rate", SAMPLE, "--state", state, "--from", half, "--output", rest)
    tables = [pl.read_parquet(path).sort("player") for path in (straight, whole, rest)]
    assert tables[0].equals(tables[1])
    assert tables[0].equals(tables[2])
    state, target = str(tmp_path / "state.npz"), str(tmp_path / "r.csv")
    cli("rate", SAMPLE, "--system", "elo", "--set", "k=20", "--save", state, "--output", target)
    told = cli("rate", SAMPLE, "--state", state, "--output", target).err
    assert "elo: 0 matches" in told
    assert "not updated" not in told
    shown = cli("rate", SAMPLE, "--state", state, "--system", "elo", "--set", "k=21", status=2)
    assert "k was 20.0, not 21.0" in shown.err
    shown = cli("rate", SAMPLE, "--state", state, "--system", "elo-mmr", status=2)
    assert "the state is of elo, not elo-mmr" in shown.err
    old = ROOT / "tests" / "rating" / "states_version_1"
    history, state = str(old / "contests.csv"), str(tmp_path / "new.npz")
    told = "the saved state is of an earlier version: its matches were not compared"
    shown = cli("rate", history, "--state", str(old / "contests.npz"), "--save", state)
    assert shown.err.count(told) == 1
    assert told not in cli("rate", history, "--state", state).err


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


def test_a_page_to_print_has_the_table_with_places(tmp_path: Path, cli: Cli, write: Write) -> None:
    """Names stay text, players of one rating share a place, and the page is written whole."""
    rows = "1,<b>ann</b>,1\n1,ben,2\n1,cyd,2\n"
    history, page = write("h.csv", f"match,player,rank\n{rows}"), tmp_path / "r.html"
    assert f"wrote {page}" in cli("rate", history, "--system", "elo", "--report", str(page)).err
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
    assert f"--report {page} writes a page" in cli("rate", history, "-o", str(page), status=2).err
    shown = cli("rate", history, "-o", str(tmp_path / "r.xlsx"), status=2)
    assert "r.xlsx'; spreadsheet programs open .csv\n" in shown.err
    shown = cli("rate", history, "--report", str(tmp_path / "r.pdf"), status=2)
    assert "--report must be a file that ends in .html" in shown.err
    shown = cli("rate", history, "--report", str(page), "--by", "match", "--output", "o/", status=2)
    assert "--report cannot be combined with --by" in shown.err


def test_a_page_has_the_matches_of_the_state_and_no_column_of_one_number(tmp_path, cli, write):
    games = LEAGUE.splitlines(keepends=True)
    may = write("may.csv", "".join(games[:5]))
    june = write("june.csv", "".join([games[0], *games[5:]]))
    state, page = str(tmp_path / "s.npz"), tmp_path / "r.html"
    cli("rate", may, "--system", "glicko2", "--save", state)
    cli("rate", june, "--state", state, "--report", str(page))
    text = page.read_text()
    assert "3 players, 4 matches, 2 matches of them new" in text
    assert "volatility" not in text
    assert ">deviation<" in text
    assert re.search(r"<td[^>]*>1\d{3}</td>", text)
    small = ["--system", "elo", "--set", "initial_rating=25", "--report", str(page)]
    cli("rate", may, *small)
    assert re.search(r"<td[^>]*>\d\d\.\d\d</td>", page.read_text())


@pytest.mark.parametrize(("times", "same_day"), [("date", "2"), ("round", "3")])
def test_new_games_without_ids_continue_a_state_that_is_older(
    times, same_day, tmp_path, cli, write
):
    """Every file numbers them from 1; later the complete history continues the new state."""
    may, june, july = (
        write(f"{name}.csv", f"{times},white,black,result\n{rows.replace('X', same_day)}")
        for name, rows in (
            ("may", "D1,ann,ben,1-0\nD2,ben,ann,1-0\n".replace("D", _DAYS[times])),
            ("june", "DX,ann,eve,1-0\nD3,ann,ben,1/2-1/2\n".replace("D", _DAYS[times])),
            ("july", "D4,ann,ben,1-0\n".replace("D", _DAYS[times])),
        )
    )
    state = str(tmp_path / "state.npz")
    cli("rate", may, "--system", "elo", "--save", state)
    continued = cli("rate", "--state", state, june, "--save", state)
    assert "not updated" not in continued.err
    assert "newer than those of the saved state: they are numbered from 3" in continued.err
    assert continued.out == cli("rate", may, june, "--system", "elo").out
    told = cli("rate", may, june, july, "--state", state).err
    assert "4 matches were rated before and skipped" in told
    assert "the saved state is not updated: --save FILE.npz writes the new one" in told
    assert "in match 5" in cli("explain", july, "--state", state, "--player", "ben").out


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
    head, rows, tmp_path, cli, write
):
    """Every file numbers them from 1, so alone they have the numbers of rated matches."""
    state = str(tmp_path / "state.npz")
    first = ["ann,ben,1-0", "ben,ann,1-0"]
    if "date" in head:
        first = [f"2026-05-01,{one}" for one in first]
    may = write("may.csv", "\n".join((head, *first)) + "\n")
    june = write("june.csv", f"{head}\n{rows}\n")
    cli("rate", may, "--system", "elo", "--save", state)
    told = cli("rate", june, "--state", state, status=1).err
    assert "has none of the matches that the saved state has rated" in told
    assert "first the files that were rated and then the new ones" in told
    if "date" not in head:
        cli("rate", may, june, "--state", state)


def test_a_changed_match_is_refused_until_a_restart(tmp_path: Path, cli: Cli, write: Write) -> None:
    """Nothing is written, the match is named, and --restart gives what rating anew gives."""
    history, state = write("h.csv", LEAGUE), str(tmp_path / "state.npz")
    target, straight = tmp_path / "r.csv", tmp_path / "straight.csv"
    arguments = ["--state", state, "--output", str(target)]
    cli("rate", history, "--until", "2024-01-04", "--save", state, "--json")
    write("h.csv", LEAGUE.replace("2,2024-01-02,cyd,1", "2,2024-01-02,cyd,0"))
    kept = Path(state).read_bytes()
    told = cli("rate", history, *arguments, "--save", state, status=1).err
    assert "match 2 has changed since the saved state was rated" in told
    assert "; now: 2024-01-02, " in told
    assert "--restart" in told
    assert not target.exists()
    assert Path(state).read_bytes() == kept
    cli("rate", history, *arguments, "--restart")
    cli("rate", history, "--output", str(straight))
    assert target.read_bytes() == straight.read_bytes()


def test_players_begin_with_known_ratings(tmp_path: Path, cli: Cli, write: Write) -> None:
    """Those of a table; the others enter as newcomers. A saved state keeps both."""
    history, state = write("h.csv", LEAGUE), str(tmp_path / "state.npz")
    known = write("known.csv", "player,rating\nann,1800\n")
    learned = ("--system", "elo", "--set", "entry=learned", "--set", "hold_level=0.05")
    first = cli.json("rate", history, *learned, "--initial", known, "--save", state)
    assert first["summary"]["parameters"]["entry"] == "learned"
    assert {one["player"]: one["rating"] for one in first["ratings"]}["ann"] > 1700
    assert cli.json("rate", history, "--state", state)["ratings"] == first["ratings"]
    shown = cli("rate", history, "--state", state, "--initial", known, status=2)
    assert "initial ratings come before the first match" in shown.err
    bad = write("bad.csv", "player,rating\nann,high\n")
    assert "must be a number" in cli("rate", history, "--initial", bad, status=1).err


def test_known_ratings_of_another_scale_are_converted_by_a_mapping(tmp_path, cli, write):
    """A table is converted as said; a saved state of another scale is refused without a mapping."""
    history, state = write("h.csv", LEAGUE), str(tmp_path / "state.npz")
    known = write("known.csv", "player,rating\nann,1800\n")
    here = ("--system", "elo", "--set", "initial_rating=0", "--set", "scale=40", "--set", "k=3.2")
    direct = write("direct.csv", "player,rating\nann,30\n")
    expected = cli.json("rate", history, *here, "--initial", direct)["ratings"]
    mapping = ("--initial-mapping", "1500=0,1600=10")
    assert cli.json("rate", history, *here, "--initial", known, *mapping)["ratings"] == expected
    before = {
        one["player"]: one["rating"]
        for one in cli.json("rate", history, "--system", "elo", "--save", state)["ratings"]
    }
    error = cli("rate", history, *here, "--initial", state, status=2).err
    assert "has ratings of elo with initial_rating 1500.0, not 0.0 and scale 400.0" in error
    assert "--initial-mapping FROM=TO" in error
    cli("rate", history, *here, "--initial", state, *mapping, "--json")
    after = cli.json("rate", history, "--system", "elo", "--set", "k=1e-9", "--initial", state)[
        "ratings"
    ]
    assert {one["player"]: round(one["rating"], 3) for one in after} == {
        name: round(rating, 3) for name, rating in before.items()
    }
    assert "--initial-mapping needs --initial" in cli("rate", history, *mapping, status=2).err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("system = 3", "system: must be text; got 3"),
        ("speed = 3", "speed: must be one of system, parameters, statistics"),
        ("system = ", "must be TOML"),
        ('system = "elo"\n[parameters]\nkk = 1', "no parameter 'kk'"),
    ],
)
def test_a_wrong_parameter_file_is_explained(capsys, text, message, write):
    path = write("p.toml", text)
    assert run(["rate", SAMPLE, "--parameters", path]) in (1, 2)
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
    tmp_path: Path, cli: Cli, name: str, content: str | bytes, message: str
) -> None:
    """Exit 1, file and place named, no output; JSON has the same. `formats` has every kind."""
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    out, trace, save = (str(tmp_path / f) for f in ("r.csv", "t.csv", "s.npz"))
    arguments = [str(path), "--output", out, "--trace", trace, "--save", save]
    text = cli("rate", *arguments, status=1).err
    assert message in text
    assert name in text
    assert [found.name for found in tmp_path.iterdir()] == [name]
    error = json.loads(cli("rate", *arguments, "--json", status=1).err)["error"]
    assert error["code"] == "invalid-data"
    assert error["problems"]
    assert set(error["problems"][0]) == {"file", "line", "field", "rule", "got"}
    assert [found.name for found in tmp_path.iterdir()] == [name]


def test_problems_are_shown_or_dropped_on_request(cli: Cli, write: Write) -> None:
    rows = "".join(f"{m},a,{f'x{m}' if m % 2 else 0}\n{m},b,-{m}\n" for m in range(1, 20))
    path = write("h.csv", "match,player,rank\n" + rows)
    err = cli("rate", path, status=1).err
    assert err.count("rank: must") == 20 + err.splitlines()[0].count("rank: must")
    assert "... and 9 more" in err
    path = write("h.csv", "match,player,rank\n1,a,0\n1,b,1\n2,a,zero\n2,b,0\n2,c,1\n")
    out, err = cli("rate", path, "--skip-bad", "--system", "elo")
    assert len(out.splitlines()) == 3
    assert "1 bad match was dropped" in err
    assert "line 4" in err
    out, err = cli("rate", path, "--skip-bad=rows", "--system", "elo")
    assert len(out.splitlines()) == 4
    assert "1 bad row was dropped, and its match was kept" in err
    path = write("h.csv", "match,player,rank,kills\n1,a,0,3\n1,b,1,many\n")
    cli("rate", path, "--stat", "kills=1", status=1)
    cli("rate", path, "--stat", "kills=much", status=2)
    cli("rate", path)


def test_ratings_as_of_a_later_time_are_less_certain_and_need_times(cli: Cli, write: Write) -> None:
    """INTERFACES: without times nothing decays, and nothing can be selected by time."""
    path = write("h.csv", "match,player,rank\n1,a,0\n1,b,1\n")
    for arguments in (
        ["--at", "2020-01-01"],
        ["--from", "2020-01-01"],
        ["--until", "2020-01-01"],
        ["--set", "drift_per_day=1"],
    ):
        assert "time" in cli("rate", path, *arguments, status=2).err
    cli("rate", path)
    path = write("h.csv", "match,time,player,rank\n1,2020-01-01,a,0\n1,2020-01-01,b,1\n")
    arguments = [path, "--set", "drift_per_day=10", "--json"]
    now = json.loads(cli("rate", *arguments).out)["ratings"][0]
    later = json.loads(cli("rate", *arguments, "--at", "2020-01-11").out)["ratings"][0]
    assert later["deviation"] ** 2 - now["deviation"] ** 2 == pytest.approx(100, abs=1e-6)
    assert later["last_time"] == "2020-01-01"


def test_ratings_are_written_for_spreadsheets_unless_raw(tmp_path, cli, write):
    """The ratings are read back as they were, here to balance the same players."""
    content = "match,player,rank\n1,=1+1,1\n1,-a,2\n2,=1+1,1\n2,b,2\n2,-2,3\n"
    history = write("history.csv", content)
    plain, raw = tmp_path / "ratings.csv", tmp_path / "raw.csv"
    cli("rate", history, "--output", str(plain))
    cli("rate", history, "--output", str(raw), "--no-escape-formulas")
    names = {line.partition(",")[0] for line in plain.read_text().splitlines()[1:]}
    assert names == {"'=1+1", "'-a", "b", "-2"}
    assert raw.read_text() == plain.read_text().replace("'", "")
    teams = [tmp_path / f"{name}.csv" for name in ("plain", "raw")]
    for source, target in zip((plain, raw), teams, strict=True):
        cli("balance", str(source), "--output", str(target), "--no-escape-formulas")
    assert teams[0].read_text() == teams[1].read_text()
    assert "=1+1" in teams[0].read_text().replace("\n", ",").split(",")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a device that is full")
def test_a_full_disk_is_a_sentence(tmp_path: Path, cli: Cli) -> None:
    target = tmp_path / "full.csv"
    target.symlink_to("/dev/full")
    error = json.loads(
        cli(
            "rate", SAMPLE, "--system", "elo", "--output", str(target), "--json", status=1
        ).err.splitlines()[-1]
    )["error"]
    assert (error["code"], "No space left on device" in error["message"]) == ("system", True)


# `equipoise rate` for teams: statistics to performances, two sides, real matches.


STATISTICS = ["--stat=kills=1", "--stat=deaths=-1", "--stat=damage=0.004545454545454545"]


def test_the_command_rates_as_another_program_does(tmp_path: Path, cli: Cli) -> None:
    """The whole of UT4; its first 800 matches are in `team_glicko2_ut4_first800.csv`."""
    trace = tmp_path / "trace.parquet"
    golden = pl.read_csv(shared_file("golden", "team_glicko2_ut4_first800.csv"))
    history = str(shared_file("data", "ut4.parquet"))
    system = ["--system=team-glicko2", "--set=max_change=300.531794"]
    output = ["--output", str(tmp_path / "ratings.csv"), "--trace", str(trace)]
    cli("rate", history, *system, *STATISTICS, *output)
    both = golden.join(pl.read_parquet(trace), on=["match", "player"], suffix="_ours")
    assert both.height == golden.height
    # Rating points: what that program's own tolerances come to (`golden/README.md`).
    for theirs, ours in (("rating_after", "rating"), ("rd_after", "deviation")):
        difference = both.select((pl.col(theirs) - pl.col(ours)).abs().max()).item()
        assert difference < 1e-3, ours

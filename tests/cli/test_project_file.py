"""The file `equipoise.toml` of a project."""

from __future__ import annotations

import io
import json
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
import typer.main

from cli.command_line import Cli
from equipoise.analysis.requests import HistoryRequest
from equipoise.analysis.systems import Settings
from equipoise.cli import run
from equipoise.cli.application import create_application
from equipoise.cli.options import with_weights

RESULTS = "match,when,player,goals\n1,2024-01-01,ann,3\n1,2024-01-01,bob,1\n"


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the folder of a project, in which commands run."""
    (tmp_path / "games.csv").write_text(RESULTS)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def settings(text: str) -> None:
    Path("equipoise.toml").write_text(text)


def test_it_says_how_files_are_read_and_options_win(cli: Cli) -> None:
    settings('[reading]\nlower-score-is-better = true\ncolumn = { score = "goals" }\n')
    out, err = cli("rate", "games.csv", "--system", "elo")
    assert out.splitlines()[1].startswith("bob")
    assert err.startswith(
        f"{Path.cwd()}/equipoise.toml: [reading] sets column, lower-score-is-better\n"
    )
    settings('[reading]\nlower-score-is-better = true\ncolumn = { score = "points" }\n')
    shown = cli("rate", "games.csv", "--system", "elo", "--column", "score=goals")
    assert "toml: [reading] sets lower-score-is-better\n" in shown.err
    settings('[reading]\nlower-score-is-better = true\ncolumn = { score = "goals" }\n')
    assert cli("strengths", "games.csv", "--prior", "1").out.splitlines()[1].split()[1] == "bob"


def test_what_is_true_there_can_be_switched_off(cli: Cli) -> None:
    settings(
        '[reading]\nlower-score-is-better = true\nskip-bad = true\ncolumn = { score = "goals" }\n'
    )
    command = ["rate", "games.csv", "--system", "elo", "--column", "score=goals"]
    assert cli(*command, "--no-lower-score-is-better").out.splitlines()[1].startswith("ann")
    Path("games.csv").write_text(RESULTS + "2,2024-01-02,ann,many\n2,2024-01-02,bob,1\n")
    cli(*command)
    cli(*command, "--skip-bad=no", status=1)
    Path("unused.csv").write_text("match,player,rank,performance\n1,ann,1,3\n1,bob,2,1\n")
    settings("[reading]\nstrict = true\n")
    cli("rate", "unused.csv", "--system", "elo", status=2)
    cli("rate", "unused.csv", "--system", "elo", "--no-strict")
    Path("duels.csv").write_text("white,black,result\nann,bob,1-0\nbob,ann,1-0\nann,,1-0\n")
    settings("[reading]\nskip-bad = true\n")
    cli("performance", "duels.csv")
    cli("performance", "duels.csv", "--skip-bad=no", status=1)


def test_values_of_toml_are_those_that_one_types(cli: Cli) -> None:
    rows = ["match,time,player,rank,official"]
    rows += [f"{m},2024-0{m}-01,{p},{p > 'a'},{m < 3}" for m in (1, 2, 3) for p in "ab"]
    Path("h.csv").write_text("\n".join(rows).replace("True", "1").replace("False", "0"))
    settings("[reading]\nfrom = 2024-02-01\nwhere = { official = 1 }\n")
    assert cli.json("rate", "h.csv", "--system", "elo")["summary"]["matches"] == 1
    settings('[reading]\ncolumn = { score = "goals" }\n')
    out, err = cli("rate", "games.csv", "--system", "elo", "--json")
    summary = json.loads(out)["summary"]
    assert summary["matches"] == 1
    assert summary["notes"][0] == f"{Path.cwd()}/equipoise.toml: [reading] sets column"
    assert "sets" not in err
    settings("[reading]\nnonsense = 1\n")
    cli("systems", "elo")
    shown = cli("simulate", "--players", "3", "--contests", "1", "--output", "made.csv")
    assert "toml" not in shown.err


def test_a_parameter_file_wins_and_an_option_wins_over_both() -> None:
    named = Settings(statistics={"kills": 2.0})
    typed = HistoryRequest(source="h.csv", statistics={"kills": 3.0, "deaths": -1.0})
    assert with_weights(typed, named).statistics == {"kills": 3.0, "deaths": -1.0}
    project = replace(typed, set_by_project=("--stat",))
    assert with_weights(project, named).statistics == {"kills": 2.0, "deaths": -1.0}


#: The commands that read a history or games, with what each needs beside them.
READING = {
    "rate": (),
    "explain": ("--player", "ann"),
    "plot": ("--player", "ann"),
    "performance": (),
    "strengths": ("--prior", "1"),
    "leaderboard": (),
    "backtest": (),
    "tune": ("--trials", "1", "--system", "elo"),
    "audit drift": (),
    "audit incentives": ("--system", "elo", "--matches", "2", "--budget", "10"),
    "inspect": (),
    "convert": ("o.csv",),
    "db import": ("--pool", "p", "--create", "--database", "sqlite:///pool.db"),
}


def test_every_command_that_reads_is_among_those() -> None:
    pending = [("", typer.main.get_command(create_application()))]
    found = set()
    for name, command in pending:
        below = getattr(command, "commands", {})
        pending += [(f"{name} {one}".strip(), child) for one, child in below.items()]
        known = {option for one in command.params for option in one.opts}
        if {"--time-format", "--where"} <= known:
            found.add(name)
    assert found == set(READING)


@pytest.mark.parametrize("command", READING)
def test_the_json_of_every_command_names_the_settings(command: str, cli: Cli) -> None:
    days = "".join(
        f"2024-01-{day:02},{('ann,bob', 'bob,cyd', 'cyd,ann')[day % 3]},{result}\n"
        for day in range(1, 29)
        for result in ("1-0", "0-1")
    )
    Path("h.csv").write_text(f"time,white,black,result\n{days}")
    settings('[reading]\ntime-format = "iso"\n')
    out, err = cli(*command.split(), "h.csv", *READING[command], "--json")
    assert f"{Path.cwd()}/equipoise.toml: [reading] sets time-format" in out
    assert "sets" not in err


def test_the_nearest_folder_above_has_it_and_names_beside_it(project, monkeypatch, cli, tmp_path):
    settings('[reading]\ncolumn = { score = "goals" }\n')
    below = project / "season" / "spring"
    below.mkdir(parents=True)
    monkeypatch.chdir(below)
    shown = cli("rate", "../../games.csv", "--system", "elo")
    assert f"{project}/equipoise.toml: [reading] sets column" in shown.err


def test_games_of_a_tournament_are_read_the_same_from_files_and_streams(cli, monkeypatch):
    """Keys that say nothing of games, such as statistics, are left to other commands."""
    Path("t.csv").write_text("W,B,result\na,b,1-0\nb,a,1-0\nx,y,?\n")
    settings(
        '[reading]\nskip_bad = true\nstat = { kills = 1 }\ncolumn = { white = "W", black = "B" }\n'
    )
    out, err = cli("performance", "t.csv")
    assert out.splitlines()[1].split()[:2] == ["1", "a"]
    assert "sets skip_bad, column" in err
    content = "white,black,result\nann,bob,1-0\nbob,ann,1-0\n"
    Path("list.csv").write_text(content)
    settings("[reading]\nfrom = 2020-01-01\n")
    note = "equipoise.toml: [reading] from has no effect on a table without a column time"
    assert note in cli.json("performance", "list.csv")["notes"]
    stdin = SimpleNamespace(buffer=io.BytesIO(content.encode()))
    monkeypatch.setattr("sys.stdin", stdin)
    assert f"{note}\n" in cli("performance", "-", "--format", "csv").err


@pytest.mark.parametrize("text", ["[rate]\nk = 20\n", "time-format = 's'\n"])
def test_other_settings_are_refused(text: str, cli: Cli) -> None:
    settings(text)
    told = cli("rate", "games.csv", "--column", "score=goals", status=2).err
    assert "equipoise.toml may contain only the key system and the section [reading]; got" in told
    assert "in a parameter file (--parameters FILE.toml) or in a saved state" in told


SEASON = "match,when,player,goals\n" + "".join(
    f"{day},2024-01-{day},ann,{day % 3}\n{day},2024-01-{day},bob,1\n" for day in range(10, 20)
)
#: Commands that rate a history, with what each needs beside it.
RATING = {
    "rate": (),
    "explain": ("--player", "ann"),
    "plot": ("--player", "ann"),
    "backtest": ("--min-history", "0"),
    "audit drift": (),
}


@pytest.mark.parametrize("command", RATING)
def test_the_system_of_the_project_rates_if_nothing_else_names_one(command, capsys):
    words = [*command.split(), "games.csv", "--column", "score=goals", *RATING[command], "--json"]

    def system(*more: str) -> tuple[str, bool]:
        """Return the system that rates, and whether a note says that the file sets it."""
        assert run([*words, *more]) == 0
        answer = capsys.readouterr().out
        name = re.search(r'"system":"([a-z0-9-]+)"', answer)
        assert name is not None
        return name[1], f"{Path.cwd()}/equipoise.toml sets the system glicko2" in answer

    Path("p.toml").write_text('system = "elo"\n')
    Path("games.csv").write_text(SEASON)
    settings('system = "glicko2"\n')
    assert system() == ("glicko2", True)
    assert system("--system", "elo") == ("elo", False)
    assert system("--parameters", "p.toml") == ("elo", False)


def test_the_system_of_the_project_is_that_of_a_new_pool_and_yields_to_saved_states(cli):
    """Not of one that is there, nor of one that a log creates."""
    settings('system = "glicko2"\n')
    games = ["games.csv", "--column", "score=goals"]
    base = ["--database", "sqlite:///pools.db"]
    new = cli.json("db", "import", *games, "--pool", "new", "--create", *base)
    assert (new["created"], new["system"]) == (True, "glicko2")
    settings('system = "elo"\n')
    for create in ([], ["--create"]):
        again = cli.json("db", "import", *games, "--pool", "new", *create, *base)
        assert (again["known_matches"], again["system"]) == (1, "glicko2")
    cli("db", "export", "new", "--output", "log.ndjson", *base)
    log = cli.json("db", "import", "log.ndjson", "--pool", "log", "--create", *base)
    assert (log["system"], log["same_head"]) == ("glicko2", True)
    games = ["games.csv", "--column", "score=goals"]
    cli("rate", *games, "--system", "elo", "--save", "s.npz")
    settings('system = "glicko2"\n')
    for option in ("--state", "--initial"):
        assert "sets the system" not in cli("rate", *games, option, "s.npz").err
    cli("predict", "--state", "s.npz", "--team", "ann", "--team", "bob")
    shown = cli("rate", *games, "--save", "new.npz")
    note = f"{Path.cwd()}/equipoise.toml sets the system glicko2; --system chooses another system"
    assert note in shown.err
    settings("system = 3\n")
    assert "equipoise.toml: system must be text; got 3" in cli("rate", *games, status=2).err


def test_a_table_of_names_is_looked_for_beside_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:
    (tmp_path / "names.csv").write_text("name,same_as\nBob,bob\n")
    settings('[reading]\nsynonyms = "names.csv"\ncolumn = { score = "goals" }\n')
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path / "below")
    cli("inspect", "../games.csv")
    saved = ("--save", "state.npz", "--output", "ratings.csv")
    cli("rate", "../games.csv", "--system", "elo", *saved)
    assert cli.json("explain", "../games.csv", "--player", "Bob")["player"] == "bob"
    for source in ("state", "ratings"):
        (path,) = Path().glob(f"{source}.*")
        options = ("--players", "ann,Bob", "--newcomer", "y", "--avoid", "Bob,ann")
        more = () if source == "state" else ("--default-rating", "1", "--default-deviation", "1")
        found = cli.json("balance", f"--{source}", str(path), *options, *more)
        assert {"ann", "bob"} < {player for team in found["teams"] for player in team}
        assert any("[reading] sets synonyms" in note for note in found["notes"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nonsense = 1", "toml: [reading] nonsense must be one of column, stat, lower-score"),
        ("sheet = true", "toml: [reading] sheet must be text; got True"),
        ('strict = "yes"', "toml: [reading] strict must be true or false; got 'yes'"),
        ('column = "score=goals"', "toml: [reading] column must be a table, as column = {NEW"),
        ("skip-bad = 3", 'toml: [reading] skip-bad must be true, false, "matches" or "rows"'),
        ('skip-bad = "all"', "toml: [reading] skip-bad takes no value or =rows; got 'all'"),
        ('stat = { kills = "many" }', "toml: [reading] stat: the weight of kills must be a number"),
        ('unplaced = "first"', "toml: [reading] unplaced must be last; got 'first'"),
        ("unplaced", "equipoise.toml must be TOML"),
    ],
)
def test_what_is_wrong_is_named_with_the_file(text: str, message: str, cli: Cli) -> None:
    settings(f"[reading]\n{text}\n")
    for command in ("rate", "backtest", "inspect"):
        assert message in cli(command, "games.csv", status=2).err
    shown = cli("rate", "games.csv", "--json", status=2)
    assert json.loads(shown.err)["error"]["code"] == "invalid-parameter"


def test_errors_and_suggestions_say_where_options_belong(cli: Cli) -> None:
    shown = cli("tune", "games.csv", "--unplaced", "last", status=2)
    assert (
        "No such option: --unplaced. It is an option of `equipoise rate`, `equipoise convert`, "
        "`equipoise inspect`; for other commands, set `unplaced` below [reading] in "
        "equipoise.toml.\n"
    ) in shown.err
    assert "[reading]" not in cli("demo", "--unplaced", "last", status=2).err
    rows = [f"{m},{p},{m % 3}" for m in range(40) for p in ("ann", "bob", "cyd")[: 2 + m % 2]]
    Path("h.csv").write_text("match,player,score\n" + "\n".join(rows) + "\n")
    shown = cli("inspect", "h.csv", "--lower-score-is-better").out
    assert "equipoise rate h.csv --lower-score-is-better" in shown
    assert "--lower-score-is-better --system all" not in shown


@pytest.mark.parametrize(
    ("setting", "source", "what"),
    [
        ('sheet = "Season 1"', "games.csv", "sources without a workbook"),
        ('column = { white = "W" }', "games.pgn", "PGN"),
        ('time-format = "%d/%m/%Y"', "games.pgn", "a time column that has dates"),
        ('time-format = "%d/%m/%Y"', "cross.csv", "a cross table"),
        ('time-format = "%d/%m/%Y"', "list.csv", "a history without times"),
        ("from = 2020-01-01", "list.csv", "a history without times"),
        ("lower-score-is-better = true", "list.csv", "a history in which rank decides the places"),
    ],
)
def test_a_setting_without_a_place_in_the_format_is_a_note_and_an_option_an_error(
    setting: str, source: str, what: str, cli: Cli
) -> None:
    Path("games.csv").write_text(RESULTS.replace("goals", "score"))
    Path("list.csv").write_text("white,black,result\nann,bob,1-0\nbob,ann,1-0\n")
    Path("cross.csv").write_text("player,ann,bob,cem\nann,,1,1\nbob,0,,1\ncem,0,0,\n")
    tags = '[White "{}"]\n[Black "{}"]\n[Date "2024.01.02"]\n[Result "1-0"]\n\n1-0\n\n'
    Path("games.pgn").write_text(tags.format("ann", "bob") + tags.format("bob", "ann"))
    settings(f"[reading]\n{setting}\n")
    key, _, value = setting.partition(" = ")
    note = f"equipoise.toml: [reading] {key} has no effect on {what}"
    assert f"{note}\n" in cli("rate", source, "--system", "elo").err
    shown = cli.json("inspect", source)
    assert note in shown["notes"]
    assert f"--{key}" not in shown["next"]["command"]
    value = {"true": "", '{ white = "W" }': "white=W"}.get(value, value.strip('"'))
    cli("rate", source, f"--{key}", *filter(None, [value]), status=2)

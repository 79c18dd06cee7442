"""The commands of the service as their users run them: keys, import, export, verify."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal
from sqlalchemy import text

from cli.command_line import Cli
from cli.test_usage import commands
from equipoise.cli import run
from equipoise.store import keys as stored_keys
from equipoise.store.connection import open_store
from pools.pool_trials import NOW
from trials.server import free_port

ROOT = Path(__file__).parents[2]
SAMPLE = str(ROOT / "examples" / "contests.csv")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in an empty folder, where the default database is."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("EQUIPOISE_DATABASE", raising=False)
    return tmp_path


def filled(name: str = "sample", *more: str) -> None:
    assert run(["db", "import", SAMPLE, "--pool", name, "--create", *more]) == 0


def test_a_key_is_made_shown_once_and_found(cli: Cli) -> None:
    """The secret alone goes to standard output; the database does not hold it."""
    filled()
    out, err = cli("db", "keys", "create", "--name", "game", "--role", "writer", "--pool", "sample")
    secret = out.strip()
    assert "Key 1, writer of sample." in err
    assert secret not in err
    store = open_store()
    found = stored_keys.find_key(store, secret, NOW)
    store.close()
    assert found is not None
    assert (found.name, found.role, found.pool, found.expires) == ("game", "writer", "sample", None)
    assert secret.encode() not in Path("equipoise.db").read_bytes()


def test_a_new_key_says_in_which_file_it_is(cli: Cli, here: Path) -> None:
    """Without `--database`, the file is made in the current folder."""
    file = here / "equipoise.db"
    assert not file.exists()
    assert f"new database {file}" in cli("db", "keys", "create", "--name", "a").err
    assert file.exists()
    said = cli("db", "keys", "create", "--name", "b").err
    assert str(file) in said
    assert "new database" not in said
    assert "no key 9 in the database equipoise.db" in cli("db", "keys", "revoke", "9", status=1).err


def test_keys_expire_are_listed_and_revoked(cli: Cli) -> None:
    made = cli.json("db", "keys", "create", "--name", "a", "--role", "admin", "--expires", "30d")
    key = made["key"]
    assert (key["key"], key["role"], key["pool"]) == (1, "admin", None)
    begun, ends = (key[name][:10] for name in ("created", "expires"))
    assert (pl.Series([ends]).str.to_date() - pl.Series([begun]).str.to_date()).item().days == 30
    cli("db", "keys", "create", "--name", "b", "--expires", "2999-01-01")
    assert "Revoked key 2 (b)." in cli("db", "keys", "revoke", "2").err
    lines = cli("db", "keys", "list").out.splitlines()
    assert [line.split()[:2] for line in lines[1:]] == [["2", "b"], ["1", "a"]]
    assert "revoked" in lines[1]
    assert "until" in lines[2]
    listed = cli.json("db", "keys", "list")["keys"]
    assert listed[0]["revoked"] is not None
    assert "secret" not in json.dumps(listed)


def test_a_key_is_rotated(cli: Cli) -> None:
    """The secret before remains valid for `--keep`, a day by default."""
    old = cli.json("db", "keys", "create", "--name", "a", "--role", "admin")["secret"]
    out, err = cli("db", "keys", "rotate", "1", "--keep", "2w")
    assert "Key 1 (a) has a new secret" in err
    assert "is valid until 20" in err
    store = open_store()
    found = [
        stored_keys.find_key(store, secret, time.time_ns() // 1000) for secret in (old, out.strip())
    ]
    assert found[0] is not None
    assert found[0] == found[1]
    assert cli.json("db", "keys", "rotate", "1", "--keep", "0h")["key"]["previous_until"] is None
    assert stored_keys.find_key(store, out.strip(), time.time_ns() // 1000) is None
    store.close()
    for keep in ("1", "d", "1y", "-1d", "100w"):
        cli("db", "keys", "rotate", "1", "--keep", keep, status=2)
    assert "no key 2" in cli("db", "keys", "rotate", "2", status=1).err


def test_an_import_is_rated_like_the_file(cli: Cli) -> None:
    """And exported again: the rating table, the trace, and a log that another pool takes."""
    done = cli.json("db", "import", SAMPLE, "--pool", "sample", "--create", "--set", "rho=0.5")
    assert (done["created"], done["matches"], done["pending"]) == (True, 40, False)
    err = cli("db", "import", SAMPLE, "--pool", "sample").err
    assert "0 matches recorded in pool sample (" in err
    assert "40 matches were already there" in err
    rate = ["rate", SAMPLE, "--set", "rho=0.5", "--output", "r.csv", "--trace", "t.parquet"]
    cli(*rate)
    done = cli.json("db", "export", "sample", "--what", "ratings", "--output", "ratings.csv")
    assert (done["pool"], done["what"], done["file"]) == ("sample", "ratings", "ratings.csv")
    assert (done["count"], done["counted"]) == (120, "players")
    assert done["bytes"] == Path("ratings.csv").stat().st_size
    assert Path("ratings.csv").read_text() == Path("r.csv").read_text()
    cli("db", "export", "sample", "--what", "changes", "--output", "changes.parquet")
    trace = pl.read_parquet("t.parquet").with_columns(pl.col("match").cast(pl.String))
    assert_frame_equal(pl.read_parquet("changes.parquet"), trace, check_exact=True)
    cli("db", "export", "sample", "--output", "log.ndjson")
    cli("db", "import", "log.ndjson", "--pool", "copy", "--create")
    cli("db", "export", "copy", "--what", "ratings", "--output", "copy.csv")
    assert Path("copy.csv").read_bytes() == Path("ratings.csv").read_bytes()


def test_an_import_begins_with_known_ratings(cli: Cli, here: Path) -> None:
    """As `rate --initial` does, with a mapping too; again, nothing is recorded twice."""
    known, mapping = here / "known.csv", ("--initial-mapping", "1500=1500,1600=1550")
    known.write_text("player,rating,deviation\namber-ant,1800,90\namber-bear,1400,\nabsent,1,2\n")
    for name, more in (("plain", ()), ("mapped", mapping)):
        options = ("--initial", str(known), *more)
        command = ("db", "import", SAMPLE, "--pool", name, "--create", *options)
        done = cli.json(*command)
        assert (done["known_ratings"], done["amendments"]) == (3, 0)
        again = cli.json(*command)
        assert (again["matches"], again["last_seq"]) == (0, done["last_seq"])
        cli("db", "export", name, "--what", "ratings", "--output", f"{name}.csv")
        cli("rate", SAMPLE, *options, "--output", "direct.csv")
        stored = pl.read_csv(f"{name}.csv").filter(pl.col("player") != "absent").sort("player")
        direct = pl.read_csv("direct.csv").filter(pl.col("player") != "absent").sort("player")
        assert_frame_equal(stored, direct, check_exact=True)
    other = ("db", "import", SAMPLE, "--pool", "plain", "--initial", str(known), *mapping)
    assert "known ratings must be set before the first match" in cli(*list(other), status=1).err
    cli("db", "export", "plain", "--output", "log.ndjson")
    shown = cli("db", "import", "log.ndjson", "--pool", "x", "--create", *other[5:], status=2)
    assert "leave out --initial, --initial-mapping" in shown.err
    assert cli.json("db", "import", "log.ndjson", "--pool", "moved", "--create")["same_head"]
    assert cli.json("db", "verify")["identical"]


def test_verify_tells_what_differs(cli: Cli) -> None:
    """Exit status 0 while all is as the log gives it, 1 from the first wrong bit on."""
    filled("one")
    filled("two", "--system", "elo", "--late", "replay")
    table, _, heads = cli("verify").out.partition("\n\n")
    rows = table.splitlines()
    assert [row.split()[0] for row in rows[1:]] == ["one", "two"]
    assert all("identical" in row for row in rows[1:])
    assert [row.split(":")[0] for row in heads.splitlines()[1:]] == ["one", "two", "audit log"]
    store = open_store()
    with store.write() as connection:
        connection.execute(
            text("UPDATE changes SET rating = rating + 1e-9 WHERE pool = 1 AND player = 'jade-ant'")
        )
    store.close()
    cli("db", "verify", "two")
    out = cli("db", "verify", "one", "two", status=1).out
    assert "one: record 6, player jade-ant: stored rating" in out
    found = cli.json("db", "verify", status=1)
    assert [(one["pool"], one["identical"]) for one in found["pools"]] == [
        ("one", False),
        ("two", True),
    ]


def test_verify_looks_for_a_head_that_was_kept(cli: Cli) -> None:
    """Exit status 1 if the log does not lead to it, as records were lost."""
    filled("one")
    head = cli.json("db", "verify", "one")["pools"][0]["head"]
    found = cli.json("db", "verify", "one", "--head", head)
    assert (found["found"], found["record"]) == (True, found["records"])
    shown = cli("db", "verify", "one", "--head", head)
    assert "one: the log had this head after record" in shown.out
    store = open_store()
    with store.write() as connection:
        connection.execute(text("DELETE FROM log WHERE seq = (SELECT max(seq) FROM log)"))
    store.close()
    assert "does not lead to this head" in cli("db", "verify", "one", "--head", head, status=1).out
    assert cli.json("db", "verify", "one", "--head", head, status=1)["record"] is None
    shown = cli("db", "verify", "--head", head, status=2)
    assert "--head needs the name of its pool" in shown.err


def test_the_environment_names_the_database(here, monkeypatch, postgres_url, cli):
    """The option wins over it."""
    monkeypatch.setenv("EQUIPOISE_DATABASE", postgres_url)
    filled()
    assert not list(here.iterdir())
    cli("db", "verify", "sample")
    cli("db", "verify", "sample", "--database", "sqlite:///other.db", status=1)


def test_missing_libraries_are_named(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    from importlib import util

    real = util.find_spec
    hidden = ("sqlalchemy", "starlette")
    monkeypatch.setattr(util, "find_spec", lambda name: None if name in hidden else real(name))
    assert "pip install '.[service]'" in cli("verify", status=2).err
    assert "the service needs starlette: pip install" in cli("serve", status=2).err


@pytest.mark.slow
def test_the_examples_of_the_commands_run(here: Path, cli: Cli) -> None:
    """One after the other, as they stand in the help; that of `serve` does not end by itself."""
    (here / "examples").symlink_to(ROOT / "examples")
    known = dict(commands())
    names = ("import", "export", "verify", "keys create", "keys list", "keys revoke")
    epilogs = [str(known[f"db {name}"].epilog) for name in names]
    lines = [line.strip() for epilog in epilogs for line in epilog.splitlines()]
    words = [line.removeprefix("equipoise ") for line in lines if line.startswith("equipoise ")]
    assert len(words) == 9
    (here / "exports").mkdir()
    for command in words:
        if "exports/" in command:
            cli("db", "export", "contests", "--what", "log", "--output", "exports/2.ndjson")
        assert run(shlex.split(command)) == 0, command
    assert {"contests.ndjson", "ratings.csv"} <= set(os.listdir())


def test_a_name_is_erased_on_the_command_line(cli: Cli) -> None:
    """A dry run changes nothing; afterwards the stored ratings are still those of the log."""
    filled()
    name = "ada"
    store = open_store()
    with store.read() as connection:
        name = connection.execute(text("SELECT min(player) FROM ratings")).scalar_one()
    store.close()
    assert "nothing was changed" in cli("db", "erase", name, "--pool", "sample", "--dry-run").out
    done = cli.json("db", "erase", name, "--pool", "sample")
    assert done["player"].startswith("erased-")
    assert done["pools"][0]["ratings"] == 1
    shown = cli("db", "erase", name, "--pool", "sample", status=1)
    assert f"no player '{name}' in pool 'sample'" in shown.err
    cli("verify")


def test_an_import_of_far_times_needs_an_option(cli: Cli, here: Path) -> None:
    """Nothing is recorded without it."""
    rows = [
        f"{match},{player},{rank},{time}"
        for match, time in (("a", 1), ("b", 99_972_403_200))
        for player, rank in (("ana", 1), ("ben", 2))
    ]
    (here / "far.csv").write_text("\n".join(["match,player,rank,time", *rows]))
    given = ["db", "import", "far.csv", "--pool", "far", "--create", "--time-format", "s"]
    assert "match b, time: must not be more than 86,400 s ahead" in cli(*given, status=1).err
    cli(*given, "--allow-future")


# equipoise serve: it starts with a demo, answers, and ends without leaving anything behind.


#: Seconds that a start may take on a machine that is busy, kernels compiled.
_STARTING = 300.0


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Give an environment with a folder of its own for what is thrown away."""
    (tmp_path / "thrown").mkdir()
    kept = {name: value for name, value in os.environ.items() if not name.startswith("EQUIPOISE_")}
    return {**kept, "TMPDIR": str(tmp_path / "thrown")}


@pytest.fixture
def demo(tmp_path: Path, environment: dict[str, str]) -> Iterator[tuple[Any, str]]:
    """Give a demo that runs, and its address."""
    port = free_port()
    command = [sys.executable, "-m", "equipoise", "serve", "--demo", "--port", str(port)]
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(
            [*command, "--set", "log_level=warning"], stderr=log, cwd=tmp_path, env=environment
        )
    address = f"http://127.0.0.1:{port}"
    try:
        _wait(process, f"{address}/readyz", tmp_path / "log")
        yield process, address
    finally:
        process.kill()
        process.wait()


def _wait(process: Any, address: str, log: Path) -> None:
    until = time.monotonic() + _STARTING
    while True:
        try:
            with urllib.request.urlopen(address, timeout=5):
                return
        except (urllib.error.URLError, OSError):
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < until, log.read_text()
            time.sleep(0.05)


@pytest.mark.slow
def test_the_demo_can_be_read_by_anybody_and_leaves_nothing(demo, tmp_path):
    """Its database is made, filled from the sample, and gone with the service."""
    process, address = demo
    with urllib.request.urlopen(
        f"{address}/v1/pools/demo/leaderboard?limit=1", timeout=120
    ) as found:
        board = json.load(found)
    assert board["players_in_pool"] == 120
    assert board["players"][0]["player"] == "jade-kite"
    assert board["players"][0]["rating"] == pytest.approx(2301.61, abs=0.005)
    assert f"{address}/v1/pools/demo/leaderboard" in (tmp_path / "log").read_text()
    process.send_signal(signal.SIGTERM)
    assert process.wait(120) == 0
    assert list((tmp_path / "thrown").iterdir()) == []
    assert not (tmp_path / "equipoise.db").exists()

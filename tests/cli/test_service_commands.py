"""The commands of the service as their users run them: keys, import, export, verify."""

from __future__ import annotations

import json
import os
import shlex
import time
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal
from sqlalchemy import text

from equipoise.cli import run
from equipoise.store import keys as stored_keys
from equipoise.store.connection import open_store
from pools.pool_trials import NOW

ROOT = Path(__file__).parents[2]
SAMPLE = str(ROOT / "examples" / "contests.csv")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in an empty folder, where the default database is."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("EQUIPOISE_DATABASE", raising=False)
    return tmp_path


def answer(capsys: pytest.CaptureFixture[str], *arguments: str, status: int = 0) -> Any:
    """Return the JSON that a command prints."""
    capsys.readouterr()
    assert run([*arguments, "--json"]) == status
    return json.loads(capsys.readouterr().out)


def filled(name: str = "sample", *more: str) -> None:
    assert run(["db", "import", SAMPLE, "--pool", name, "--create", *more]) == 0


def test_a_key_is_made_shown_once_and_found(capsys: pytest.CaptureFixture[str]) -> None:
    """The secret alone goes to standard output; the database does not hold it."""
    filled()
    capsys.readouterr()
    assert (
        run(["db", "keys", "create", "--name", "game", "--role", "writer", "--pool", "sample"]) == 0
    )
    out, err = capsys.readouterr()
    secret = out.strip()
    assert "Key 1, writer of sample." in err
    assert secret not in err
    store = open_store()
    found = stored_keys.find_key(store, secret, NOW)
    store.close()
    assert found is not None
    assert (found.name, found.role, found.pool, found.expires) == ("game", "writer", "sample", None)
    assert secret.encode() not in Path("equipoise.db").read_bytes()


def test_a_new_key_says_in_which_file_it_is(capsys: pytest.CaptureFixture[str], here: Path) -> None:
    """Without `--database`, the file is made in the current folder."""
    file = here / "equipoise.db"
    assert not file.exists()
    assert run(["db", "keys", "create", "--name", "a"]) == 0
    assert f"new database {file}" in capsys.readouterr().err
    assert file.exists()
    assert run(["db", "keys", "create", "--name", "b"]) == 0
    said = capsys.readouterr().err
    assert str(file) in said
    assert "new database" not in said
    assert run(["db", "keys", "revoke", "9"]) == 1
    assert "no key 9 in the database equipoise.db" in capsys.readouterr().err


def test_keys_expire_are_listed_and_revoked(capsys: pytest.CaptureFixture[str]) -> None:
    made = answer(
        capsys, "db", "keys", "create", "--name", "a", "--role", "admin", "--expires", "30d"
    )
    key = made["key"]
    assert (key["key"], key["role"], key["pool"]) == (1, "admin", None)
    begun, ends = (key[name][:10] for name in ("created", "expires"))
    assert (pl.Series([ends]).str.to_date() - pl.Series([begun]).str.to_date()).item().days == 30
    assert run(["db", "keys", "create", "--name", "b", "--expires", "2999-01-01"]) == 0
    assert run(["db", "keys", "revoke", "2"]) == 0
    assert "Revoked key 2 (b)." in capsys.readouterr().err
    assert run(["db", "keys", "list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in lines[1:]] == [["2", "b"], ["1", "a"]]
    assert "revoked" in lines[1]
    assert "until" in lines[2]
    listed = answer(capsys, "db", "keys", "list")["keys"]
    assert listed[0]["revoked"] is not None
    assert "secret" not in json.dumps(listed)


def test_a_key_is_rotated(capsys: pytest.CaptureFixture[str]) -> None:
    """The secret before remains valid for `--keep`, a day by default."""
    old = answer(capsys, "db", "keys", "create", "--name", "a", "--role", "admin")["secret"]
    assert run(["db", "keys", "rotate", "1", "--keep", "2w"]) == 0
    out, err = capsys.readouterr()
    assert "Key 1 (a) has a new secret" in err
    assert "is valid until 20" in err
    store = open_store()
    found = [
        stored_keys.find_key(store, secret, time.time_ns() // 1000) for secret in (old, out.strip())
    ]
    assert found[0] is not None
    assert found[0] == found[1]
    assert (
        answer(capsys, "db", "keys", "rotate", "1", "--keep", "0h")["key"]["previous_until"] is None
    )
    assert stored_keys.find_key(store, out.strip(), time.time_ns() // 1000) is None
    store.close()
    for keep in ("1", "d", "1y", "-1d", "100w"):
        assert run(["db", "keys", "rotate", "1", "--keep", keep]) == 2
    assert run(["db", "keys", "rotate", "2"]) == 1
    assert "no key 2" in capsys.readouterr().err


def test_an_import_is_rated_like_the_file(capsys: pytest.CaptureFixture[str]) -> None:
    """And exported again: the rating table, the trace, and a log that another pool takes."""
    done = answer(
        capsys, "db", "import", SAMPLE, "--pool", "sample", "--create", "--set", "rho=0.5"
    )
    assert (done["created"], done["matches"], done["pending"]) == (True, 40, False)
    assert run(["db", "import", SAMPLE, "--pool", "sample"]) == 0
    err = capsys.readouterr().err
    assert "0 matches recorded in pool sample (" in err
    assert "40 matches were already there" in err
    rate = ["rate", SAMPLE, "--set", "rho=0.5", "--output", "r.csv", "--trace", "t.parquet"]
    assert run(rate) == 0
    capsys.readouterr()
    assert (
        run(["db", "export", "sample", "--what", "ratings", "--output", "ratings.csv", "--json"])
        == 0
    )
    done = json.loads(capsys.readouterr().out)
    assert (done["pool"], done["what"], done["file"]) == ("sample", "ratings", "ratings.csv")
    assert (done["count"], done["counted"]) == (120, "players")
    assert done["bytes"] == Path("ratings.csv").stat().st_size
    assert Path("ratings.csv").read_text() == Path("r.csv").read_text()
    assert run(["db", "export", "sample", "--what", "changes", "--output", "changes.parquet"]) == 0
    trace = pl.read_parquet("t.parquet").with_columns(pl.col("match").cast(pl.String))
    assert_frame_equal(pl.read_parquet("changes.parquet"), trace, check_exact=True)
    assert run(["db", "export", "sample", "--output", "log.ndjson"]) == 0
    assert run(["db", "import", "log.ndjson", "--pool", "copy", "--create"]) == 0
    assert run(["db", "export", "copy", "--what", "ratings", "--output", "copy.csv"]) == 0
    assert Path("copy.csv").read_bytes() == Path("ratings.csv").read_bytes()


def test_an_import_begins_with_known_ratings(
    capsys: pytest.CaptureFixture[str], here: Path
) -> None:
    """As `rate --initial` does, with a mapping too; again, nothing is recorded twice."""
    known, mapping = here / "known.csv", ("--initial-mapping", "1500=1500,1600=1550")
    known.write_text("player,rating,deviation\namber-ant,1800,90\namber-bear,1400,\nabsent,1,2\n")
    for name, more in (("plain", ()), ("mapped", mapping)):
        options = ("--initial", str(known), *more)
        command = ("db", "import", SAMPLE, "--pool", name, "--create", *options)
        done = answer(capsys, *command)
        assert (done["known_ratings"], done["amendments"]) == (3, 0)
        again = answer(capsys, *command)
        assert (again["matches"], again["last_seq"]) == (0, done["last_seq"])
        assert run(["db", "export", name, "--what", "ratings", "--output", f"{name}.csv"]) == 0
        assert run(["rate", SAMPLE, *options, "--output", "direct.csv"]) == 0
        stored = pl.read_csv(f"{name}.csv").filter(pl.col("player") != "absent").sort("player")
        direct = pl.read_csv("direct.csv").filter(pl.col("player") != "absent").sort("player")
        assert_frame_equal(stored, direct, check_exact=True)
    other = ("db", "import", SAMPLE, "--pool", "plain", "--initial", str(known), *mapping)
    assert run(list(other)) == 1
    assert "known ratings must be set before the first match" in capsys.readouterr().err
    assert run(["db", "export", "plain", "--output", "log.ndjson"]) == 0
    assert run(["db", "import", "log.ndjson", "--pool", "x", "--create", *other[5:]]) == 2
    assert "leave out --initial, --initial-mapping" in capsys.readouterr().err
    assert answer(capsys, "db", "import", "log.ndjson", "--pool", "moved", "--create")["same_head"]
    assert answer(capsys, "db", "verify")["identical"]


def test_verify_tells_what_differs(capsys: pytest.CaptureFixture[str]) -> None:
    """Exit status 0 while all is as the log gives it, 1 from the first wrong bit on."""
    filled("one")
    filled("two", "--system", "elo", "--late", "replay", "--public")
    capsys.readouterr()
    assert run(["verify"]) == 0
    table, _, heads = capsys.readouterr().out.partition("\n\n")
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
    assert run(["db", "verify", "two"]) == 0
    capsys.readouterr()
    assert run(["db", "verify", "one", "two"]) == 1
    out = capsys.readouterr().out
    assert "one: record 6, player jade-ant: stored rating" in out
    found = answer(capsys, "db", "verify", status=1)
    assert [(one["pool"], one["identical"]) for one in found["pools"]] == [
        ("one", False),
        ("two", True),
    ]


def test_verify_looks_for_a_head_that_was_kept(capsys: pytest.CaptureFixture[str]) -> None:
    """Exit status 1 if the log does not lead to it, as records were lost."""
    filled("one")
    capsys.readouterr()
    head = answer(capsys, "db", "verify", "one")["pools"][0]["head"]
    found = answer(capsys, "db", "verify", "one", "--head", head)
    assert (found["found"], found["record"]) == (True, found["records"])
    assert run(["db", "verify", "one", "--head", head]) == 0
    assert "one: the log had this head after record" in capsys.readouterr().out
    store = open_store()
    with store.write() as connection:
        connection.execute(text("DELETE FROM log WHERE seq = (SELECT max(seq) FROM log)"))
    store.close()
    assert run(["db", "verify", "one", "--head", head]) == 1
    assert "does not lead to this head" in capsys.readouterr().out
    assert answer(capsys, "db", "verify", "one", "--head", head, status=1)["record"] is None
    assert run(["db", "verify", "--head", head]) == 2
    assert "--head needs the name of the one pool" in capsys.readouterr().err


def test_the_environment_names_the_database(
    here: Path, monkeypatch: pytest.MonkeyPatch, postgres_url: str
) -> None:
    """The option wins over it."""
    monkeypatch.setenv("EQUIPOISE_DATABASE", postgres_url)
    filled()
    assert not list(here.iterdir())
    assert run(["db", "verify", "sample"]) == 0
    assert run(["db", "verify", "sample", "--database", "sqlite:///other.db"]) == 1


def test_missing_libraries_are_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from importlib import util

    real = util.find_spec
    hidden = ("sqlalchemy", "starlette")
    monkeypatch.setattr(util, "find_spec", lambda name: None if name in hidden else real(name))
    assert run(["verify"]) == 2
    assert "pip install '.[service]'" in capsys.readouterr().err
    assert run(["serve"]) == 2
    assert "the service needs starlette: pip install" in capsys.readouterr().err


@pytest.mark.slow
def test_the_examples_of_the_commands_run(here: Path) -> None:
    """One after the other, as they stand in the help; that of `serve` does not end by itself."""
    from equipoise.cli.service import db, exchange

    (here / "examples").symlink_to(ROOT / "examples")
    parts = (exchange.IMPORT_EXAMPLE, exchange.EXAMPLE, db.EXAMPLE)
    epilogs = (*parts, db.CREATE_EXAMPLE, db.LIST_EXAMPLE, db.REVOKE_EXAMPLE)
    lines = [line.strip() for epilog in epilogs for line in epilog.splitlines()]
    commands = [line.removeprefix("equipoise ") for line in lines if line.startswith("equipoise ")]
    assert len(commands) == 9
    (here / "exports").mkdir()
    for command in commands:
        if "exports/" in command:
            assert (
                run(["db", "export", "contests", "--what", "log", "--output", "exports/2.ndjson"])
                == 0
            )
        assert run(shlex.split(command)) == 0, command
    assert {"contests.ndjson", "ratings.csv"} <= set(os.listdir())


def test_a_name_is_erased_on_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    """A dry run changes nothing; afterwards the stored ratings are still those of the log."""
    filled()
    name = "ada"
    store = open_store()
    with store.read() as connection:
        name = connection.execute(text("SELECT min(player) FROM ratings")).scalar_one()
    store.close()
    assert run(["db", "erase", name, "--pool", "sample", "--dry-run"]) == 0
    assert "nothing was changed" in capsys.readouterr().out
    done = answer(capsys, "db", "erase", name, "--pool", "sample")
    assert done["player"].startswith("erased-")
    assert done["pools"][0]["ratings"] == 1
    assert run(["db", "erase", name, "--pool", "sample"]) == 1
    assert f"no player '{name}' in pool 'sample'" in capsys.readouterr().err
    assert run(["verify"]) == 0


def test_an_import_of_far_times_needs_an_option(
    capsys: pytest.CaptureFixture[str], here: Path
) -> None:
    """Nothing is recorded without it."""
    rows = [
        f"{match},{player},{rank},{time}"
        for match, time in (("a", 1), ("b", 99_972_403_200))
        for player, rank in (("ana", 1), ("ben", 2))
    ]
    (here / "far.csv").write_text("\n".join(["match,player,rank,time", *rows]))
    given = ["db", "import", "far.csv", "--pool", "far", "--create", "--time-format", "s"]
    assert run(given) == 1
    assert "match b, time: must not be more than 86,400 s ahead" in capsys.readouterr().err
    assert run([*given, "--allow-future"]) == 0

"""Commands that let other processes and machines do the work: the same answers."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cli.command_line import SAMPLE, Cli
from equipoise.cli import run


@pytest.fixture
def pools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make this folder the current one, with a database of three pools."""
    monkeypatch.chdir(tmp_path)
    for name in ("first", "second", "third"):
        assert run(["db", "import", SAMPLE, "--pool", name, "--create", "--system", "elo"]) == 0
    return tmp_path


def without_seconds(found: Any) -> Any:
    return [{**one, "seconds": 0.0} for one in found["pools"]]


def without_times(found: Any) -> Any:
    """Return an answer without the times that work took."""
    if isinstance(found, dict):
        return {name: without_times(one) for name, one in found.items() if "second" not in name}
    return [without_times(one) for one in found] if isinstance(found, list) else found


@pytest.fixture
def scheduler() -> Iterator[str]:
    """Return the address of a scheduler with two workers in processes of their own."""
    distributed = pytest.importorskip("distributed", reason="needs the extra cluster")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0"
    ) as running:
        yield running.scheduler_address


@pytest.mark.slow
def test_pools_are_verified_at_the_same_time(pools: Path, cli: Cli) -> None:
    alone = cli.json("db", "verify")
    assert without_seconds(cli.json("db", "verify", "--workers", "2")) == without_seconds(alone)
    assert "no pool 'nobody'" in cli("db", "verify", "nobody", "--workers", "2", status=1).err


@pytest.mark.slow
@pytest.mark.filterwarnings(
    "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)
def test_a_cluster_gives_the_same_answers(pools: Path, scheduler: str, cli: Cli) -> None:
    alone = cli.json("db", "verify")
    there = cli.json("db", "verify", "--cluster", scheduler)
    assert without_seconds(there) == without_seconds(alone)
    # Relative paths mean the same there.
    for mode in ("a", "b"):
        part = Path("season", f"mode={mode}")
        part.mkdir(parents=True)
        shutil.copy(SAMPLE, part / "part.csv")
    for folder, more in (("here", []), ("there", ["--cluster", scheduler])):
        words = ["rate", "season/**/*.csv", "--by", "mode", "--system", "elo"]
        cli(*words, "--output", f"{folder}/", *more)
    written = sorted(one.relative_to("here") for one in Path("here").rglob("ratings.*"))
    assert len(written) == 2
    for one in written:
        assert Path("here", one).read_bytes() == Path("there", one).read_bytes()
    search = ["tune", SAMPLE, "--system", "elo", "--grid", "k=16,32", "--first", "50%"]
    there = cli.json(*search, "--cluster", scheduler)
    assert there["trials"] == cli.json(*search)["trials"]
    studies = (
        ["backtest", SAMPLE, "--system", "elo", "--system", "elo-mmr", "--from", "50%"],
        ["audit", "incentives", SAMPLE, "--system", "elo", "--matches", "3", "--budget", "20"],
    )
    for study in studies:
        there = cli.json(*study, "--cluster", scheduler)
        assert without_times(there) == without_times(cli.json(*study))
    Path("exports").mkdir()
    for name in ("first", "second", "third"):
        output = f"exports/{name}.ndjson"
        cli("db", "export", name, "--what", "log", "--output", output)
    Path("exports/broken.ndjson").write_text('{"equipoise_log":3,"pool"')
    imported = ["db", "import", "exports", "--each", "--create", "--database"]
    found = [
        cli.json(*imported, f"sqlite:///{name}.db", *more, status=1)
        for name, more in (("copy", []), ("sent", ["--cluster", scheduler]))
    ]
    assert [one["pool"] for one in found[0]["imported"]] == ["first", "second", "third"]
    assert without_times(found[0]) == without_times(found[1])


@pytest.mark.slow
def test_each_file_is_imported_into_a_pool_of_its_own(pools: Path, cli: Cli) -> None:
    folder = pools / "exports"
    folder.mkdir()
    heads = {one["pool"]: one["head"] for one in cli.json("db", "verify")["pools"]}
    for name in heads:
        output = str(folder / f"{name}.ndjson")
        cli("db", "export", name, "--what", "log", "--output", output)
    (folder / "broken.ndjson").write_text('{"equipoise_log":3,"pool"')
    target = ["--database", "sqlite:///copy.db"]
    done = cli.json(
        "db", "import", "exports", "--each", "--create", "--workers", "2", *target, status=1
    )
    assert {one["pool"]: one["head"] for one in done["imported"]} == heads
    assert [one["pool"] for one in done["failed"]] == ["broken"]
    (folder / "twice.csv").write_text("match,player,rank\n1,ana,1\n1,ana,2\n")
    said = cli(
        "db", "import", "exports/[bt]*", "--each", "--create", *target, status=1
    ).err.splitlines()
    at = said.index(f"pool twice failed: {folder / 'twice.csv'}")
    assert said[at + 2].endswith(
        "twice.csv, line 3, player: must appear once in a match; got 'ana'"
    )
    assert any(line.startswith("  ") and "already there" in line for line in said)
    assert cli.json("db", "verify", *target)["identical"]
    # The same command goes on where it was: what is there is not recorded again.
    again = cli.json("db", "import", "exports/[a-z]*d.ndjson", "--each", *target)
    assert [(one["pool"], one["matches"]) for one in again["imported"]] == [
        ("second", 0),
        ("third", 0),
    ]

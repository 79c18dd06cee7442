"""Rating a Parquet file in blocks gives the answers of rating it at once."""

from __future__ import annotations

import math
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawing import examples
from equipoise.analysis.rate import computation, out_of_core
from equipoise.analysis.rate.computation import RateAnswer, RateRequest, memory_for, memory_of, rate
from equipoise.analysis.rate.out_of_core import LargeTable, RepeatedIds
from equipoise.analysis.reading import HistoryRequest
from equipoise.errors import ConflictError, InvalidDataError, InvalidParameterError
from equipoise.rating.registry import make_system

#: Days of the kinds of times that a Parquet file may have; None is a file without times.
KINDS = {
    "datetime": lambda day: datetime(2024, 1, 1, tzinfo=UTC) + timedelta(days=day),
    "date": lambda day: (datetime(2024, 1, 1, tzinfo=UTC) + timedelta(days=day)).date(),
    "seconds": lambda day: 1_700_000_000 + int(day * 86_400),
    "none": None,
}
SYSTEMS = ("elo", "elo-mmr", "elo-mmx", "glicko2", "plackett-luce")


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of few rows, several parts that are divided, and several files of ids."""
    small = {"_FEWEST": 3, "_MOST": 3, "_SAMPLED": 1, "_DIVIDED": 7, "_TOGETHER": 4}
    for name, value in small.items():
        monkeypatch.setattr(out_of_core, name, value)


def rated(path: Path, system: str, memory: str | None, **options: Any) -> RateAnswer:
    """Return the answer, with the state saved beside the file."""
    save = str(path.with_name("state.npz"))
    outputs = {name: options.pop(name) for name in ("at", "conservative") if name in options}
    request = RateRequest(
        history=HistoryRequest(source=str(path), **options),
        save=save,
        memory_limit=memory,
        **outputs,
    )
    return rate(make_system(system), request)


def both(path: Path, system: str, **options: Any) -> tuple[RateAnswer, RateAnswer]:
    """Return the answers of both ways, which must be equal, with equal bytes of the states."""
    at_once = rated(path, system, None, **options)
    state = path.with_name("state.npz").read_bytes()
    blocks = rated(path, system, "1GB", **options)
    assert blocks.table.equals(at_once.table)
    assert path.with_name("state.npz").read_bytes() == state
    for name in ("rated_matches", "rated_participations", "single", "unused"):
        assert getattr(blocks.replay, name) == getattr(at_once.replay, name), name
    for name in ("problems", "dropped_matches", "dropped_rows", "unrated", "filtered"):
        here, there = getattr(blocks.reading, name), getattr(at_once.reading, name)
        same = here == there if isinstance(here, int) else set(here) == set(there)
        assert same, name
    (block,) = [note for note in blocks.reading.notes if note.startswith("rated in blocks")]
    assert block
    rest = [note for note in blocks.reading.notes if note != block]
    assert sorted(rest) == sorted(at_once.reading.notes)
    return at_once, blocks


@st.composite
def tables(draw: st.DrawFn, most: int) -> pl.DataFrame:
    """Return a long table of up to 12 matches, whose rows may be in any order if it has times."""
    kind = KINDS[draw(st.sampled_from(sorted(KINDS)))]
    text = draw(st.booleans())
    rows = []
    for match in range(draw(st.integers(1, 12))):
        players = draw(
            st.lists(st.integers(0, 8), min_size=1, max_size=most, unique=True).filter(len)
        )
        day = draw(st.integers(0, 4))
        for player in players:
            rows.append(
                {
                    "match": f"m{match:03}" if text else match * 7 % 13,
                    **({} if kind is None else {"time": kind(day)}),
                    "player": f"p{player}" if text else player,
                    "rank": draw(st.integers(0, 2)),
                    "weight": 1.0 + match % 2,
                    "role": "tank",
                }
            )
    if kind is not None:
        rows = draw(st.permutations(rows))
        # The weight of a match is on all of its rows.
    return pl.DataFrame(rows)


@pytest.mark.parametrize(
    "system", [SYSTEMS[0], *(pytest.param(name, marks=pytest.mark.slow) for name in SYSTEMS[1:])]
)
@given(data=st.data())
@examples(12)
def test_any_table_is_rated_as_at_once(system, data, tmp_path_factory):
    most = make_system(system).capabilities.max_teams or 4
    path = tmp_path_factory.mktemp("blocks") / "season.parquet"
    data.draw(tables(most)).write_parquet(path, row_group_size=4)
    try:
        both(path, system)
    finally:
        shutil.rmtree(path.parent)


def season(**changes: Any) -> pl.DataFrame:
    """Return twelve duels on twelve days, with columns replaced."""
    count = 12
    columns = {
        "match": [match for match in range(count) for _ in "ab"],
        "time": [KINDS["datetime"](match) for match in range(count) for _ in "ab"],
        "player": [name for match in range(count) for name in (f"a{match % 5}", f"b{match % 3}")],
        "rank": [1, 2] * count,
    }
    return pl.DataFrame({**columns, **changes})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "season.parquet"


@pytest.mark.parametrize(
    "options",
    [
        {"since": "2024-01-04", "until": "2024-01-09"},
        {"where": {"region": "north"}},
        {"columns": {"rank": "place"}},
        {"statistics": {"kills": 2.0}},
        {"at": "2025-01-01", "conservative": True},
    ],
    ids=str,
)
def test_options_mean_the_same(path: Path, options: dict[str, Any]) -> None:
    regions = [one for match in range(12) for one in [("north", "south")[match % 2]] * 2]
    # A column counts if any row has a value, in whichever block.
    some, none = [math.nan] * 12 + [1.0] * 12, [math.nan] * 24
    columns = {"kills": list(range(24)), "place": [2, 1] * 12}
    columns |= {"performance": some, "performance_ceiling": none}
    season(region=regions, **columns).write_parquet(path)
    both(path, "glicko2", **options)


def test_a_performance_that_only_some_blocks_have_counts(path: Path) -> None:
    """A block without any value is not one of a history without the column."""
    teams = ["x", "x", "y", "y"] * 6
    table = season().with_columns(
        pl.Series("match", [at // 4 for at in range(24)]),
        pl.Series("time", [KINDS["datetime"](at // 4) for at in range(24)]),
        pl.Series("player", [f"p{at % 8}" for at in range(24)]),
        pl.Series("team", teams),
        pl.Series("rank", [1, 1, 2, 2] * 6),
        pl.Series("performance", [None] * 12 + [float(at) for at in range(12)]),
    )
    table.write_parquet(path)
    both(path, "team-glicko2")


def test_problems_are_those_of_rating_at_once(path: Path) -> None:
    ranks: list[int | None] = [1, 2] * 12
    ranks[3], ranks[20] = None, -4
    table = season(rank=ranks)
    for some in (table, table.sample(fraction=1.0, shuffle=True, seed=3)):
        some.write_parquet(path)
        found = []
        for memory in (None, "1GB"):
            with pytest.raises(InvalidDataError) as caught:
                rated(path, "elo", memory)
            found.append(sorted(str(one) for one in caught.value.problems))
        assert found[0] == found[1]
        both(path, "elo", skip_bad="matches")


def test_a_match_with_two_times_is_found_in_distant_blocks(path: Path) -> None:
    table = season(match=[*range(12), 0, *range(1, 12)][:24]).sort("time")
    table = table.with_columns(pl.Series("match", [f"m{one}" for one in table["match"]]))
    table.write_parquet(path)
    found = []
    for memory in (None, "1GB"):
        with pytest.raises(InvalidDataError, match="time") as caught:
            rated(path, "elo", memory)
        found.append(sorted(str(one) for one in caught.value.problems))
    assert found[0] == found[1]


@pytest.mark.parametrize(
    "match",
    [[*range(12)] * 2, [0, *[1] * 3, 2, 2, 0, *range(3, 20)], [30, 0, 1, 0, *range(2, 22)]],
)
def test_scattered_rows_without_times_are_found(path: Path, match: list[int]) -> None:
    players = [f"p{at}" for at in range(24)]
    season(match=match, player=players).drop("time").write_parquet(path)
    with pytest.raises(InvalidDataError, match="adjacent"):
        rated(path, "elo-mmx", None)
    with pytest.raises(InvalidDataError, match="adjacent"):
        rated(path, "elo-mmx", "1GB")


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"time": [str(day // 2) for day in range(24)]}, "column time must hold dates"),
        ({"time": [day // 2 for day in range(24)]}, "times must be dates"),
        ({"time": [None, *[1_700_000_000] * 23]}, "1 rows have no time"),
        ({"rank": ["1", "2"] * 12}, "column rank must hold numbers"),
        ({"match": [0.5] * 24}, "column match must hold text or whole numbers"),
    ],
)
def test_what_depends_on_all_values_is_refused(path, changes, reason):
    season(**changes).write_parquet(path)
    with pytest.raises(InvalidParameterError, match=f"cannot be rated in blocks.*{reason}"):
        rated(path, "elo", "1GB")


def test_other_files_and_options_are_refused_with_the_way_out(tmp_path: Path, path: Path) -> None:
    table = tmp_path / "season.csv"
    season().write_csv(table)
    with pytest.raises(InvalidParameterError, match="equipoise convert"):
        rated(table, "elo", "1GB")
    with pytest.raises(InvalidParameterError, match="there is no file"):
        rated(tmp_path / "saeson.parquet", "elo", "1GB")
    season().write_parquet(path)
    for name in ("initial", "trace"):
        outputs: dict[str, Any] = {name: str(path.with_name("other.csv"))}
        request = RateRequest(
            history=HistoryRequest(source=str(path)), memory_limit="1GB", **outputs
        )
        with pytest.raises(InvalidParameterError, match=f"{name} needs the complete history"):
            rate(make_system("elo"), request)


def test_a_full_disk_is_noticed_before_sorting(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    season().reverse().write_parquet(path)
    usage = shutil.disk_usage(path.parent)._replace(free=100)
    monkeypatch.setattr(out_of_core.shutil, "disk_usage", lambda folder: usage)
    with pytest.raises(InvalidParameterError, match="needs about 1 MB of disk"):
        rated(path, "elo", "1GB")


def test_a_disk_that_others_fill_while_sorting_is_named(path, tmp_path, monkeypatch):
    season().reverse().write_parquet(path)
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pl.LazyFrame, "sink_ipc", full)
    with pytest.raises(InvalidParameterError, match=r"No space left on device.*set TMPDIR"):
        rated(path, "elo", "1GB")
    assert not list((tmp_path / "temporary").iterdir())


@pytest.mark.parametrize("how", ["again", "replaced", "deleted", "garbage"])
@pytest.mark.parametrize("sorted_", [True, False])
def test_a_file_that_changes_while_it_is_read_is_refused(path, how, sorted_, monkeypatch):
    """A part of the old file and a part of the new one would be rated as one history."""
    table = season() if sorted_ else season().reverse()
    table.write_parquet(path)
    scan = LargeTable._scan
    scans = 0

    def change() -> None:
        other = path.with_name("other.parquet")
        if how == "garbage":
            other.write_bytes(b"PAR1 no more")
        else:
            table.write_parquet(other)
        if how == "deleted":
            path.unlink()
        elif how == "again":
            os.utime(path, ns=(0, path.stat().st_mtime_ns + 1))
        else:
            other.replace(path)

    def scanned(table: LargeTable, at: int, rows: int) -> pl.LazyFrame:
        nonlocal scans
        scans += 1
        if scans == 4:  # the first ones find the order
            change()
        return scan(table, at, rows)

    monkeypatch.setattr(LargeTable, "_scan", scanned)
    with pytest.raises(ConflictError, match=r"season.parquet changed while it was read"):
        rated(path, "elo", "1GB")


def test_large_files_are_rated_in_blocks_without_an_option(path, monkeypatch):
    season().write_parquet(path)
    assert memory_for(str(path)) is None
    monkeypatch.setattr(computation, "available_memory", lambda: 1000)
    assert memory_for([str(path)]) == 500_000_000
    assert memory_for("season.csv") is None
    lines: list[str] = []
    request = RateRequest(history=HistoryRequest(source=str(path)))
    answer = rate(make_system("elo"), request, announce=lines.append)
    assert any("rated in blocks" in note for note in answer.reading.notes)
    assert lines == ["The file is large for the memory of this machine: it is rated in blocks."]


@pytest.mark.parametrize(("text", "size"), [("2GB", 2 * 10**9), ("1.5 GiB", 3 * 2**29)])
def test_sizes_are_read(text: str, size: int) -> None:
    assert memory_of(text) == size


@pytest.mark.parametrize("text", ["much", "2 XB", "10MB", "-1GB"])
def test_other_sizes_are_refused(text: str) -> None:
    with pytest.raises(InvalidParameterError, match="--memory-limit must be"):
        memory_of(text)


# A rating in blocks leaves nothing on the disk, however it ends.


#: The file is divided before the first match is rated, so the command is stopped while it is.
_ROWS = 4_000_000


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a file out of order, which takes seconds to sort."""
    path = tmp_path_factory.mktemp("large") / "season.parquet"
    match = np.repeat(np.arange(_ROWS // 2)[::-1], 2)
    pl.DataFrame(
        {
            "match": match,
            "time": 1_500_000_000 + match,
            "player": np.arange(_ROWS) % 1000,
            "rank": np.tile([1, 2], _ROWS // 2),
        }
    ).write_parquet(path)
    return path


#: The command, with signals as a terminal has them (who runs the tests may ignore some, as `nohup`
#: does), and with the bytes to which a file may grow.
_PROGRAM = """
import resource, signal, sys
signal.signal(signal.SIGHUP, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)
if sys.argv[1] != "any":
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), int(sys.argv[1])))
from equipoise.cli import main
main(sys.argv[2:])
"""


def started(path: Path, folder: Path, largest: str = "any") -> subprocess.Popen[str]:
    """Start a rating with its temporary files in a folder."""
    pytest.importorskip("resource", reason="Windows has other signals")
    command = [sys.executable, "-c", _PROGRAM, largest, "rate", str(path), "-s", "elo"]
    command += ["--memory-limit", "500MB", "--output", str(folder.parent / "ratings.parquet")]
    return subprocess.Popen(
        command, env={**os.environ, "TMPDIR": str(folder)}, stderr=subprocess.PIPE, text=True
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "temporary").mkdir()
    return tmp_path / "temporary"


def wait_for_a_part(process: subprocess.Popen[str], folder: Path) -> None:
    """Wait until a part of the file is on the disk."""
    until = time.monotonic() + 120
    while not list(folder.glob("*/part-*")):
        assert process.poll() is None, process.stderr and process.stderr.read()
        assert time.monotonic() < until
        time.sleep(0.01)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_removes_the_parts(large: Path, folder: Path, number: signal.Signals) -> None:
    process = started(large, folder)
    wait_for_a_part(process, folder)
    process.send_signal(number)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 128 + number
    assert said.endswith("stopped\n")
    assert not list(folder.iterdir())
    assert not list(folder.parent.glob("ratings*"))


# By night: after a failed write, Polars 2.1 sometimes waits for ever (2 of 8 times here).
@pytest.mark.slow
@pytest.mark.nightly
def test_a_file_that_may_not_grow_is_named(large: Path, folder: Path) -> None:
    """As on a full disk: one sentence, and nothing is left."""
    process = started(large, folder, largest="100000")
    _, said = process.communicate(timeout=120)
    assert process.returncode == 2, said
    assert "cannot be sorted by time in" in said
    assert "set TMPDIR to a folder with more room" in said
    assert "Traceback" not in said
    assert not list(folder.iterdir())
    assert not list(folder.parent.glob("ratings*"))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a device that is full")
def test_a_full_disk_is_named_where_ids_are_kept(tmp_path: Path) -> None:
    folder = tmp_path / "own"
    folder.mkdir()
    (folder / "ids-0").symlink_to("/dev/full")
    with pytest.raises(InvalidParameterError) as caught:
        RepeatedIds(folder, 10).add(np.arange(3))
    assert str(caught.value) == (
        f"the ids of matches cannot be kept in {tmp_path}: No space left on device (set TMPDIR to "
        "a folder with more room)"
    )

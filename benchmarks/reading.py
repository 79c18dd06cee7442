"""How long does a history take to read, by format, and a command that reads it?

Run: python benchmarks/reading.py [--pairs 7] [--only HISTORY] [--formats FORMAT ...]

With --only or --formats the other figures stay as they were measured before, so that a machine that
is needed otherwise can measure in pieces.

The history is Codeforces: 2,993,221 participations, once as whole numbers with times in seconds,
and once with handles as names and times in ISO 8601 (in Parquet and Arrow: of a type for times).
The third is made from it: as many rows in matches of two, each with a time of its own in ISO 8601,
as lists of games and battles have them.

Each figure is of a new process with kernels on disk. Reading is the time of `read_history` alone,
libraries imported; a command is the whole process of `equipoise rate --system elo`, which rates in
less time than the other systems and so leaves the most to reading. A format is measured right after
Parquet, as often as there are pairs, and ratios are those of the two: other work on the machine
slows both. "CPU" is processor time, which it changes least. The first run of each is not counted.
Memory is the largest of a process.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from report import DATA, RESULTS, Part, keep_numbers, needs, report_parts

HISTORIES = {
    "numbers": "whole numbers, seconds",
    "names": "names, ISO 8601",
    "duels": "duels of names, ISO 8601",
}
FORMATS = ("csv", "csv.gz", "tsv", "jsonl", "arrow")
READ = """
import sys, time
import polars, equipoise
from equipoise.formats import read_history
start, worked = time.perf_counter(), time.process_time()
read_history(sys.argv[1])
print(time.perf_counter() - start, time.process_time() - worked)
"""


class Once(NamedTuple):
    """Seconds of reading alone and of the command, and the command's memory in GB."""

    reading: float
    reading_cpu: float
    command: float
    command_cpu: float
    memory: float


def histories() -> dict[str, pl.DataFrame]:
    """Return the tables to be written; times of type Datetime become ISO 8601 in text formats."""
    numbers = pl.read_parquet(needs(DATA / "codeforces.parquet"))
    handles = pl.read_parquet(needs(DATA / "codeforces_players.parquet"))
    stamp = pl.from_epoch("time", "s").dt.replace_time_zone("UTC")
    names = numbers.join(handles, on="player", maintain_order="left").select(
        "match", stamp, player="handle", rank="rank"
    )
    # Neighbours in a contest meet; a repeated player would be refused.
    pairs = len(names) // 2
    rng = np.random.default_rng(0)
    moments = np.sort(rng.integers(1_266_588_000, 1_595_608_500, pairs)).repeat(2)
    players = names["player"].head(2 * pairs)
    met = players.gather_every(2) == players.gather_every(2, 1)
    duels = pl.DataFrame(
        {
            "match": np.arange(pairs).repeat(2),
            "time": moments,
            "player": players,
            "rank": np.tile([0, 1], pairs),
        }
    ).select("match", stamp, "player", "rank")
    return {
        "numbers": numbers,
        "names": names,
        "duels": duels.filter(~pl.Series(np.repeat(met.to_numpy(), 2))),
    }


def write(frame: pl.DataFrame, path: Path) -> None:
    """Write a table in the format of a name."""
    kind = path.name.partition(".")[2]
    if kind in ("parquet", "arrow"):
        (frame.write_parquet if kind == "parquet" else frame.write_ipc)(path)
        return
    if frame.schema["time"] == pl.Datetime:
        frame = frame.with_columns(pl.col("time").dt.strftime("%Y-%m-%dT%H:%M:%SZ"))
    if kind == "jsonl":
        frame.write_ndjson(path)
    elif kind == "csv.gz":
        path.write_bytes(gzip.compress(frame.write_csv().encode(), compresslevel=6))
    else:
        frame.write_csv(path, separator="\t" if kind == "tsv" else ",")


def once(path: Path) -> Once:
    """Measure reading and the command."""
    done = subprocess.run(
        [sys.executable, "-c", READ, str(path)], capture_output=True, check=True, text=True
    )
    reading, reading_cpu = (float(one) for one in done.stdout.split())
    output = str(path.with_name("ratings.parquet"))
    command = ["-m", "equipoise", "rate", str(path), "--system", "elo", "--output", output]
    start = time.perf_counter()
    process = os.posix_spawn(
        sys.executable,
        [sys.executable, *command],
        os.environ,
        file_actions=[(os.POSIX_SPAWN_OPEN, one, os.devnull, os.O_WRONLY, 0) for one in (1, 2)],
    )
    _, status, usage = os.wait4(process, 0)
    seconds = time.perf_counter() - start
    if status:
        raise SystemExit(f"equipoise rate {path.name} ended with status {status}")
    worked = usage.ru_utime + usage.ru_stime
    return Once(reading, reading_cpu, seconds, worked, usage.ru_maxrss * 1024 / 1e9)


def spread(values: list[float]) -> str:
    """Return the median of values, and the lowest and highest."""
    return f"{median(values):.2f} ({min(values):.2f} to {max(values):.2f})"


def measure(
    frame: pl.DataFrame, folder: Path, kind: str, pairs: int
) -> tuple[list[Once], list[Once], float]:
    """Return what Parquet and what a format took in each pair, and the size of its file in MB."""
    base, path = folder / "history.parquet", folder / f"history.{kind}"
    write(frame, base)
    write(frame, path)
    once(base)
    once(path)
    found = [(once(base), once(path)) for _ in range(pairs)]
    size = path.stat().st_size / 1e6
    path.unlink()
    return [base for base, _ in found], [one for _, one in found], size


def line(kind: str, size: float, found: list[Once], bases: list[Once]) -> tuple[str, ...]:
    """Return a line of the table; bases : what Parquet took each time."""

    def times(field: str) -> str:
        pairs = zip(found, bases, strict=True)
        return spread([getattr(one, field) / getattr(base, field) for one, base in pairs])

    return (
        kind,
        f"{size:.0f}",
        spread([one.reading for one in found]),
        spread([one.reading_cpu for one in found]),
        spread([one.command for one in found]),
        *(("1", "1") if found is bases else (times("command"), times("command_cpu"))),
        f"{max(one.memory for one in found):.2f}",
    )


def table(name: str, measured: dict[str, Any]) -> Part:
    """Return the table of a history from what is kept of it."""
    columns = (
        *("format", "MB", "reading, s", "reading, CPU s", "command, s", "times Parquet"),
        *("times Parquet, CPU", "peak GB", "pairs", "load"),
    )
    rows = []
    all_bases: list[Once] = []
    for kind in FORMATS:
        if kind in measured:
            one = measured[kind]
            bases, found = ([Once(*run) for run in one[key]] for key in ("parquet", "runs"))
            all_bases += bases
            after = (f"{len(found)}", f"{one['load']:.0f}")
            rows.append((*line(kind, one["size"], found, bases), *after))
    first = line("parquet", measured["size"], all_bases, all_bases)
    return Part(f"{name}: {measured['rows']:,} rows", columns, [(*first, "", ""), *rows])


def main() -> None:
    """Measure and report."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--only", choices=tuple(HISTORIES))
    parser.add_argument("--formats", nargs="+", choices=FORMATS, default=FORMATS)
    options = parser.parse_args()
    whole = options.only is None and tuple(options.formats) == FORMATS
    kept = RESULTS / "reading.json"
    measured = {} if whole or not kept.exists() else json.loads(kept.read_text())
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for history, frame in histories().items():
            if options.only not in (None, history):
                continue
            of_title = measured.setdefault(HISTORIES[history], {"rows": len(frame)})
            for kind in options.formats:
                bases, runs, size = measure(frame, folder, kind, options.pairs)
                load = os.getloadavg()[0]
                of_title[kind] = {"parquet": bases, "runs": runs, "size": size, "load": load}
            of_title["size"] = (folder / "history.parquet").stat().st_size / 1e6
    keep_numbers("reading", measured)
    note = (
        "Medians of the pairs (lowest to highest). The load is that of the machine after the last "
        "pair; with more than it has cores, ratios say more than seconds."
    )
    parts = [table(title, one) for title, one in measured.items()]
    report_parts("reading", f"{(__doc__ or '').strip()}\n\n{note}", parts)


if __name__ == "__main__":
    main()

"""How long do void, verify and import take where logs are long?

Import and verify: a log of duels (glicko2; a fifteenth as many players as participations), imported
into an empty SQLite database and then verified, by an earlier commit and by this one, in turn on
the same file; `--earlier` names the source folder of that commit. Void: in a copy of a filled
database (`--pools`), a match at 90 % and one at 1 % of the log; the time is that of the replay
until its ratings are in place, and of deleting the rows that the void before has replaced.

Seconds are those of the clock, and in parentheses those of the processor, each with the start of
the process. On a machine that others use, only the latter can be compared. Memory is the largest
resident size of the process.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from report import ROOT, report

#: Seconds since 1970 of the first match, and between two.
_FIRST, _STEP = 1_600_000_000, 30
_COLUMNS = ("what", "wanted", "earlier commit, s", "now, s", "now / earlier", "memory now, MB")


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds of the clock and of the processor, and megabytes of memory at most."""

    clock: float
    processor: float
    memory: float

    def __str__(self) -> str:
        return f"{self.clock:.1f} ({self.processor:.1f})"


def write_log(path: Path, matches: int, players: int) -> None:
    """Write the log of a pool of duels between players drawn at random."""
    rng = random.Random(1)
    head = {"equipoise_log": 1, "pool": "duels", "settings": {"system": "glicko2"}}
    with path.open("w") as file:
        text = json.dumps({**head, "entries": matches}, separators=(",", ":"))
        file.write(text + "\n")
        for number in range(matches):
            first, second = rng.sample(range(players), 2)
            since = _FIRST + _STEP * number
            stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(since + 5))
            file.write(
                f'{{"seq":{number + 1},"kind":"match","received":"{stamp}.{number % 10**6:06}Z",'
                f'"content":{{"match":"m{number}","teams":[{{"players":["p{first}"],"rank":0}},'
                f'{{"players":["p{second}"],"rank":1}}]}},"match":"m{number}","time":{since}}}\n'
            )


def run(source: Path, *arguments: str) -> Cost:
    """Return what a command of the package in a source folder costs."""
    began = time.perf_counter()
    environment = {**os.environ, "PYTHONPATH": str(source)}
    process = subprocess.Popen(
        [sys.executable, "-m", "equipoise", *arguments], env=environment, stdout=sys.stderr
    )
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"equipoise {' '.join(arguments)}: status {status}")
    processor = usage.ru_utime + usage.ru_stime
    return Cost(time.perf_counter() - began, processor, usage.ru_maxrss / 1024)


def import_and_verify(earlier: Path | None, matches: int, folder: Path) -> list[tuple[str, ...]]:
    """Return the rows of import and verify."""
    log = folder / "duels.ndjson"
    write_log(log, matches, max(2 * matches // 15, 2))
    sources = {"earlier": earlier, "now": ROOT / "src"}
    found: dict[tuple[str, str], Cost] = {}
    for name, source in sources.items():
        if source is None:
            continue
        database = f"sqlite:///{folder}/{name}.db"
        kept = ("--database", database)
        found["import", name] = run(
            source, "import", str(log), "--pool", "duels", "--create", *kept
        )
        found["verify", name] = run(source, "verify", "duels", *kept)
    rows: list[tuple[str, ...]] = []
    for what, wanted in (("import", "0.33"), ("verify", "0.20")):
        now, before = found[what, "now"], found.get((what, "earlier"))
        ratio = "" if before is None else _ratio(now, before)
        shown = "" if before is None else str(before)
        title = f"{what} of {2 * matches:,} participations"
        rows.append((title, wanted, shown, str(now), ratio, f"{now.memory:.0f}"))
    return rows


def _ratio(cost: Cost, other: Cost) -> str:
    return f"{cost.clock / other.clock:.2f} ({cost.processor / other.processor:.2f})"


def voids(database: Path, pool: str, folder: Path) -> list[tuple[str, ...]]:
    """Return the rows of voids in a copy of a database."""
    from equipoise.messages.matches import ReasonRequest
    from equipoise.pools.amending import void_match
    from equipoise.pools.replay.replaying import replay_pool
    from equipoise.store import log
    from equipoise.store.connection import open_store
    from equipoise.store.pools import get_pool
    from equipoise.store.schema import now

    shutil.copy(database, folder / "void.db")
    store = open_store(f"sqlite:///{folder}/void.db")
    costs: dict[float, Cost] = {}
    # The first one compiles.
    # The first one, near the end, compiles.
    for share in (0.999, 0.9, 0.01):
        with store.read() as connection:
            record = get_pool(connection, pool)
            match = log.record_at(connection, record.id, int(share * record.last_seq))
        if match is None or match.match is None:
            raise SystemExit("the record is no match")
        void_match(store, pool, match.match, ReasonRequest("benchmark"), key=None, now=now())
        clock, processor = time.perf_counter(), time.process_time()
        if not replay_pool(store, pool, owner="benchmark"):
            raise SystemExit("nothing was replayed")
        costs[share] = Cost(time.perf_counter() - clock, time.process_time() - processor, 0.0)
    store.close()
    size = f"{record.matches:,} matches, {record.players:,} players"
    late, early = costs[0.9], costs[0.01]
    return [
        (f"void at 1 % ({size})", "", "", str(early), "", ""),
        ("void at 90 %, and its ratio to that", "0.20", "", str(late), _ratio(late, early), ""),
    ]


def main() -> None:
    """Measure and report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--matches", type=int, default=1_500_000, help="of the imported log")
    parser.add_argument("--earlier", type=Path, help="folder src of the earlier commit")
    parser.add_argument("--pools", type=Path, help="a filled SQLite database")
    parser.add_argument("--pool", default="large", help="pool in it whose matches are voided")
    parser.add_argument("--folder", type=Path, help="for databases, on a disk with some gigabytes")
    options = parser.parse_args()
    busy = f"Load average before it began: {os.getloadavg()[0]:.1f}."
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        rows = import_and_verify(options.earlier, options.matches, folder)
        if options.pools is not None:
            rows += voids(options.pools, options.pool, folder)
    report("large_logs", f"{(__doc__ or '').strip()} {busy}", _COLUMNS, rows)


if __name__ == "__main__":
    main()

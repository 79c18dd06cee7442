"""How much memory does a worker of `tune` have for itself, and with how many is it shared?

The same search, of six values of one parameter of elo, on the same history of duels, with two
workers: this version, and other versions whose `src` folders are arguments. USS is the memory that
a process shares with no other: what one more worker takes. It is sampled every 20 ms; the table has
the largest, and the median of the later half of the samples, of the worker that has more. With 40
participations it is what imports take. Each version is compared with the first of the arguments.

The second table has the largest memory (RSS) of the main process of this version: after a Parquet
file of such duels was read whole, after the history was written for workers, and after it was sent
to two workers of a Dask scheduler.

    python benchmarks/worker_memory.py LABEL=SRC ...
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

from report import ROOT, Part, report_parts

MATCHES = (20, 500_000, 1_500_000)


def measured(matches: int) -> dict[str, float]:
    """Return the memory of workers, in MB, and a number that must be the same in all versions."""
    import numpy as np
    import psutil

    import equipoise as eq
    from equipoise.data.history import History

    rng = np.random.default_rng(1)
    players = max(4, matches // 100)
    one = rng.integers(0, players, matches)
    other = (one + rng.integers(1, players, matches)) % players
    rank = np.zeros(2 * matches, np.int64)
    rank[1::2] = 1
    history = History(
        match_ids=np.arange(matches),
        player_ids=np.arange(players),
        offsets=np.arange(0, 2 * matches + 1, 2),
        player=np.column_stack([one, other]).ravel(),
        team=np.tile(np.array([0, 1]), matches),
        rank=rank,
        time=np.arange(matches) * 60_000_000,
    )
    samples: dict[int, list[float]] = {}
    shared: dict[int, float] = {}
    ended = threading.Event()

    def sample() -> None:
        this = psutil.Process()
        while not ended.wait(0.02):
            for child in this.children(recursive=True):
                with suppress(psutil.Error):  # it ends just now
                    found = child.memory_full_info()
                    if "resource_tracker" not in " ".join(child.cmdline()):
                        samples.setdefault(child.pid, []).append(found.uss / 1e6)
                        mapped = (found.rss - found.uss) / 1e6
                        shared[child.pid] = max(shared.get(child.pid, 0.0), mapped)

    sampler = threading.Thread(target=sample)
    sampler.start()
    grid = {"k": (8.0, 16.0, 24.0, 32.0, 48.0, 64.0)}
    begin = time.perf_counter()
    found = eq.tune(eq.Elo(), history, grid, workers=2, min_history=0)
    seconds = time.perf_counter() - begin
    ended.set()
    sampler.join()
    return {
        "largest": max(max(one) for one in samples.values()),
        "median": max(statistics.median(one[len(one) // 2 :]) for one in samples.values()),
        "shared": max(shared.values()),
        "seconds": seconds,
        "best": found.best.metrics["pair_inversion"],
    }


def write_duels(path: str, matches: int) -> None:
    """Write duels as a Parquet file."""
    import numpy as np
    import polars as pl

    rng = np.random.default_rng(1)
    players = max(4, matches // 100)
    one = rng.integers(0, players, matches)
    other = (one + rng.integers(1, players, matches)) % players
    rows = {
        "match": np.repeat(np.arange(matches), 2),
        "time": np.repeat(1_600_000_000 + 60 * np.arange(matches), 2),
        "player": np.column_stack([one, other]).ravel(),
        "rank": np.tile(np.array([1, 2]), matches),
    }
    pl.DataFrame(rows).write_parquet(path)


def largest_memory() -> float:
    """Return the largest memory that this process has had, in MB."""
    status = Path("/proc/self/status").read_text()
    return float(status.partition("VmHWM:")[2].split()[0]) * 1024 / 1e6


def of_main_process(path: str) -> dict[str, float]:
    """Return the largest memory of this process after each step, in MB."""
    from cluster import dask

    import equipoise as eq
    from equipoise.evaluate.scoring.scored import Scored
    from equipoise.evaluate.tuning import Objective
    from equipoise.parallel.deliveries import Delivery
    from equipoise.parallel.shared import share

    with dask() as executor:
        found = {"start": largest_memory()}
        history = eq.read_history(path)
        found["read"] = largest_memory()
        objective = Objective(
            system=eq.Elo(),
            scored=Scored.of(history, min_history=0, first=0),
            metric="pair_inversion",
        )
        with share(objective) as shared:
            found["shared"] = largest_memory()
            client = executor._client  # type: ignore[attr-defined]
            client.register_plugin(Delivery(shared.files()), name="history")
            found["sent"] = largest_memory()
            client.unregister_worker_plugin("history")
    return found


def main_table() -> list[list[str]]:
    """Return a row for each number of participations, and one of the bytes for another one."""
    names = ("start", "read", "shared", "sent")
    rows, known = [], []
    for matches in MATCHES[1:]:
        with tempfile.TemporaryDirectory() as folder:
            path = str(Path(folder, "duels.parquet"))
            for words in (["--write", path, str(matches)], ["--main", path]):
                output = run(words, str(ROOT / "src"))
        known.append(json.loads(output))
        rows.append([f"{2 * matches:,}", *(f"{known[-1][name]:.0f}" for name in names)])
    more = 2 * (MATCHES[2] - MATCHES[1]) / 1e6
    each = [f"{(known[1][name] - known[0][name]) / more:.0f}" for name in names]
    rows.append(["bytes for another one", *each])
    return rows


def versions(given: Sequence[str]) -> dict[str, str]:
    """Return the folders of sources by label."""
    found = {"this version": str(ROOT / "src")}
    return found | dict(one.split("=", 1) for one in given)


def run_of(source: str, matches: int) -> Mapping[str, float]:
    """Measure one version in a process of its own."""
    found: dict[str, float] = json.loads(run(["--measure", str(matches)], source))
    return found


def run(words: Sequence[str], source: str) -> str:
    """Run this program in a process of its own, and return its last line."""
    environment = {**os.environ, "PYTHONPATH": source}
    command = [sys.executable, __file__, *words]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return (done.stdout.splitlines() or [""])[-1]


def main() -> None:
    """Measure every version, and write the table."""
    if sys.argv[1:2] == ["--measure"]:
        print(json.dumps(measured(int(sys.argv[2]))))
        return
    if sys.argv[1:2] == ["--write"]:
        write_duels(sys.argv[2], int(sys.argv[3]))
        return
    if sys.argv[1:2] == ["--main"]:
        print(json.dumps(of_main_process(sys.argv[2])))
        return
    rows = []
    for matches in MATCHES:
        base = None
        for label, source in sorted(
            versions(sys.argv[1:]).items(), key=lambda one: one[0] == "this version"
        ):
            found = run_of(source, matches)
            base = found["median"] if base is None else base
            rows.append(
                [
                    f"{2 * matches:,}",
                    label,
                    *(f"{found[name]:.0f}" for name in ("largest", "median", "shared")),
                    f"{found['median'] / base:.2f}",
                    f"{found['best']:.6f}",
                ]
            )
            print(*rows[-1])
    columns = ["participations", "version", "largest USS, MB", "median USS, MB", "shared, MB"]
    parts = [Part("", [*columns, "ratio", "best"], rows)]
    if find_spec("distributed") is not None:
        columns = ["participations", "at the start, MB", "read, MB", "shared, MB", "sent, MB"]
        parts.append(Part("The main process", columns, main_table()))
    report_parts(Path(__file__).stem, (__doc__ or "").strip(), parts)


if __name__ == "__main__":
    main()

"""How much memory does a worker of `tune` have for itself, and how much does the main process need?

The same search, of six values of one parameter of elo, on the same history of duels, with two
workers: this version, and other versions whose `src` folders are arguments. USS is the memory that
a process shares with no other: what one more worker takes. It is sampled every 20 ms; the table has
the largest, and the median of the later half of the samples, of the worker that has more, and the
largest memory (RSS) of the main process. With 40 participations it is what imports take. Each
version is compared with the first of the arguments.

    python benchmarks/worker_memory.py LABEL=SRC ...
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from report import ROOT, Part, report_parts

MATCHES = (20, 500_000)


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
    ended = threading.Event()

    def sample() -> None:
        this = psutil.Process()
        while not ended.wait(0.02):
            for child in this.children(recursive=True):
                with suppress(psutil.Error):  # it ends just now
                    found = child.memory_full_info()
                    if "resource_tracker" not in " ".join(child.cmdline()):
                        samples.setdefault(child.pid, []).append(found.uss / 1e6)

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
        "main": largest_memory(),
        "seconds": seconds,
        "best": found.best.metrics["pair_inversion"],
    }


def largest_memory() -> float:
    """Return the largest memory that this process has had, in MB."""
    status = Path("/proc/self/status").read_text()
    return float(status.partition("VmHWM:")[2].split()[0]) * 1024 / 1e6


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
                    *(f"{found[name]:.0f}" for name in ("largest", "median", "main")),
                    f"{found['median'] / base:.2f}",
                    f"{found['best']:.6f}",
                ]
            )
            print(*rows[-1])
    columns = ["participations", "version", "largest USS, MB", "median USS, MB", "main, MB"]
    parts = [Part("", [*columns, "ratio", "best"], rows)]
    report_parts(Path(__file__).stem, (__doc__ or "").strip(), parts)


if __name__ == "__main__":
    main()

"""How much memory does rating a file take that is larger than the memory?

Duels of players drawn at random, a hundred participations a player, with ids, times and players as
numbers: once in order of time, once shuffled. `equipoise rate FILE --memory-limit 2GB` rates each
file in a process of its own; the peak is the largest resident memory of that process. Compiled
kernels are there before. Wall times are those of a machine that does other work too; processor
times are not affected much. Both files must give the same ratings.

    python benchmarks/larger_than_memory.py [participations] [folder] [system ...]
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow.parquet as pq

from report import Part, report_parts

#: Matches of a piece that is drawn and written at once.
_PIECE = 500_000
_MEMORY = "2GB"


def write_duels(path: Path, participations: int, *, shuffled: bool) -> None:
    """Write a history of duels to a Parquet file, piece by piece."""
    matches, players = participations // 2, max(2, participations // 100)
    strength = np.random.default_rng(7).normal(0.0, 200.0, players)
    order = np.arange(-(-matches // _PIECE))
    if shuffled:
        order = np.random.default_rng(8).permutation(order)
    writer = None
    for piece in order.tolist():
        rng = np.random.default_rng([7, piece])
        ids = np.arange(piece * _PIECE, min(matches, (piece + 1) * _PIECE))
        one = rng.integers(0, players, len(ids))
        two = (one + 1 + rng.integers(0, players - 1, len(ids))) % players
        expected = 1.0 / (1.0 + 10.0 ** ((strength[two] - strength[one]) / 400.0))
        first = np.where(rng.random(len(ids)) < expected, 1, 2)
        times = np.datetime64("2004-01-01", "us") + (ids * 12_000_000).astype("timedelta64[us]")
        frame = pl.DataFrame(
            {
                "match": np.repeat(ids, 2),
                "time": np.repeat(times, 2),
                "player": np.stack([one, two], 1).ravel(),
                "rank": np.stack([first, 3 - first], 1).ravel().astype(np.int8),
            }
        )
        if shuffled:
            frame = frame.sample(fraction=1.0, shuffle=True, seed=piece)
        table = frame.to_arrow()
        writer = writer or pq.ParquetWriter(path, table.schema, compression="zstd")
        writer.write_table(table, row_group_size=250_000)
    if writer is not None:
        writer.close()


def rate(path: Path, system: str, output: Path) -> tuple[float, float, float]:
    """Rate a file. Return (peak in MB, processor seconds, wall seconds)."""
    command = [sys.executable, "-m", "equipoise", "rate", str(path), "--system", system]
    command += ["--memory-limit", _MEMORY, "--output", str(output)]
    started = time.perf_counter()
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(
            f"{' '.join(command)} failed with status {os.waitstatus_to_exitcode(status)}"
        )
    return usage.ru_maxrss / 1000.0, usage.ru_utime + usage.ru_stime, time.perf_counter() - started


def main() -> None:
    """Measure and report."""
    participations = int(float(sys.argv[1])) if len(sys.argv) > 1 else 4_000_000
    systems = sys.argv[3:] or ["elo", "elo-mmx"]
    rows = []
    with tempfile.TemporaryDirectory(dir=sys.argv[2] if len(sys.argv) > 2 else None) as folder:
        outputs: dict[str, set[str]] = {}
        for shuffled in (False, True):
            path = Path(folder) / "duels.parquet"
            write_duels(path, participations, shuffled=shuffled)
            for system in systems:
                output = Path(folder) / "ratings.parquet"
                peak, processor, wall = rate(path, system, output)
                outputs.setdefault(system, set()).add(
                    hashlib.sha256(output.read_bytes()).hexdigest()
                )
                rows.append(
                    (
                        system,
                        f"{participations:,}",
                        "shuffled" if shuffled else "by time",
                        f"{peak:,.0f}",
                        f"{processor:.0f}",
                        f"{wall:.0f}",
                        f"{path.stat().st_size / 1e6:,.0f}",
                    )
                )
                print(*rows[-1], flush=True)
    for system, found in outputs.items():
        if len(found) > 1:
            raise SystemExit(f"{system}: the shuffled file gave other ratings")
    columns = (
        "system",
        "participations",
        "rows",
        "peak, MB",
        "processor, s",
        "wall, s",
        "file, MB",
    )
    report_parts("larger_than_memory", (__doc__ or "").strip(), [Part("", columns, rows)])


if __name__ == "__main__":
    main()

"""How long does it take to rate a thousand pools in one command, against a command for each?

Pools of 1,000 duels (2,000 participations) of 200 players each, 1,000 of them unless an argument
says otherwise, in folders
`mode=M/region=R/part-0.parquet`, rated by elo: `equipoise rate --by mode,region` with one and with
two workers; and a loop of `equipoise rate`, of which the first pools are measured and the sum is
extrapolated.
Processor time, which other work on the machine changes little, and wall time. Kernels were compiled
before. The files of the loop are compared byte by byte with those of the one command.

    python benchmarks/partitioned.py [POOLS [LOOPED]]
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

from report import report

MODES, REGIONS = 20, 50
MATCHES, PLAYERS = 1_000, 200
#: Pools of the loop that are measured.
LOOPED = 15


class Spent(NamedTuple):
    """Processor time and wall time, in seconds."""

    processor: float
    wall: float


def write_pool(path: Path, seed: int) -> None:
    """Write the duels of one pool."""
    rng = np.random.default_rng(seed)
    one = rng.integers(0, PLAYERS, MATCHES)
    other = (one + rng.integers(1, PLAYERS, MATCHES)) % PLAYERS
    path.parent.mkdir(parents=True)
    pl.DataFrame(
        {
            "match": np.repeat(np.arange(MATCHES), 2),
            "player": np.column_stack([one, other]).ravel(),
            "rank": np.tile([1, 2], MATCHES),
        }
    ).write_parquet(path)


def spent(*arguments: str) -> Spent:
    """Run a command and return what it took."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begin = time.perf_counter()
    command = [sys.executable, "-c", "from equipoise.cli import main; main()", *arguments]
    subprocess.run(command, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Spent(processor, time.perf_counter() - begin)


def main() -> None:
    """Measure, and write the table."""
    pools, looped = (*map(int, sys.argv[1:3]), *(MODES * REGIONS, LOOPED)[len(sys.argv) - 1 :])
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        paths = [
            Path(f"mode=m{mode}", f"region=r{region}")
            for mode in range(MODES)
            for region in range(REGIONS)
        ][:pools]
        for seed, path in enumerate(paths):
            write_pool(root / "data" / path / "part-0.parquet", seed)
        by = ("rate", str(root / "data"), "--by", "mode,region", "-s", "elo", "--output")
        alone = str(root / "alone.csv")

        def rate_alone(path: Path) -> Spent:
            file = str(root / "data" / path / "part-0.parquet")
            return spent("rate", file, "-s", "elo", "--output", alone)

        rate_alone(paths[0])  # compiles
        one = spent(*by, str(root / "one" / "ratings.csv"))
        two = spent(*by, str(root / "two" / "ratings.csv"), "--workers", "2")
        loop = []
        for path in paths[:looped]:
            loop.append(rate_alone(path))
            for made in ("one", "two"):
                same = Path(alone).read_bytes() == (root / made / path / "ratings.csv").read_bytes()
                assert same, path
        for path in paths:
            first = (root / "one" / path / "ratings.csv").read_bytes()
            assert first == (root / "two" / path / "ratings.csv").read_bytes(), path
    whole = Spent(*(sum(one) * pools / looped for one in zip(*loop, strict=True)))
    rows = [
        [
            what,
            f"{found.processor:.1f}",
            f"{found.wall:.1f}",
            f"{whole.processor / found.processor:.0f}",
        ]
        for what, found in (
            (f"a command for each pool ({looped} measured, {pools:,} extrapolated)", whole),
            ("--by, 1 worker", one),
            ("--by, 2 workers", two),
        )
    ]
    report(
        Path(__file__).stem,
        (__doc__ or "").strip(),
        [f"{pools:,} pools", "processor, s", "wall, s", "times less processor time"],
        rows,
    )


if __name__ == "__main__":
    main()

"""How long does the command line take, file to file, in a new process with cached kernels?

Wall time and peak memory of `equipoise rate`: the whole Codeforces history to Parquet, and the
bundled sample of 2,189 participations; median of five after one run that fills the cache.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from report import DATA, ROOT, needs, report

SETTINGS = {
    "elo-mmr": ("weight_limit=0.23", "sigma_limit=54", "rho=0.04"),
    "elo-mmx": ("weight_limit=0.16", "sigma_limit=74"),
}


def run(arguments: list[str]) -> tuple[float, float]:
    """Return (wall seconds, peak memory in GB) of one run of the command."""
    start = time.perf_counter()
    quiet = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_WRONLY, 0) for number in (1, 2)]
    process = os.posix_spawn(
        sys.executable,
        [sys.executable, "-m", "equipoise", *arguments],
        os.environ,
        file_actions=quiet,
    )
    _, status, usage = os.wait4(process, 0)
    if status:
        raise SystemExit(f"equipoise {' '.join(arguments)} ended with status {status}")
    return time.perf_counter() - start, usage.ru_maxrss * 1024 / 1e9


def measured(what: str, arguments: list[str]) -> tuple[str, ...]:
    """Return a line of the table."""
    run(arguments)
    runs = [run(arguments) for _ in range(5)]
    walls = sorted(wall for wall, _ in runs)
    memory = max(peak for _, peak in runs)
    return what, f"{median(walls):.2f}", f"{walls[0]:.2f} to {walls[-1]:.2f}", f"{memory:.2f}"


def whole_history(system: str, history: str, output: str) -> tuple[str, ...]:
    """Return the line of one system over the whole Codeforces history."""
    options = [word for setting in SETTINGS[system] for word in ("--set", setting)]
    return measured(
        f"{system}, codeforces.parquet, 2,993,221 participations",
        ["rate", history, "--system", system, *options, "--output", output],
    )


def first_run(folder: str) -> str:
    """Return how many kernels the first run on a machine compiles, and how long it takes."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": folder}
    sample = str(ROOT / "examples" / "contests.csv")
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "equipoise", "rate", sample, "--json"],
        env=environment,
        capture_output=True,
        check=True,
    )
    seconds = time.perf_counter() - start
    kernels = json.loads(done.stdout)["summary"]["kernels_compiled"]
    return f"The first run on a machine compiles {kernels} kernels and takes {seconds:.1f} s."


def main() -> None:
    """Measure and report."""
    history = needs(DATA / "codeforces.parquet")
    with tempfile.TemporaryDirectory() as folder:
        first = first_run(str(Path(folder) / "cache"))
        output = str(Path(folder) / "ratings.parquet")
        rows = [
            *(whole_history(system, str(history), output) for system in SETTINGS),
            measured(
                "elo-mmr, the bundled sample, 2,189 participations",
                ["rate", str(ROOT / "examples" / "contests.csv"), "--output", output],
            ),
        ]
    columns = ("equipoise rate", "wall s, median", "range", "peak GB")
    report("command", f"{(__doc__ or '').strip()} {first}", columns, rows)


if __name__ == "__main__":
    main()

"""How long does the first rating on a machine take, with nothing compiled yet?

From the start of `equipoise rate` on the bundled sample until it has ended, for every system, each
with an empty cache of compiled kernels: processor time, which other work on the machine changes
little, and wall time. Arguments are the `equipoise` commands of other versions, to compare with.
"""

from __future__ import annotations

import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from report import ROOT, report

CONTESTS, LEAGUE = ROOT / "examples" / "contests.csv", ROOT / "examples" / "league.csv"

#: Systems and what they rate; all but two rate contests.
SYSTEMS = {
    "elo-mmr": CONTESTS,
    "elo-mmx": CONTESTS,
    "codeforces": CONTESTS,
    "topcoder": CONTESTS,
    "trueskill": CONTESTS,
    "trueskill-spb": CONTESTS,
    "plackett-luce": CONTESTS,
    "bradley-terry": CONTESTS,
    "elo": CONTESTS,
    "glicko": CONTESTS,
    "glicko2": LEAGUE,
    "lichess": LEAGUE,
    "team-glicko2": LEAGUE,
}


class Start(NamedTuple):
    """A first run: processor and wall seconds, kernels compiled."""

    processor: float
    wall: float
    kernels: int


def first_run(command: str, system: str, history: Path) -> Start:
    """Return what the first run of a system takes."""
    with tempfile.TemporaryDirectory() as folder:
        before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        done = subprocess.run(
            [command, "rate", str(history), "--system", system, "--output", f"{folder}/out.csv"],
            env={**os.environ, "NUMBA_CACHE_DIR": folder},
            capture_output=True,
            text=True,
            check=True,
        )
        wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    compiled = re.search(r"Compiled (\d+) kernel", done.stderr + done.stdout)
    return Start(processor, wall, int(compiled[1]) if compiled else 0)


def main() -> None:
    """Measure and report."""
    commands = [str(Path(sys.executable).with_name("equipoise")), *sys.argv[1:]]
    rows = []
    for system, history in SYSTEMS.items():
        runs = [first_run(command, system, history) for command in commands]
        rows.append(
            (
                system,
                *(
                    text
                    for run in runs
                    for text in (f"{run.processor:.1f}", f"{run.wall:.1f}", str(run.kernels))
                ),
            )
        )
        print(*rows[-1], flush=True)
    heads = ["processor, s", "wall, s", "kernels"]
    others = [f"{head}, earlier" for head in heads] * (len(commands) - 1)
    report("cold_start", __doc__ or "", ["system", *heads, *others], rows)


if __name__ == "__main__":
    main()

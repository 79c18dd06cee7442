"""Does the service lose or double anything when the owners of its pools are stopped and killed?

One service of three workers on PostgreSQL. 4 clients post duels to one pool, singly, in arrays of
25 and in streams of 200, and post again what was not answered. In turn one worker is stopped
(SIGSTOP) for 2.5 s, which is longer than others wait for it, and goes on under load; one worker is
killed (SIGKILL); all processes are killed and the service is started again. A match is voided
before each, so that a replay is under way. After each, all that was acknowledged must be in the
log. At the end every match must be there once, the ratings must be those that the library makes of
the log, bit for bit, and `equipoise db verify` must find no difference.

The gap is the longest time within 2.5 s from the hit in which no client got an answer. Clients that
are connected to a stopped worker wait until it goes on; the others do not.

A run is one piece with a seed of its own. Its row is added to the file of `--keep`, and the report
has all rows of that file.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

from report import ROOT, Part, report_parts

sys.path.append(str(ROOT / "tests"))  # the trial is that of the tests, at full size

from trials.crash import CrashResult, crash_trial
from trials.postgres import running_postgres

WORKERS = 3
COLUMNS = (
    *("seed", "matches", "hits", "requests cut off", "voided", "acknowledged but lost"),
    *("missing", "twice", "differences", "in all, s", "load before"),
)
GAPS = ("hit", "times", "median, s", "longest, s")


def kept(found: CrashResult, seed: int, load: float) -> dict[str, Any]:
    """Return a piece as JSON."""
    counts = (found.matches, found.kills, found.interrupted, found.voided)
    wrong = [len(one) for one in (found.lost, found.missing, found.twice, found.different)]
    cells = [str(seed), *(f"{count:,}" for count in (*counts, *wrong))]
    return {
        "cells": [*cells, f"{found.seconds:.0f}", f"{load:.1f}"],
        "wrong": sum(wrong),
        "gaps": {**found.gaps, "restart": found.restart},
    }


def main() -> None:
    """Run a piece, and report all; ends with status 1 where anything is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--matches", type=int, default=30_000)
    parser.add_argument("--hits", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, required=True, help="file of JSON lines")
    options = parser.parse_args()
    load = os.getloadavg()[0]
    with (
        running_postgres() as postgres,
        postgres.database() as url,
        tempfile.TemporaryDirectory() as folder,
    ):
        found = crash_trial(
            url,
            Path(folder),
            matches=options.matches,
            kills=options.hits,
            workers=WORKERS,
            hits=("stop", "kill", "all"),
            seed=options.seed,
        )
    with options.keep.open("a") as file:
        file.write(json.dumps(kept(found, options.seed, load)) + "\n")
    pieces = [json.loads(line) for line in options.keep.read_text().splitlines()]
    gaps: dict[str, list[float]] = {}
    for piece in pieces:
        for hit, seconds in piece["gaps"].items():
            gaps.setdefault(hit, []).extend(seconds)
    rows = [
        (hit, str(len(one)), f"{median(one):.2f}", f"{max(one):.2f}") for hit, one in gaps.items()
    ]
    note = "The row restart is the time from the start of a killed service until it is ready."
    parts = [
        Part("Pieces", COLUMNS, [piece["cells"] for piece in pieces]),
        Part("Gaps", GAPS, rows, note),
    ]
    report_parts("owners_crash", (__doc__ or "").strip(), parts)
    sys.exit(1 if any(piece["wrong"] for piece in pieces) else 0)


if __name__ == "__main__":
    main()

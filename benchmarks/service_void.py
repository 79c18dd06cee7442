"""How long does a void in the middle of a log of 100,000 duels take, and who waits meanwhile?

A client posts duels one after the other, another reads the first page of the leaderboard again and
again, both without a pause. Then the match in the middle is voided. Measured are the seconds from
the request until the new ratings are in place, the longest time between two acknowledgements of the
posting client (before the void, and from it until a second after the swap), and the longest read.
At the end the ratings must be those that the library makes of the log without the match.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

from report import ROOT, report

sys.path.append(str(ROOT / "tests"))  # the trial is that of the tests, at full size

from trials.databases_here import databases_here
from trials.void import VoidResult, void_trial

COLUMNS = (
    *("database", "duels", "replayed and swapped, s", "longest gap, ms", "before, ms"),
    *("longest read, ms", "reads", "posts", "ratings changed", "players who differ", "errors"),
)
WANTED = ("wanted", "100,000", "5", "200", "", "", "", "", "", "0", "0")


def row(name: str, found: VoidResult) -> tuple[str, ...]:
    """Return a trial as a row."""
    times = (found.gap, found.quiet_gap, found.read)
    counts = (found.reads, found.posted, found.changed, len(found.different), len(found.errors))
    return (
        name,
        f"{found.matches:,}",
        f"{found.replayed:.2f}",
        *(f"{1000 * seconds:.0f}" for seconds in times),
        *(f"{count:,}" for count in counts),
    )


def main() -> None:
    """Run the trial and report; ends with status 1 where anything is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--matches", type=int, default=100_000)
    options = parser.parse_args()
    busy = f"Load average before it began: {os.getloadavg()[0]:.1f}."
    found: dict[str, VoidResult] = {}
    with databases_here() as databases:
        for name, url in databases.items():
            with tempfile.TemporaryDirectory() as folder:
                found[name] = void_trial(url, Path(folder), matches=options.matches)
    rows = [WANTED, *(row(name, result) for name, result in found.items())]
    report("service_void", f"{(__doc__ or '').strip()} {busy}", COLUMNS, rows)
    sys.exit(1 if any(one.errors or one.different for one in found.values()) else 0)


if __name__ == "__main__":
    main()

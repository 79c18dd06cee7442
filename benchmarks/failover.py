"""Does the service lose anything when the primary of its database dies, and how long is it away?

Two PostgreSQL servers on one machine, the second a synchronous standby of the first. The service
runs on an address that names both, or on one address that leads to the standby once the primary is
dead, thus before it takes writes. 4 clients post duels, singly, in arrays of 25 and in streams of
200. In the middle the primary is killed (SIGKILL, all its processes), right after a match was
voided, so that a replay is under way, and the standby is promoted at once. No service is started
again. All that was acknowledged before must be in the log; at the end every match is there once,
the ratings are those that the library makes of the log, bit for bit, and `equipoise db verify`
finds no difference. Seconds are from the kill; who finds out that a primary is dead, and promotes,
takes its own time in addition. A standby looks ten times a second whether it is promoted, so it may
say so after the first post. Each row is several failovers: times are the median, with extremes.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path
from statistics import median

from report import ROOT, report

sys.path.append(str(ROOT / "tests"))  # the trial is that of the tests, at full size

from trials.failover import FailoverResult, failover_trial

COLUMNS = (
    *("address", "services", "failovers", "matches", "acknowledged before", "requests cut off"),
    *("acknowledged but lost", "missing", "twice", "players who differ"),
    *("promoted after, s", "acknowledged again after, s", "not ready until, s"),
)


def row(moves: bool, services: int, found: list[FailoverResult]) -> tuple[str, ...]:
    """Return trials of one kind as a row."""
    counts = (
        sum(one.matches for one in found),
        sum(one.before for one in found),
        sum(one.interrupted for one in found),
        *(sum(len(one.lost) for one in found), sum(len(one.missing) for one in found)),
        *(sum(len(one.twice) for one in found), sum(len(one.different) for one in found)),
    )
    times = (
        [one.promotion for one in found],
        [one.gap for one in found],
        [one.unready for one in found],
    )
    return (
        "moves" if moves else "names both",
        str(services),
        str(len(found)),
        *(f"{count:,}" for count in counts),
        *(f"{median(one):.2f} ({min(one):.2f} to {max(one):.2f})" for one in times),
    )


def main() -> None:
    """Run the trials and report; ends with status 1 where anything is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--matches", type=int, default=20_000, help="of each failover")
    parser.add_argument("--failovers", type=int, default=5, help="for each number of services")
    options = parser.parse_args()
    busy = os.getloadavg()[0]
    rows, clean = [], True
    for moves, services in ((False, 1), (False, 2), (True, 1), (True, 2)):
        found = []
        for number in range(options.failovers):
            with tempfile.TemporaryDirectory() as folder:
                one = failover_trial(
                    Path(folder),
                    matches=options.matches,
                    services=services,
                    moves=moves,
                    seed=number,
                )
            same = one.processes[0] == one.processes[1]
            wrong = (one.lost, one.missing, one.twice, one.different)
            clean = clean and same and not any(wrong)
            print(one, flush=True)  # at once, as a later one may fail
            found.append(one)
        rows.append(row(moves, services, found))
    about = f"{(__doc__ or '').strip()}\n\nLoad average before it began: {busy:.1f}."
    report("failover", about, COLUMNS, rows)
    sys.exit(0 if clean else 1)


if __name__ == "__main__":
    main()

"""What does a match of 90,000 players cost those who post it, read it, and use the service?

Run: python benchmarks/large_matches.py [--players 90000] [--seconds 10]

The service has two workers. A request may take 120 s, and not 30 s as by default, so that a busy
machine has figures, too. Contests of `elo-mmr` are posted, the first of newcomers. Then twelve
readers without a key read the page of the last without a pause, while `/healthz` is asked every
20 ms and matches of two players are posted. Lastly, the service is started with a time limit of a
second, so that the post of one more contest is given up (504), and gets SIGTERM right after that
answer. A dash is a post that was not acknowledged within its time. The processor time of posting is
that of the same post in one process without a server: wall time depends on what else the machine
does.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
import tempfile
import time
import traceback
from pathlib import Path
from resource import RUSAGE_SELF, getrusage

from report import ROOT, report

sys.path.append(str(ROOT / "tests"))  # the trial is that of the tests, at full size

from trials.databases_here import databases_here
from trials.large_matches import LargeMatches, large_match, large_matches_trial, percentile

COLUMNS = (
    *("database", "players", "posts, s", "CPU of a post, s", "page, kB", "JSON, kB"),
    *("pages read", "health p95, ms", "longest, ms", "small posts p95, ms", "small posts failed"),
    *("SIGTERM, s", "recorded", "posted again"),
)


def processor_time(url: str, players: int) -> float:
    """Return the processor time of posting a contest, without the database's."""
    from equipoise.messages.pools import PoolRequest
    from equipoise.pools.pool.pools import create_pool
    from equipoise.pools.posting.posting import Post, post_matches
    from equipoise.store.connection import open_store

    # The first match loads the kernels.
    store, used = open_store(url), 0.0
    create_pool(store, "alone", PoolRequest(system="elo-mmr"), time.time_ns() // 1000)
    for match in (large_match("small", 2), large_match("large", players)):
        before = getrusage(RUSAGE_SELF)
        post_matches(store, "alone", [Post([match])], time.time_ns() // 1000)
        after = getrusage(RUSAGE_SELF)
        used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    store.close()
    return used


def row(name: str, players: int, used: float, found: LargeMatches) -> tuple[str, ...]:
    """Return a trial as a row."""
    posted = ("-" if math.isnan(one) else f"{one:.1f}" for one in found.posted)
    return (
        *(name, f"{players:,}", ", ".join(posted), f"{used:.1f}"),
        *(f"{size / 1000:.0f}" for size in (found.page, found.message)),
        f"{found.pages:,}",
        f"{1000 * percentile(found.health, 0.95):.0f}",
        f"{1000 * max(found.health, default=math.nan):.0f}",
        f"{1000 * percentile(found.posts, 0.95):.0f}",
        f"{found.failed} of {len(found.posts):,}",
        f"{found.end:.1f}",
        "yes" if found.recorded else "no",
        "acknowledged" if found.again == 200 else str(found.again),
    )


def main() -> None:
    """Run the trial on each database and report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--players", type=int, default=90_000)
    parser.add_argument("--seconds", type=float, default=10.0)
    options = parser.parse_args()
    began, rows = os.getloadavg()[0], []
    with databases_here() as databases:
        for name, url in databases.items():
            used, found, began_at = math.nan, LargeMatches(), time.monotonic()
            try:
                used = processor_time(url, options.players)
                with tempfile.TemporaryDirectory() as folder:
                    large_matches_trial(
                        url,
                        Path(folder),
                        players=options.players,
                        large=2,
                        seconds=options.seconds,
                        found=found,
                    )
            except Exception:  # noqa: BLE001  # what was measured before is reported all the same
                traceback.print_exc()
            print(f"{name}: {time.monotonic() - began_at:.0f} s", file=sys.stderr)
            rows.append(row(name, options.players, used, found))
            # Written after each database: what is there is kept if the rest fails.
            busy = (
                f"Load average before it began: {began:.1f}, at its end: {os.getloadavg()[0]:.1f}."
            )
            report("large_matches", f"{(__doc__ or '').strip()} {busy}", COLUMNS, rows)


if __name__ == "__main__":
    main()

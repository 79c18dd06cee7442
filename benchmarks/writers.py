"""Does the service record more matches a second than an earlier commit?

Single posts of duels, rated by glicko2, in pools of 10,000 players: one hot pool or eight, one
service or two behind HAProxy. The service of this checkout and that of another (`--before PATH`)
run side by side, each on its own database on the same server, and take turns of a few seconds. 32
connections stay open, each with one post under way. Every ratio is the median over the turns, with
its extremes.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from statistics import median

from load_client import Load, request, run_load

from equipoise.messages.pools import PoolRequest
from report import report
from service import Kind, checked, random_matches
from trials.postgres import running_postgres
from trials.proxy import proxied
from trials.server import make_key, new_pool, running

CONNECTIONS = 32
#: (database, pools, services) of each comparison; before it is always one service.
CASES = (
    ("PostgreSQL", 1, 1),
    ("PostgreSQL", 1, 2),
    ("PostgreSQL", 8, 1),
    ("PostgreSQL", 8, 2),
    ("SQLite", 1, 1),
)


def posts(prefix: str, pools: int, key: str, number: int) -> Iterator[bytes]:
    """Return posts to these pools in turn."""
    rng = random.Random(prefix)
    matches = random_matches(Kind("", "glicko2", 1, 0), prefix, rng)
    every = [
        request("POST", f"/v1/pools/p{at % pools}/matches", key, next(matches))
        for at in range(number)
    ]
    return iter(every)


def compare(
    case: tuple[str, int, int], before: Path, seconds: float, turns: int
) -> tuple[list[Load], list[Load]]:
    """Return the turns of the earlier commit, and of this one."""
    database, pools, services = case
    found: tuple[list[Load], list[Load]] = ([], [])
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        urls = [f"sqlite:///{folder}/{name}.db" for name in ("before", "now")]
        if database == "PostgreSQL":
            postgres = stack.enter_context(running_postgres())
            urls = [stack.enter_context(postgres.database()) for _ in urls]
        log = folder / "server.log"
        earlier = {"PYTHONPATH": str(before / "src")}
        old = stack.enter_context(running(urls[0], log, settings=earlier))
        every = [stack.enter_context(running(urls[1], log)) for _ in range(services)]
        new = every[0]
        port = new.port if services == 1 else stack.enter_context(proxied(every))
        ports = []
        for server, url, at in ((old, urls[0], old.port), (new, urls[1], port)):
            key = make_key(url, "admin")
            with server.client(key) as client:
                for number in range(pools):
                    new_pool(client, f"p{number}", PoolRequest(system="glicko2"))
            ports.append((at, key))
        for turn in range(-1, turns):
            for (at, key), loads in zip(ports, found, strict=True):
                ready = posts(f"t{turn}-", pools, key, int(6000 * seconds))
                load = run_load(at, ready, connections=CONNECTIONS, seconds=seconds)
                if turn >= 0:  # the first warms up
                    loads.append(checked(load, f"{case}"))
    return found


def main() -> None:
    """Measure and report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--before", type=Path, required=True, help="a checkout of another commit")
    parser.add_argument("--seconds", type=float, default=4.0, help="of a turn")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--only", default="", help="DATABASE,POOLS,SERVICES")
    options = parser.parse_args()
    commit = subprocess.run(
        ["git", "-C", str(options.before), "rev-parse", "--short", "HEAD"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.strip()
    rows = []
    busy = f"Before: {commit}. Load average before it began: {os.getloadavg()[0]:.1f}."
    columns = ("database", "pools", "services", "before", "now", "ratio", "p99 now")
    for case in CASES:
        if options.only not in ("", ",".join(map(str, case))):
            continue
        before, after = compare(case, options.before, options.seconds, options.turns)
        ratios = sorted(new.rate / old.rate for old, new in zip(before, after, strict=True))
        rows.append(
            (
                case[0],
                str(case[1]),
                str(case[2]),
                f"{median(one.rate for one in before):,.0f}",
                f"{median(one.rate for one in after):,.0f}",
                f"{median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})",
                f"{median(one.quantile(0.99) for one in after):.0f} ms",
            )
        )
        print(rows[-1], flush=True)
        if not options.only:  # whoever ends it early has the cases so far
            report("writers", f"{(__doc__ or '').strip()} {busy}", columns, rows)


if __name__ == "__main__":
    main()

"""Do pages keep their budgets: size, compressed size, and time to the first byte?

Two pools in one service on SQLite: football (49,520 matches, 337 teams, `glicko2`) and Codeforces
(1,062 contests, 274,337 players, `elo-mmr`). An anonymous reader with one connection asks for each
kind of page 200 times, for players and matches drawn at random, after 20 that are not counted. The
time is that until the whole page has arrived, which is later than its first byte. Sizes are the
largest that were seen, among them the contest with most players; gzip compresses them as a proxy
would, as the service does not.
"""

from __future__ import annotations

import argparse
import gzip
import itertools
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote

import polars as pl
from load_client import run_load

from report import DATA, ROOT, Part, report_parts

sys.path.append(str(ROOT / "tests"))  # the service is run here as the tests run it

from equipoise.messages.pools import PoolChange
from equipoise.messages.upkeep import KeyRequest
from equipoise.pools.pool.access import make_key
from equipoise.store.connection import open_store
from trials.server import Server

#: Bytes of a page, and compressed.
LARGEST, COMPRESSED = 60_000, 16_000
#: Pools: file, system, and milliseconds that 95 % of pages may take.
POOLS = {
    "football": (DATA / "football.parquet", "glicko2", 100.0),
    "codeforces": (DATA / "codeforces.parquet", "elo-mmr", 200.0),
}
COLUMNS = ("pool", "page", "p50, ms", "p95, ms", "wanted", "bytes", "compressed")


def pages(pool: str, history: pl.DataFrame) -> dict[str, Callable[[], str]]:
    """Return what draws an address, by kind of page."""
    draw = random.Random(7)
    players, matches = history["player"].unique().to_list(), history["match"].unique().to_list()
    sizes = history.group_by("match").len().sort("len", "match")
    largest = itertools.cycle([sizes["match"][-1]])

    def player() -> str:
        return quote(str(draw.choice(players)), safe="")

    def match() -> str:
        # The largest one is among those of each run.
        chosen = next(largest) if draw.random() < 0.05 else draw.choice(matches)
        return quote(str(chosen), safe="")

    return {
        "pool": lambda: f"/pools/{pool}",
        "leaderboard": lambda: f"/pools/{pool}/leaderboard",
        "leaderboard around a player": lambda: f"/pools/{pool}/leaderboard?around={player()}",
        "player": lambda: f"/pools/{pool}/players/{player()}",
        "compare": lambda: f"/pools/{pool}/compare?first={player()}&second={player()}",
        "matches": lambda: f"/pools/{pool}/matches",
        "match": lambda: f"/pools/{pool}/matches/{match()}",
    }


def measured(
    port: int, pool: str, page: str, address: Callable[[], str], wanted: float
) -> tuple[str, ...]:
    """Return the row of a kind of page."""

    def requests(count: int) -> Iterator[bytes]:
        for _ in range(count):
            yield f"GET {address()} HTTP/1.1\r\nHost: x\r\n\r\n".encode()

    run_load(port, requests(20), connections=1)
    load = run_load(port, requests(200), connections=1, keep=True)
    if set(load.statuses) != {200}:
        raise RuntimeError(f"{pool}, {page}: {dict(load.statuses)}")
    sizes = [max(map(len, pages)) for pages in (load.bodies, map(gzip.compress, load.bodies))]
    times = [f"{load.quantile(share):.1f}" for share in (0.5, 0.95)]
    return (pool, page, *times, f"{wanted:.0f}", *(f"{size:,}" for size in sizes))


def main() -> None:
    """Measure and report."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    with tempfile.TemporaryDirectory() as folder:
        database = f"sqlite:///{folder}/pages.db"
        store = open_store(database)
        secret = make_key(store, KeyRequest(name="admin", role="admin"), 0).secret
        store.close()
        for pool, (file, system, _) in POOLS.items():
            command = ["-m", "equipoise", "db", "import", str(file), "--pool", pool, "--create"]
            command += ["--system", system, "--database", database]
            subprocess.run([sys.executable, *command], check=True, stdout=subprocess.DEVNULL)
        server = Server(database, Path(folder) / "log")
        server.start()
        try:
            rows = []
            for pool, (file, _, wanted) in POOLS.items():
                server.client(secret).change_pool(pool, PoolChange(public=True))
                history = pl.read_parquet(file)
                for page, address in pages(pool, history).items():
                    rows.append(measured(server.port, pool, page, address, wanted))
        finally:
            server.kill()
    title = f"{__doc__.strip()} Budgets: {LARGEST:,} bytes, {COMPRESSED:,} compressed."
    report_parts("page_budgets", title, [Part("Pages", COLUMNS, rows)])


if __name__ == "__main__":
    main()

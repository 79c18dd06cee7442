"""Do partitions of the tables of a pool pay on PostgreSQL, with few pools and with many?

The three tables that grow (log, changes, ratings) in three forms: one table each; 16 hash
partitions by pool; a partition of its own for the first pool, and one for all others. The same rows
are in each form, filled by SQL: matches of two players, spread over the pools. The statements are
those of the service, in their plain form: a post is one transaction (a record of the log, two
changes, two ratings, the row of the pool), a page has 100 records, a replay reads the log of a pool
in order.
The forms take turns in every round, and the median of the rounds counts, with the least and the
largest. Milliseconds are processor time of the server's process, which other work on the machine
affects little; waiting for a disk (fsync is off) and the client are not in them.

The second part fills one form further and further: how posts, pages and the size grow.

    python benchmarks/partitions.py [matches] [rounds]

With `curve`, only the second part is measured, for these numbers of matches, and its table is
printed. There a post is also timed by the clock of the client, which waits for other work on the
machine.

    python benchmarks/partitions.py curve 1e5 1e6
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

from report import Part, report_parts

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from trials.postgres import running_postgres

FORMS = ("none", "hash", "named")
PARTITIONS = 16
#: Matches of a player on average; what a state of a player has in bytes.
MATCHES_A_PLAYER, STATE = 40, 120

TABLES = {
    "log": """pool int, seq bigint, kind text, match text, player text, content text,
        posted_time bigint, time bigint, needs_replay boolean, received bigint, key int,
        salt bytea, leaf bytea, primary key (pool, seq)""",
    "changes": """pool int, time bigint, seq bigint, player text, generation bigint,
        previous_time bigint, previous_seq bigint, rating double precision, numbers bytea,
        primary key (pool, time, seq, player, generation)""",
    "ratings": """pool int, generation bigint, player text, ordering double precision,
        rating double precision, deviation double precision, matches bigint, last_time bigint,
        provisional boolean, state bytea, change_time bigint, change_seq bigint,
        disqualified boolean, primary key (pool, generation, player)""",
}
INDEXES = {
    "log": ("pool, match", "pool, time, seq"),
    "ratings": ("pool, generation, provisional, ordering, player",),
}


class Form:
    """One form of the tables, in a schema of its own."""

    def __init__(self, connection: psycopg.Connection, name: str, pools: int) -> None:
        self.name, self.pools, self._sql = name, pools, connection
        self.players = 0
        self.stored = 0
        self._run(f"drop schema if exists {name} cascade")
        self._run(f"create schema {name}")
        self._run(f"set search_path to {name}")
        self._run("create table pools (id int primary key, last_seq bigint, matches bigint)")
        self._run(f"insert into pools select n, 0, 0 from generate_series(1, {pools}) n")
        for table, columns in TABLES.items():
            by = {
                "none": "",
                "hash": "partition by hash (pool)",
                "named": "partition by list (pool)",
            }
            self._run(f"create table {table} ({columns}) {by[name]}")
            for part in range(PARTITIONS if name == "hash" else 0):
                values = f"with (modulus {PARTITIONS}, remainder {part})"
                self._run(f"create table {table}_{part} partition of {table} for values {values}")
            if name == "named":
                self._run(f"create table {table}_own partition of {table} for values in (1)")
                self._run(f"create table {table}_rest partition of {table} default")
            for at, index in enumerate(INDEXES.get(table, ())):
                self._run(f"create index ix_{table}_{at} on {table} ({index})")

    def _run(self, command: str) -> None:
        self._sql.execute(command.encode())

    def use(self) -> None:
        """Let statements mean the tables of this form."""
        self._run(f"set search_path to {self.name}")

    def fill(self, matches: int) -> None:
        """Add matches until there are this many, and players for them."""
        self.use()
        each, done = matches // self.pools, self.stored // self.pools
        players = max(4, 2 * each // MATCHES_A_PLAYER)
        self._run(f"""insert into log select p, s, 'match', 'match-' || p || '-' || s, null,
            '{{"teams":[["player-' || s % {players} || '"],["player-' || (s + 1) % {players}
            || '"]],"ranks":[0,1]}}', 1000000::bigint * s, 1000000::bigint * s, false,
            1000000::bigint * s, 1,
            decode(repeat('ab', 16), 'hex'), null
            from generate_series({done + 1}, {each}) s, generate_series(1, {self.pools}) p""")
        self._run(f"""insert into changes select p, 1000000::bigint * s, s,
            'player-' || (s + side) % {players}, 0, 1000000::bigint * (s - 20), s - 20,
            1500 + s % 300,
            decode(repeat('ab', 40), 'hex') from generate_series({done + 1}, {each}) s,
            generate_series(1, {self.pools}) p, generate_series(0, 1) side""")
        self._run(f"""insert into ratings select p, 0, 'player-' || n, -1500 - n % 700,
            1500 + n % 700, 80, {MATCHES_A_PLAYER}, 1000000::bigint * n, false,
            decode(repeat('ab', {STATE}), 'hex'), 0, 0, false
            from generate_series({self.players}, {players - 1}) n,
            generate_series(1, {self.pools}) p""")
        self._run(f"update pools set last_seq = {each}, matches = {each}")
        for table in (*TABLES, "pools"):
            self._run(f"vacuum analyze {table}")
        self.players, self.stored = players, each * self.pools

    def post(self, number: int) -> None:
        """Post one match to one of the pools, in one transaction."""
        pool = number * 7919 % self.pools + 1
        one, two = (f"player-{(number * 31 + side) % self.players}" for side in (0, 1))
        with self._sql.transaction():
            row = self._sql.execute(
                b"select last_seq from pools where id = %s for update", (pool,)
            ).fetchone()
            assert row is not None
            seq = row[0] + 1
            self._sql.execute(
                b"insert into log values "
                b"(%s, %s, 'match', %s, null, %s, %s, %s, false, %s, 1, %s, null)",
                (pool, seq, f"post-{pool}-{seq}", "x" * 70, *[seq * 10**6] * 3, b"s" * 16),
            )
            for player in (one, two):
                self._sql.execute(
                    b"insert into changes values (%s, %s, %s, %s, 0, 0, 0, 1500, %s)",
                    (pool, seq * 10**6, seq, player, b"n" * 40),
                )
                self._sql.execute(
                    b"update ratings set ordering = ordering - 1, rating = rating + 1, "
                    b"matches = matches + 1, state = %s "
                    b"where pool = %s and generation = 0 and player = %s",
                    (b"s" * STATE, pool, player),
                )
            self._sql.execute(
                b"update pools set last_seq = %s, matches = matches + 1 where id = %s", (seq, pool)
            )

    def page(self, number: int) -> None:
        """Read the last 100 records of a pool."""
        pool = number * 7919 % self.pools + 1
        self._sql.execute(
            b"select * from log where pool = %s and seq < %s order by seq desc limit 100",
            (pool, self.stored // self.pools),
        ).fetchall()

    def leaderboard(self, number: int) -> None:
        """Read the first 100 players of a pool."""
        pool = number * 7919 % self.pools + 1
        self._sql.execute(
            b"select player, rating, deviation from ratings where pool = %s and generation = 0 "
            b"and provisional = false order by ordering, player limit 100",
            (pool,),
        ).fetchall()

    def replay(self, number: int) -> None:
        """Read the log of one pool in order; of many small pools, of a hundredth of them."""
        for pool in range(1, 1 + max(1, self.pools // 100)):
            self._sql.execute(
                b"select seq, content, time from log where pool = %s order by time, seq", (pool,)
            ).fetchall()

    def vacuum(self, number: int) -> None:
        """Vacuum the three tables after the posts of a round."""
        for table in TABLES:
            self._run(f"vacuum {table}")

    def processor(self) -> float:
        """Return the processor seconds that the server has spent on this connection."""
        return (
            int(Path(f"/proc/{self._sql.info.backend_pid}/schedstat").read_text().split()[0]) / 1e9
        )

    def size(self) -> int:
        """Return the bytes of the three tables with their indexes."""
        found = self._sql.execute(
            b"select sum(pg_total_relation_size(c.oid)) from pg_class c join pg_namespace n "
            b"on n.oid = c.relnamespace where n.nspname = %s and c.relkind = 'r'",
            (self.name,),
        ).fetchone()
        assert found is not None
        return int(found[0])


def seconds(form: Form, call: Callable[[int], None], times: int) -> float:
    """Return the processor seconds of the server for one call, on average."""
    started = form.processor()
    for number in range(times):
        call(number)
    return (form.processor() - started) / times


def shown(values: list[float]) -> str:
    """Return the median in milliseconds, with the least and the largest."""
    middle, low, high = statistics.median(values), min(values), max(values)
    return f"{1000 * middle:.2f} ({1000 * low:.2f} to {1000 * high:.2f})"


def compare(connection: psycopg.Connection, pools: int, matches: int, rounds: int) -> Part:
    """Return the table of the forms with so many pools."""
    forms = [Form(connection, name, pools) for name in FORMS]
    for form in forms:
        form.fill(matches)
    found: dict[tuple[str, str], list[float]] = {}
    for turn in range(rounds):
        for form in forms[turn % 3 :] + forms[: turn % 3]:
            form.use()
            for what, call, times in (
                ("post", form.post, 150),
                ("page", form.page, 100),
                ("leaderboard", form.leaderboard, 100),
                ("replay", form.replay, 2),
                ("vacuum", form.vacuum, 1),
            ):
                found.setdefault((form.name, what), []).append(seconds(form, call, times))
    whats = ("post", "page", "leaderboard", "replay", "vacuum")
    rows = [
        (form.name, *(shown(found[form.name, what]) for what in whats), f"{form.size() / 1e6:,.0f}")
        for form in forms
    ]
    for form in forms:
        connection.execute(f"drop schema {form.name} cascade".encode())
    columns = ("partitions", *(f"{what}, ms" for what in whats), "size, MB")
    return Part(f"{pools:,} pools, {matches:,} matches in all", columns, rows)


def curve(connection: psycopg.Connection, counts: list[int], pool_counts: list[int]) -> Part:
    """Return how one PostgreSQL without partitions grows."""
    rows = []
    for pools in pool_counts:
        for count in counts:
            # Anew, because posts have taken the next numbers.
            form = Form(connection, "none", pools)
            form.fill(count)
            size = form.size()
            began, posts, took = time.perf_counter(), 200, []
            for _ in range(3):
                took.append(seconds(form, form.post, posts))
            clock = (time.perf_counter() - began) / (3 * posts)
            post = statistics.median(took)
            page = statistics.median([seconds(form, form.page, 100) for _ in range(3)])
            players = form.players * pools
            rows.append(
                (
                    f"{pools:,}",
                    f"{players:,}",
                    f"{form.stored:,}",
                    f"{1000 * post:.2f}",
                    f"{1 / post:,.0f}",
                    f"{1 / clock:,.0f}",
                    f"{1000 * page:.2f}",
                    f"{size / 1e6:,.0f}",
                    f"{size / form.stored:,.0f}",
                )
            )
            print(*rows[-1], f"load {os.getloadavg()[0]:.0f}", flush=True)
        connection.execute(b"drop schema none cascade")
    columns = (
        "pools",
        "players",
        "matches",
        "post, ms",
        "posts a second of a core",
        "posts a second by the clock",
        "page, ms",
        "size, MB",
        "bytes a match",
    )
    return Part("One PostgreSQL without partitions, one client", columns, rows)


@contextmanager
def one_connection() -> Iterator[psycopg.Connection]:
    """Give a connection to an empty database of a new server."""
    with running_postgres() as server:
        server.forget_crashes()
        with (
            server.database() as url,
            psycopg.connect(
                url.replace("postgresql+psycopg://", "postgresql://"), autocommit=True
            ) as connection,
        ):
            yield connection


def main() -> None:
    """Measure and report."""
    if sys.argv[1:2] == ["curve"]:
        with one_connection() as connection:
            curve(connection, [int(float(count)) for count in sys.argv[2:]], [1, 10, 1_000])
        return
    matches = int(float(sys.argv[1])) if len(sys.argv) > 1 else 400_000
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    with one_connection() as connection:
        parts = [compare(connection, pools, matches, rounds) for pools in (10, 5_000)]
        parts.append(curve(connection, [matches // 8, matches // 2, 2 * matches], [10, 1_000]))
    report_parts("partitions", (__doc__ or "").strip(), parts)


if __name__ == "__main__":
    main()

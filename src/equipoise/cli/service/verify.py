"""equipoise db verify: compare stored ratings with a replay of the log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from equipoise.cli import options
from equipoise.cli.declaring import argument, option
from equipoise.cli.report import (
    compiling,
    print_json,
    print_lines,
    print_table,
    progress,
    say_compiled,
)
from equipoise.cli.service.databases import opened
from equipoise.cli.tables import table
from equipoise.errors import InvalidParameterError

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from equipoise.messages.pools import VerifyMessage
    from equipoise.store.connection import Store

EXAMPLE = """\b
Example:
  equipoise db verify
  equipoise db verify --workers 4"""


def verify(
    *,
    pools: list[str] | None = argument(
        "Names of the pools. [default: all pools]", "POOL ...", default=None
    ),
    database: options.Database,
    head: str | None = option(
        None,
        "A head of the hash chain of one pool, or its local head, that was kept elsewhere. Look "
        "for it in the log, and verify nothing else. Exit status 1: records before it were lost.",
        "HEAD",
    ),
    workers: int | None = option(
        None,
        "Number of processes, each of which verifies a pool at a time. [default: 1]",
        min=1,
    ),
    cluster: options.Cluster,
    as_json: options.Json,
) -> int:
    """Replay pools from the beginning of their logs and compare the result with the database.

    Values are compared bit for bit, and the log and the audit log must lead to the heads of their
    hash chains. Nothing is changed, and a service may run on the database at the same time. Exit
    status 1 means that something differs.
    """
    from equipoise.messages.pools import VerifyList
    from equipoise.pools.pool.pools import pool_messages
    from equipoise.pools.replay.chain_checks import verify_audit
    from equipoise.pools.replay.verifying import verify_pool
    from equipoise.wording import counted

    if head is not None:
        return _find_head(pools, head, database, as_json=as_json)
    with (
        cluster.executor(workers) as executor,
        opened(database) as store,
        compiling() as compilation,
    ):
        names = pools or [one.pool for one in pool_messages(store)]
        if executor is not None or (workers or 1) > 1:
            found = _at_the_same_time(store, database, names, executor, workers or 1)
        else:
            found = []
            for name in names:
                with progress(f"verifying {name}") as show:
                    found.append(verify_pool(store, name, show))
        audit = verify_audit(store)
    identical = audit.identical and all(one.identical for one in found)
    if as_json:
        print_json(VerifyList(identical, found, audit))
        return 0 if identical else 1
    say_compiled(compilation)
    columns = {"pool": "", "matches": ",", "players": ",", "changes": ","}
    rows = (
        (
            *(one.pool, one.matches, one.players, one.changes),
            "identical" if one.identical else counted(one.different, "difference"),
            one.seconds,
        )
        for one in found
    )
    print_table(table({**columns, "stored and replayed": "", "seconds": ".2f"}, rows))
    print_lines("", "Heads of the hash chains; keep them elsewhere:")
    for one in found:
        upgraded = one.chained_from - 1
        since = f"; records up to {upgraded:,} were chained by an upgrade" if upgraded else ""
        print_lines(f"{one.pool}: {one.head}, local {one.local_head}{since}")
    upgraded = audit.chained_from - 1
    since = f"; rows up to {upgraded:,} were chained by an upgrade" if upgraded else ""
    print_lines(f"audit log: {audit.head}{since}")
    for one in found:
        for sentence in one.differences:
            print_lines(f"{one.pool}: {sentence}")
        if one.different > len(one.differences):
            print_lines(f"{one.pool}: and {one.different - len(one.differences):,} more")
    for sentence in audit.differences:
        print_lines(sentence)
    return 0 if identical else 1


def _at_the_same_time(
    store: Store,
    database: str,
    names: list[str],
    executor: Executor | None,
    workers: int,
) -> list[VerifyMessage]:
    """Verify pools in several processes, or on other machines."""
    from equipoise.cli.service.many_pools import Database, kinds_of, verify_pools

    where, kinds = Database.of(database, executor), kinds_of(store, names)
    with progress("verifying pools") as show:
        return list(
            verify_pools(
                where,
                names,
                kinds,
                executor=executor,
                workers=workers,
                finished=None if show is None else lambda done: show(done, len(names)),
            )
        )


def _find_head(pools: list[str] | None, head: str, database: str, *, as_json: bool) -> int:
    """Print at which record the log of a pool had a head that was kept elsewhere."""
    from equipoise.messages.pools import HeadMessage
    from equipoise.pools.replay.chain_checks import find_head

    named = pools or []
    if len(named) != 1:
        raise InvalidParameterError(
            "--head needs the name of the one pool whose head it is: `equipoise db verify POOL "
            f"--head HEAD`; got {' '.join(named) or 'none'}"
        )
    with opened(database) as store:
        record, last = find_head(store, named[0], head)
    if as_json:
        print_json(HeadMessage(named[0], head, record is not None, record, last))
    elif record is None:
        print_lines(
            f"{named[0]}: the log has {last:,} records and does not lead to this head: records "
            "before it were lost, changed or removed"
        )
    else:
        print_lines(f"{named[0]}: the log had this head after record {record:,} of {last:,}")
    return 1 if record is None else 0

"""equipoise verify: is what is stored what the log gives?"""

from __future__ import annotations

from typing import Annotated

import typer

from equipoise.cli import options

EXAMPLE = """\b
Example:
  equipoise verify"""


def verify(
    pools: Annotated[
        list[str] | None,
        typer.Argument(metavar="POOL ...", help="Pools; all of them where none is named."),
    ] = None,
    database: options.Database = options.DATABASE,
    as_json: options.Json = False,
) -> int:
    """Replay pools from the beginning of their logs and compare with what is stored, bit for bit.

    Nothing is changed, and a service may run on the database meanwhile. Exit status 1 says that
    something differs.
    """
    from equipoise._jit import watch_compilation
    from equipoise.cli.databases import opened
    from equipoise.cli.report import (
        print_json,
        print_lines,
        print_table,
        progress,
        say,
        say_compiled,
    )
    from equipoise.messages.pools import VerifyList
    from equipoise.wording import counted
    from equipoise.workflows.pools import pool_messages
    from equipoise.workflows.verifying import verify_pool

    found = []
    with opened(database) as store:
        names = pools or [one.pool for one in pool_messages(store)]
        with watch_compilation(lambda: say("Compiling for this machine, once ...")) as compilation:
            for name in names:
                with progress(f"verifying {name}") as show:
                    found.append(verify_pool(store, name, show))
    identical = all(one.identical for one in found)
    if as_json:
        print_json(VerifyList(identical, found))
        return 0 if identical else 1
    say_compiled(compilation)
    rows = [
        [
            one.pool,
            f"{one.matches:,}",
            f"{one.players:,}",
            f"{one.changes:,}",
            "identical" if one.identical else counted(one.different, "difference"),
            f"{one.seconds:.2f}",
        ]
        for one in found
    ]
    columns = ["pool", "matches", "players", "changes", "stored and replayed", "seconds"]
    print_table(columns, rows, {"matches", "players", "changes", "seconds"})
    for one in found:
        for sentence in one.differences:
            print_lines(f"{one.pool}: {sentence}")
        if one.different > len(one.differences):
            print_lines(f"{one.pool}: and {one.different - len(one.differences):,} more")
    return 0 if identical else 1

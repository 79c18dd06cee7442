"""equipoise rate --by: many pools of one data set."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from equipoise.cli.report import (
    print_json,
    print_table,
    problem_lines,
    reading_lines,
    say,
    say_compiled,
    working,
)
from equipoise.cli.tables import table
from equipoise.wording import counted

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from equipoise.analysis.files.rating import RateRequest
    from equipoise.messages.histories import PoolRated, RateByMessage
    from equipoise.rating.system import RatingSystem

#: Rows on a terminal; a file or a pipe gets all of them.
_SHOWN = 40

#: Failed pools whose problems are listed.
_FAILED = 20


def rate_by(
    system: RatingSystem | None,
    request: RateRequest,
    by: str,
    workers: int,
    executor: Executor | None = None,
    *,
    as_json: bool,
) -> int:
    """Rate every pool, print what became of it, and return the exit status: 1 if one failed."""
    from equipoise.analysis.partitioned import rating

    columns = tuple(one.strip() for one in by.split(","))
    with working("rating pools") as job:
        message = rating.rate_by(system, request, columns, workers, job.progress, executor=executor)
    if as_json:
        print_json(message)
    else:
        _print(message)
        say_compiled(job.compilation)
        say(*_lines(message))
    return 1 if message.failed else 0


def _print(message: RateByMessage) -> None:
    """Print a row for each pool: its first rows on a terminal, all of them to a pipe."""
    columns = dict.fromkeys(message.by, "")
    columns |= {"matches": ">", "participations": ">", "players": ">", "": ""}
    rows = [
        [
            *("(empty)" if value is None else value for value in pool.values.values()),
            *(pool.matches, pool.participations, pool.players),
            "" if pool.status == "rated" else pool.status,
        ]
        for pool in message.pools
    ]
    shown = rows[:_SHOWN] if sys.stdout.isatty() else rows
    print_table(table(columns, shown))
    if len(shown) < len(rows):
        say(f"... and {counted(len(rows) - len(shown), 'more pool')}; --json lists them all.")


def _lines(message: RateByMessage) -> list[str]:
    """Return lines on the totals, and on every pool that failed."""
    failed = f", {message.failed:,} failed" if message.failed else ""
    lines = [
        f"{message.system}: {counted(len(message.pools), 'pool')}: {message.rated:,} rated{failed}",
        f"{counted(message.matches, 'match', 'matches')}, "
        f"{counted(message.participations, 'participation')} in {message.seconds:.2f} s",
        *reading_lines(message),
    ]
    bad = [pool for pool in message.pools if pool.status == "failed"]
    for pool in bad[:_FAILED]:
        lines += [f"{_name(pool)} failed: {pool.error}", *problem_lines(pool.problems)]
        if pool.files:
            lines.append(
                f"  its files of an earlier command stay: {', '.join(pool.files.values())}"
            )
    if len(bad) > _FAILED:
        lines.append(f"... and {counted(len(bad) - _FAILED, 'more failed pool')}; --json lists all")
    return lines


def _name(pool: PoolRated) -> str:
    return ", ".join(f"{column}={value or ''}" for column, value in pool.values.items())

"""equipoise export: a pool of the service as a file."""

from __future__ import annotations

from typing import Literal

from equipoise.cli import options
from equipoise.cli.declaring import argument, option

EXAMPLE = """\b
Example:
  equipoise export contests --what log --output contests.ndjson
  equipoise export contests --what ratings --output ratings.csv"""


def export(
    *,
    pool: str = argument("The pool.", "POOL"),
    output: str = option(..., "Where to: .csv, .parquet, or .ndjson (also .jsonl).", "FILE"),
    what: Literal["log", "ratings", "changes"] = option(
        "log",
        "log: all that was posted and amended (.ndjson, for `equipoise import`), or the matches "
        "as they count now (.csv, .parquet, for `equipoise rate`). ratings: the rating table. "
        "changes: what every match did to every player in it.",
    ),
    database: options.Database,
) -> None:
    """Write a pool's log, ratings or changes to a file, whole or not at all.

    All of it is of one moment; a service may run on the database meanwhile.
    """
    from equipoise.cli.databases import opened
    from equipoise.cli.report import progress
    from equipoise.workflows.exchange import export_file, format_of

    format_of(output)
    with opened(database) as store, progress("writing") as show:
        export_file(store, pool, what, output, show)

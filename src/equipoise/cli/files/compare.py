"""equipoise compare: two tables of ratings in, who moved out."""

from __future__ import annotations

import shlex
from typing import Literal

from equipoise.cli import options
from equipoise.cli.declaring import argument, option
from equipoise.cli.files.comparison_tables import print_comparison
from equipoise.cli.report import print_json, say
from equipoise.errors import InvalidParameterError

EXAMPLE = """\b
Example:
  equipoise rate examples/contests.csv --system elo-mmr --output elo-mmr.csv
  equipoise rate examples/contests.csv --system trueskill --output trueskill.csv
  equipoise compare elo-mmr.csv trueskill.csv"""


def compare(
    *,
    old: str = argument(
        "The ratings before: a table with the columns player and rating and, optionally, "
        "deviation, such as one that `equipoise rate --output` or `equipoise db export` wrote or "
        "the list of a federation, or a state that `equipoise rate --save` wrote (.npz). Or - for "
        "standard input (with --format).",
        "OLD",
    ),
    new: str = argument("The ratings to compare with them, of the same kinds.", "NEW"),
    scale: Literal["auto", "same", "line"] = option(
        "auto",
        "Compare the ratings as they are (same), or after the straight line between two scales "
        "(line); auto takes the line if the scales differ.",
    ),
    top: int = option(10, "Number of players to list who rose most, and who fell most.", min=0),
    by: Literal["rating", "place"] = option("rating", "List who moved most by rating or by place."),
    min_matches: int = option(
        0, "Leave out players with fewer rated matches, if a table has their number.", min=0
    ),
    synonyms: options.Synonyms,
    column: list[str] | None = option(
        None,
        "Rename a column of either table: read OLD as NEW, such as rating=Elo. Repeatable.",
        "NEW=OLD",
    ),
    output: str | None = option(
        None,
        "Write the table of all players: .csv, .parquet, .json, .jsonl or .tsv.",
        "FILE",
    ),
    chart: str | None = option(
        None, "Write the chart of old against new ratings: .svg, .png or .pdf.", "FILE"
    ),
    title: options.Title,
    format_: str | None = option(None, "Format of the tables, if their names do not show it."),
    raw: options.RawText,
    as_json: options.Json,
) -> None:
    """Compare two tables of ratings: who moved, and how alike the tables are.

    Prints who is in one table only, the mean and standard deviation of the changes, correlations,
    the share of pairs of players in the same order, and who rose and fell most. Players are matched
    by their names, which must be equal.
    """
    from equipoise.analysis.files.compare import (
        CompareRequest,
        comparison_json,
        mapping_of,
    )
    from equipoise.analysis.files.compare import compare as compare_files

    if title is not None and chart is None:
        raise InvalidParameterError("--title is about the chart, and needs --chart")
    found = compare_files(
        CompareRequest(
            old=options.given_file(old),
            new=options.given_file(new),
            scale=scale,
            min_matches=min_matches,
            synonyms=synonyms,
            columns=options.named_values(column, "--column"),
            format=format_,
            output=output,
            chart=chart,
            title=title,
            raw=raw,
        )
    )
    if as_json:
        print_json(comparison_json(found, top, by))
        return
    print_comparison(found, top, by)
    if chart is not None:
        say(f"drew {chart}")
    mapping = mapping_of(found)
    if found.scale == "line" and mapping is not None and old != "-":
        begin = f"--initial {shlex.quote(old)} --initial-mapping {shlex.quote(mapping)}"
        say(f"to begin with the old ratings on the new scale: equipoise rate HISTORY {begin}")

"""Which ratings to compare."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal

from equipoise.analysis.requests import typed
from equipoise.analysis.requests.rating import RawText, Title
from equipoise.analysis.requests.typed import Typed


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareRequest:
    """Which ratings to compare, and what to write.

    old, new : paths or streams of tables, or paths of saved states
    raw : whether CSV and TSV have text that spreadsheets run as it is
    The others are parameters of `equipoise.compare_ratings`.
    """

    old: Annotated[
        object,
        Typed(
            "The ratings before: a table with the columns player and rating and, optionally, "
            "deviation, such as one that `equipoise rate --output` or `equipoise db export` wrote "
            "or the list of a federation, or a state that `equipoise rate --save` wrote (.npz). Or "
            "- for standard input (with --format).",
            "OLD",
            argument=True,
            read=typed.source,
        ),
    ]
    new: Annotated[
        object,
        Typed(
            "The ratings to compare with them, of the same kinds.",
            "NEW",
            argument=True,
            read=typed.source,
        ),
    ]
    scale: Annotated[
        Literal["auto", "same", "line"],
        Typed(
            "Compare the ratings as they are (same), or after the straight line between two scales "
            "(line); auto takes the line if the scales differ."
        ),
    ] = "auto"
    top: Annotated[
        int, Typed("Number of players to list who rose most, and who fell most.", least=0)
    ] = 10
    by: Annotated[
        Literal["rating", "place"], Typed("List who moved most by rating or by place.")
    ] = "rating"
    min_matches: Annotated[
        int,
        Typed("Leave out players with fewer rated matches, if a table has their number.", least=0),
    ] = 0
    synonyms: Annotated[
        str | None,
        Typed("Table of names of the same player, with columns name and same_as.", "FILE"),
    ] = None
    columns: Annotated[
        Mapping[str, str],
        Typed(
            "Rename a column of either table: read OLD as NEW, such as rating=Elo. Repeatable.",
            "NEW=OLD",
            name="--column",
            many=True,
            read=typed.assignments,
        ),
    ] = field(default_factory=dict)
    output: Annotated[
        str | None,
        Typed("Write the table of all players: .csv, .parquet, .json, .jsonl or .tsv.", "FILE"),
    ] = None
    chart: Annotated[
        str | None,
        Typed("Write the chart of old against new ratings: .svg, .png or .pdf.", "FILE"),
    ] = None
    title: Title = None
    format: Annotated[str | None, Typed("Format of the tables, if their names do not show it.")] = (
        None
    )
    raw: RawText = False

"""Which ratings to compare."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from equipoise.analysis.requests import texts
from equipoise.analysis.requests.rating import RawText, Title
from equipoise.analysis.requests.typed import typed


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareRequest:
    """Which ratings to compare, and what to write.

    old, new : paths or streams of tables, or paths of saved states
    raw : whether CSV and TSV have text that spreadsheets run as it is
    The others are parameters of `equipoise.compare_ratings`.
    """

    old: object = typed(
        ...,
        "The ratings before: a table with the columns player and rating and, optionally, "
        "deviation, such as one that `equipoise rate --output` or `equipoise db export` wrote or "
        "the list of a federation, or a state that `equipoise rate --save` wrote (.npz). Or - for "
        "standard input (with --format).",
        "OLD",
        argument=True,
        read=texts.source,
    )
    new: object = typed(
        ...,
        "The ratings to compare with them, of the same kinds.",
        "NEW",
        argument=True,
        read=texts.source,
    )
    scale: Literal["auto", "same", "line"] = typed(
        "auto",
        "Compare the ratings as they are (same), or after the straight line between two scales "
        "(line); auto takes the line if the scales differ.",
    )
    top: int = typed(10, "Number of players to list who rose most, and who fell most.", least=0)
    by: Literal["rating", "place"] = typed("rating", "List who moved most by rating or by place.")
    min_matches: int = typed(
        0, "Leave out players with fewer rated matches, if a table has their number.", least=0
    )
    synonyms: str | None = typed(
        None, "Table of names of the same player, with columns name and same_as.", "FILE"
    )
    columns: Mapping[str, str] = typed(
        dict,
        "Rename a column of either table: read OLD as NEW, such as rating=Elo. Repeatable.",
        "NEW=OLD",
        name="--column",
        many=True,
        read=texts.assignments,
    )
    output: str | None = typed(
        None, "Write the table of all players: .csv, .parquet, .json, .jsonl or .tsv.", "FILE"
    )
    chart: str | None = typed(
        None, "Write the chart of old against new ratings: .svg, .png or .pdf.", "FILE"
    )
    title: Title = None
    format: str | None = typed(None, "Format of the tables, if their names do not show it.")
    raw: RawText = False

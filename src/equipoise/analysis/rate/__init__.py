"""What to rate, which ratings to compare, and what to write."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from equipoise.analysis import requests
from equipoise.analysis.requests import (
    HistoryRequest,
    Initial,
    InitialMapping,
    RawText,
    Restart,
    Threads,
    typed,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RateRequest:
    """What to rate and what to write.

    output, report, trace, save : paths; nothing is written before everything is rated
    initial : path of a table, or of a saved state, of known ratings with which players begin
    initial_mapping : how these correspond to ratings of the system, as text; None if they are such
    state : path of a saved state
    at : time for which ratings are read, as text
    diff : path of ratings to compare the new ones with; it may also be the path of `output`
    raw : whether CSV and TSV have text that spreadsheets run as it is
    """

    output: str | None = typed(
        None, "Write the ratings: .csv, .parquet, .json, .jsonl or .tsv.", "FILE"
    )
    report: str | None = typed(
        None, "Write the ratings as a page to print or publish.", "FILE.html"
    )
    trace: str | None = typed(
        None, "Write a table of every player's changes in every match.", "FILE"
    )
    save: str | None = typed(None, "Write the state, from which --state continues.", "FILE.npz")
    state: str | None = typed(
        None,
        "Continue from a saved state, with its system. HISTORY is the complete history or its "
        "continuation.",
        "FILE.npz",
    )
    restart: Restart = False
    initial: Initial = None
    initial_mapping: InitialMapping = None
    at: str | None = typed(None, "Compute the ratings as of this time, including decay.", "TIME")
    context: str | None = typed(
        None,
        "Show the ratings in this context, such as a surface or map, and order by them (systems "
        "with context_deviation).",
        "NAME",
    )
    conservative: bool = typed(
        False,
        "Add the conservative rating, which is the rating minus three deviations, and order the "
        "table by it.",
    )
    diff: str | None = typed(
        None,
        "Compare the new ratings with earlier ones, as `equipoise compare` does: a table or a "
        "saved state. It may be the file of --output, which is read before it is replaced.",
        "OLD",
    )
    memory_limit: str | None = typed(
        None,
        "Rate a Parquet file of any size in blocks, in about this much memory beside the players: "
        "2GB. It is sorted by time on disk if it is not in order. [default: chosen by its size]",
        "SIZE",
    )
    threads: Threads = 1
    raw: RawText = False
    history: HistoryRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareRequest:
    """Which ratings to compare, and what to write.

    old, new : paths or streams of tables, or paths of saved states
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
        read=requests.source,
    )
    new: object = typed(
        ...,
        "The ratings to compare with them, of the same kinds.",
        "NEW",
        argument=True,
        read=requests.source,
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
        None,
        "Table of names of the same player. The column name has a name as it is written in a "
        "table, and same_as the player who it is.",
        "FILE",
    )
    columns: Mapping[str, str] = typed(
        dict,
        "Rename a column of either table: read OLD as NEW, such as rating=Elo. Repeatable.",
        "NEW=OLD",
        name="--column",
        many=True,
        read=requests.assignments,
    )
    output: str | None = typed(
        None, "Write the table of all players: .csv, .parquet, .json, .jsonl or .tsv.", "FILE"
    )
    chart: str | None = typed(
        None, "Write the chart of old against new ratings: .svg, .png or .pdf.", "FILE"
    )
    format: str | None = typed(None, "Format of the tables, if their names do not show it.")

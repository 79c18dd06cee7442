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
        None, "Write the ratings as an HTML page to print or publish.", "FILE.html"
    )
    trace: str | None = typed(
        None, "Write a table of every player's changes in every match.", "FILE"
    )
    save: str | None = typed(
        None, "Save the state, so that --state can continue from it.", "FILE.npz"
    )
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
        "Show the ratings in this context, such as a surface or map, and sort by them (systems "
        "with context_deviation).",
        "NAME",
    )
    conservative: bool = typed(
        False,
        "Add the conservative rating (the rating minus three deviations) and sort the table by it.",
    )
    diff: str | None = typed(
        None,
        "Compare the new ratings with an earlier table or saved state, as `equipoise compare` "
        "does. OLD may be the --output file, which is read before it is replaced.",
        "OLD",
    )
    memory_limit: str | None = typed(
        None,
        "Rate a Parquet file of any size in blocks, using about this much memory besides the "
        "players, such as 2GB. The file is sorted by time on disk if needed. [default: chosen by "
        "file size]",
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
        "The old ratings: a table with the columns player, rating and optionally deviation, such "
        "as the output of `equipoise rate` or `equipoise db export` or a federation's list; a "
        "state saved by `equipoise rate --save` (.npz); or - for standard input (with --format).",
        "OLD",
        argument=True,
        read=requests.source,
    )
    new: object = typed(
        ...,
        "The new ratings, in one of the same forms.",
        "NEW",
        argument=True,
        read=requests.source,
    )
    scale: Literal["auto", "same", "line"] = typed(
        "auto",
        "Compare the ratings as they are (same), or convert the old ones by a straight line to "
        "the scale of the new ones (line). auto converts if the scales differ.",
    )
    top: int = typed(10, "Number of rises and number of falls to list.", least=0)
    by: Literal["rating", "place"] = typed(
        "rating", "List the largest changes by rating or by place."
    )
    min_matches: int = typed(
        0, "Leave out players with fewer rated matches, if a table has that number.", least=0
    )
    synonyms: str | None = typed(
        None,
        "Merge players who appear under several names. The column name of this table has a name "
        "in OLD or NEW, same_as the player's usual name.",
        "FILE",
    )
    columns: Mapping[str, str] = typed(
        dict,
        "Rename a column in either table: read OLD as NEW, such as rating=Elo. Repeatable.",
        "NEW=OLD",
        name="--column",
        many=True,
        read=requests.assignments,
    )
    output: str | None = typed(
        None, "Write the table of all players: .csv, .parquet, .json, .jsonl or .tsv.", "FILE"
    )
    chart: str | None = typed(
        None, "Draw a chart of old against new ratings: .svg, .png or .pdf.", "FILE"
    )
    format: str | None = typed(None, "Format of the tables, if their names do not show it.")

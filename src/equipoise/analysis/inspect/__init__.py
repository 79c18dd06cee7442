"""What to convert, and to which file; `inspect` has the options of reading alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from equipoise.analysis.requests import HistoryRequest, RawText, typed

#: What a file is converted to; see `ConvertMessage`.
Form: TypeAlias = Literal["history", "games", "trf"]
#: What is said of the forms that earlier versions wrote.
NO_LONGER = (
    "PGN and contest JSON are no longer written: write a table (--as games has one game a row) or "
    "a FIDE report (.trf)."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvertRequest:
    """What to convert, and to which file.

    form : None means what the name of the target says
    raw : whether CSV and TSV have text that spreadsheets run as it is
    """

    history: HistoryRequest
    target: str = typed(
        ...,
        "The file to write: .csv, .csv.gz, .tsv, .parquet, .jsonl, .json or .arrow for a table, "
        "or .trf for a FIDE report.",
        "OUT",
        argument=True,
    )
    form: Form | None = typed(
        None,
        "A long table (history), with a row for each player in a match; a table of games, with a "
        "row for each match of two single players; or a FIDE report (trf). [default: what the name "
        "of OUT says, else history]",
        name="--as",
    )
    overwrite: bool = typed(False, "Replace OUT if it exists.")
    raw: RawText = False

"""The message of `equipoise convert`: what was written, and what the new file lacks."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from equipoise.messages.histories import HistoryMessage

#: What a file is converted to; see `ConvertMessage`.
Form: TypeAlias = Literal["history", "games", "trf"]
#: What is said of the forms that earlier versions wrote.
NO_LONGER = (
    "PGN and contest JSON are no longer written: write a table (--as games has one game a row) or "
    "a FIDE report (.trf)."
)


class ConvertMessage(msgspec.Struct, frozen=True):
    """The answer of `equipoise convert --json`.

    form : "history" is the long table, "games" a table with one match a row, "trf" a FIDE report
    written : number of matches in the new file
    lost : what the new file lacks, or says in another way, as sentences
    history : what was read; null if the source is a tournament
    """

    source: str
    output: str
    form: Form
    written: int
    lost: list[str]
    history: HistoryMessage | None
    notes: list[str]
    seconds: float

"""Tables of tournaments, the winner first: the order of rounds, walkovers and retirements.

Such tables have the day on which a tournament begins, `tourney_date`, on all of its matches, and a
column `round` with words: R128, R64, ..., QF, SF, F. The words order the matches of a day, the
final last. A match that nobody played is a walkover, and its score says so; after a retirement or a
default the score ends early, but the match was played.
"""

from __future__ import annotations

import math
import re
from dataclasses import replace

import numpy as np
import polars as pl

from equipoise.arrays import Flags
from equipoise.formats.table import Options, Table, spelling
from equipoise.formats.tables.column_names import ROUND_WORDS, TOURNAMENT_DAYS
from equipoise.formats.tables.meanings import Layout
from equipoise.formats.tables.values import text_of
from equipoise.wording import counted

#: Digits of a date without separators: 20190131.
_DAY = r"^(1[89]|2[01])[0-9]{2}(0[1-9]|1[0-2])(0[1-9]|[12][0-9]|3[01])$"
_LAST_OF = re.compile(r"(?:r|roundof|last)([0-9]{1,3})")
_ORDINAL = re.compile(r"([0-9]{1,2})(?:st|nd|rd|th)round")
#: What the score of a match says that was not played, and of one that ended early.
_WALKOVER = r"(?i)\b(w/?o|walk-?over)\b"
_RETIRED = r"(?i)\b(ret|retd|retired|retirement|def|default|defaulted|abn|abd)\b"


def _place(text: str) -> float:
    """Return where a round is in a tournament; NaN if the word is unknown."""
    word = re.sub(r"[^a-z0-9]", "", text.lower())
    if word in ROUND_WORDS:
        return ROUND_WORDS[word]
    if match := _LAST_OF.fullmatch(word):
        return -math.log2(max(int(match[1]), 1))
    if match := _ORDINAL.fullmatch(word):
        return -50.0 + int(match[1])
    return math.nan


def in_order_of_rounds(table: Table, layout: Layout, options: Options) -> tuple[Table, Layout]:
    """Return a table with rounds in which the matches of a day are in the order of their rounds.

    Without a column of times, the day of a tournament becomes the time, if all have one. A round
    that is a number, or a word that is not known, changes nothing.
    """
    name = layout.columns["round"]
    if table.frame[name].dtype != pl.String:
        return table, layout
    column = text_of(table.frame[name]).fill_null("")
    words = column.unique()
    places = {word: _place(word) for word in words.to_list()}
    if any(math.isnan(place) for place in places.values()):
        return table, layout
    notes = [f"{name} gives the order within a day, the final last"]
    if "time" not in layout.columns:
        day = _tournament_day(table, options)
        if day is None:
            return table, layout
        layout = replace(layout, columns={**layout.columns, "time": day})
        notes.insert(0, f"{day} is the day of the matches")
    # The reader sorts by time, and keeps the order of matches of the same time.
    order = np.argsort([places[word] for word in column.to_list()], kind="stable")
    table = _numbered(table, options).only(order)
    return replace(table, notes=(*table.notes, "; ".join(notes))), layout


def _tournament_day(table: Table, options: Options) -> str | None:
    """Return the column with the day of the tournament on every row, None if there is none."""
    named = [column for column in table.frame.columns if spelling(column) in TOURNAMENT_DAYS]
    if len(named) != 1 or "time" in options.columns or options.time_format is not None:
        return None
    days = text_of(table.frame[named[0]])
    complete = days.null_count() == 0 and days.str.contains(_DAY).all()
    return named[0] if complete else None


def without_walkovers(table: Table, options: Options) -> Table:
    """Return a table of winners and losers with notes on walkovers, or without walkovers."""
    scores = [
        column
        for column in table.frame.columns
        if spelling(column) in ("score", "result", "comment")
    ]
    scores = [column for column in scores if table.frame[column].dtype == pl.String]
    if not scores:
        return table
    walkovers, retired = (_any(table, scores, words) for words in (_WALKOVER, _RETIRED))
    drop = options.walkovers == "drop" and bool(walkovers.any()) and not walkovers.all()
    notes = []
    if walkovers.any():
        walkovers_note = counted(int(walkovers.sum()), "walkover")
        notes.append(
            f"left out: {walkovers_note}"
            if drop
            else f"{walkovers_note} counted as won (--walkovers drop leaves them out)"
        )
    if (retired & ~walkovers).any():
        ends = counted(int((retired & ~walkovers).sum()), "match", "matches")
        notes.append(f"{ends} ended by a retirement or default, and counted as won")
    if drop:
        table = _numbered(table, options).only(np.flatnonzero(~walkovers))
    return replace(table, notes=(*table.notes, *notes))


def _numbered(table: Table, options: Options) -> Table:
    """Return the table with the number of each row as the id of its match, unless it has ids."""
    if "match" in table.frame.columns or "match" in options.columns:
        return table
    number = pl.Series("match", np.arange(1, len(table.frame) + 1))
    return replace(table, frame=table.frame.with_columns(number))


def _any(table: Table, columns: list[str], words: str) -> Flags:
    """Return the rows of which one of these columns has one of these words."""
    matching = np.zeros(len(table.frame), np.bool_)
    for name in columns:
        matching |= table.frame[name].str.contains(words).fill_null(False).to_numpy()
    return matching

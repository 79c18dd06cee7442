"""Strengths from rankings and choices: read a history, estimate, write the table."""

from __future__ import annotations

from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from equipoise.analysis.performance import StrengthsRequest
from equipoise.analysis.reading import check_outputs, history_message, read
from equipoise.analysis.requests import shared
from equipoise.arrays import Floats
from equipoise.data.history import History
from equipoise.data.reading import HistoryReading
from equipoise.errors import require
from equipoise.formats.writing import write_table
from equipoise.messages.conversion import to_message
from equipoise.messages.histories import StrengthRow, StrengthsMessage
from equipoise.tournament.rankings import RankingStrengths, ranking_strengths
from equipoise.tournament.tournament import FIRST_PLAYERS, MOST_SURE
from equipoise.tournament.uncertainty import DENSE_PLAYERS
from equipoise.wording import counted

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class StrengthsAnswer:
    """The strengths, half the widths of their intervals (NaN if not computed), and the reading."""

    strengths: RankingStrengths
    error: Floats
    history: History
    reading: HistoryReading

    def table(self) -> pl.DataFrame:
        """Return a table with one row for each player, best first."""
        import polars as pl

        errors = dict(zip(self.strengths.player_ids.tolist(), self.error.tolist(), strict=True))
        frame = self.strengths.to_polars()
        column = pl.Series(
            "error", [errors[one] for one in frame["player"].to_list()], dtype=pl.Float64
        )
        known = pl.when(pl.col("component") >= 0).then(pl.col("component")).alias("component")
        return frame.insert_column(2, column.fill_nan(None)).with_columns(known)


def estimate_strengths(request: StrengthsRequest) -> StrengthsAnswer:
    """Read rankings, estimate strengths and write the table.

    Errors are computed for all players up to 3,000, otherwise for the first 20.
    Raises : EquipoiseError, and then nothing was written
    """
    sure = request.confidence
    require(0 < sure <= MOST_SURE, "confidence", f"above 0 and at most {MOST_SURE}", sure)
    check_outputs(request.history, tables={"--output": request.output})
    history, reading = read(request.history)
    found = ranking_strengths(history, **shared(request, ranking_strengths))
    best = np.argsort(-np.where(np.isnan(found.rating), -np.inf, found.rating), kind="stable")
    rows = best if len(best) <= DENSE_PLAYERS else best[:FIRST_PLAYERS]
    error = np.full(len(found.rating), np.nan)
    error[rows] = NormalDist().inv_cdf(0.5 + 0.5 * sure) * found.errors(rows)
    reading = replace(reading, notes=(*reading.notes, *all_tied_notes(history)))
    answer = StrengthsAnswer(strengths=found, error=error, history=history, reading=reading)
    if request.output is not None:
        write_table(answer.table(), request.output)
    return answer


def all_tied_notes(history: History) -> list[str]:
    """Return a note on matches in which all tied, which say nothing in the model of rankings."""
    tied = int(np.sum((history.distinct_ranks() == 1) & (history.teams() > 1)))
    if not tied:
        return []
    which = counted(tied, "match in which all tied counts", "matches in which all tied count")
    return [f"{which} for nothing; `equipoise performance` counts a tie of two as half a win"]


def strengths_message(answer: StrengthsAnswer, request: StrengthsRequest) -> StrengthsMessage:
    """Return the JSON message."""
    return to_message(
        StrengthsMessage,
        answer.strengths,
        players=[StrengthRow(**row) for row in answer.table().iter_rows(named=True)],
        components=components_of(answer.strengths),
        confidence=request.confidence,
        history=history_message(answer.history, answer.reading),
    )


def components_of(found: RankingStrengths) -> int:
    """Return the number of groups of players who are connected by matches."""
    return int(found.component.max(initial=-1)) + 1

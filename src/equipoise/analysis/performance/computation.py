"""Performances in a tournament, and strengths from rankings: read, rate, write table and chart."""

from __future__ import annotations

from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from equipoise.analysis.performance import PerformanceRequest, StrengthsRequest
from equipoise.analysis.performance.chart import tournament_chart
from equipoise.analysis.reading import advice_on, check_outputs, history_message, read
from equipoise.analysis.requests import shared, suited, title_of
from equipoise.arrays import Floats
from equipoise.charts import theme
from equipoise.data.games import Games
from equipoise.data.history import History
from equipoise.data.tournament import TieBreakDetails, TournamentPerformance
from equipoise.errors import InvalidDataError, require
from equipoise.formats.games import scan_games
from equipoise.formats.histories import summarise
from equipoise.formats.table import GamesReading, HistoryReading
from equipoise.formats.writing import write_table
from equipoise.messages.conversion import to_message
from equipoise.messages.histories import (
    PerformanceMessage,
    PerformanceRow,
    StrengthRow,
    StrengthsMessage,
    SuperiorityMessage,
    TieBreakMessage,
    TieBreakPartMessage,
)
from equipoise.tournament.rankings import RankingStrengths, ranking_strengths
from equipoise.tournament.tie_breaks import NEED_RATINGS, tie_break_details, unplayed_note
from equipoise.tournament.tournament import FIRST_PLAYERS, MOST_SURE, performance
from equipoise.tournament.uncertainty import DENSE_PLAYERS
from equipoise.wording import counted

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PerformanceAnswer:
    """The performance table, and the result of reading the games.

    details : the parts of every tie-break of some players
    notes : sentences on the tie-breaks
    """

    performance: TournamentPerformance
    reading: GamesReading
    details: tuple[TieBreakDetails, ...] = ()
    notes: tuple[str, ...] = ()


def rate_performance(request: PerformanceRequest, threads: int = 1) -> PerformanceAnswer:
    """Read the games, rate the performances, write table and chart.

    Raises : EquipoiseError, and then nothing was written
    """
    check_outputs(request, tables={"--output": request.output}, chart=request.chart)
    request, reading = suited(
        request,
        request.games,
        lambda wanted, source: scan_games(source, **shared(wanted, scan_games)),
    )
    if reading.games is None:
        advice = advice_on(reading.problems, skipping=request.skip_bad)
        raise InvalidDataError(
            reading.problems, summarise(reading.problems, request.games), advice=advice
        )
    # Ids of the games may be numbers.
    id_of = {str(player): player for player in reading.games.player_ids.tolist()}
    own = {
        "anchor": request.anchor.average,
        "anchors": {id_of.get(name, name): held for name, held in request.anchor.held.items()},
        "by_points": request.order == "points",
        "threads": threads,
    }
    rated = performance(reading.games, **{**shared(request, performance), **own})
    details = _details(reading.games, request)
    if request.output is not None:
        write_table(rated.table, request.output, raw=request.raw)
    if request.chart is not None:
        name = title_of(request.games, "the tournament")
        theme.write(tournament_chart(rated, name=name), request.chart)
    unplayed = unplayed_note(reading.games, request.tie_breaks, request.unplayed)
    notes = tuple(note for note in (*request.notes, unplayed, _empty_note(rated, request)) if note)
    return PerformanceAnswer(performance=rated, reading=reading, details=details, notes=notes)


def _empty_note(performance: TournamentPerformance, request: PerformanceRequest) -> str:
    """Return a sentence on requested columns that are empty without ratings, "" if none is."""
    empty: list[str] = []
    if np.isnan(performance.standing.average_opponent).all():
        empty += [name for name in request.tie_breaks if name in NEED_RATINGS]
    if request.k_factor is not None and np.isnan(performance.extra["fide_change"]).all():
        empty.append("fide_change")
    if not empty:
        return ""
    return f"empty, because ratings before the tournament are missing: {', '.join(empty)}"


def _details(games: Games, request: PerformanceRequest) -> tuple[TieBreakDetails, ...]:
    """Return the parts of every tie-break of some players.

    Raises : NotFoundError           no such player
    Raises : InvalidParameterError   there are no tie-breaks
    """
    names = request.tie_breaks
    require(bool(names) or not request.details, "details", "with tie-breaks", "none")
    return tuple(
        tie_break_details(
            games,
            player,
            name,
            before=names[:at],
            unplayed=request.unplayed,
            pairing=request.pairing,
            rules=request.tie_break_rules,
        )
        for player in dict.fromkeys(request.details)
        for at, name in enumerate(names)
    )


def message_of(answer: PerformanceAnswer) -> PerformanceMessage:
    """Return the JSON message."""
    performance, reading = answer.performance, answer.reading
    matrix = performance.superiority
    extra = list(performance.extra)
    rows = []
    for row in performance.table.iter_rows(named=True):
        columns = {"class_" if name == "class" else name: value for name, value in row.items()}
        more = {name: columns.pop(name) for name in extra}
        rows.append(PerformanceRow(**columns, extra=more))
    superiority = matrix and to_message(
        SuperiorityMessage, matrix, players=performance.player_ids[matrix.rows]
    )
    return to_message(
        PerformanceMessage,
        performance,
        players=rows,
        regularised=performance.prior > 0,
        left_out={name: count for name, count in reading.left_out.items() if count},
        notes=[*reading.notes, *answer.notes],
        superiority=superiority,
        details=[
            to_message(
                TieBreakMessage,
                detail,
                parts=[TieBreakPartMessage(**row) for row in detail.to_polars().to_dicts()],
            )
            for detail in answer.details
        ],
        skipped=reading.skipped,
        problems=reading.problems,
    )


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
            "error", [errors[player] for player in frame["player"].to_list()], dtype=pl.Float64
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
    strengths = ranking_strengths(history, **shared(request, ranking_strengths))
    best = np.argsort(
        -np.where(np.isnan(strengths.rating), -np.inf, strengths.rating), kind="stable"
    )
    rows = best if len(best) <= DENSE_PLAYERS else best[:FIRST_PLAYERS]
    error = np.full(len(strengths.rating), np.nan)
    error[rows] = NormalDist().inv_cdf(0.5 + 0.5 * sure) * strengths.errors(rows)
    reading = replace(reading, notes=(*reading.notes, *all_tied_notes(history)))
    answer = StrengthsAnswer(strengths=strengths, error=error, history=history, reading=reading)
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
        components=int(answer.strengths.component.max(initial=-1)) + 1,
        confidence=request.confidence,
        history=history_message(answer.history, answer.reading),
    )

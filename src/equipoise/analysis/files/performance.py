"""The performance table of a tournament: read the games, rate, write table and chart.

The functions at the end read options that are text: on the command line, and in queries of the
service.
"""

from __future__ import annotations

import glob
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np

from equipoise.analysis.advice import advice_on
from equipoise.charts import theme
from equipoise.charts.values import tournament_chart
from equipoise.data.files import check_distinct
from equipoise.data.reading import GamesReading
from equipoise.data.tournaments.games import Games
from equipoise.data.tournaments.tie_breaks import TieBreakDetails
from equipoise.data.tournaments.tournament import TournamentPerformance
from equipoise.errors import InvalidDataError, InvalidParameterError, require
from equipoise.formats.games.reading import scan_games
from equipoise.formats.histories import summarise
from equipoise.formats.opening.contents import paths_of
from equipoise.formats.writing import check_target, write_table
from equipoise.messages.conversion import to_message
from equipoise.messages.tournaments.performance import (
    PerformanceMessage,
    PerformanceRow,
    SuperiorityMessage,
    TieBreakMessage,
    TieBreakPartMessage,
)
from equipoise.tournament.curves import CurveName
from equipoise.tournament.equilibrium.equilibrium import Advantage, Draws, Select
from equipoise.tournament.equilibrium.uncertainty import SuperiorityPrior
from equipoise.tournament.fide_expected import RatingRules
from equipoise.tournament.tie_breaks import (
    NEED_RATINGS,
    TIE_BREAKS,
    TieBreak,
    tie_break_details,
    tie_break_named,
    unplayed_note,
)
from equipoise.tournament.tournament import EXTRA, Extra, performance
from equipoise.tournament.unplayed import Pairing, TieBreakRules, Unplayed

if TYPE_CHECKING:
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class PerformanceRequest:
    """Which games to read, how to rate the performances, and what to write.

    games, format, sheet, columns, where, since, until, time_format, synonyms, skip_bad : as
        `equipoise.read_games` takes them
    players : ids to compare with `superiority`, whose errors are always computed
    also : further columns
    details : ids of players whose tie-breaks are shown with their parts
    strict : raise an error if no equilibrium exists
    output : path of the table; chart : path of the chart; title : the tournament's name in it
    raw : whether CSV and TSV have text that spreadsheets run as it is
    The others are parameters of `equipoise.performance`.
    """

    games: object
    format: str | None = None
    sheet: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    where: Mapping[str, str] = field(default_factory=dict)
    since: str | None = None
    until: str | None = None
    time_format: str | None = None
    synonyms: str | None = None
    skip_bad: bool = False
    anchor: float | None = None
    anchors: Mapping[str, float] = field(default_factory=dict)
    select: Select = "equal"
    confidence: float = 0.95
    scale: float = 1.0
    curve: CurveName = "elo"
    draws: Draws = "ignore"
    colour_advantage: Advantage = 0.0
    prior: float = 0.0
    superiority: bool = False
    superiority_prior: SuperiorityPrior = "field"
    players: tuple[str, ...] = ()
    also: tuple[Extra, ...] = ()
    tie_breaks: tuple[TieBreak, ...] = ()
    unplayed: Unplayed = "fide"
    pairing: Pairing = "auto"
    tie_break_rules: TieBreakRules = "2026-03"
    by_points: bool = False
    details: tuple[str, ...] = ()
    k_factor: float | None = None
    rating_rules: RatingRules = "2025-10"
    strict: bool = False
    output: str | None = None
    raw: bool = False
    chart: str | None = None
    title: str | None = None


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
    _check_outputs(request)
    reading = scan_games(
        request.games,
        format=request.format,
        sheet=request.sheet,
        columns=request.columns,
        where=request.where,
        since=request.since,
        until=request.until,
        time_format=request.time_format,
        synonyms=request.synonyms,
        skip_bad=request.skip_bad,
    )
    if reading.games is None:
        advice = advice_on(reading.problems, skipping=request.skip_bad)
        raise InvalidDataError(
            reading.problems, summarise(reading.problems, request.games), advice=advice
        )
    found = performance(
        reading.games,
        curve=request.curve,
        scale=request.scale,
        select=request.select,
        anchor=request.anchor,
        anchors=_anchors(reading.games.player_ids.tolist(), request.anchors),
        prior=request.prior,
        colour_advantage=request.colour_advantage,
        draws=request.draws,
        confidence=request.confidence,
        superiority=request.superiority,
        superiority_prior=request.superiority_prior,
        players=request.players,
        also=request.also,
        tie_breaks=request.tie_breaks,
        unplayed=request.unplayed,
        pairing=request.pairing,
        tie_break_rules=request.tie_break_rules,
        by_points=request.by_points,
        k_factor=request.k_factor,
        rating_rules=request.rating_rules,
        strict=request.strict,
        threads=threads,
    )
    details = _details(reading.games, request)
    if request.output is not None:
        write_table(found.table, request.output, raw=request.raw)
    if request.chart is not None:
        theme.write(
            tournament_chart(found, name=request.title or title_of(request.games)), request.chart
        )
    unplayed = unplayed_note(reading.games, request.tie_breaks, request.unplayed)
    notes = tuple(note for note in (unplayed, _empty_note(found, request)) if note)
    return PerformanceAnswer(performance=found, reading=reading, details=details, notes=notes)


def _empty_note(found: TournamentPerformance, request: PerformanceRequest) -> str:
    """Return a sentence on requested columns that are empty without ratings, "" if none is."""
    empty: list[str] = []
    if np.isnan(found.standing.average_opponent).all():
        empty += [name for name in request.tie_breaks if name in NEED_RATINGS]
    if request.k_factor is not None and np.isnan(found.extra["fide_change"]).all():
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


def _check_outputs(request: PerformanceRequest) -> None:
    """Refuse outputs that cannot be written, before reading."""
    given = {"--output": request.output, "--chart": request.chart}
    check_distinct({**paths_of(request.games, "GAMES"), **given})
    if request.output is not None:
        check_target(request.output)
    if request.chart is not None:
        theme.check_file(request.chart)


def _anchors(players: list[Any], given: Mapping[str, float]) -> dict[Any, float]:
    """Return the held ratings by the ids of the games, where numbers may be given as text."""
    id_of = {str(one): one for one in players}
    return {id_of.get(name, name): rating for name, rating in given.items()}


def title_of(games: object) -> str:
    """Return the name of the tournament, from the name of its file."""
    if not isinstance(games, str) or glob.has_magic(games):
        return "the tournament"
    return Path(games).name.partition(".")[0]


def message_of(answer: PerformanceAnswer) -> PerformanceMessage:
    """Return the JSON message."""
    found, reading = answer.performance, answer.reading
    matrix = found.superiority
    extra = list(found.extra)
    rows = []
    for row in found.table.iter_rows(named=True):
        columns = {"class_" if name == "class" else name: value for name, value in row.items()}
        more = {name: columns.pop(name) for name in extra}
        rows.append(PerformanceRow(**columns, extra=more))
    superiority = matrix and to_message(
        SuperiorityMessage, matrix, players=found.player_ids[matrix.rows]
    )
    return to_message(
        PerformanceMessage,
        found,
        players=rows,
        regularised=found.prior > 0,
        left_out={name: count for name, count in reading.left_out.items() if count},
        notes=[*reading.notes, *answer.notes],
        superiority=superiority,
        details=[_details_message(one) for one in answer.details],
        skipped=reading.skipped,
        problems=reading.problems,
    )


def _details_message(details: TieBreakDetails) -> TieBreakMessage:
    """Return the parts of a tie-break of a player."""
    parts = [TieBreakPartMessage(**row) for row in details.to_polars().iter_rows(named=True)]
    return to_message(TieBreakMessage, details, parts=parts)


def anchors_of(given: Sequence[str], option: str) -> tuple[float | None, dict[str, float]]:
    """Return the average rating and the held ratings by player, from texts R and PLAYER=R.

    option : its name for users
    Raises : InvalidParameterError
    """
    average: float | None = None
    held: dict[str, float] = {}
    for text in given:
        name, _, value = text.rpartition("=")
        try:
            rating = float(value)
        except ValueError:
            raise InvalidParameterError(
                f"{option} takes a rating, or PLAYER=RATING; got {text!r}"
            ) from None
        if name and name not in held:
            held[name] = rating
        elif name or average is not None:
            who = f"player {name}" if name else "the average"
            raise InvalidParameterError(f"{option} must give one rating for {who}; got {text!r}")
        else:
            average = rating
    return average, held


def extra_columns(given: Sequence[str], option: str) -> tuple[Extra, ...]:
    """Return the names of further columns. Raises : InvalidParameterError."""
    for name in given:
        require(name in EXTRA, option, f"one of {', '.join(EXTRA)}", name)
    return tuple(cast("Extra", name) for name in given)


def tie_breaks_of(given: Sequence[str], option: str) -> tuple[TieBreak, ...]:
    """Return tie-breaks from texts with one name or more, separated by commas, each once.

    Names are those of `TIE_BREAKS` or FIDE's codes, such as BH-C1 or bh:c1.
    Raises : InvalidParameterError
    """
    found: dict[TieBreak, None] = {}
    for text in given:
        for name in text.split(","):
            known = tie_break_named(name)
            rule = f"one of {', '.join(TIE_BREAKS)}, or FIDE's codes"
            require(known is not None, option, rule, name.strip())
            if known is not None:
                found[known] = None
    return tuple(found)


def advantage_of(text: str | None, option: str) -> float | Literal["estimate"]:
    """Return rating points, or "estimate". Raises : InvalidParameterError."""
    if text is None:
        return 0.0
    if text == "estimate":
        return "estimate"
    try:
        return float(text)
    except ValueError:
        raise InvalidParameterError(
            f"{option} takes rating points or the word estimate; got {text!r}"
        ) from None

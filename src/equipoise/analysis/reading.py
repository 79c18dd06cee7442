"""Reading the history of a command or request, with notes on what was left out or not used.

Where it cannot be read, an error says what to do next.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from equipoise.analysis.requests import GamesRequest, shared, suited
from equipoise.analysis.requests import HistoryRequest as HistoryRequest
from equipoise.arrays import Ids
from equipoise.charts import theme
from equipoise.data.files import check_distinct
from equipoise.data.history import History, with_performance
from equipoise.errors import InvalidDataError, InvalidParameterError, Problem
from equipoise.formats import scan_history
from equipoise.formats.column_names import KEPT
from equipoise.formats.histories import summarise
from equipoise.formats.sources import paths_of
from equipoise.formats.table import HistoryReading, spelling
from equipoise.formats.writing import check_target
from equipoise.messages.conversion import to_message
from equipoise.messages.histories import HistoryMessage, RateSummary
from equipoise.rating.calibration_curve import CALIBRATION
from equipoise.rating.federation_columns import codes_of
from equipoise.rating.pool_state import PoolState
from equipoise.rating.registry import make_system, parameters_of
from equipoise.rating.replay import replay
from equipoise.rating.system import RatingSystem
from equipoise.wording import did_you_mean

#: Parameters that turn others on, with a value that does.
_TURN_ON = (
    ("entry", "learned"),
    ("hold_level", 0.05),
    ("learn_home_advantage", True),
    ("draw_slope", 0.1),
    ("pairing", "partial"),
)

#: Parameters without effect -> what turns them on.
_TURNED_ON_BY = {
    "home_advantage_deviation": "learn_home_advantage",
    "home_advantage_drift": "learn_home_advantage",
    "draw_slope": "draw_rule",
    "draw_rule": "draw_slope",
    "draw_rating": "draw_rule=rating",
    "window": "pairing=partial",
}


def suited_history(
    request: HistoryRequest, source: object
) -> tuple[HistoryRequest, HistoryReading]:
    """Return the history of a request, or its problems, and the request that `suited` has.

    source : what to read instead of the source of the request, such as its content
    Raises : InvalidParameterError   the options do not suit it
    """
    request, reading = suited(request, source, _scan)
    notes = (*request.notes, *reading.notes)
    return request, replace(reading, notes=notes) if request.notes else reading


def _scan(request: HistoryRequest, source: object) -> HistoryReading:
    return scan_history(
        source,
        **{**shared(request, scan_history), "statistics": tuple(request.statistics)},
    )


def scanned_history(request: HistoryRequest, source: object) -> HistoryReading:
    """Return the history of a request, or its problems, as `suited_history`."""
    return suited_history(request, source)[1]


def read(
    request: HistoryRequest,
    systems: Mapping[str, RatingSystem] | None = None,
    searched: Collection[str] = (),
) -> tuple[History, HistoryReading]:
    """Return the history of a request, with performances computed from its statistics.

    systems : label -> system that will rate it; what it does not use is noted, or refused if
        `strict`
    searched : parameters for which other values will be tried
    Raises : InvalidDataError, InvalidParameterError.
    """
    reading = scanned_history(request, request.source)
    if reading.history is None:
        raise InvalidDataError(
            reading.problems,
            summarise(reading.problems, request.source, request.synonyms),
            advice=advice_on(reading.problems, skipping=request.skip_bad is not None),
        )
    history = with_performance(reading.history, request.statistics)
    notes = notes_on_unused(systems or {}, history, request, searched)
    return history, replace(reading, notes=(*reading.notes, *notes))


def learn_curve(pool: PoolState, source: str) -> None:
    """Give a pool the curve that its system learns from a history, to correct chances by it.

    source : path of the history
    Raises : InvalidParameterError if the pool began with known ratings; EquipoiseError
    """
    if pool.known_ratings:
        raise InvalidParameterError(
            "--calibrate cannot be combined with a state that started from known ratings; in "
            "Python, replay(..., initial=..., calibrate=True) makes such a state with a curve"
        )
    history, _ = read(HistoryRequest(source=source))
    learned = replay(pool.system, history, calibrate=True).state
    pool.state.shared[CALIBRATION] = learned.state.shared[CALIBRATION]


def notes_on_unused(
    systems: Mapping[str, RatingSystem],
    history: History,
    request: HistoryRequest,
    searched: Collection[str] = (),
) -> list[str]:
    """Return notes on what systems do not use of a history and the options; see `read`."""
    unused = {
        label if label == system.name else f"{label} ({system.name})": unused_of(
            system, history, request, searched
        )
        for label, system in systems.items()
    }
    return unused_notes(unused, strict=request.strict)


def unused_of(
    system: RatingSystem,
    history: History,
    request: HistoryRequest,
    searched: Collection[str] = (),
) -> list[str]:
    """Return the given columns and options that the system does not use.

    searched : parameters for which other values will be tried
    """
    able = system.capabilities
    unused = []
    for name in able.unused(history):
        parameter = able.needed.get(name)
        if parameter in searched:
            continue
        option = "--stat" if name == "performance" and request.statistics else name
        unused.append(option if parameter is None else f"{option} (needs {parameter})")
    for name in idle_parameters(system, searched):
        needs = _TURNED_ON_BY.get(name)
        unused.append(f"parameter {name}" + (f" (needs {needs})" if needs else ""))
    return unused


def idle_parameters(system: RatingSystem, searched: Collection[str] = ()) -> list[str]:
    """Return the parameters that were set or are searched, and have no effect in this system."""
    usual, idle = parameters_of(make_system(system.name)), _idle(system, searched)
    return [
        name
        for name, value in parameters_of(system).items()
        if name in idle and (value != usual[name] or name in searched)
    ]


def _idle(system: RatingSystem, searched: Collection[str]) -> frozenset[str]:
    """Return the parameters without effect, also while those that turn others on are searched."""
    idle = system.capabilities.idle
    for name, value in _TURN_ON:
        if name in searched:
            with suppress(InvalidParameterError):
                on = make_system(system.name, {**parameters_of(system), name: value})
                idle &= on.capabilities.idle
    return idle


def unused_at(system: RatingSystem) -> list[str]:
    """Return `--at`, to add to `unused_of`, if no rating of the system depends on time."""
    if "time" in system.capabilities.uses:
        return []
    parameter = system.capabilities.needed.get("time")
    return ["--at" if parameter is None else f"--at (needs {parameter})"]


def missing_notes(system: RatingSystem, history: History, *, resumed: bool) -> list[str]:
    """Return notes on columns that the system uses and the history does not have.

    There may also be one on matches that are too large for the system.
    resumed : whether ratings continue from a saved state
    """
    notes: list[str] = []
    if hasattr(system, "missing"):
        notes += system.missing(history, resumed=resumed)
    if hasattr(system, "field_notes"):
        notes += system.field_notes(history)
    if getattr(system, "shares", "off") != "off" and history.share is None:
        notes.append(f"{system.name} finds no share column: every player counts whole")
    if "score" in system.capabilities.uses and history.scores() is None:
        notes.append(
            f"{system.name} finds no score column: margins do not count (--column score=goals "
            "reads goals as score)"
        )
    return notes


def unused_notes(unused_by_system: Mapping[str, Sequence[str]], *, strict: bool) -> list[str]:
    """Return a note for every system that does not use something that was given.

    unused_by_system : system -> what it does not use
    strict : raise an error instead. Raises : InvalidParameterError
    """
    notes = [
        f"{name} does not use {', '.join(unused)}: no rating depends on "
        f"{'it' if len(unused) == 1 else 'them'}"
        for name, unused in unused_by_system.items()
        if unused
    ]
    if notes and strict:
        raise InvalidParameterError(f"{'; '.join(notes)} (refused by --strict)")
    return notes


def without_dates(history: History) -> str:
    """Return the end of a sentence on a history without dates: what it has instead."""
    if history.order is None:
        return "has no time column"
    return "has an order without dates (--time-format s reads it as seconds since 1970)"


def check_outputs(
    request: HistoryRequest | GamesRequest,
    others: Mapping[str, str | None] | None = None,
    *,
    tables: Mapping[str, str | None] | None = None,
    chart: str | None = None,
) -> None:
    """Refuse outputs that cannot be written, or would overwrite the source or one another.

    others, tables : path by the name of the option; chart : path of `--chart`
    Raises : InvalidParameterError
    """
    written = {**(others or {}), **(tables or {}), "--chart": chart}
    outputs = {"--synonyms": request.synonyms, **written}
    if isinstance(request, GamesRequest):
        source = paths_of(request.games, "GAMES")
    else:
        source = paths_of(request.source, "HISTORY")
    if len(source) > 1 or any(outputs.values()):
        check_distinct({**source, **outputs})
    for path in (tables or {}).values():
        if path is not None:
            check_target(path)
    if chart is not None:
        theme.check_file(chart)


#: Names that contexts usually have, in the spelling of `spelling`.
_CONTEXTS = ("surface", "map", "mode", "timecontrol", "format", "court", "bestof", "variant")
#: Matches that are looked at, values that a context has at most, and matches of each on average.
_LOOKED_AT, _MOST_VALUES, _FEWEST_MATCHES = 20_000, 20, 20
#: Share of matches with the most frequent value, or without one, from which a column says little.
_NEARLY_ALL = 0.95


def candidate_contexts(history: History) -> dict[str, list[str]]:
    """Return columns that may be contexts of matches, likely ones first, with their values.

    Such a column has few values, and one for all players of a match.
    """
    some = history.slice(0, min(history.matches, _LOOKED_AT))
    starts = some.offsets[:-1]
    candidates: dict[str, list[str]] = {}
    for name, column in some.attributes.items():
        if name in KEPT or not len(starts):
            continue
        of_match = column[starts]
        if not np.array_equal(
            codes_of(of_match[some.match_rows()]), codes_of(column), equal_nan=True
        ):
            continue
        codes, first, counts = np.unique(codes_of(of_match), return_index=True, return_counts=True)
        present, rows = ~np.isnan(codes), len(starts)
        values = int(present.sum())
        if not 2 <= values <= min(_MOST_VALUES, rows / _FEWEST_MATCHES):
            continue
        if counts.max() <= _NEARLY_ALL * rows:
            often = np.argsort(-counts[present], kind="stable")
            candidates[name] = [str(of_match[row]) for row in first[present][often].tolist()]
    usual = [name for name in candidates if spelling(name) in _CONTEXTS]
    return {name: candidates[name] for name in dict.fromkeys([*usual, *candidates])}


def values_of_matches(history: History, column: str, others: str = "") -> Ids:
    """Return the value of a column in every match as text, for `--by`; "" if there is none.

    others : what else the option may name, as the end of a phrase
    Raises : InvalidParameterError   no such column, or a match with several values
    """
    values = history.attributes.get(column)
    if values is None:
        known = list(history.attributes)
        names = f" ({', '.join(known)})" if known else ""
        none = "" if known else "; the history has no other columns"
        raise InvalidParameterError(
            f"--by must name a column of the history{names}{others}{none}; got {column!r}"
            f"{did_you_mean([column], known)}"
        )
    # A float that is not equal to itself is a missing value.
    texts: Ids = np.array(
        ["" if value is None or value != value else str(value) for value in values.tolist()],
        dtype=object,
    )
    first = texts[history.offsets[:-1]]
    for row in np.flatnonzero(texts != np.repeat(first, history.sizes()))[:1].tolist():
        match = int(np.searchsorted(history.offsets, row, "right")) - 1
        raise InvalidParameterError(
            f"--by must name a column with one value in every match; {column} has "
            f"{first[match]!r} and {texts[row]!r} in match {history.match_ids[match]}"
        )
    return first


def left_out(readings: Sequence[HistoryReading | RateSummary]) -> dict[str, Any]:
    """Return what was left out of several histories together, as fields of `HistoryReading`."""
    return {
        "unrated": sum(reading.unrated for reading in readings),
        "filtered": sum(reading.filtered for reading in readings),
        "dropped_matches": tuple(
            match for reading in readings for match in reading.dropped_matches
        ),
        "dropped_rows": sum(reading.dropped_rows for reading in readings),
        "problems": tuple(problem for reading in readings for problem in reading.problems),
    }


def history_message(history: History, reading: HistoryReading) -> HistoryMessage:
    """Return the JSON message on what was read and what was left out."""
    return to_message(
        HistoryMessage,
        reading,
        matches=history.matches,
        participations=history.participations,
        players=history.players,
    )


#: A rule of a reader, or the value found -> what to do about it. The first that fits is said.
_OF_FILES: tuple[tuple[str, str], ...] = (
    (r"<!doctype|<html", "This is a web page, not its data: download the file itself."),
    (
        r"no such file|must be a readable file",
        "Check the path and your permission to read the file.",
    ),
    (r"got an empty file|starts with b''", "The file is empty: download or export it again."),
    (
        r"got no columns|must hold at least one player|got text without tags|must be one JSON",
        "This looks like a file of another kind: export its matches as CSV, with the columns "
        "match, player and rank, or white, black and result.",
    ),
    (
        r"must have the columns of a history|must have white",
        "Name the columns with --column NEW=OLD; `equipoise inspect FILE` shows their values.",
    ),
    # The problem itself leads on.
    (r"--[a-z]|`equipoise |: (save the table|save it|export the table|unpack it)", ""),
    (
        r"got a binary file",
        "This is not text in UTF-8: save it as text (in a spreadsheet: CSV UTF-8).",
    ),
    (
        r"must be a (gzip|zip|Parquet) file|must be text in the format|starts with b|must be JSON$",
        "The name of the file and its content differ in format: rename the file, or choose the "
        "format with --format.",
    ),
    (
        r"must be an archive with|must be a directory with|must hold tables, contests or games",
        "Choose a file, an archive or a folder with tables, contests (.json) or games (.pgn).",
    ),
    (
        r"complete|readable",
        "The file is damaged, incomplete, or of another kind than its name says: download or "
        "export it again.",
    ),
    (
        r"must be a response with status",
        "The platform refused the request: download the contest again.",
    ),
    (
        r"must be a contest|must be a list|must be an object|rated participant|participants|party",
        "Download the contest again, or export the matches as CSV with the columns match, player "
        "and rank.",
    ),
    (
        r"must hold at least one game|must leave at least one match",
        "Nothing is left to rate: choose a file with finished games, or change --where, --from and "
        "--until.",
    ),
    (
        r"at least one row|must have a header",
        "It has no matches: export it again, with a header and a row for every player of a match.",
    ),
    (
        r"must be headed by",
        "Rename this column after a player, or remove it; --format games, pairs or history reads "
        "another kind of table.",
    ),
    (
        r"must be a column of the table|needs a rank|must have (white|match|player)",
        "Name the columns with --column NEW=OLD, such as --column player=NAME.",
    ),
)
#: The same for rules that name a line and cannot be skipped.
_OF_LINES: tuple[tuple[str, str], ...] = (
    (r"Windows-1252: save it|between its columns", ""),  # the problem itself leads on
    (
        r"be read with\s+--time-format",
        "Choose one of these formats with --time-format; it applies to all rows.",
    ),
    (r"must be text in UTF-8", "Save the file as UTF-8 (in a spreadsheet: CSV UTF-8)."),
    (
        r"must be the name of only one column|must be only one of its columns",
        "Rename or remove one of these columns. If the file has no header, add one, such as "
        "match,player,rank.",
    ),
    (r"must close all quotation marks", "Close the quotation mark, or remove it."),
    (
        r"must separate its columns with spaces",
        "Export the report again, or use a list of games: CSV with white, black and result.",
    ),
    (
        r"must be the same for all players of a team",
        "If every player of a match plays alone, add --column unused=NAME, where NAME is the "
        "team column, to ignore the teams.",
    ),
    (
        r"must be a place: --unplaced",
        "Choose one of the two options.",
    ),
    (
        r"and the same on all",
        "To read another column, use --column NEW=OLD; for times in another format, use "
        "--time-format.",
    ),
)


def advice_on(problems: Sequence[Problem], *, skipping: bool) -> str:
    """Return what to do about problems that prevent an answer; "" if they say it themselves.

    skipping : whether bad rows are skipped already
    """
    if not problems:
        return ""
    told = "\n".join(f"{problem.rule}; got {problem.got}" for problem in problems)
    rows = all(problem.line is not None for problem in problems)
    known = _OF_LINES if rows else _OF_FILES
    found = (words for pattern, words in known if re.search(pattern, told, re.I | re.M))
    advice = next(found, None)
    if advice is None and rows and not skipping:
        return (
            "Correct these rows, leave their matches out with --skip-bad, or leave out only "
            "these rows with --skip-bad=rows. `equipoise inspect FILE` with the same option "
            "shows the remaining matches."
        )
    return advice or ""

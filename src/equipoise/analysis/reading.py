"""Reading the history of a command or request, with notes on what was left out or not used."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

import numpy as np

from equipoise.analysis.advice import advice_on
from equipoise.analysis.requests import GamesRequest, shared, suited
from equipoise.analysis.requests import HistoryRequest as HistoryRequest
from equipoise.charts import theme
from equipoise.data.files import check_distinct
from equipoise.data.history import History, with_performance
from equipoise.errors import InvalidDataError, InvalidParameterError
from equipoise.formats import scan_history
from equipoise.formats.column_names import KEPT
from equipoise.formats.histories import summarise
from equipoise.formats.sources import paths_of
from equipoise.formats.table import HistoryReading, spelling
from equipoise.formats.writing import check_target
from equipoise.messages.conversion import to_message
from equipoise.messages.histories import HistoryMessage
from equipoise.rating.calibration_curve import CALIBRATION
from equipoise.rating.federation_columns import codes_of
from equipoise.rating.pool_state import PoolState
from equipoise.rating.registry import make_system, parameters_of
from equipoise.rating.replay import replay
from equipoise.rating.system import RatingSystem

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
            "--calibrate cannot be combined with a state that began with known ratings: in Python, "
            "replay(..., initial=..., calibrate=True) makes one with a curve"
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
        notes.append(f"{system.name} has no column share: every player counts whole")
    if "score" in system.capabilities.uses and history.scores() is None:
        notes.append(
            f"{system.name} has no column score: no margin counts (--column score=goals reads "
            "goals as score)"
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


def history_message(history: History, reading: HistoryReading) -> HistoryMessage:
    """Return the JSON message on what was read and what was left out."""
    return to_message(
        HistoryMessage,
        reading,
        matches=history.matches,
        participations=history.participations,
        players=history.players,
    )

"""Auditing drift and incentives: read the history, study each system, write tables."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeAlias, TypeVar

import polars as pl

from equipoise._jit import working_time
from equipoise.analysis.audit import DriftRequest, IncentivesRequest
from equipoise.analysis.reading import check_outputs, history_message, read, without_dates
from equipoise.analysis.requests import all_cores
from equipoise.analysis.systems import plain_parameters
from equipoise.data.audits import ActivityWindow, Drift, Incentive
from equipoise.data.history import History
from equipoise.errors import InvalidParameterError, NotFoundError, require
from equipoise.evaluate.drift import default_window, drift
from equipoise.evaluate.incentives import Effort, activity_of, incentives, sample
from equipoise.formats import write_table
from equipoise.formats.table import HistoryReading
from equipoise.messages.conversion import plain
from equipoise.rating.replay import check_fit
from equipoise.rating.system import RatingSystem

Found = TypeVar("Found")


@dataclass(frozen=True, slots=True)
class Audit(Generic[Found]):
    """Result of an audit; `found` and `seconds` by label."""

    history: History
    reading: HistoryReading
    systems: Mapping[str, RatingSystem]
    found: Mapping[str, Found]
    seconds: Mapping[str, float]


#: The drift of every system; all of them have the same window.
DriftAnswer: TypeAlias = Audit[Drift]


def _each(
    systems: Mapping[str, RatingSystem],
    audit: Callable[..., Found],
    progress: Callable[[int, int], None] | None,
) -> tuple[dict[str, Found], dict[str, float]]:
    """Return the findings of an audit for every system, and its seconds, by label.

    audit : called with a system and progress=, a function of (steps done, total)
    progress : called with the steps of all systems
    """
    results: dict[str, Found] = {}
    seconds: dict[str, float] = {}
    for number, (label, system) in enumerate(systems.items()):

        def note(done: int, total: int, before: int = number) -> None:
            if progress is not None:
                progress(before * total + done, len(systems) * total)

        start = working_time()
        results[label] = audit(system, progress=note)
        seconds[label] = working_time() - start
    return results, seconds


def audit_drift(
    systems: Mapping[str, RatingSystem],
    request: DriftRequest,
    progress: Callable[[int, int], None] | None = None,
) -> DriftAnswer:
    """Read the history, replay every system through it, write the table.

    Raises : EquipoiseError, and then nothing was written
    """
    _check_drift(request)
    history, reading = read(request.history, systems)
    window = _window(request, history)
    audit = partial(
        drift, history=history, window=window, points=request.points, threads=all_cores()
    )
    answer = Audit(history, reading, systems, *_each(systems, audit, progress))
    if request.output is not None:
        tables = (
            drift.file_table().select(pl.lit(label).alias("system"), pl.all())
            for label, drift in answer.found.items()
        )
        write_table(pl.concat(tables), request.output)
    return answer


def _check_drift(request: DriftRequest) -> None:
    """Refuse wrong options and outputs that cannot be written, before reading."""
    if request.active_days is not None and request.active_matches is not None:
        raise InvalidParameterError("--active-days cannot be combined with --active-matches")
    days = request.active_days
    require(days is None or 0 < days < math.inf, "--active-days", "positive", days)
    check_outputs(request.history, tables={"--output": request.output})


def _window(request: DriftRequest, history: History) -> ActivityWindow:
    """Return how long players are active after a match."""
    days, matches = request.active_days, request.active_matches
    if days is not None and history.time is None:
        raise InvalidParameterError(
            f"--active-days needs a history with times; this one {without_dates(history)}. "
            "Use --active-matches"
        )
    if days is not None:
        return ActivityWindow("days", days)
    return default_window(history) if matches is None else ActivityWindow("matches", matches)


#: Fields of a drift beside its points.
_OF_SYSTEM = ("system", "scales", "learns", "holds", "start", "performed_all")


def drift_json(answer: DriftAnswer) -> dict[str, Any]:
    """Return what `equipoise audit drift --json` prints."""
    return {
        "systems": [
            {
                "label": label,
                **{name: plain(getattr(drift, name)) for name in _OF_SYSTEM},
                "parameters": plain_parameters(answer.systems[label]),
                "points": [{"time": None, **point} for point in drift.file_table().to_dicts()],
                "seconds": answer.seconds[label],
            }
            for label, drift in answer.found.items()
        ],
        "window": plain(next(iter(answer.found.values())).window),
        "history": history_message(answer.history, answer.reading),
    }


#: Incentives of the same players, by system.
IncentivesAnswer: TypeAlias = Audit[list[Incentive]]


def audit_incentives(
    systems: Mapping[str, RatingSystem],
    request: IncentivesRequest,
    progress: Callable[[int, int], None] | None = None,
) -> IncentivesAnswer:
    """Read the history, search with every system, write the table of all matches.

    Raises : EquipoiseError, and then nothing was written
    """
    effort = Effort(matches=request.matches, budget=request.budget)
    check_outputs(request.history, tables={"--output": request.output})
    history, reading = read(request.history, systems)
    audit = partial(
        incentives,
        history=history,
        players=_players(next(iter(systems.values())), history, request.players),
        effort=effort,
        seed=request.seed,
        workers=request.workers or 1,
        threads=all_cores(),
        executor=request.executor,
    )
    answer = Audit(history, reading, systems, *_each(systems, audit, progress))
    if request.output is not None:
        tables = (
            incentive.file_table().select(
                pl.lit(label).alias("system"), pl.lit(incentive.player).alias("player"), pl.all()
            )
            for label, incentives in answer.found.items()
            for incentive in incentives
        )
        write_table(pl.concat(tables), request.output)
    return answer


def _players(system: RatingSystem, history: History, named: tuple[str, ...]) -> list[object]:
    """Return the ids of the named players, or of some that the first system rates often."""
    check_fit(system, history)
    rated = system.capabilities.rated(history)
    rows = list(dict.fromkeys(map(history.player_row, named))) or sample(
        activity_of(history, rated)
    )
    if not rows:
        raise NotFoundError(f"{system.name} changes no rating in this history")
    players: list[object] = history.player_ids[rows].tolist()
    return players


#: Fields of an incentive beside its matches.
_OF_PLAYER = ("player", "played", "before", "gain", "plans", "failed", "complete")


def incentives_json(answer: IncentivesAnswer, request: IncentivesRequest) -> dict[str, Any]:
    """Return what `equipoise audit incentives --json` prints."""
    return {
        "systems": [
            {
                "label": label,
                "system": answer.systems[label].name,
                "parameters": plain_parameters(answer.systems[label]),
                "players": [_player(incentive) for incentive in incentives],
                "seconds": answer.seconds[label],
            }
            for label, incentives in answer.found.items()
        ],
        "last_matches": request.matches,
        "budget": request.budget,
        "seed": request.seed,
        "history": history_message(answer.history, answer.reading),
    }


def _player(incentive: Incentive) -> dict[str, Any]:
    return {
        **{name: plain(getattr(incentive, name)) for name in _OF_PLAYER},
        "honest": plain(incentive.honest[-1]),
        "planned": plain(incentive.planned[-1]),
        "thrown": int(incentive.thrown.sum()),
        "matches": [{"time": None, **match} for match in incentive.file_table().to_dicts()],
    }

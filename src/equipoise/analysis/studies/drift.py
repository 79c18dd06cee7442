"""Auditing drift: read the history, replay each system, write a table or a chart."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from equipoise.analysis.files.reading import (
    check_outputs,
    history_message,
    read,
    without_dates,
)
from equipoise.analysis.files.systems import audit_each, plain_parameters
from equipoise.analysis.requests.studies import DriftRequest
from equipoise.charts import theme
from equipoise.charts.values import drift_subtitle
from equipoise.data.audits import ActivityWindow, Drift
from equipoise.data.history import History
from equipoise.data.reading import HistoryReading
from equipoise.errors import InvalidParameterError, require
from equipoise.evaluate.drift import check_window, default_window, drift
from equipoise.formats import write_table
from equipoise.formats.writing import check_target
from equipoise.messages.conversion import plain
from equipoise.rating.system import RatingSystem

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True, kw_only=True)
class DriftAnswer:
    """Result of a drift audit; `found` and `seconds` by label."""

    history: History
    reading: HistoryReading
    systems: Mapping[str, RatingSystem]
    window: ActivityWindow
    found: Mapping[str, Drift]
    seconds: Mapping[str, float]


def audit_drift(
    systems: Mapping[str, RatingSystem],
    request: DriftRequest,
    progress: Callable[[int, int], None] | None = None,
) -> DriftAnswer:
    """Read the history, replay every system through it, write the table or the chart.

    Raises : EquipoiseError, and then nothing was written
    """
    _check(request, len(systems))
    history, reading = read(request.history, systems)
    window = _window(request, history)
    audit = partial(
        drift, history=history, window=window, points=request.points, threads=request.threads
    )
    found, seconds = audit_each(systems, audit, progress)
    answer = DriftAnswer(
        history=history,
        reading=reading,
        systems=systems,
        window=window,
        found=found,
        seconds=seconds,
    )
    if request.output is not None:
        _write(answer, request, request.output)
    return answer


def _check(request: DriftRequest, systems: int) -> None:
    """Refuse wrong options and outputs that cannot be written, before reading."""
    require(request.points >= 2, "--points", "at least 2", request.points)
    if request.active_days is not None and request.active_matches is not None:
        raise InvalidParameterError("--active-days cannot be combined with --active-matches")
    days, matches = request.active_days, request.active_matches
    require(days is None or 0 < days < math.inf, "--active-days", "positive", days)
    require(matches is None or matches >= 1, "--active-matches", "at least 1", matches)
    if request.output is None:
        return
    check_outputs(request.history, {"--output": request.output})
    if not is_chart(request.output):
        check_target(request.output)
        return
    from equipoise.charts.drift import MOST_SYSTEMS

    theme.check_file(request.output)
    require(systems <= MOST_SYSTEMS, "systems", f"at most {MOST_SYSTEMS} in a chart", systems)


def is_chart(path: str) -> bool:
    """Return whether a path is that of a chart."""
    return Path(path).suffix.lower().removeprefix(".") in theme.FILE_KINDS


def _window(request: DriftRequest, history: History) -> ActivityWindow:
    """Return how long players are active after a match."""
    if request.active_matches is not None:
        window = ActivityWindow("matches", request.active_matches)
    elif request.active_days is not None:
        if history.time is None:
            raise InvalidParameterError(
                f"--active-days needs a history with times; this one {without_dates(history)}. "
                "Use --active-matches"
            )
        window = ActivityWindow("days", request.active_days)
    else:
        window = default_window(history)
    check_window(window, history)
    return window


def _write(answer: DriftAnswer, request: DriftRequest, output: str) -> None:
    if not is_chart(output):
        write_table(table_of(answer), output)
        return
    theme.write(figure_of(answer, title=request.title, band=request.band), output)


def table_of(answer: DriftAnswer) -> pl.DataFrame:
    """Return the tables of all systems in one, with a column for the label."""
    return pl.concat(
        one.file_table().select(pl.lit(label).alias("system"), pl.all())
        for label, one in answer.found.items()
    )


def title_of(answer: DriftAnswer) -> str:
    """Return the default title of the chart."""
    labels = list(answer.found)
    return f"Drift of {labels[0]}" if len(labels) == 1 else "Drift of ratings"


def figure_of(answer: DriftAnswer, *, title: str | None, band: bool) -> Figure:
    """Return the chart as a figure of matplotlib."""
    from equipoise.charts.drift import drift_figure

    banded = band and len(answer.found) == 1
    return drift_figure(
        answer.found,
        title=title or title_of(answer),
        subtitle=drift_subtitle(answer.window, band=banded),
        band=banded,
    )


#: Fields of a drift beside its points.
_OF_SYSTEM = (
    *("system", "scales", "learns", "holds", "start", "performed_all"),
    *("handed_by", "receivers", "receiving"),
)


def drift_json(answer: DriftAnswer) -> dict[str, Any]:
    """Return what `equipoise audit drift --json` prints."""
    return {
        "systems": [
            {
                "label": label,
                **{name: plain(getattr(one, name)) for name in _OF_SYSTEM},
                "parameters": plain_parameters(answer.systems[label]),
                "points": [{"time": None, **point} for point in one.file_table().to_dicts()],
                "seconds": answer.seconds[label],
            }
            for label, one in answer.found.items()
        ],
        "window": plain(answer.window),
        "history": history_message(answer.history, answer.reading),
    }

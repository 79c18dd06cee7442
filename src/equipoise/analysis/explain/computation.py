"""Explaining a match: read the history, rate it up to the match, explain and draw the change."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from equipoise.analysis.explain import ExplainRequest
from equipoise.analysis.rate.computation import (
    NOT_COMPARED,
    continued,
    default_notes,
    initial_notes,
    state_to_resume,
    system_and_ratings,
)
from equipoise.analysis.reading import check_outputs, history_message, missing_notes, read
from equipoise.analysis.requests import all_cores
from equipoise.charts import theme
from equipoise.charts.theme import shortened
from equipoise.data.explanation import Belief, Explanation, Quantity
from equipoise.data.history import MICROSECONDS_PER_DAY, History, TimeKind
from equipoise.data.times import iso
from equipoise.errors import InvalidParameterError, require
from equipoise.formats.names import read_synonyms
from equipoise.formats.times import moment, order_bound
from equipoise.messages.conversion import to_message
from equipoise.messages.histories import (
    ExplainMessage,
    HistoryMessage,
    PosteriorExplainMessage,
    PosteriorMessage,
    RememberedMessage,
)
from equipoise.rating.explaining import explain, explain_since
from equipoise.rating.system import RatingSystem
from equipoise.wording import counted

if TYPE_CHECKING:
    from matplotlib.figure import Figure


#: Deviations that are shown on each side of the rating.
_REACH = 4.0
_LETTERS = 32


def posterior_figure(belief: Belief, *, title: str | None = None) -> Figure:
    """Return the figure: the density, the normal density, and below them the performances.

    Raises : EquipoiseError without matplotlib
    """
    spread = _REACH * max(belief.deviation, belief.standard_deviation())
    skill = np.linspace(belief.rating - spread, belief.rating + spread, 401)
    density = belief.density(skill)
    sigma = belief.deviation
    normal = np.exp(-0.5 * ((skill - belief.rating) / sigma) ** 2) / (sigma * np.sqrt(2.0 * np.pi))
    low, high = belief.interval()
    played = counted(len(belief.performance), "remembered performance")
    with theme.style():
        figure, axes = theme.new_figure(
            title or f"Skill of {shortened(str(belief.player), _LETTERS)}",
            f"posterior density with its 95 % range (area), normal with the deviation (dashed), "
            f"{played} (ticks)",
        )
        inside = (skill >= low) & (skill <= high)
        axes.fill_between(skill[inside], density[inside], color=theme.PALETTE[0], alpha=0.15, lw=0)
        axes.plot(skill, density, color=theme.PALETTE[0], lw=2.0)
        axes.plot(skill, normal, color=theme.MUTED, lw=1.2, ls=(0, (4, 2)))
        top = 1.25 * max(float(density.max()), float(normal.max()))
        for name, at, line in (("rating", belief.rating, "solid"), ("mean", belief.mean(), ":")):
            axes.axvline(at, ymax=0.8, color=theme.INK, lw=1.0, ls=line)
            left = at < belief.rating or (name == "mean" and at <= belief.rating)
            axes.annotate(
                f"{name} {at:,.1f}",
                (at, 0.83 * top),
                xytext=(-4 if left else 4, 0),
                textcoords="offset points",
                ha="right" if left else "left",
                color=theme.INK,
            )
        shown = belief.performance[np.abs(belief.performance - belief.rating) <= spread]
        axes.plot(shown, np.zeros(len(shown)), "|", color=theme.PALETTE[1], ms=12, mew=1.6)
        axes.set_xlim(skill[0], skill[-1])
        axes.set_ylim(-0.05 * top, top)
        axes.set_yticks([])
        axes.set_xlabel("skill, rating points")
        theme.fit_axes(figure, axes)
    return figure


#: Systems whose beliefs have a density of the form of equation (7) of [EM]_.
WITH_POSTERIOR = ("elo-mmr", "elo-mmx")

#: Endings of files that can only have been meant for a chart.
_PICTURES = (".svg", ".png", ".pdf", ".bmp", ".gif", ".jpg", ".jpeg", ".webp", ".eps", ".tiff")


def _refuse_pictures(source: object) -> None:
    """Refuse a picture among the files of the history: --posterior does not take the next word."""
    endings = ", ".join(f".{kind}" for kind in theme.FILE_KINDS)
    for path in source if isinstance(source, list | tuple) else [source]:
        if isinstance(path, str) and path.lower().endswith(_PICTURES):
            raise InvalidParameterError(
                f"{path} is a picture, not a history; --chart FILE draws the posterior ({endings})"
            )


def explain_matches(
    system: RatingSystem | None,
    request: ExplainRequest,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[list[ExplainMessage], HistoryMessage]:
    """Return why one match or more changed a player's rating, and how the history was read.

    system : None means the system of the state, or the default system
    progress : called with (participations done, participations before the match)
    Raises : EquipoiseError
    """
    if request.posterior:
        _refuse_pictures(request.history.source)
    if request.chart is not None:
        require(request.posterior, "--chart", "given with --posterior", request.chart)
        check_outputs(request.history, chart=request.chart)
    if request.all_since is not None:
        given = [
            name
            for name, value in (("--match", request.match), ("--posterior", request.posterior))
            if value
        ]
        require(not given, "--since", f"given without {' and '.join(given)}", request.all_since)
    before = state_to_resume(request.state, request.restart)
    default = default_notes(system, before, request.initial)
    system, known = system_and_ratings(system, before, request.initial, request.initial_mapping)
    if request.posterior and system.name not in WITH_POSTERIOR:
        raise InvalidParameterError(
            f"--posterior needs {' or '.join(WITH_POSTERIOR)}; {system.name} has no such density"
        )
    history, reading = read(request.history, {system.name: system})
    if before is not None and not request.restart:
        history, reading = continued(before, history, reading)
    player, synonyms = request.player, request.history.synonyms
    if synonyms is not None:
        player = read_synonyms(synonyms).get(player, player)
    which: dict[str, Any] = {
        "state": before,
        "restart": request.restart,
        "initial": known.ratings,
        "threads": all_cores(),
        "progress": progress,
    }
    if request.all_since is None:
        found = [explain(system, history, player, request.match, **which)]
    else:
        # Read as --from is.
        since = (
            moment(request.all_since, "--since", request.history.time_format)
            if history.order is None
            else order_bound(request.all_since, "--since")
        )
        found = explain_since(system, history, player, since, **which)
    messages = [_message(explanation, system, history, request) for explanation in found]
    if request.chart is not None and found[0].belief is not None:
        theme.write(posterior_figure(found[0].belief), request.chart)
    notes = [*missing_notes(system, history, resumed=before is not None), *default]
    if request.history.since is not None and reading.filtered:
        notes.append(
            "ratings do not count the matches before --from; --since explains later matches and "
            "counts all of them"
        )
    notes += initial_notes(known, history, {system.name: system}, strict=request.history.strict)
    read_from = history_message(history, replace(reading, notes=(*reading.notes, *notes)))
    if before is not None and not before.comparable and not request.restart:
        read_from = msgspec.structs.replace(read_from, notes=[*read_from.notes, NOT_COMPARED])
    return messages, read_from


def _message(
    explanation: Explanation, system: RatingSystem, history: History, request: ExplainRequest
) -> ExplainMessage:
    """Return an explanation as it is shown."""
    if "performance" in system.capabilities.uses:
        weights = request.history.statistics
        explanation = with_statistics(
            explanation, _statistics(history, explanation, weights), weights
        )
    message = explain_message(explanation, partial(written, kind=history.time_kind))
    if request.posterior and explanation.belief is not None:
        message = PosteriorExplainMessage(
            **msgspec.structs.asdict(message), posterior=posterior_message(explanation.belief)
        )
    if history.order is not None:
        match = int(np.flatnonzero(history.match_ids == explanation.match)[0])
        message = msgspec.structs.replace(message, time=int(history.order[match]))
    return message


def posterior_message(belief: Belief) -> PosteriorMessage:
    """Return the statistics of a posterior density, and the density at 401 skills."""
    low, high = belief.interval()
    table = belief.to_polars()
    return to_message(
        PosteriorMessage,
        belief,
        mean=belief.mean(),
        median=belief.median(),
        standard_deviation=belief.standard_deviation(),
        low=low,
        high=high,
        skill=table["skill"].to_list(),
        density=table["density"].to_list(),
    )


def with_statistics(
    explanation: Explanation, values: Mapping[str, float], weights: Mapping[str, float]
) -> Explanation:
    """Return an explanation that begins with the player's weighted statistics [TG2] (5)."""
    chain = [
        Quantity(
            name=name,
            value=value,
            unit="",
            meaning=f"times {weights[name]:g} is {weights[name] * value:+.2f} of the performance",
        )
        for name, value in values.items()
    ]
    return replace(explanation, quantities=(*chain, *explanation.quantities))


def _statistics(
    history: History, explanation: Explanation, names: Iterable[str]
) -> dict[str, float]:
    """Return the statistics of the player in that match."""
    match = int(np.flatnonzero(history.match_ids == explanation.match)[0])
    rows = slice(int(history.offsets[match]), int(history.offsets[match + 1]))
    row = int(np.flatnonzero(history.player_ids[history.player[rows]] == explanation.player)[0])
    return {name: float(history.statistics[name][rows][row]) for name in names}


def explain_message(
    explanation: Explanation, show: Callable[[float], int | str | None]
) -> ExplainMessage:
    """Return the JSON message of an explanation; unknown values are None.

    show : converts days since 1970 to a time of the message
    """
    return to_message(
        ExplainMessage,
        explanation,
        time=show(explanation.time),
        played=show(explanation.time),
        change=explanation.rating - explanation.rating_before,
        remembered=[
            to_message(RememberedMessage, memory, time=show(memory.time))
            for memory in explanation.remembered
        ],
    )


def written(days: float, kind: TimeKind) -> int | str | None:
    """Return a time in days since 1970 in the form of the history; None if unknown."""
    if math.isnan(days):
        return None
    microseconds = round(days * MICROSECONDS_PER_DAY)
    if kind == "seconds":
        # The history has whole seconds; days as float64 are exact to a microsecond.
        return (microseconds + 500_000) // 1_000_000
    text = iso(microseconds)
    return text if kind == "datetime" else text[:10]

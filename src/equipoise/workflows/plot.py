"""Plotting a history: read, rate, and draw the ratings of players or of the whole pool."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast, get_args

from equipoise.charts import theme
from equipoise.charts.distribution import Distribution, distribution
from equipoise.charts.labels import shortened
from equipoise.charts.rating_series import Along, RatingSeries, rating_series
from equipoise.data.history import History
from equipoise.errors import InvalidParameterError, NotFoundError, require
from equipoise.messages.history import HistoryMessage
from equipoise.rating.pool_state import did_you_mean
from equipoise.rating.registry import make_system
from equipoise.rating.replay import check_fit, replay
from equipoise.rating.system import RatingSystem
from equipoise.wording import counted
from equipoise.workflows.drawing import Plot, figure_of
from equipoise.workflows.reading import (
    HistoryRequest,
    check_outputs,
    history_message,
    read,
    without_dates,
)
from equipoise.workflows.settings import DEFAULT_SYSTEM

#: With more players than this a title counts them instead of naming them.
_NAMED = 3
_LETTERS = 32
#: Inches: less holds no words, more is a poster.
_SIZES = (3.0, 40.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlotRequest:
    """What to draw, and where.

    players : whose ratings, or whose places in the distribution
    spread : whether the distribution of the pool's ratings is wanted instead of lines
    min_matches : rated matches of the players who count in the distribution
    along : "time", "match" or "played"; None is by time where there are times
    output : path that ends in .svg, .png or .pdf; None draws no file
    size : of the file, WIDTHxHEIGHT in inches
    """

    history: HistoryRequest
    players: tuple[str, ...] = ()
    spread: bool = False
    min_matches: int | None = None
    along: str | None = None
    band: bool = True
    performances: bool = True
    output: str | None = None
    size: str | None = None
    title: str | None = None
    threads: int = 1


def plot(
    system: RatingSystem | None,
    request: PlotRequest,
    progress: Callable[[int, int], None] | None = None,
) -> Plot:
    """Read, rate, and write the chart where a file is asked for.

    Raises : EquipoiseError, and then nothing was written
    """
    size = _checked(request)
    system = make_system(DEFAULT_SYSTEM) if system is None else system
    history, reading = read(request.history, {system.name: system})
    check_fit(system, history)
    rows = player_rows(history, request.players)
    along = _along(request.along, history)
    done = replay(
        system,
        history,
        trace=not request.spread,
        threads=request.threads,
        progress=progress,
    )
    told = history_message(history, reading)
    if done.trace is None:
        found = distribution(done.ratings, min_matches=request.min_matches or 1, rows=rows)
        shown = _plot_of_pool(system.name, told, request, found, along)
    else:
        series = tuple(rating_series(done.trace, row, along) for row in rows)
        shown = _plot_of_players(system.name, told, request, series, along)
    if request.output is not None:
        theme.write(figure_of(shown, size), request.output)
    return shown


def player_rows(history: History, players: tuple[str, ...]) -> list[int]:
    """Return the rows of players in a history, each once. Raises : NotFoundError."""
    if not players:
        return []
    known = {str(player): row for row, player in enumerate(history.player_ids.tolist())}
    for player in players:
        if player not in known:
            raise NotFoundError(
                f"no player {player!r} among the {len(known):,} of this history"
                f"{did_you_mean(player, known)}"
            )
    return list(dict.fromkeys(known[player] for player in players))


def _checked(request: PlotRequest) -> theme.Size:
    """Refuse what cannot be drawn before anything is read; return the size of a file."""
    if request.spread:
        require((request.min_matches or 1) >= 1, "--min-matches", "at least 1", request.min_matches)
        require(request.along is None, "--by", "left out with --distribution", request.along)
    elif not request.players:
        raise InvalidParameterError("name players with --player, or ask for --distribution")
    elif request.min_matches is not None:
        raise InvalidParameterError("--min-matches is for --distribution")
    require(
        request.along in (None, *get_args(Along)),
        "--by",
        f"one of {', '.join(get_args(Along))}",
        request.along,
    )
    if request.output is not None:
        check_outputs(request.history, {"--output": request.output})
        theme.check_file(request.output)
    return _size(request.size)


def _size(text: str | None) -> theme.Size:
    """Return WIDTHxHEIGHT as a size."""
    if text is None:
        return theme.WIDE
    low, high = _SIZES
    rule = f"WIDTHxHEIGHT in inches from {low:g} to {high:g}, such as 7.5x4.8"
    try:
        width, height = map(float, text.lower().split("x"))
    except ValueError:
        width = height = math.nan
    require(low <= width <= high and low <= height <= high, "--size", rule, text)
    return theme.Size(width, height)


def _along(wanted: str | None, history: History) -> Along:
    if wanted is None:
        return "match" if history.time is None else "time"
    if wanted == "time" and history.time is None:
        raise InvalidParameterError(
            f"--by time needs a history with times; this one {without_dates(history)}"
        )
    return cast(Along, wanted)


def _plot_of_players(
    system: str,
    history: HistoryMessage,
    request: PlotRequest,
    series: tuple[RatingSeries, ...],
    along: Along,
) -> Plot:
    for one in series:
        if not len(one.rating):
            raise NotFoundError(f"{one.player} has no match that {system} rates")
    names = [shortened(str(one.player), _LETTERS) for one in series]
    return Plot(
        system=system,
        history=history,
        title=request.title
        or (", ".join(names) if len(names) <= _NAMED else f"{len(names)} players"),
        along=along,
        band=request.band and any(one.has_band for one in series),
        performances=request.performances and any(one.has_performances for one in series),
        series=series,
    )


def _plot_of_pool(
    system: str, history: HistoryMessage, request: PlotRequest, found: Distribution, along: Along
) -> Plot:
    return Plot(
        system=system,
        history=history,
        title=request.title or f"Ratings of {counted(found.players, 'player')}",
        along=along,
        spread=found,
        min_matches=request.min_matches or 1,
    )

"""What a chart shows, drawn: as a figure of matplotlib, as text, as numbers for machines."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING

from equipoise.charts.canvas import Row, Sheet, Span
from equipoise.charts.distribution import Distribution
from equipoise.charts.distribution_text import distribution_rows
from equipoise.charts.rating_series import Along, RatingSeries
from equipoise.charts.rating_text import rating_rows
from equipoise.charts.theme import Size
from equipoise.messages.conversion import to_message, to_messages
from equipoise.messages.history import HistoryMessage
from equipoise.messages.plot import (
    BarMessage,
    DistributionMessage,
    PlotMessage,
    PointMessage,
    SeriesMessage,
)
from equipoise.wording import printable

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Plot:
    """What a chart shows, whatever it is drawn with.

    history : what was read and what was left out
    band, performances : whether they are wanted and there
    series : of the players, empty for a distribution; spread : None for lines
    min_matches : rated matches of the players in the distribution
    """

    system: str
    history: HistoryMessage
    title: str
    along: Along
    band: bool = False
    performances: bool = False
    series: tuple[RatingSeries, ...] = ()
    spread: Distribution | None = None
    min_matches: int = 1


def figure_of(shown: Plot, size: Size) -> Figure:
    """Return what is shown as a figure of matplotlib."""
    if shown.spread is not None:
        from equipoise.charts.distribution_figure import distribution_figure

        return distribution_figure(
            shown.spread, title=shown.title, subtitle=_pool(shown), size=size
        )
    from equipoise.charts.rating_figure import rating_figure

    return rating_figure(
        shown.series,
        title=shown.title,
        subtitle=_key(shown.system, shown.band, shown.performances),
        along=shown.along,
        band=shown.band,
        performances=shown.performances,
        size=size,
    )


def text_of(shown: Plot, sheet: Sheet) -> list[Row]:
    """Return what is shown as lines of text, its titles above it."""
    title = _head(shown.title, "bold", sheet.columns)
    if shown.spread is not None:
        chart = distribution_rows(
            shown.spread, columns=sheet.columns, rows=sheet.rows, glyphs=sheet.glyphs
        )
        return [*title, *_head(_pool(shown), "dim", sheet.columns), [], *chart]
    alone = len(shown.series) == 1
    # Letters are coarse: bands of several players, or more dots than columns, hide the rest.
    band = shown.band and alone
    performances = shown.performances and alone and len(shown.series[0].rating) <= sheet.columns
    chart = rating_rows(
        shown.series,
        along=shown.along,
        band=band,
        performances=performances,
        **sheet._asdict(),
    )
    key = _head(_key(shown.system, band, performances), "dim", sheet.columns)
    return [*title, *key, [], *chart]


def _head(words: str, colour: str, columns: int) -> list[Row]:
    """Return words above a chart, wrapped to its width."""
    return [[Span(line, colour)] for line in textwrap.wrap(printable(words), columns)]


def _key(system: str, band: bool, performances: bool) -> str:
    """Return what line, band and dots stand for."""
    words = ["two deviations either way (band)"] * band + ["performances (dots)"] * performances
    return ", ".join([f"{system} rating (line)", *words]) if words else f"{system} rating"


def _pool(shown: Plot) -> str:
    """Return whose ratings a distribution shows."""
    least = shown.min_matches
    return shown.system + (f", players with at least {least:,} rated matches" if least > 1 else "")


def message_of(shown: Plot) -> PlotMessage:
    """Return the JSON message: the numbers that are shown."""
    return PlotMessage(
        system=shown.system,
        series=[_series_message(one) for one in shown.series],
        distribution=None if shown.spread is None else _distribution_message(shown.spread),
        history=shown.history,
    )


def _series_message(one: RatingSeries) -> SeriesMessage:
    points = to_messages(PointMessage, one, match=one.matches, time=one.times)
    return SeriesMessage(one.player, points)


def _distribution_message(found: Distribution) -> DistributionMessage:
    return to_message(
        DistributionMessage,
        found,
        percentiles={str(percent): at for percent, at in found.percentiles.items()},
        bars=to_messages(
            BarMessage, None, low=found.edges[:-1], high=found.edges[1:], players=found.counts
        ),
    )

"""Ratings over time, as a figure and as text for a terminal.

`rating_series` has what both show for one player: a line, the band of the deviation, and the
performances as dots.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from equipoise.analysis.plot import Along as Along
from equipoise.arrays import Floats, Ids, Ints
from equipoise.charts import theme
from equipoise.charts.canvas import COLOURS, UNICODE, Canvas, Glyphs, Row, Span, ruler, with_heights
from equipoise.charts.theme import (
    round_moments,
    round_numbers,
    set_horizontal_axis,
    shortened,
    spread_out,
)
from equipoise.data.ratings import Trace
from equipoise.display import HALF_WIDTH
from equipoise.errors import require

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


#: A pause is longer than this many typical gaps between a player's matches ...
_PAUSE_GAPS = 8.0
#: ... and than this share of the player's time.
_PAUSE_SHARE = 0.05
#: Smallest height of the axis, in rating points, so that tiny changes look tiny.
_LEAST_RANGE = 100.0
#: Performances this close to ratings and bands are always visible; a share of their range.
_NEAR = 0.15
#: Of those further away, up to this percentage may be hidden at either end ...
_UNUSUAL = 2.0
#: ... and the others widen the range by at most this share.
_WIDEN = 0.5


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class RatingSeries:
    """One player's rated matches in order.

    matches : ids, shape (k,); times : shape (k,), as the history writes them, None without times
    place : shape (k,), position on the axis: datetime64[us] by time, else int64
    rating, deviation, performance : shape (k,), after the match; NaN if a system has none
    """

    player: int | str
    matches: Ids
    times: Ids | None
    place: Ids
    rating: Floats
    deviation: Floats
    performance: Floats

    @property
    def has_band(self) -> bool:
        """Whether there is a deviation to show."""
        return bool(np.isfinite(self.deviation).any())

    @property
    def has_performances(self) -> bool:
        """Whether there is a performance to show."""
        return bool(np.isfinite(self.performance).any())

    def positions(self) -> Floats:
        """Return the places as numbers: microseconds since 1970, or counts."""
        return _positions(self.place)


def rating_series(trace: Trace, row: int, along: Along) -> RatingSeries:
    """Return the series of one player.

    row : of the player in the trace's history; along : "time" needs a history with times
    """
    history = trace.history
    rows = np.flatnonzero(history.player == row)
    rows = rows[np.isfinite(trace.columns["rating"][rows])]
    match = np.searchsorted(history.offsets, rows, side="right") - 1
    nothing = np.full(len(rows), np.nan)

    def column(name: str) -> Floats:
        return trace.columns[name][rows] if name in trace.columns else nothing

    times = history.times()
    return RatingSeries(
        player=history.player_ids[row : row + 1].tolist()[0],
        matches=history.match_ids[match],
        times=None if times is None else times[match],
        place=_places(history.time, match, along),
        rating=column("rating"),
        deviation=column("deviation"),
        performance=column("performance"),
    )


def _places(time: Ints | None, match: Ints, along: Along) -> Ids:
    if along == "played":
        return np.arange(1, len(match) + 1)
    if along == "time" and time is not None:
        stamps: Ids = time[match].astype("datetime64[us]")
        return stamps
    return np.asarray(match + 1, dtype=np.int64)


def _positions(places: Ids) -> Floats:
    return places.astype(np.int64).astype(np.float64)


def line_of(series: RatingSeries, along: Along) -> tuple[Ids, Floats, Floats]:
    """Return places, ratings and deviations of the points of a line.

    A rating holds until the next match. Over short gaps a straight line is easier to read than
    steps, and nearly the same. Over a pause it would suggest a steady change that did not happen.
    So the line stays level there, and jumps at the match that ends the pause.
    """
    if along != "time" or len(series.rating) < 3:
        return series.place, series.rating, series.deviation
    gaps = np.diff(series.positions())
    usual = max(float(np.median(gaps)) * _PAUSE_GAPS, float(gaps.sum()) * _PAUSE_SHARE)
    before = np.flatnonzero(gaps > usual)
    return (
        np.insert(series.place, before + 1, series.place[before + 1]),
        np.insert(series.rating, before + 1, series.rating[before]),
        np.insert(series.deviation, before + 1, series.deviation[before]),
    )


def visible_range(
    series: Sequence[RatingSeries], *, band: bool, performances: bool
) -> tuple[float, float]:
    """Return a vertical range that contains every rating and band, and the usual performances.

    A first place among thousands can mean a performance thousands of points above all ratings. A
    few such points would compress everything else.
    """
    reach = HALF_WIDTH if band else 0.0
    spread = [reach * np.nan_to_num(line.deviation) for line in series]
    low = min(float((line.rating - by).min()) for line, by in zip(series, spread, strict=True))
    high = max(float((line.rating + by).max()) for line, by in zip(series, spread, strict=True))
    shown = np.concatenate([line.performance[np.isfinite(line.performance)] for line in series])
    span = max(high - low, 1.0)
    if performances and len(shown):
        lowest, highest = _usual(shown, low - _NEAR * span, high + _NEAR * span)
        low, high = (
            max(min(low, lowest), low - _WIDEN * span),
            min(max(high, highest), high + _WIDEN * span),
        )
    edge = max(0.04 * (high - low), (_LEAST_RANGE - (high - low)) / 2)
    return low - edge, high + edge


def _usual(performances: Floats, low: float, high: float) -> tuple[float, float]:
    """Return the range of the performances; an end beyond a bound is that of the usual ones."""
    ends = float(performances.min()), float(performances.max())
    usual = (
        float(np.percentile(performances, _UNUSUAL, method="lower")),
        float(np.percentile(performances, 100 - _UNUSUAL, method="higher")),
    )
    return (
        ends[0] if ends[0] >= low else min(usual[0], low),
        ends[1] if ends[1] <= high else max(usual[1], high),
    )


#: With more lines than this, the lines of a chart cannot be distinguished.
MOST_PLAYERS = 2 * len(theme.PALETTE)
#: Up to this number of matches, each is marked on the line.
_MARKED = 25
#: Points from the edge of the axes to the labels.
_LEAD = 22.0
#: The unit of the numbers on the horizontal axis; times have none.
_COUNTED: dict[Along, str | None] = {"time": None, "match": "match", "played": "matches played"}
#: Letters of a name beside its line, per inch of width.
_LETTERS_PER_INCH = 3.2
#: Most players that a title names (more are counted), and letters of their names.
_NAMED, _TITLE_LETTERS = 3, 32


def rating_title(series: Sequence[RatingSeries]) -> str:
    """Return the default title of ratings over time."""
    names = [shortened(str(line.player), _TITLE_LETTERS) for line in series]
    return ", ".join(names) if len(names) <= _NAMED else f"{len(names)} players"


def rating_subtitle(system: str, *, band: bool, performances: bool) -> str:
    """Return the meaning of line, band and dots; system : may be empty."""
    words = ["95 % range (band)"] * band + ["performances (dots)"] * performances
    rating = f"{system} rating".strip()
    return ", ".join([f"{rating} (line)", *words]) if words else rating


def rating_figure(
    series: Sequence[RatingSeries],
    *,
    title: str | None = None,
    subtitle: str | None = None,
    system: str = "",
    along: Along = "time",
    band: bool = True,
    performances: bool = True,
    size: theme.Size = theme.WIDE,
) -> Figure:
    """Return the figure of some players' ratings, each with at least one match.

    title, subtitle : by default they name the players, and `system` and what is drawn
    band : show the 95 % range, if there are deviations
    performances : show performances as dots, and those beyond the range as carets at its edge
    Raises : InvalidParameterError   more players than can be distinguished
    """
    require(len(series) >= 1, "players", "at least one", len(series))
    require(len(series) <= MOST_PLAYERS, "players", f"at most {MOST_PLAYERS}", len(series))
    band = band and any(line.has_band for line in series)
    performances = performances and any(line.has_performances for line in series)
    if subtitle is None:
        subtitle = rating_subtitle(system, band=band, performances=performances)
    with theme.style():
        figure, axes = theme.new_figure(title or rating_title(series), subtitle, size)
        low, high = visible_range(series, band=band, performances=performances)
        axes.set_ylim(low, high)
        weight = _Weight.of(series)
        for number, line in enumerate(series):
            look = _look(number)
            if band and line.has_band:
                _draw_band(axes, line, look["color"], weight, along)
            if performances and line.has_performances:
                _draw_performances(axes, line, look["color"], weight, (low, high))
        for number, line in enumerate(series):
            _draw_line(axes, line, _look(number), weight, along)
        places = np.concatenate([line.place for line in series])
        set_horizontal_axis(axes, places, _COUNTED[along], size.width)
        _label_ends(figure, axes, series, size)
    return figure


class _Weight(NamedTuple):
    """Line widths, sizes and opacities, which are lighter for more matches.

    line, dot : in points; band, dots : opacity; mark : whether each match is marked on the line
    """

    line: float
    dot: float
    band: float
    dots: float
    mark: bool

    @classmethod
    def of(cls, series: Sequence[RatingSeries]) -> _Weight:
        longest = max(len(line.rating) for line in series)
        crowd = 0 if len(series) == 1 else 1 if len(series) <= 3 else 2
        return cls(
            line=2.2 if longest <= 150 else 1.7,
            dot=float(np.clip(48 / np.sqrt(longest), 2.6, 5.0)),
            band=(0.16, 0.11, 0.07)[crowd],
            dots=(0.45, 0.38, 0.26)[crowd],
            mark=longest <= _MARKED,
        )


def _look(number: int) -> dict[str, Any]:
    """Return colour and dashes of a line; after the last colour, colours repeat with dashes."""
    colours = len(theme.PALETTE)
    dashes = "solid" if number < colours else (0, (4, 1.6))
    return {"color": theme.PALETTE[number % colours], "linestyle": dashes}


def _draw_band(
    axes: Axes, series: RatingSeries, colour: str, weight: _Weight, along: Along
) -> None:
    if len(series.rating) == 1:
        # An area at a single place has no width.
        width = HALF_WIDTH * series.deviation
        low, high = series.rating - width, series.rating + width
        axes.vlines(series.place, low, high, colour, lw=8, alpha=2 * weight.band)
        return
    place, rating, deviation = line_of(series, along)
    spread = HALF_WIDTH * deviation
    axes.fill_between(
        place, rating - spread, rating + spread, color=colour, alpha=weight.band, lw=0
    )


def _draw_performances(
    axes: Axes, series: RatingSeries, colour: str, weight: _Weight, visible: tuple[float, float]
) -> None:
    shared: dict[str, Any] = {"color": colour, "ls": "none", "mew": 0, "zorder": 2}
    below, above = series.performance < visible[0], series.performance > visible[1]
    inside = ~below & ~above & np.isfinite(series.performance)
    places, shown = series.place[inside], series.performance[inside]
    axes.plot(places, shown, marker="o", ms=weight.dot, alpha=weight.dots, **shared)
    shared |= {"ms": max(weight.dot, 4.0), "alpha": weight.dots + 0.15}
    shared["transform"] = axes.get_xaxis_transform()
    for beyond, marker, height in ((below, "v", 0.012), (above, "^", 0.988)):
        places = series.place[beyond]
        axes.plot(places, np.full(len(places), height), marker=marker, **shared)


def _draw_line(
    axes: Axes, series: RatingSeries, look: dict[str, Any], weight: _Weight, along: Along
) -> None:
    place, rating, _ = line_of(series, along)
    axes.plot(place, rating, lw=weight.line, zorder=3, **look)
    if weight.mark or len(series.rating) == 1:
        dots: dict[str, Any] = {"ms": 6.5, "mec": theme.PAGE, "mew": 1.2, "ls": "none"}
        axes.plot(series.place, series.rating, "o", color=look["color"], zorder=3, **dots)


def _label_ends(
    figure: Figure, axes: Axes, series: Sequence[RatingSeries], size: theme.Size
) -> None:
    """Write each player's name and last rating at the right, connected to the line."""
    letters = max(int(_LETTERS_PER_INCH * size.width), 10)
    texts = [
        theme.line_label(
            axes, f"{shortened(str(line.player), letters)}  {line.rating[-1]:.0f}", number
        )
        for number, line in enumerate(series)
    ]
    theme.fit_axes(figure, axes, right=_LEAD + max(map(theme.text_width, texts)))
    places = theme.place_labels(axes, texts, [float(line.rating[-1]) for line in series], _LEAD)
    for number, (line, place) in enumerate(zip(series, places, strict=True)):
        _lead_to(axes, line, place, _look(number)["color"])


def _lead_to(axes: Axes, series: RatingSeries, label: tuple[float, float], colour: str) -> None:
    """Draw a thin line from the end of a rating to the edge of the axes, then to its label."""
    left, right = axes.get_xlim()
    last = float(cast(Any, axes).convert_xunits(series.place[-1]))
    edge, end = 1.0 + 0.2 * (label[0] - 1.0), float(series.rating[-1])
    axes.plot(
        [(last - left) / (right - left), edge, 1.0 + 0.8 * (label[0] - 1.0)],
        [end, end, label[1]],
        transform=axes.get_yaxis_transform(),
        color=colour,
        lw=0.9,
        alpha=0.5,
        clip_on=False,
        zorder=2,
    )


#: Letters of a name beside its line.
_LETTERS = 20
_LEAST_COLUMNS, _LEAST_ROWS = 20, 5


class _Scale(NamedTuple):
    """Maps places and ratings to the canvas, each to a range from 0 to 1."""

    first: float
    last: float
    low: float
    high: float

    def x(self, positions: Floats) -> Floats:
        span = self.last - self.first
        return (positions - self.first) / span if span else np.full(len(positions), 0.5)

    def y(self, ratings: Floats) -> Floats:
        return (ratings - self.low) / (self.high - self.low)


def rating_rows(
    series: Sequence[RatingSeries],
    *,
    along: Along = "time",
    band: bool = True,
    performances: bool = True,
    columns: int = 80,
    rows: int = 20,
    coloured: bool = True,
    glyphs: Glyphs = UNICODE,
) -> list[Row]:
    """Return the lines of a chart of some players' ratings.

    band, performances : shown for one player; several players are only lines, as letters are coarse
    columns, rows : of the whole chart
    coloured : whether colours are shown; without them, several lines are drawn with capital letters
    """
    alone = len(series) == 1
    low, high = visible_range(series, band=band and alone, performances=performances and alone)
    at = np.concatenate([line.positions() for line in series])
    scale = _Scale(float(at.min()), float(at.max()), low, high)
    height = max(rows - 2, _LEAST_ROWS)
    ticks = round_numbers(low, high, max(height // 3, 2))
    heights = [f"{tick:.0f}" for tick in ticks]
    letters = [chr(ord("A") + number) for number in range(len(series))]
    labels = [
        f" {'' if alone else f'{letter} '}{shortened(str(line.player), _LETTERS)} "
        f"{line.rating[-1]:.0f}"
        for letter, line in zip(letters, series, strict=True)
    ]
    indent = max(map(len, heights)) + 2
    width = max(columns - indent - max(map(len, labels)), _LEAST_COLUMNS)
    canvas = Canvas(width, height)
    if alone and band and series[0].has_band:
        _paint_band(canvas, series[0], along, scale, glyphs)
    if alone and performances:
        _paint_performances(canvas, series[0], scale, glyphs)
    for number, line in enumerate(series):
        place, rating, _ = line_of(line, along)
        x, y, colour = scale.x(_positions(place)), scale.y(rating), _colour(number)
        if glyphs.braille and (coloured or alone):
            canvas.line(x, y, colour)
        else:
            canvas.letters(x, y, letters[number], colour)
    ends = scale.y(np.array([line.rating[-1] for line in series]))
    drawn = _with_labels(canvas.spans(), labels, ends)
    axis = _horizontal_axis(along, scale, width, glyphs, indent)
    return [*with_heights(drawn, heights, scale.y(ticks), glyphs), *axis]


def _colour(number: int) -> str:
    return COLOURS[number % len(COLOURS)]


def _paint_band(
    canvas: Canvas, series: RatingSeries, along: Along, scale: _Scale, glyphs: Glyphs
) -> None:
    place, rating, deviation = line_of(series, along)
    x, spread = scale.x(_positions(place)), HALF_WIDTH * deviation
    middles = (np.arange(canvas.columns) + 0.5) / canvas.columns
    # A column shows the mean of the line within it.
    fine = (np.arange(8 * canvas.columns) + 0.5) / (8 * canvas.columns)
    low, high = (
        np.interp(fine, x, scale.y(edge)).reshape(-1, 8).mean(axis=1)
        for edge in (rating - spread, rating + spread)
    )
    reach = 0.5 / canvas.columns
    for middle, bottom, top in zip(middles.tolist(), low.tolist(), high.tolist(), strict=True):
        if x[0] - reach <= middle <= x[-1] + reach:
            canvas.fill(middle, bottom, top, glyphs.band, "dim")


def _paint_performances(
    canvas: Canvas, series: RatingSeries, scale: _Scale, glyphs: Glyphs
) -> None:
    x, y = scale.x(series.positions()), scale.y(series.performance)
    for beyond, glyph, at in ((y < 0.0, glyphs.below, 0.0), (y > 1.0, glyphs.above, 1.0)):
        for across in x[beyond].tolist():
            canvas.write(across, at, glyph, COLOURS[0])
    inside = (y >= 0.0) & (y <= 1.0)
    for across, up in zip(x[inside].tolist(), y[inside].tolist(), strict=True):
        canvas.write(across, up, glyphs.dot, COLOURS[0])


def _with_labels(rows: list[Row], labels: Sequence[str], ends: Floats) -> list[Row]:
    """Write each label in a separate row, near the end of its line, from 0 to 1."""
    count = len(rows)
    places = spread_out(ends * count, 1.0, 0.5, count - 0.5)
    # With more labels than rows, those that share a row go into the next free one, or are left out.
    free = dict.fromkeys(range(count))
    for number in np.argsort(-places, kind="stable").tolist():
        wanted = count - 1 - int(np.clip(places[number], 0, count - 1))
        row = min(free, key=lambda row: (abs(row - wanted), row), default=None)
        if row is not None:
            del free[row]
            rows[row] = [*rows[row], Span(labels[number], _colour(number))]
    return rows


def _horizontal_axis(
    along: Along, scale: _Scale, width: int, glyphs: Glyphs, indent: int
) -> list[Row]:
    what = _COUNTED[along]
    if what is None:
        at, names = round_moments(int(scale.first), int(scale.last), width)
        return ruler(width, names, scale.x(at.astype(np.float64)), glyphs, indent)
    counts = round_numbers(scale.first, scale.last, max(width // 10, 2))
    whole = counts[counts == np.floor(counts)]
    axis = ruler(width, [f"{tick:.0f}" for tick in whole], scale.x(whole), glyphs, indent)
    return [*axis, [Span(" " * indent + what.center(width).rstrip(), "dim")]]

"""The distribution of a pool's ratings, as a figure and as text for a terminal.

Both show a histogram with mean, median and percentiles, and the ratings of selected players.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from equipoise.arrays import Floats, Ints
from equipoise.charts import theme
from equipoise.charts.canvas import COLOURS, UNICODE, Canvas, Glyphs, Row, Span, ruler, with_heights
from equipoise.charts.theme import round_numbers, shortened, spread_out
from equipoise.data.ratings import Ratings
from equipoise.errors import InvalidDataError, require
from equipoise.wording import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


#: Percentiles that are marked in addition to the median.
PERCENTILES = (5, 25, 75, 95)
#: Possible widths of a bar in rating points.
_WIDTHS = (1, 2, 5, 10, 20, 25, 50, 100, 200, 250, 500, 1000)
_MOST_BARS = 80


@dataclass(frozen=True, slots=True)
class Place:
    """The place of one player in a pool.

    above : share of the players in the pool with a higher rating, from 0 to 1
    """

    player: int | str
    rating: float
    above: float

    def words(self, letters: int) -> str:
        """Return name, rating and place; letters : of the name."""
        name = shortened(str(self.player), letters)
        return f"{name} {self.rating:.0f}, {share_above(self.above)}"


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Distribution:
    """The ratings of a pool's players.

    edges : shape (b + 1,), rising, at round numbers; counts : shape (b,), players in
        edges[i] <= rating < edges[i + 1]
    percentiles : percent -> the rating that this share of the players is below
    places : of the requested players
    """

    players: int
    edges: Floats
    counts: Ints
    mean: float
    median: float
    percentiles: dict[int, float]
    places: tuple[Place, ...]

    @property
    def title(self) -> str:
        """The default title of a chart."""
        return f"Ratings of {counted(self.players, 'player')}"


def distribution(
    ratings: Ratings, *, min_matches: int = 1, rows: Sequence[int] = ()
) -> Distribution:
    """Return the distribution of ratings of players with at least `min_matches` rated matches.

    rows : of players whose places to include, whatever their number of matches
    Raises : InvalidDataError   no player has this number of matches
    """
    rating = ratings.rating[ratings.matches >= min_matches]
    if not len(rating):
        most = int(ratings.matches.max(initial=0))
        raise InvalidDataError(
            [],
            f"no player has {counted(min_matches, 'rated match', 'rated matches')}; the most "
            f"active has {most}",
        )
    edges = _round_edges(rating)
    return Distribution(
        players=len(rating),
        edges=edges,
        # A rating that is beyond an end only by rounding belongs to the bar there.
        counts=np.histogram(np.clip(rating, edges[0], edges[-1]), edges)[0].astype(np.int64),
        mean=float(rating.mean()),
        median=float(np.median(rating)),
        percentiles={percent: float(np.percentile(rating, percent)) for percent in PERCENTILES},
        places=tuple(
            Place(
                ratings.player_ids[row : row + 1].tolist()[0],
                float(ratings.rating[row]),
                float(np.mean(rating > ratings.rating[row])),
            )
            for row in rows
        ),
    )


def _round_edges(rating: Floats) -> Floats:
    """Return edges at multiples of a round width, by the rule of Freedman and Diaconis.

    The width is twice the interquartile range divided by the cube root of the number of players.
    """
    low, high = float(rating.min()), float(rating.max())
    middle = float(np.subtract(*np.percentile(rating, [75, 25])))
    wanted = max(2.0 * middle / np.cbrt(len(rating)), (high - low) / _MOST_BARS)
    width = float(next((width for width in _WIDTHS if width >= wanted), _WIDTHS[-1]))
    first = np.floor(low / width)
    # A rating just below 0 can be 0 when it is divided.
    first -= first * width > low
    # The greatest rating must lie below the last edge.
    last = max(np.floor(high / width) + 1, first + 1)
    return np.asarray(np.arange(first, last + 1) * width, dtype=np.float64)


def share_above(share: float) -> str:
    """Return a share of players above as text: "top 3 %"."""
    if share == 0:
        return "first"
    percent = 100 * share
    # Rounded up: 0.04 % must not become 0.0 %, which no player can be in.
    digits = 0 if percent >= 10 else 1 if percent >= 0.1 else 3
    return f"top {np.ceil(percent * 10**digits) / 10**digits:.{digits}f} %"


#: Largest number of marked players; each has a line of text above the bars.
MOST_MARKED = len(theme.PALETTE)
_BARS = "#b9c9e2"
#: Height of a line of text in points.
_LINE = 1.45 * theme.SMALL
#: Width of the text above a mark in points.
_COLUMN = 4.5 * theme.SMALL
_LETTERS = 24


def distribution_subtitle(system: str, min_matches: int) -> str:
    """Return the players in a distribution; system : may be empty."""
    if min_matches <= 1:
        return system
    least = f"players with at least {min_matches:,} rated matches"
    return f"{system}, {least}" if system else least


def distribution_figure(
    distribution: Distribution,
    *,
    title: str | None = None,
    subtitle: str,
    size: theme.Size = theme.WIDE,
) -> Figure:
    """Return the figure of a pool's ratings; players in `found.places` are marked by name.

    Raises : InvalidParameterError   more players than there is room for
    """
    count = len(distribution.places)
    require(count <= MOST_MARKED, "players", f"at most {MOST_MARKED} in a distribution", count)
    with theme.style():
        figure, axes = theme.new_figure(title or distribution.title, subtitle, size)
        _draw_bars(axes, distribution)
        theme.fit_axes(figure, axes, right=theme.MARGIN)
        height = axes.get_position().height * size.height * 72
        width = axes.get_position().width * size.width * 72
        _make_room(axes, distribution, min((3.2 + count) * _LINE / height, 0.6))
        _draw_marks(axes, distribution, width, _LINE / height)
        # The player furthest from the middle gets the highest label, so that no label crosses a
        # line.
        middle = sum(axes.get_xlim()) / 2
        away = [-abs(place.rating - middle) for place in distribution.places]
        for row, number in enumerate(np.argsort(away, kind="stable").tolist()):
            _mark_place(axes, distribution.places[number], number, 1 - (3.1 + row) * _LINE / height)
    return figure


def _draw_bars(axes: Axes, distribution: Distribution) -> None:
    axes.bar(
        distribution.edges[:-1],
        distribution.counts,
        width=np.diff(distribution.edges),
        align="edge",
        color=_BARS,
        edgecolor=theme.PAGE,
        linewidth=0.6 if len(distribution.counts) <= 60 else 0.3,
    )
    margin = 0.01 * (distribution.edges[-1] - distribution.edges[0])
    axes.set_xlim(distribution.edges[0] - margin, distribution.edges[-1] + margin)
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.set_xlabel("rating")


def _make_room(axes: Axes, distribution: Distribution, share: float) -> None:
    """Keep the upper `share` of the axes free of bars and of ticks."""
    from matplotlib.ticker import MaxNLocator

    most = float(distribution.counts.max())
    axes.set_ylim(0, most / (1 - share))
    ticks = MaxNLocator(nbins=4, integer=True).tick_values(0, most)
    axes.set_yticks([tick for tick in ticks if 0 <= tick <= most])


class _Mark(NamedTuple):
    """A number of the complete pool that is marked with a line."""

    name: str
    rating: float
    width: float
    dashes: Any = "solid"


def _marks(distribution: Distribution, width: float) -> list[_Mark]:
    """Return the marks from left to right, at most as many as fit into `width` points."""
    marks = [_Mark(f"{percent} %", at, 0.9) for percent, at in distribution.percentiles.items()]
    if width < (len(marks) + 2) * _COLUMN:
        marks = marks[1:-1]
    marks += [
        _Mark("median", distribution.median, 1.6),
        _Mark("mean", distribution.mean, 1.6, (0, (2.5, 1.5))),
    ]
    return sorted(marks, key=lambda mark: mark.rating)


def _draw_marks(axes: Axes, distribution: Distribution, width: float, line: float) -> None:
    """Draw a line at each mark, with its name and rating at the top; labels do not overlap."""
    marks = _marks(distribution, width)
    low, high = axes.get_xlim()
    shares = np.array([(mark.rating - low) / (high - low) for mark in marks])
    column = _COLUMN / width
    # Equal marks would be placed in reverse order otherwise.
    places = spread_out(shares[::-1], column, column / 2, 1 - column / 2)[::-1]
    words: dict[str, Any] = {"transform": axes.transAxes, "ha": "center", "va": "top"}
    for mark, share, place in zip(marks, shares.tolist(), places.tolist(), strict=True):
        axes.text(place, 1, mark.name, color=theme.MUTED, **words)
        weight = "bold" if mark.width > 1 else "normal"
        axes.text(place, 1 - 0.95 * line, f"{mark.rating:.0f}", fontweight=weight, **words)
        axes.plot(
            [share, share, place],
            [0, 1 - 2.7 * line, 1 - 2.0 * line],
            transform=axes.transAxes,
            color=theme.MUTED,
            lw=mark.width,
            ls=mark.dashes,
            alpha=0.8,
            zorder=1.5,
        )


def _mark_place(axes: Axes, place: Place, number: int, height: float) -> None:
    """Mark a player's rating and the share of players above, on the side with more room."""
    low, high = axes.get_xlim()
    shown = min(max(place.rating, low), high)
    left = shown > (low + high) / 2
    shared = axes.get_xaxis_transform()
    colour = theme.PALETTE[number]
    axes.plot([shown] * 2, [0, height], color=colour, lw=2.0, transform=shared, zorder=3)
    axes.annotate(
        place.words(_LETTERS),
        (shown, height),
        xycoords=shared,
        xytext=(-5 if left else 5, 2),
        textcoords="offset points",
        ha="right" if left else "left",
        va="top",
        color=theme.WORDS[number],
        fontweight="bold",
        zorder=4,
        bbox=_BEHIND,
    )


#: A background for text, so that lines do not run through it.
_BEHIND = {"facecolor": theme.PAGE, "edgecolor": "none", "pad": 1.0, "alpha": 0.85}


_CELL = 20
_LEAST_COLUMNS, _LEAST_ROWS, _MOST_ROWS = 20, 5, 14


def distribution_rows(
    distribution: Distribution, *, columns: int = 80, rows: int = 20, glyphs: Glyphs = UNICODE
) -> list[Row]:
    """Return the lines of a histogram, and below it a table of the values that a figure marks.

    columns, rows : of the chart, whose height is bounded; the rows of the table are extra
    """
    height = min(max(rows - 2, _LEAST_ROWS), _MOST_ROWS)
    most = int(distribution.counts.max())
    ticks = round_numbers(0, most, max(height // 3, 2))
    heights = [f"{tick:,.0f}" for tick in ticks]
    indent = max(map(len, heights)) + 2
    width = max(columns - indent, _LEAST_COLUMNS)
    canvas = Canvas(width, height)
    _paint_bars(canvas, distribution, glyphs)
    low, high = float(distribution.edges[0]), float(distribution.edges[-1])
    names = round_numbers(low, high, max(width // 10, 2))
    at = (names - low) / (high - low)
    return [
        *with_heights(canvas.spans(), heights, ticks / most, glyphs),
        *ruler(width, [f"{tick:.0f}" for tick in names], at, glyphs, indent),
        [],
        *_table(distribution),
    ]


def _paint_bars(canvas: Canvas, distribution: Distribution, glyphs: Glyphs) -> None:
    """Fill each column up to the count of the bar at its middle, in eighths of a cell."""
    middles = (np.arange(canvas.columns) + 0.5) / canvas.columns
    bar = np.minimum(
        (middles * len(distribution.counts)).astype(np.int64), len(distribution.counts) - 1
    )
    heights = distribution.counts[bar] / distribution.counts.max() * canvas.rows
    parts = len(glyphs.bars) - 1
    for middle, up in zip(middles.tolist(), heights.tolist(), strict=True):
        full = int(up)
        canvas.fill(middle, 0.0, full / canvas.rows, glyphs.bars[-1], COLOURS[0])
        # A single player among thousands stays visible.
        part = max(int((up - full) * parts), int(0 < up < 1))
        if part:
            canvas.write(middle, (full + 0.5) / canvas.rows, glyphs.bars[part], COLOURS[0])


def _table(distribution: Distribution) -> list[Row]:
    """Return a line for mean, median and percentiles, then one line for each player."""
    marks = {f"{percent} %": at for percent, at in distribution.percentiles.items()}
    # Equal percentiles come before the median.
    marks["median"] = distribution.median
    words = [f"{name} {at:.0f}" for name, at in sorted(marks.items(), key=lambda mark: mark[1])]
    lines = [[Span(f"mean {distribution.mean:.0f}   " + "   ".join(words), "")]]
    for number, place in enumerate(distribution.places):
        lines.append([Span(place.words(_CELL), COLOURS[number % len(COLOURS)])])
    return lines

"""The style of every figure: colours, sizes, titles, horizontal axes, and writing files.

Matplotlib is an extra. It is imported only inside functions that draw figures.
"""

from __future__ import annotations

import base64
import importlib.util
import io
import math
import textwrap
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, cast

import numpy as np

from equipoise.arrays import Floats, Ids
from equipoise.data.files import check_place, whole_file
from equipoise.errors import EquipoiseError, require
from equipoise.wording import how_to_install, printable

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Text


#: Colours of lines. Any two differ by at least 20 in CIE L*a*b*, for full colour vision and for the
#: three kinds of colour blindness, and each has a contrast of at least 3 : 1 to the page. A test
#: computes both.
PALETTE = ("#1464c8", "#a3300a", "#17a369", "#a83a86", "#b58d00", "#1b1f2a")
#: The same for text, with a contrast of at least 4.5 : 1 to the page.
WORDS = ("#1464c8", "#a3300a", "#0d7a4d", "#a83a86", "#856700", "#1b1f2a")
INK, MUTED, GRID, PAGE = "#1b1f2a", "#5b6270", "#e3e6eb", "#ffffff"
_EDGE = "#b4bac4"
#: Every colour -> the one that takes its place on a dark page. A test computes that they differ as
#: much, and have the same contrast to the page.
DARK = {
    **dict(
        zip(
            PALETTE, ("#4f95ff", "#e0622f", "#3ecf94", "#d66ab5", "#f2d36b", "#ffffff"), strict=True
        )
    ),
    **{WORDS[2]: "#3ecf94", WORDS[4]: "#f2d36b"},
    **{MUTED: "#a4acb8", GRID: "#2f3540", _EDGE: "#5b6270", PAGE: "#14171d"},
}

#: Text sizes in points. The smallest is 9 pixels high if a telephone shows a chart of 7.5 inches in
#: 390 pixels.
TITLE, TEXT, SMALL = 15.0, 12.0, 12.0
MARGIN = 12.0

#: Suffixes of the files to which a figure can be written.
FILE_KINDS = ("svg", "png", "pdf")
_DOTS_PER_INCH = 200

_STYLE: dict[str, Any] = {
    "figure.facecolor": PAGE,
    "axes.facecolor": PAGE,
    "axes.edgecolor": _EDGE,
    "axes.linewidth": 0.8,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.spines.left": False,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "grid.color": GRID,
    "grid.linewidth": 0.8,
    # This font comes with matplotlib, so a chart is the same on every machine.
    "font.family": ["DejaVu Sans"],
    "font.size": TEXT,
    "axes.labelsize": SMALL,
    "axes.labelcolor": MUTED,
    "text.color": INK,
    "xtick.labelsize": SMALL,
    "ytick.labelsize": SMALL,
    "xtick.color": _EDGE,
    "xtick.labelcolor": MUTED,
    "ytick.labelcolor": MUTED,
    "ytick.left": False,
    "date.converter": "concise",
    "lines.solid_capstyle": "round",
    "lines.solid_joinstyle": "round",
    # Without this, identifiers in an SVG differ from run to run.
    "svg.hashsalt": "equipoise",
    "svg.fonttype": "path",
    # Names of players may hold dollar signs.
    "text.parse_math": False,
    "axes.unicode_minus": True,
}


class Size(NamedTuple):
    """Width and height of a figure in inches."""

    width: float
    height: float


WIDE = Size(7.5, 4.8)


def check_available(library: str = "matplotlib", what: str = "charts in files") -> None:
    """Refuse to draw files without a library of the extra. Raises : EquipoiseError."""
    try:
        installed = importlib.util.find_spec(library) is not None
    except ValueError:  # blocked in sys.modules
        installed = False
    if not installed:
        raise EquipoiseError(
            f"{what} need {library}, which is not installed: {how_to_install('charts')}"
        )


def check_page(path: str, *libraries: str) -> None:
    """Refuse a path to which a page cannot be written, or a page without libraries of the extra.

    Raises : InvalidParameterError, EquipoiseError
    """
    require(path.lower().endswith(".html"), "--report", "a file that ends in .html", path)
    check_place(path)
    for library in libraries:
        check_available(library, "HTML reports")


def file_kind(path: str) -> str:
    """Return the kind of file that a path names: svg, png or pdf.

    Raises : InvalidParameterError.
    """
    kind = Path(path).suffix.lower().removeprefix(".")
    endings = ", ".join(f".{kind}" for kind in FILE_KINDS)
    require(kind in FILE_KINDS, "the name of a chart", f"a file that ends in {endings}", path)
    return kind


def check_file(path: str) -> None:
    """Refuse a path to which a chart cannot be written.

    Raises : InvalidParameterError; EquipoiseError without matplotlib
    """
    file_kind(path)
    check_place(path)
    check_available()


@contextmanager
def style() -> Iterator[None]:
    """Apply the style of all charts to figures within the block.

    Raises : EquipoiseError without matplotlib
    """
    check_available()
    import matplotlib as mpl

    with mpl.rc_context(cast(Any, _STYLE)), warnings.catch_warnings():
        # Letters that are in no installed font are drawn as boxes, which is no programming error.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        yield


@lru_cache(maxsize=1)
def _figure_class() -> type[Figure]:
    """Return the class of figures, which notebooks show; made when matplotlib is first used."""
    from matplotlib.figure import Figure

    class NotebookFigure(Figure):
        """A figure that notebooks show without pyplot, which would keep it and its own state."""

        def _repr_png_(self) -> bytes:
            """Return the figure as an image."""
            file = io.BytesIO()
            save(self, file, "png")
            return file.getvalue()

    return NotebookFigure


def new_figure(title: str, subtitle: str, size: Size = WIDE) -> tuple[Figure, Axes]:
    """Return a figure with its titles at the top left and axes below; call it within `style`."""
    figure = _figure_class()(figsize=size)
    top = _heading(figure, title, subtitle)
    axes = figure.add_axes((0.1, 0.12, 0.8, top - 0.12))
    return figure, axes


def fit_axes(figure: Figure, axes: Axes | Sequence[Axes], right: float = 0.0) -> None:
    """Widen axes that are side by side to the space that ticks and labels leave in the figure.

    right : points to keep free at the right, for labels outside the axes
    """
    row = [axes] if not isinstance(axes, Sequence) else list(axes)
    width, height = _points(figure)
    figure.draw_without_rendering()
    low = MARGIN + max(_outside(axes, "bottom") for axes in row)
    top = row[0].get_position().y1
    lefts = [MARGIN + _outside(axes, "left") for axes in row]
    free = (width - sum(lefts) - right - MARGIN * (2 * len(row) - 1)) / len(row)
    start = 0.0
    for one, left in zip(row, lefts, strict=True):
        start += left
        one.set_position((start / width, low / height, free / width, top - low / height))
        start += free + 2 * MARGIN


def save(figure: Figure, file: IO[bytes], kind: str) -> None:
    """Write a figure; the same figure gives the same bytes. kind : svg, png or pdf."""
    nothing: dict[str, dict[str, str | None]] = {
        "svg": {"Date": None, "Creator": "Equipoise"},
        "png": {"Software": "Equipoise"},
        "pdf": {"CreationDate": None, "Creator": "Equipoise", "Producer": None},
    }
    with style():
        figure.savefig(file, format=kind, dpi=_DOTS_PER_INCH, metadata=nothing[kind])


def write(figure: Figure, path: str) -> None:
    """Write a figure to a file, completely or not at all, in the format of its suffix."""
    with whole_file(path) as file:
        save(figure, file, file_kind(path))


def page_image(figure: Figure) -> str:
    """Return the address of a figure for an image in a page: all of it, as SVG.

    Its colours follow the reader's scheme. An image has its own names and styles, so figures on one
    page cannot affect each other.
    """
    file = io.BytesIO()
    save(figure, file, "svg")
    drawn = file.getvalue().decode()
    for colour in DARK:
        drawn = drawn.replace(colour, f"var(--c{colour[1:]})")
    light, dark = (
        " ".join(f"--c{colour[1:]}: {shown};" for colour, shown in shades.items())
        for shades in ({colour: colour for colour in DARK}, DARK)
    )
    # Paper is white, also for readers with a dark screen.
    scheme = "@media screen and (prefers-color-scheme: dark)"
    rules = f"svg {{ {light} }} {scheme} {{ svg {{ {dark} }} }} "
    drawn = drawn.replace('<style type="text/css">', f'<style type="text/css">{rules}', 1)
    return "data:image/svg+xml;base64," + base64.b64encode(drawn.encode()).decode()


def text_width(text: Text) -> float:
    """Return the width of a text on its figure in points."""
    return float(text.get_window_extent().width * 72 / _figure_of(text).dpi)


def _figure_of(part: Artist) -> Figure:
    figure = part.get_figure(root=True)
    assert figure is not None
    return figure


def _points(figure: Figure) -> tuple[float, float]:
    """Return width and height of a figure in points."""
    width, height = figure.get_size_inches().tolist()
    return 72 * width, 72 * height


def write_legend(
    figure: Figure, top: float, marks: Sequence[tuple[str, Mapping[str, Any]]], **look: float
) -> None:
    """Write a legend in one line, from the left margin.

    top : of the figure where it begins, from 0 to 1; marks : their names, and how they look
    look : distances within the legend, as matplotlib names them
    """
    from matplotlib.lines import Line2D

    lines: list[Any] = [Line2D([], [], **shape) for _, shape in marks]
    more: dict[str, Any] = {"frameon": False, "borderpad": 0.0, **look}
    figure.legend(
        lines,
        [name for name, _ in marks],
        loc="lower left",
        bbox_to_anchor=(MARGIN / _points(figure)[0], top),
        ncols=max(len(marks), 1),
        labelcolor=MUTED,
        fontsize=SMALL,
        **more,
    )


def line_label(axes: Axes, words: str, number: int) -> Text:
    """Write the label of a line at the right; `place_labels` puts it beside its end."""
    return axes.text(
        1.0,
        0.0,
        words,
        transform=axes.get_yaxis_transform(),
        color=WORDS[number % len(WORDS)],
        fontweight="bold",
        va="center",
    )


def place_labels(
    axes: Axes, texts: Sequence[Text], ends: Sequence[float], lead: float
) -> list[tuple[float, float]]:
    """Put labels beside the ends of their lines without overlap, and return where they are.

    lead : points from the edge of the axes to the labels
    """
    width, height = _points(_figure_of(axes))
    box, (low, high) = axes.get_position(), axes.get_ylim()
    line = 1.35 * TEXT * (high - low) / (box.height * height)
    heights = spread_out(np.array(ends), line, low + line / 2, high - line / 2)
    places = [(1.0 + lead / (box.width * width), height) for height in heights.tolist()]
    for text, place in zip(texts, places, strict=True):
        text.set_position(place)
    return places


def _heading(figure: Figure, title: str, subtitle: str) -> float:
    """Write title and subtitle, wrapped to the figure; return their lower end, from 0 to 1."""
    width, height = _points(figure)
    y = height - MARGIN
    for words, points, weight, colour, lines in (
        (title, TITLE, "bold", INK, 2),
        (subtitle, SMALL, "normal", MUTED, 3),
    ):
        if not words:
            continue
        look: dict[str, Any] = {"fontsize": points, "fontweight": weight, "linespacing": 1.25}
        text = figure.text(MARGIN / width, y / height, words, color=colour, va="top", **look)
        text.set_text(_wrapped(text, words, width - 2 * MARGIN, lines))
        y -= text.get_window_extent().height * 72 / figure.dpi + 5
    return float((y - 4) / height)


def _wrapped(text: Text, words: str, width: float, lines: int) -> str:
    """Return the words of a text wrapped to `width` points, in at most this many lines."""
    letters = int(len(words) * width / max(text_width(text), 1.0))
    if letters >= len(words):
        return words
    # Computed from the mean width of a letter; a twentieth is reserved for lines of wide letters.
    most = max(int(letters * 0.95), 8)
    end = " \N{HORIZONTAL ELLIPSIS}"
    return textwrap.fill(words, most, max_lines=lines, placeholder=end)


def _outside(axes: Axes, side: str) -> float:
    """Return how far ticks and labels extend beyond the axes at one side, in points."""
    axis = axes.yaxis if side == "left" else axes.xaxis
    box, inner = axis.get_tightbbox(), axes.get_window_extent()
    if not axes.axison or not axis.get_visible() or box is None:
        return 0.0
    reach = inner.x0 - box.x0 if side == "left" else inner.y0 - box.y0
    return max(float(reach * 72 / _figure_of(axes).dpi), 0.0)


def set_horizontal_axis(axes: Axes, places: Ids, counted: str | None, inches: float) -> None:
    """Set limits a little beyond the places, with whole numbers and a label for counts.

    places : shape (n,), datetime64[us] or int64
    counted : what the numbers count; None for times
    inches : width of the figure, which limits the number of ticks
    """
    import matplotlib.dates
    from matplotlib.ticker import MaxNLocator

    # matplotlib.dates has no types.
    dates: Any = matplotlib.dates

    first, last = places.min(), places.max()
    most = max(int(inches), 3)
    if counted is None:
        # A single time is shown between the days before and after it.
        edge = np.timedelta64(2, "D") if first == last else (last - first) * 0.015
        axes.set_xlim(first - edge, last + edge)
        locator = dates.AutoDateLocator(minticks=2, maxticks=most)
        axes.xaxis.set_major_locator(locator)
        axes.xaxis.set_major_formatter(dates.ConciseDateFormatter(locator))
        return
    edge = max((last - first) * 0.015, 0.6)
    axes.set_xlim(first - edge, last + edge)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=most, integer=True, min_n_ticks=1))
    axes.set_xlabel(counted)


#: An outside value, such as the baseline, may widen a range at most by this factor.
_STRETCH = 3.0
#: Share of a range that stays empty at both ends.
_LABEL_EDGE = 0.06

_Unit: TypeAlias = Literal["Y", "M", "D", "h", "m", "s"]


class _TimeStep(NamedTuple):
    """A step of a number of years, months, ..., and the number of letters in a label."""

    unit: _Unit
    every: int
    letters: int


#: From the finest to the coarsest.
_TIME_STEPS = (
    *(_TimeStep("s", every, 8) for every in (1, 5, 15, 30)),
    *(_TimeStep("m", every, 5) for every in (1, 5, 15, 30)),
    *(_TimeStep("h", every, 5) for every in (1, 3, 6, 12)),
    *(_TimeStep("D", every, 10) for every in (1, 2, 7, 14)),
    *(_TimeStep("M", every, 7) for every in (1, 2, 3, 6)),
    *(_TimeStep("Y", every, 4) for every in (1, 2, 5, 10, 20, 50, 100)),
)


class Scale(NamedTuple):
    """A linear scale: `low` is at `start`, `high` at `stop`."""

    low: float
    high: float
    start: float
    stop: float

    def at(self, value: float) -> float:
        """Return the position of a value."""
        share = (value - self.low) / (self.high - self.low)
        return self.start + share * (self.stop - self.start)

    def holds(self, value: float) -> bool:
        """Return whether the scale contains a value."""
        return self.low <= value <= self.high

    def ticks(self, most: int) -> list[tuple[float, str]]:
        """Return at most `most` (but at least 2) round values within the scale, with labels.

        They are multiples of 1, 2 or 5 times a power of ten.
        """
        for step, exponent in _round_steps((self.high - self.low) / most):
            # Multiplies whole numbers of steps, so that 0.3 does not become 0.30000000000000004.
            size = step * 10.0**exponent
            first, last = math.ceil(self.low / size - 1e-9), math.floor(self.high / size + 1e-9)
            if last - first + 1 <= most:
                break
        digits = max(-exponent, 0)
        values = [round(number * size, digits) for number in range(first, last + 1)]
        return [(value, signed(f"{value:.{digits}f}")) for value in values]


def around(values: Iterable[float], start: float, stop: float, outside: Iterable[float]) -> Scale:
    """Return a scale that shows all values, and those `outside` if none of them is far away.

    values, outside : NaN is ignored; without values the scale runs from 0 to 1
    """
    seen = [value for value in values if math.isfinite(value)]
    low, high = (min(seen), max(seen)) if seen else (0.0, 1.0)
    if low == high:
        # A single value is in the middle of a range as large as the value.
        half = 0.05 * abs(low) or 0.5
        low, high = low - half, high + half
    others = [value for value in outside if math.isfinite(value)]
    lowest, highest = min([low, *others]), max([high, *others])
    if highest - lowest <= _STRETCH * (high - low):
        low, high = lowest, highest
    edge = _LABEL_EDGE * (high - low)
    return Scale(low - edge, high + edge, start, stop)


def signed(text: str) -> str:
    """Return a number as text with a minus sign instead of a hyphen."""
    return text.replace("-", "\N{MINUS SIGN}")


def _round_steps(least: float) -> Iterator[tuple[int, int]]:
    """Yield steps from about `least` up as (1, 2 or 5, power of ten)."""
    power = math.floor(math.log10(least))
    yield from ((1, power), (2, power), (5, power), (1, power + 1), (2, power + 1))


def round_numbers(low: float, high: float, most: int) -> Floats:
    """Return about `most` multiples of 1, 2 or 5 times a power of ten in [low, high]."""
    least = max((high - low) / max(most, 1), 1.0)
    step = next(
        size for factor, power in _round_steps(least) if (size := factor * 10.0**power) >= least
    )
    first, last = np.ceil(low / step), np.floor(high / step)
    numbers = np.asarray(step * np.arange(first, last + 1), dtype=np.float64)
    return numbers[(numbers >= low) & (numbers <= high)]  # where low/step underflows


def round_moments(low: int, high: int, columns: int) -> tuple[Ids, list[str]]:
    """Return round times in [low, high], microseconds since 1970, and their labels.

    columns : width of the axis in letters; labels are at least three letters apart
    """
    ends = np.array([low, high]).astype("datetime64[us]")
    for step in _TIME_STEPS:
        first, last = ends.astype(f"datetime64[{step.unit}]").astype(np.int64)
        if (last - first) / step.every * (step.letters + 3) > columns:
            continue
        counts = np.arange(first // step.every, last // step.every + 1) * step.every
        moments = counts.astype(f"datetime64[{step.unit}]")
        within = (moments.astype("datetime64[us]") >= ends[0]) & (moments <= ends[1])
        if within.sum() >= 2:
            shown = moments[within].astype("datetime64[us]")
            return shown.astype(np.int64), _names(shown, step.unit)
    # There are no two round times: use both ends to the minute, or the only minute.
    by_name = {str(end)[:16].replace("T", " "): end for end in ends[::-1]}
    return np.array(list(by_name.values())[::-1]).astype(np.int64), list(by_name)[::-1]


def _names(moments: Ids, unit: str) -> list[str]:
    """Return labels: years, months or days, or times of day with midnight shown as the date."""
    seconds = np.datetime_as_string(moments.astype("datetime64[s]"))
    texts = [str(text) for text in seconds]
    if unit in "hms":
        end = 19 if unit == "s" else 16
        return [text[5:10] if text[11:] == "00:00:00" else text[11:end] for text in texts]
    return [text[: {"Y": 4, "M": 7, "D": 10}[unit]] for text in texts]


def spread_out(wanted: Floats, gap: float, low: float, high: float) -> Floats:
    """Return positions in [low, high], at least `gap` apart, as near as possible to those wanted.

    wanted : shape (n,), in any order, which the result keeps (of equal ones the first is highest).
      The result minimises the sum of squared moves. After subtracting the gaps this is an isotonic
      regression, solved by pooling neighbours that are out of order. If there is too little room,
      the gap shrinks.
    """
    count = len(wanted)
    if count == 0:
        return np.zeros(0)
    gap = min(gap, (high - low) / max(count - 1, 1))
    order = np.lexsort((-np.arange(count), wanted))
    blocks: list[tuple[float, int]] = []
    for place in (wanted[order] - gap * np.arange(count)).tolist():
        mean, size = place, 1
        while blocks and blocks[-1][0] > mean:
            before, others = blocks.pop()
            mean = (before * others + mean * size) / (others + size)
            size += others
        blocks.append((mean, size))
    pooled = np.concatenate([np.full(size, mean) for mean, size in blocks])
    places = np.empty(count)
    places[order] = np.clip(pooled, low, high - gap * (count - 1)) + gap * np.arange(count)
    return places


def shortened(name: str, letters: int) -> str:
    """Return a name shortened to at most `letters` letters, without control characters.

    Some of them reverse the rest of a line, also in a picture.
    """
    name = printable(name)
    return name if len(name) <= letters else f"{name[: max(letters - 1, 1)]}\N{HORIZONTAL ELLIPSIS}"

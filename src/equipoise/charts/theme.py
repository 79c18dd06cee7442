"""The style of every figure: colours, sizes, titles, horizontal axes, and writing files.

Matplotlib is an extra. It is imported only inside functions that draw figures.
"""

from __future__ import annotations

import base64
import importlib.util
import io
import textwrap
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from equipoise.arrays import Ids
from equipoise.charts.axes import spread_out
from equipoise.data.files import check_place, whole_file
from equipoise.errors import EquipoiseError, require
from equipoise.wording import how_to_install

if TYPE_CHECKING:
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
    if not _installed(library):
        raise EquipoiseError(
            f"{what} need {library}, which is not installed: {how_to_install('charts')}"
        )


def _installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ValueError:  # blocked in sys.modules
        return False


def file_kind(path: str) -> str:
    """Return the kind of file that a path names: svg, png or pdf.

    Raises : InvalidParameterError.
    """
    kind = Path(path).suffix.lower().removeprefix(".")
    endings = ", ".join(f".{one}" for one in FILE_KINDS)
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
    width, height = (72 * inches for inches in figure.get_size_inches())
    figure.draw_without_rendering()
    low = MARGIN + max(_outside(one, "bottom") for one in row)
    top = row[0].get_position().y1
    lefts = [MARGIN + _outside(one, "left") for one in row]
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
    figure = text.get_figure(root=True)
    assert figure is not None
    return float(text.get_window_extent().width * 72 / figure.dpi)


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
    figure = axes.get_figure(root=True)
    assert figure is not None
    width, height = (72 * inches for inches in figure.get_size_inches())
    box, (low, high) = axes.get_position(), axes.get_ylim()
    line = 1.35 * TEXT * (high - low) / (box.height * height)
    heights = spread_out(np.array(ends), line, low + line / 2, high - line / 2)
    places = [(1.0 + lead / (box.width * width), height) for height in heights.tolist()]
    for text, place in zip(texts, places, strict=True):
        text.set_position(place)
    return places


def _heading(figure: Figure, title: str, subtitle: str) -> float:
    """Write title and subtitle, wrapped to the figure; return their lower end, from 0 to 1."""
    width, height = (72 * inches for inches in figure.get_size_inches())
    y = height - MARGIN
    for words, points, weight, colour, lines in (
        (title, TITLE, "bold", INK, 2),
        (subtitle, SMALL, "normal", MUTED, 3),
    ):
        if not words:
            continue
        text = figure.text(
            MARGIN / width,
            y / height,
            _wrapped(figure, words, points, weight, width - 2 * MARGIN, lines),
            fontsize=points,
            fontweight=weight,
            color=colour,
            va="top",
            linespacing=1.25,
        )
        y -= text.get_window_extent().height * 72 / figure.dpi + 5
    return float((y - 4) / height)


def _wrapped(
    figure: Figure, words: str, points: float, weight: str, width: float, lines: int
) -> str:
    """Return text wrapped to `width` points, in at most `most` lines."""
    probe = figure.text(0, 0, words, fontsize=points, fontweight=weight)
    letters = int(len(words) * width / max(text_width(probe), 1.0))
    probe.remove()
    if letters >= len(words):
        return words
    # Computed from the mean width of a letter; a twentieth is reserved for lines of wide letters.
    most = max(int(letters * 0.95), 8)
    end = " \N{HORIZONTAL ELLIPSIS}"
    return textwrap.fill(words, most, max_lines=lines, placeholder=end)


def _outside(axes: Axes, side: str) -> float:
    """Return how far ticks and labels extend beyond the axes at one side, in points."""
    figure = axes.get_figure(root=True)
    assert figure is not None
    axis = axes.yaxis if side == "left" else axes.xaxis
    if not axes.axison or not axis.get_visible():
        return 0.0
    box, inner = axis.get_tightbbox(), axes.get_window_extent()
    if box is None:
        return 0.0
    reach = inner.x0 - box.x0 if side == "left" else inner.y0 - box.y0
    return max(float(reach * 72 / figure.dpi), 0.0)


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

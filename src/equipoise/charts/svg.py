"""SVG charts for a page: their elements, and the style sheet that colours them.

A chart is inline SVG in HTML. Its text stays text, and its classes take colours from the style
sheet of the page, so it follows the page in dark mode and in print. Charts use no clip paths,
markers or gradients, so that charts on one page cannot affect each other.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterable, Sequence

from markupsafe import Markup

from equipoise.charts import theme
from equipoise.charts.axes import shortened
from equipoise.markup import Content, decimals, element, joined

#: Pixels: the width of a chart, the size of its text, and the height of a line of text.
WIDTH = 360.0
TEXT = 12.0
LINE = 16.0
#: Widths of letters relative to the text size: small letters, capitals and digits, East Asian
#: letters; and how much wider bold ones are. Fonts differ; these are values of a wide font.
_SMALL, _CAPITAL, _WIDE = 0.6, 0.7, 1.05
_BOLD = 1.12
_SHAPES = 6


def drawing(
    name: str, size: tuple[float, float], title: str, description: str, *marks: Content
) -> Markup:
    """Return a chart with a title and a description for screen readers.

    name : unique on its page; size : width and height
    """
    width, height = size
    return element(
        "svg",
        element("title", title, id=f"{name}-title"),
        element("desc", description, id=f"{name}-about"),
        *marks,
        viewBox=f"0 0 {decimals(width)} {decimals(height)}",
        class_="chart",
        role="img",
        aria_labelledby=f"{name}-title {name}-about",
    )


def words(
    x: float, y: float, text: str, class_: str = "", anchor: str = "start", whole: str = ""
) -> Markup:
    """Return text that starts, is centred or ends at (x, y).

    whole : the complete text, shown as a tooltip
    """
    title = element("title", whole) if whole and whole != text else None
    return element(
        "text",
        text,
        title,
        x=x,
        y=y,
        class_=class_ or None,
        text_anchor=None if anchor == "start" else anchor,
    )


def line(x1: float, y1: float, x2: float, y2: float, class_: str) -> Markup:
    """Return a straight line."""
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=class_)


def track(points: Sequence[tuple[float, float]], class_: str) -> Markup:
    """Return a line through points."""
    listed = " ".join(f"{decimals(x)},{decimals(y)}" for x, y in points)
    return element("polyline", points=listed, class_=class_)


def dot(x: float, y: float, class_: str, *, shape: int = 0, size: float = 4.0) -> Markup:
    """Return a dot of a shape: disc, square, diamond, triangle up or down, or cross."""
    if shape % _SHAPES == 0:
        return element("circle", cx=x, cy=y, r=size, class_=class_)
    d = "".join(
        f"{'L' if number else 'M'}{decimals(x + size * right)} {decimals(y + size * down)}"
        for number, (right, down) in enumerate(_CORNERS[shape % _SHAPES])
    )
    return element("path", d=f"{d}Z", class_=class_)


#: Corners of the shapes of dots relative to their middle, with about the same area.
_CORNERS: tuple[tuple[tuple[float, float], ...], ...] = (
    (),
    ((-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)),
    ((0, -1.25), (1.25, 0), (0, 1.25), (-1.25, 0)),
    ((0, -1.25), (1.2, 0.85), (-1.2, 0.85)),
    ((0, 1.25), (1.2, -0.85), (-1.2, -0.85)),
    (
        *((-1.2, -0.4), (-0.4, -0.4), (-0.4, -1.2), (0.4, -1.2), (0.4, -0.4), (1.2, -0.4)),
        *((1.2, 0.4), (0.4, 0.4), (0.4, 1.2), (-0.4, 1.2), (-0.4, 0.4), (-1.2, 0.4)),
    ),
)


def look(number: int) -> str:
    """Return the class with the colour of the system of this number."""
    return f"s{number % len(theme.PALETTE)}"


def shape_of(number: int) -> int:
    """Return the shape of a system's dots; after the last colour, shapes get other colours."""
    return (number + number // len(theme.PALETTE)) % _SHAPES


def with_tooltip(mark: Markup, words_: str) -> Markup:
    """Return a mark with a tooltip."""
    return element("g", element("title", words_), mark)


def coloured(number: int, marks: Iterable[Markup]) -> Markup:
    """Return marks in the colour of the system of this number."""
    return element("g", joined(marks), class_=look(number))


def bar(x: float, bottom: float, width: float, height: float) -> Markup:
    """Return a bar that starts at `bottom`."""
    return element("rect", x=x, y=bottom - height, width=width, height=height, class_="bar")


def fitted(text: str, width: float, bold: bool = False) -> str:
    """Return text shortened to about this width in pixels."""
    if width_of(text, bold) <= width:
        return text
    letters = len(text)
    while letters > 1 and width_of(shortened(text, letters), bold) > width:
        letters -= 1
    return shortened(text, letters)


def width_of(text: str, bold: bool = False) -> float:
    """Return an estimate of the width of text in pixels, too large rather than too small."""
    return TEXT * (_BOLD if bold else 1.0) * math.fsum(map(_letter, text))


def _letter(letter: str) -> float:
    if unicodedata.combining(letter):
        return 0.0
    if unicodedata.east_asian_width(letter) in "WF":
        return _WIDE
    return _CAPITAL if letter.isupper() or letter.isdigit() else _SMALL


#: Colours for dark mode: ink, muted, grid, page, and one for each colour of the palette. A test
#: computes that they differ as much as those of `theme`, and have the same contrast to the page.
DARK_INK, DARK_MUTED, DARK_GRID, DARK_PAGE = "#e8eaf0", "#a4acb8", "#2f3540", "#14171d"
DARK_PALETTE = ("#4f95ff", "#e0622f", "#3ecf94", "#d66ab5", "#f2d36b", "#ffffff")

_MARKS = """
svg.chart { display: block; height: auto; max-width: 30rem; width: 100%; }
svg.chart text { fill: var(--ink); font-size: 12px; }
svg.chart text.axis { fill: var(--muted); }
svg.chart text.over { paint-order: stroke; stroke: var(--page); stroke-linejoin: round;
  stroke-width: 4px; }
svg.chart text.bold { font-weight: 600; }
svg .grid { stroke: var(--grid); stroke-width: 1; }
svg .rule { stroke: var(--muted); stroke-width: 1; }
svg .reference { fill: none; stroke: var(--muted); stroke-width: 1.5; }
svg polyline.reference, svg .dashed { stroke-dasharray: 5 3; }
svg .bar { fill: var(--muted); opacity: 0.45; }
svg .whisker { fill: none; stroke: var(--look); stroke-linecap: round; stroke-width: 2.5; }
svg .curve { fill: none; stroke: var(--look); stroke-linejoin: round; stroke-width: 2; }
svg .again { stroke-dasharray: 6 3; }
svg .dot { fill: var(--look); stroke: var(--page); stroke-width: 1; }
svg .ring { fill: var(--page); stroke: var(--look); stroke-width: 2.2; }
"""


def style_sheet() -> str:
    """Return the colours as variables of the page, and the classes of charts."""
    light = _colours(theme.INK, theme.MUTED, theme.GRID, theme.PAGE, theme.PALETTE)
    dark = _colours(DARK_INK, DARK_MUTED, DARK_GRID, DARK_PAGE, DARK_PALETTE)
    looks = "\n".join(
        f".s{number} {{ --look: var(--s{number}); }}" for number in range(len(theme.PALETTE))
    )
    # Paper is white, also for readers with a dark screen.
    return (
        f":root {{ {light} }}\n"
        f"@media screen and (prefers-color-scheme: dark) {{ :root {{ {dark} }} }}\n"
        f"{looks}{_MARKS}"
    )


def _colours(ink: str, muted: str, grid: str, page: str, palette: tuple[str, ...]) -> str:
    named = {"ink": ink, "muted": muted, "grid": grid, "page": page}
    named |= {f"s{number}": colour for number, colour in enumerate(palette)}
    return " ".join(f"--{name}: {colour};" for name, colour in named.items())

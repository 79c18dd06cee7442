"""The style sheet of drawings: the colours of all charts, by day, in the dark and on paper."""

from __future__ import annotations

from equipoise.charts import theme

#: Where readers prefer the dark: ink, muted, grid, page, and a colour for every one of the palette.
#: They differ as those of `theme` do, and stand out from the page as much; a test computes it.
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
    """Return the colours as variables of the page, and the classes of drawings."""
    light = _colours(theme.INK, theme.MUTED, theme.GRID, theme.PAGE, theme.PALETTE)
    dark = _colours(DARK_INK, DARK_MUTED, DARK_GRID, DARK_PAGE, DARK_PALETTE)
    looks = "\n".join(
        f".s{number} {{ --look: var(--s{number}); }}" for number in range(len(theme.PALETTE))
    )
    # Paper is white, whatever the reader's screen is.
    return (
        f":root {{ {light} }}\n"
        f"@media screen and (prefers-color-scheme: dark) {{ :root {{ {dark} }} }}\n"
        f"{looks}{_MARKS}"
    )


def _colours(ink: str, muted: str, grid: str, page: str, palette: tuple[str, ...]) -> str:
    named = {"ink": ink, "muted": muted, "grid": grid, "page": page}
    named |= {f"s{number}": colour for number, colour in enumerate(palette)}
    return " ".join(f"--{name}: {colour};" for name, colour in named.items())

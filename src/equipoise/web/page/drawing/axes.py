"""What drawings share: lines and names of round values, and the frame around a plot."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from markupsafe import Markup

from equipoise.charts.markup import Markup as Drawn
from equipoise.charts.markup import element
from equipoise.charts.scale import Scale
from equipoise.charts.ticks import round_moments
from equipoise.web.page.wording import number

#: Letters of a time axis: few enough for the width of a phone.
_LETTERS = 46


class Frame:
    """A plot of a height in pixels, with values up its side and names below."""

    def __init__(self, height: int, up: Scale) -> None:
        self.height, self.up = height, up

    def svg(
        self,
        name: str,
        marks: Sequence[Drawn],
        below: Sequence[tuple[float, str]],
        stretched: Sequence[Drawn] = (),
        digits_up: int = 5,
    ) -> Markup:
        """Return the chart.

        name : what it shows, for those who do not see it
        marks : places across in percent; below : (place from 0 to 1, name)
        stretched : marks on a field of 1000 across, which is stretched
        """
        ticks = self.up.ticks(digits_up)
        lines = [_line(self.up.at(value)) for value, _ in ticks]
        layer = element(
            "svg",
            list(stretched),
            viewBox=f"0 0 1000 {self.height}",
            preserveAspectRatio="none",
            width="100%",
            height=self.height,
        )
        side = [
            element(
                "text",
                number(value, len(text.partition(".")[2])),
                x="100%",
                y=self.up.at(value) + 4,
                text_anchor="end",
            )
            for value, text in ticks
        ]
        plot = element("svg", lines, layer, list(marks), class_="plot", height=self.height)
        names = element("svg", [_name(at, text) for at, text in below], class_="below", height=22)
        up = element("svg", side, class_="side", height=self.height)
        return Markup(element("div", up, plot, names, class_="chart", role="img", aria_label=name))


def _line(y: float) -> Drawn:
    return element("line", class_="grid", x1="0", x2="100%", y1=y, y2=y)


def _name(at: float, text: str) -> Drawn:
    anchor = "start" if at < 0.06 else "end" if at > 0.94 else "middle"
    return element("text", text, x=f"{100 * at:.2f}%", y=16, text_anchor=anchor)


def moments(low: float, high: float) -> list[tuple[float, str]]:
    """Return round moments between two, seconds since 1970, as (place from 0 to 1, name)."""
    if high <= low:
        return [(0.5, f"{datetime.fromtimestamp(low, UTC):%Y-%m-%d}")]
    found, texts = round_moments(int(low * 1e6), int(high * 1e6), _LETTERS)
    return [
        ((at / 1e6 - low) / (high - low), text)
        for at, text in zip(found.tolist(), texts, strict=True)
    ]

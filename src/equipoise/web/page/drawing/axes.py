"""What drawings share: the frame around a plot, a curve with its band, pictures in a line."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from markupsafe import Markup

from equipoise.charts.markup import Content, element
from equipoise.charts.scale import Scale, round_moments
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
        marks: Sequence[Markup],
        below: Sequence[tuple[float, str]],
        stretched: Sequence[Markup] = (),
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
        return element("div", up, plot, names, class_="chart", role="img", aria_label=name)

    def curve(
        self,
        across: Sequence[float],
        values: Sequence[float],
        lows: Sequence[float],
        highs: Sequence[float],
    ) -> list[Markup]:
        """Return the line of values and the band around it; across : places from 0 to 1000."""
        line, over, under = (
            [f"{x:.1f},{self.up.at(y):.1f}" for x, y in zip(across, column, strict=True)]
            for column in (values, highs, lows)
        )
        return [
            element("path", d=f"M{' L'.join([*over, *reversed(under)])} Z", class_="band"),
            element("polyline", points=" ".join(line), class_="curve"),
        ]


def picture(class_: str, height: int, *marks: Content) -> Markup:
    """Return a picture that stands in a line of text or a table, which says the same in words."""
    return element(
        "svg", *marks, class_=class_, height=height, aria_hidden="true", focusable="false"
    )


def bar(low: float, high: float, height: int) -> Markup:
    """Return the bar of an interval, in the middle of a picture; low, high : in percent."""
    return element(
        "rect",
        class_="interval-bar",
        x=f"{low:.2f}%",
        y=height // 2 - 2,
        width=f"{high - low:.2f}%",
        height=4,
        rx=2,
    )


def dot(at: float, height: int) -> Markup:
    """Return the dot of a value, in the middle of a picture; at : in percent."""
    return element("circle", class_="interval-dot", cx=f"{at:.2f}%", cy=height // 2, r=4)


def _line(y: float) -> Markup:
    return element("line", class_="grid", x1="0", x2="100%", y1=y, y2=y)


def _name(at: float, text: str) -> Markup:
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

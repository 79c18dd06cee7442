"""Figures of the pages: curves, tables of days, and explanations of a change.

`Frame` is a plot with its axes. On it are drawn columns (matches per week, players by rating), the
rating of a player over time, and the drift of a pool. An interval is a rating as a dot on the bar
of its 95 % range.

Numbers are rounded so that the parts still add up to the change.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from typing import NamedTuple

from markupsafe import Markup

from equipoise.charts.theme import Scale, around, round_moments
from equipoise.markup import Content, element
from equipoise.messages.histories import ExplainMessage, OpponentMessage, RememberedMessage
from equipoise.messages.matches import MeanPoint, RatingBin, RatingTimeline
from equipoise.messages.pools import Tier
from equipoise.web.page.rendering import half_width, number, ordinal, percent

#: Heights of the charts and of the picture of an interval, pixels.
COLUMNS_HEIGHT, RATING_HEIGHT, DRIFT_HEIGHT, _HEIGHT = 170, 280, 200, 18
#: Maximum number of points of a curve; more could not be distinguished.
_POINTS = 400
#: Characters below a time axis, which fit on the width of a phone.
_LETTERS = 46
#: The same for the rows of a table with the content of a chart.
_TABLE_LETTERS = 200


class Frame:
    """A plot of some height in pixels, with values at its side and names below."""

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

        name : text for screen readers
        marks : elements with x in percent; below : (place from 0 to 1, name)
        stretched : elements with x from 0 to 1000, which are stretched to the width of the plot
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


def picture(class_: str, height: int, *marks: Content, **more: str) -> Markup:
    """Return a small picture that repeats what the text or table beside it says."""
    hidden = {"aria_hidden": "true", "focusable": "false"}
    return element("svg", *marks, class_=class_, height=height, **hidden, **more)


def box(
    class_: str,
    left: float,
    right: float,
    top: float,
    height: float,
    *inside: Content,
    **more: float,
) -> Markup:
    """Return a rectangle; left, right : in percent of the width."""
    ends = {"x": f"{left:.2f}%", "width": f"{right - left:.2f}%"}
    return element("rect", *inside, class_=class_, y=top, height=height, **ends, **more)


def upright(class_: str, at: float, top: float, bottom: float) -> Markup:
    """Return a vertical line; at : in percent of the width."""
    x = f"{at:.2f}%"
    return element("line", class_=class_, x1=x, x2=x, y1=top, y2=bottom)


def bar(low: float, high: float, height: int) -> Markup:
    """Return the bar of an interval, in the middle of a picture; low, high : in percent."""
    return box("interval-bar", low, high, height // 2 - 2, 4, rx=2)


def dot(at: float, height: int, radius: int = 4) -> Markup:
    """Return the dot of a value, in the middle of a picture; at : in percent."""
    return element("circle", class_="interval-dot", cx=f"{at:.2f}%", cy=height // 2, r=radius)


def _line(y: float) -> Markup:
    return element("line", class_="grid", x1="0", x2="100%", y1=y, y2=y)


def _name(at: float, text: str) -> Markup:
    anchor = "start" if at < 0.06 else "end" if at > 0.94 else "middle"
    return element("text", text, x=f"{100 * at:.2f}%", y=16, text_anchor=anchor)


def time_labels(low: float, high: float, letters: int = _LETTERS) -> list[tuple[float, str]]:
    """Return round times between two, seconds since 1970, as (place from 0 to 1, name)."""
    if high <= low:
        return [(0.5, f"{datetime.fromtimestamp(low, UTC):%Y-%m-%d}")]
    moments, texts = round_moments(int(low * 1e6), int(high * 1e6), letters)
    return [
        ((at / 1e6 - low) / (high - low), text)
        for at, text in zip(moments.tolist(), texts, strict=True)
    ]


class Column(NamedTuple):
    """A count, and the text that appears when the pointer is on it."""

    value: float
    words: str


class Mark(NamedTuple):
    """A line at a place from 0 to 1, and its name."""

    place: float
    name: str


def columns_chart(
    name: str,
    columns: Sequence[Column],
    below: Sequence[tuple[float, str]],
    mark: Mark | None = None,
) -> Markup:
    """Return a chart of columns; below : (place from 0 to 1, name)."""
    top = max((column.value for column in columns), default=0.0) or 1.0
    up = Scale(0.0, 1.08 * top, float(COLUMNS_HEIGHT), 4.0)
    wide = 100 / max(len(columns), 1)
    marks = []
    for before, column in enumerate(columns):
        left, y = (before + 0.06) * wide, up.at(column.value)
        tall = max(COLUMNS_HEIGHT - y, 0.0)
        title = element("title", column.words)
        marks.append(box("column", left, left + 0.88 * wide, y, tall, title))
    if mark is not None:
        at = 100 * mark.place
        dx, anchor = (-6, "end") if mark.place > 0.7 else (6, "start")
        marks.append(upright("marker", at, 0, COLUMNS_HEIGHT))
        where = {"x": f"{at:.2f}%", "y": "10", "dx": str(dx), "text_anchor": anchor}
        marks.append(element("text", mark.name, class_="marker-name", **where))
    return Frame(COLUMNS_HEIGHT, up).svg(name, marks, below, digits_up=4)


_STANDING_HEIGHT = 104


def distribution(
    name: str, bins: Sequence[RatingBin], mine: tuple[float, float, float] | None = None
) -> Markup:
    """Return a small chart of players by rating; mine : a rating, and the ends of its range."""
    low, high = bins[0].low, bins[-1].high
    wide = (high - low) or 1.0
    top = max(span.players for span in bins) or 1
    base = _STANDING_HEIGHT - 20

    def across(value: float) -> float:
        return 100 * min(max((value - low) / wide, 0.0), 1.0)

    marks = []
    for span in bins:
        tall = 0.0 if not span.players else max(1.0, (base - 12) * span.players / top)
        left = across(span.low) + 0.15
        right = max(across(span.high) - 0.15, left + 0.1)
        marks.append(box("bin", left, right, base - tall, tall))
    if mine is not None:
        at, left, right = map(across, mine)
        right = max(right, left + 0.2)
        marks += [
            box("band", left, right, 4, base - 4),
            box("mine", left, right, 3, 3, rx=1.5),
            upright("here", at, 4, base),
            element("circle", class_="mine", cx=f"{at:.2f}%", cy=5, r=4.5),
        ]
    marks.append(element("line", class_="rule", x1=0, x2="100%", y1=base, y2=base))
    step = max(1, math.ceil(len(bins) / 5))
    digits = 0 if bins[0].high - bins[0].low >= 1 else 2
    for span in bins[step::step]:
        place = across(span.low) / 100
        if place < 0.97:
            label = _name(place, number(span.low, digits))
            marks.append(element("g", label, transform=f"translate(0 {base})"))
    return element(
        "svg",
        *marks,
        class_="standing",
        width="100%",
        height=_STANDING_HEIGHT,
        role="img",
        aria_label=name,
    )


def sparkline(values: Sequence[float]) -> Markup:
    """Return a small curve of ratings, which repeats what the text beside it says."""
    kept = thinned(list(values), 40)
    low, high = min(values), max(values)
    wide = (high - low) or 1.0
    points = [
        f"{1000 * at / max(len(values) - 1, 1):.0f},{21 - 18 * (values[at] - low) / wide:.1f}"
        for at in kept
    ]
    return picture(
        "spark",
        24,
        element("polyline", points=" ".join(points)),
        viewBox="0 0 1000 24",
        preserveAspectRatio="none",
        width="100%",
    )


class Interval(NamedTuple):
    """A picture of a 95 % range, and its ends."""

    svg: Markup
    low: float
    high: float


def intervals(values: Sequence[tuple[float, float | None]]) -> list[Interval | None]:
    """Return a picture for each (rating, deviation), all on one scale; None without deviation."""
    ends = [
        None if spread is None else (mid - half_width(spread), mid + half_width(spread))
        for mid, spread in values
    ]
    known = [ends_of for ends_of in ends if ends_of is not None]
    if not known:
        return [None for _ in values]
    low, high = min(ends_of[0] for ends_of in known), max(ends_of[1] for ends_of in known)
    # The margins leave room for the dot.
    across = Scale(low, high if high > low else low + 1.0, 4.0, 96.0)
    pictured: list[Interval | None] = []
    for ends_of, (mid, _) in zip(ends, values, strict=True):
        if ends_of is None:
            pictured.append(None)
            continue
        left, right = map(across.at, ends_of)
        marks = bar(left, max(right, left + 0.1), _HEIGHT), dot(across.at(mid), _HEIGHT)
        pictured.append(Interval(picture("interval", _HEIGHT, marks), *ends_of))
    return pictured


def timeline_chart(timeline: RatingTimeline, name: str, tiers: Sequence[Tier]) -> Markup:
    """Return the chart of a rating with its 95 % range, thinned but with all highs and lows.

    tiers : those that begin within the chart have a line
    """
    kept = thinned(timeline.ratings, _POINTS)
    spreads = [timeline.deviations[at] or 0.0 for at in kept]
    values = [timeline.ratings[at] for at in kept]
    lows = [mid - half_width(spread) for mid, spread in zip(values, spreads, strict=True)]
    highs = [mid + half_width(spread) for mid, spread in zip(values, spreads, strict=True)]
    up = around([*lows, *highs], RATING_HEIGHT - 8.0, 8.0, [])
    times = timeline.times
    at = [float(at + 1) if times is None else times[at] for at in kept]
    across, names = _across(at, times is not None)
    frame = Frame(RATING_HEIGHT, up)
    marks = [mark for tier in tiers if up.holds(tier.lower) for mark in _tier(tier, up)]
    return frame.svg(name, marks, names, frame.curve(across, values, lows, highs))


def _tier(tier: Tier, up: Scale) -> list[Markup]:
    """Return the line where a tier begins, with its name."""
    y, level = up.at(tier.lower), f"tier t{tier.level}"
    return [
        element("line", class_=level, x1="0", x2="100%", y1=y, y2=y),
        element("text", tier.short, class_=level, x="100%", y=y - 4, text_anchor="end"),
    ]


def _across(
    at: Sequence[float], timed: bool, count: int = 6
) -> tuple[list[float], list[tuple[float, str]]]:
    """Return places from 0 to 1000, and at most about so many names below.

    at : times, seconds since 1970, or else numbers of matches or records; they never decrease
    """
    low, high = at[0], at[-1]
    scale = Scale(low, high if high > low else low + 1.0, 0.0, 1000.0)
    names = [(scale.at(value) / 1000, text) for value, text in scale.ticks(count) if value >= low]
    return [scale.at(mark) for mark in at], time_labels(low, high) if timed else names


class Comparison(NamedTuple):
    """The ratings of two players over time.

    rows : the chart as a table: a time or a number of matches, and the rating of each player then;
        None before the first match
    """

    svg: Markup
    rows: list[tuple[str, float | None, float | None]]


def comparison(first: RatingTimeline, second: RatingTimeline, name: str) -> Comparison | None:
    """Return the curves of two players on one scale; None if there is no time between matches."""
    both = first, second
    across = [line.times or [at + 1.0 for at in range(len(line.ratings))] for line in both]
    low = min((times[0] for times in across if times), default=0.0)
    high = max((times[-1] for times in across if times), default=0.0)
    if high <= low:
        return None
    kept = [thinned(line.ratings, _POINTS // 2) for line in both]
    middles = [[line.ratings[at] for at in some] for line, some in zip(both, kept, strict=True)]
    halves = [
        [half_width(line.deviations[at] or 0.0) for at in some]
        for line, some in zip(both, kept, strict=True)
    ]
    lows, highs = (
        [
            [mid + sign * half for mid, half in zip(*columns, strict=True)]
            for columns in zip(middles, halves, strict=True)
        ]
        for sign in (-1, 1)
    )
    frame = Frame(
        RATING_HEIGHT,
        around([end for column in (*lows, *highs) for end in column], RATING_HEIGHT - 8.0, 8.0, []),
    )
    wide = Scale(low, high, 0.0, 1000.0)
    curves = [
        element(
            "g",
            *frame.curve([wide.at(across[at][point]) for point in kept[at]], *columns),
            class_=("first", "second")[at],
        )
        for at, columns in enumerate(zip(middles, lows, highs, strict=True))
        if kept[at]
    ]
    if first.times is None:
        ticks, rows = (
            [(wide.at(value) / 1000, text) for value, text in wide.ticks(count)]
            for count in (6, 20)
        )
    else:
        ticks, rows = time_labels(low, high), time_labels(low, high, _TABLE_LETTERS)
    return Comparison(
        frame.svg(name, [], ticks, curves),
        [
            (text, _rating_at(across[0], first, at), _rating_at(across[1], second, at))
            for place, text in rows
            for at in [low + place * (high - low)]
        ],
    )


def _rating_at(across: Sequence[float], timeline: RatingTimeline, at: float) -> float | None:
    """Return the rating after the last match up to a time, None before the first."""
    count = bisect_right(across, at)
    return timeline.ratings[count - 1] if count else None


def thinned(values: list[float], most: int) -> list[int]:
    """Return the indices of the values to draw: the ends, and lows and highs between them."""
    count = len(values)
    if count <= most:
        return list(range(count))
    edges = [round(at * count / (most // 2)) for at in range(most // 2 + 1)]
    kept = {0, count - 1}
    for low, high in pairwise(edges):
        stretch = range(low, high)
        kept |= {min(stretch, key=values.__getitem__), max(stretch, key=values.__getitem__)}
    return sorted(kept)


def drift_chart(name: str, points: Sequence[MeanPoint]) -> Markup:
    """Return the chart of the mean rating with its band; points : at least two."""
    up = around(
        [value for point in points for value in (point.lower, point.upper, point.mean)],
        DRIFT_HEIGHT - 6.0,
        6.0,
        [],
    )
    at = [float(point.match if point.start is None else point.start) for point in points]
    across, below = _across(at, points[0].start is not None, 5)
    frame = Frame(DRIFT_HEIGHT, up)
    curve = frame.curve(
        across,
        [point.mean for point in points],
        [point.lower for point in points],
        [point.upper for point in points],
    )
    return frame.svg(name, [], below, curve)


#: Opponents, and remembered performances, that are listed one by one.
OPPONENTS, REMEMBERED = 12, 8
_STEP_HEIGHT = 22


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the change, with a bar that starts where that of the part before it ends."""

    name: str
    change: float
    reason: str
    bar: Markup


@dataclass(frozen=True, slots=True)
class Memory:
    """A remembered performance, or a group of them: its weight and its part of the change."""

    match: str | None
    label: str
    performance: float
    weight: float
    change: float


@dataclass(frozen=True, slots=True)
class Why:
    """An explanation as the page shows it.

    verb, amount : the change in words; result : the result of the player in words
    against : the opponent, if there was only one
    more_opponents : number of opponents that are not listed
    extent : a picture of the change between the smallest and the largest possible one
    """

    message: ExplainMessage
    change: float
    verb: str
    amount: float
    result: str
    against: OpponentMessage | None
    parts: list[Part]
    opponents: list[OpponentMessage]
    more_opponents: int
    memories: list[Memory]
    extent: Markup | None

    @property
    def opponent_names(self) -> list[str]:
        """Ids of the listed opponents; a team has one text."""
        return [str(opponent.player) for opponent in self.opponents]


def why_of(message: ExplainMessage, digits: int = 1) -> Why:
    """Return an explanation for the page."""
    change = round(message.change, digits)
    listed = message.opponents[:OPPONENTS]
    return Why(
        message=message,
        change=change,
        verb="gained" if change > 0 else "lost" if change < 0 else "neither gained nor lost",
        amount=abs(change),
        result=_result(message),
        against=message.opponents[0]
        if message.teams == 2 and len(message.opponents) == 1
        else None,
        parts=_parts(message, change, digits),
        opponents=listed,
        more_opponents=max(message.teams - 1, len(message.opponents)) - len(listed),
        memories=_memories(message, change, digits),
        extent=_extent(message),
    )


def rounded_parts(parts: Sequence[float], total: float, digits: int) -> list[float]:
    """Return parts rounded so that they add up to `total`, a rounded number.

    The difference goes to the parts that rounding changed most, one unit of the last place each.
    """
    unit = 10.0**-digits
    units = [round(part / unit) for part in parts]
    missing = round(total / unit) - sum(units)
    step = 1 if missing > 0 else -1
    by_need = sorted(range(len(parts)), key=lambda at: step * (units[at] - parts[at] / unit))
    for turn in range(abs(missing) if parts else 0):
        units[by_need[turn % len(parts)]] += step
    return [round(count * unit, digits) for count in units]


def _result(message: ExplainMessage) -> str:
    if message.teams == 2:
        return {1.0: "won", 0.5: "drew", 0.0: "lost"}.get(message.score, "played")
    others = f", tied with {message.tied} other{'s' * (message.tied > 1)}" if message.tied else ""
    # A place could contradict the share: ahead of 99.4 % of 200 others is 2nd.
    expected = percent(message.expected)
    return (
        f"came {ordinal(message.rank)} of {message.teams:,}{others} "
        f"(expected to be ahead of {expected} of the others)"
    )


def _parts(message: ExplainMessage, change: float, digits: int) -> list[Part]:
    """Return the parts with their bars."""
    changes = [contribution.change for contribution in message.contributions]
    ends = [0.0, *(math.fsum(changes[: at + 1]) for at in range(len(changes)))]
    low, high = min(0.0, *ends), max(0.0, *ends)
    wide = (high - low) or 1.0
    places = [(end - low) / wide for end in ends]
    bars = [
        _bar(places[at], places[at + 1], (0.0 - low) / wide, changes[at] >= 0)
        for at in range(len(changes))
    ]
    parts = rounded_parts(changes, change, digits)
    return [
        Part(contribution.name, part, contribution.reason, bar)
        for contribution, part, bar in zip(message.contributions, parts, bars, strict=True)
    ]


def _bar(start: float, stop: float, origin: float, gains: bool) -> Markup:
    left, right = sorted((100 * start, 100 * stop))
    class_ = "bar-gain" if gains else "bar-loss"
    return picture(
        "part-bar",
        _STEP_HEIGHT,
        upright("rule", 100 * origin, 0, _STEP_HEIGHT),
        box(class_, left, max(right, left + 0.4), 4, _STEP_HEIGHT - 8, rx=2),
    )


def _extent(message: ExplainMessage) -> Markup | None:
    """Return a picture of the change between the smallest and the largest possible one."""
    low, high = message.least_change, message.largest_change
    if low is None or high is None or not high > low:
        return None
    at, origin = (
        min(max((value - low) / (high - low), 0.0), 1.0) for value in (message.change, 0.0)
    )
    return picture(
        "extent",
        _STEP_HEIGHT,
        bar(2, 98, _STEP_HEIGHT),
        upright("rule", 2 + 96 * origin, 4, 18),
        dot(2 + 96 * at, _STEP_HEIGHT, radius=6),
    )


def _memories(message: ExplainMessage, change: float, digits: int) -> list[Memory]:
    """Return remembered performances, older ones as a group, with weights that add up."""
    known = [memory for memory in message.remembered if memory.match is not None]
    older = known[REMEMBERED:]
    groups: list[tuple[str | None, str, list[RememberedMessage]]] = [
        (str(memory.match), "", [memory]) for memory in known[:REMEMBERED]
    ]
    groups.append((None, f"{len(older)} older", older))
    groups.append(
        (None, "before them", [memory for memory in message.remembered if memory.match is None])
    )
    groups = [group for group in groups if group[2]]
    weights = [math.fsum(memory.weight for memory in some) for _, _, some in groups]
    parts = [math.fsum(memory.change for memory in some) for _, _, some in groups]
    return [
        Memory(match, label, _mean(some, weight), share / 100, part)
        for (match, label, some), weight, share, part in zip(
            groups,
            weights,
            rounded_parts([100 * weight for weight in weights], 100.0, 1),
            rounded_parts(parts, change, digits),
            strict=True,
        )
    ]


def _mean(some: list[RememberedMessage], weight: float) -> float:
    if len(some) == 1 or not weight:
        return some[0].performance
    return math.fsum(memory.weight * memory.performance for memory in some) / weight

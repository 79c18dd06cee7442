"""Why a match changed a rating, prepared for a player's page.

Numbers are rounded so that the parts still add up to the change.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from equipoise.markup import element
from equipoise.messages.histories import ExplainMessage, OpponentMessage, RememberedMessage
from equipoise.web.page.figures import picture
from equipoise.web.page.wording import ordinal, percent

#: Opponents, and remembered performances, that are listed one by one.
OPPONENTS, REMEMBERED = 12, 8
_HEIGHT = 22


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
        return [str(one.player) for one in self.opponents]


def why_of(found: ExplainMessage, digits: int = 1) -> Why:
    """Return an explanation for the page."""
    change = round(found.change, digits)
    listed = found.opponents[:OPPONENTS]
    return Why(
        message=found,
        change=change,
        verb="gained" if change > 0 else "lost" if change < 0 else "neither gained nor lost",
        amount=abs(change),
        result=_result(found),
        against=found.opponents[0] if found.teams == 2 and len(found.opponents) == 1 else None,
        parts=_parts(found, change, digits),
        opponents=listed,
        more_opponents=max(found.teams - 1, len(found.opponents)) - len(listed),
        memories=_memories(found, change, digits),
        extent=_extent(found),
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


def _result(found: ExplainMessage) -> str:
    if found.teams == 2:
        return {1.0: "won", 0.5: "drew", 0.0: "lost"}.get(found.score, "played")
    others = f", tied with {found.tied} other{'s' * (found.tied > 1)}" if found.tied else ""
    # A place could contradict the share: ahead of 99.4 % of 200 others is 2nd.
    expected = percent(found.expected)
    return (
        f"came {ordinal(found.rank)} of {found.teams:,}{others} "
        f"(expected to be ahead of {expected} of the others)"
    )


def _parts(found: ExplainMessage, change: float, digits: int) -> list[Part]:
    """Return the parts with their bars."""
    given = [one.change for one in found.contributions]
    ends = [0.0, *(math.fsum(given[: at + 1]) for at in range(len(given)))]
    low, high = min(0.0, *ends), max(0.0, *ends)
    wide = (high - low) or 1.0
    places = [(one - low) / wide for one in ends]
    bars = [
        _bar(places[at], places[at + 1], (0.0 - low) / wide, given[at] >= 0)
        for at in range(len(given))
    ]
    parts = rounded_parts(given, change, digits)
    return [
        Part(one.name, part, one.reason, bar)
        for one, part, bar in zip(found.contributions, parts, bars, strict=True)
    ]


def _bar(start: float, stop: float, origin: float, gains: bool) -> Markup:
    left, right = sorted((start, stop))
    zero = f"{100 * origin:.2f}%"
    return picture(
        "part-bar",
        _HEIGHT,
        element("line", class_="rule", x1=zero, x2=zero, y1=0, y2=_HEIGHT),
        element(
            "rect",
            class_="bar-gain" if gains else "bar-loss",
            x=f"{100 * left:.2f}%",
            y=4,
            width=f"{max(100 * (right - left), 0.4):.2f}%",
            height=_HEIGHT - 8,
            rx=2,
        ),
    )


def _extent(found: ExplainMessage) -> Markup | None:
    """Return a picture of the change between the smallest and the largest possible one."""
    low, high = found.least_change, found.largest_change
    if low is None or high is None or not high > low:
        return None
    at, origin = (min(max((value - low) / (high - low), 0.0), 1.0) for value in (found.change, 0.0))
    zero = f"{2 + 96 * origin:.2f}%"
    return picture(
        "extent",
        _HEIGHT,
        element("rect", class_="interval-bar", x="2%", y=9, width="96%", height=4, rx=2),
        element("line", class_="rule", x1=zero, x2=zero, y1=4, y2=18),
        element("circle", class_="interval-dot", cx=f"{2 + 96 * at:.2f}%", cy=11, r=6),
    )


def _memories(found: ExplainMessage, change: float, digits: int) -> list[Memory]:
    """Return remembered performances, older ones as a group, with weights that add up."""
    known = [one for one in found.remembered if one.match is not None]
    older = known[REMEMBERED:]
    groups: list[tuple[str | None, str, list[RememberedMessage]]] = [
        (str(one.match), "", [one]) for one in known[:REMEMBERED]
    ]
    groups.append((None, f"{len(older)} older", older))
    groups.append((None, "before them", [one for one in found.remembered if one.match is None]))
    groups = [group for group in groups if group[2]]
    weights = [math.fsum(one.weight for one in some) for _, _, some in groups]
    parts = [math.fsum(one.change for one in some) for _, _, some in groups]
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
    return math.fsum(one.weight * one.performance for one in some) / weight

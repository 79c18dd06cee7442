"""equipoise explain: why a match changed a rating."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from equipoise.analysis.explain import ExplainRequest
from equipoise.cli import options
from equipoise.cli.report import (
    cell,
    print_json,
    print_lines,
    print_table,
    reading_lines,
    say,
    table,
    working,
)

if TYPE_CHECKING:
    from equipoise.messages.histories import ExplainMessage, RememberedMessage


EXAMPLE = """\b
Example:
  equipoise explain examples/contests.csv --player jade-kite"""


def explain(*, system: options.System, request: ExplainRequest, as_json: options.Json) -> None:
    """Explain why a match changed a player's rating.

    The parts of the explanation add up to the change. The history is rated up to the match with
    the given system and parameters, as `equipoise rate` does.
    """
    from msgspec.structs import asdict

    from equipoise.analysis.explain.computation import explain_match

    settings = system.settings()
    with working("rating") as job:
        answer, read = explain_match(
            system.chosen(settings), options.weighed(request, settings), job.progress
        )
    if as_json:
        print_json({**asdict(answer), "history": read})
        return
    print_explanation(answer)
    _print_posterior(answer)
    if request.chart is not None:
        say(f"drew {request.chart}")
    say(*reading_lines(read))


#: Number of opponents, and of remembered performances, that are listed one by one.
_OPPONENTS, _REMEMBERED = 10, 10


def print_explanation(found: ExplainMessage) -> None:
    """Print what happened in one sentence, the parts of the change, and if they come from."""
    print_lines(summary(found))
    _print_contributions(found)
    _print_quantities(found)
    _print_opponents(found)
    _print_remembered(found)
    if found.least_change is not None and found.largest_change is not None:
        # The change is the difference of two rounded ratings, which may be 0.01 beyond a bound.
        change = _change(found)
        least = min(round(found.least_change, 2), change)
        most = max(round(found.largest_change, 2), change)
        print_lines(
            "",
            f"Any result of this match gives a change between {least:+.2f} and {most:+.2f} points.",
        )


def _print_posterior(found: ExplainMessage) -> None:
    """Print the statistics of the posterior density, if it was asked for."""
    from equipoise.messages.histories import PosteriorExplainMessage

    if not isinstance(found, PosteriorExplainMessage):
        return
    one = found.posterior
    rows = [
        ("mode", one.rating, "the rating"),
        ("mean", one.mean, ""),
        ("median", one.median, ""),
        ("standard deviation", one.standard_deviation, ""),
        ("deviation", one.deviation, "as if all factors were normal"),
        ("2.5 %", one.low, "the skill is lower with this probability"),
        ("97.5 %", one.high, ""),
    ]
    print_lines("", "Posterior density of the skill after the match")
    print_table(table({"statistic": "", "points": ".2f", "meaning": ""}, rows))


def summary(found: ExplainMessage) -> str:
    """Return what happened, in one sentence."""
    from equipoise.display import RANGE_LABEL, half_width_in_words

    change = _change(found)
    verb = "gained" if change > 0 else "lost" if change < 0 else "neither gained nor lost"
    amount = f" {abs(change):.2f}" if change else ""
    from_, to = (
        "" if one is None else f" +- {half_width_in_words(one)}"
        for one in (found.deviation_before, found.deviation)
    )
    level = "" if found.deviation is None else f" ({RANGE_LABEL})"
    return (
        f"{found.player} {_result(found)} in match {found.match}{_date(found.time, ', ')}, and "
        f"{verb}{amount} points: {found.rating_before:.2f}{from_} -> {found.rating:.2f}{to}{level}."
    )


def rounded_parts(parts: Sequence[float], total: float, digits: int = 2) -> list[float]:
    """Return parts rounded so that they add up to `total`, which is a rounded number.

    The parts that rounding changed most are adjusted by one unit of the last digit.
    """
    unit = 10.0**-digits
    units = [round(part / unit) for part in parts]
    missing = round(total / unit) - sum(units)
    step = 1 if missing > 0 else -1
    by_need = sorted(range(len(parts)), key=lambda i: step * (units[i] - parts[i] / unit))
    for turn in range(abs(missing)):
        units[by_need[turn % len(parts)]] += step
    return [round(count * unit, digits) for count in units]


def ordinal(number: int) -> str:
    """Return 1st, 2nd, 3rd, 4th, ..."""
    if number % 100 in (11, 12, 13):
        return f"{number}th"
    return f"{number}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th') }"


def _result(found: ExplainMessage) -> str:
    """Return the result of the player, and the result that was expected."""
    if found.teams == 2:
        verb = {1.0: "won", 0.5: "drew", 0.0: "lost"}[found.score]
        against = f" against {found.opponents[0].player}" if found.opponents else ""
        return f"{verb}{against} (expected score {found.expected:.2f})"
    others = f", tied with {found.tied} other{'s' * (found.tied > 1)}" if found.tied else ""
    expected = 1 + (1 - found.expected) * (found.teams - 1)
    return (
        f"came {ordinal(found.rank)} of {found.teams:,}{others} "
        f"(expected about {ordinal(round(expected))})"
    )


def _print_contributions(found: ExplainMessage) -> None:
    """Print the parts of the change, rounded so that they add up to the last digit."""
    change = _change(found)
    parts = rounded_parts([one.change for one in found.contributions], change)
    rows = [
        (one.name, part, one.reason) for one, part in zip(found.contributions, parts, strict=True)
    ]
    rows.append(("change of rating", change, ""))
    print_lines("")
    print_table(table({"what": "", "points": "+.2f", "why": ""}, rows))


def _print_quantities(found: ExplainMessage) -> None:
    """Print the intermediate quantities of the computation."""
    if not found.quantities:
        return
    rows = (
        (
            one.name,
            "unknown" if one.value is None else cell(one.value, ".2f" if one.unit else ".5g"),
            *(one.unit, one.meaning),
        )
        for one in found.quantities
    )
    print_lines("", "Intermediate values")
    print_table(table({"number": "", "value": ">", "unit": "", "meaning": ""}, rows))


def _print_opponents(found: ExplainMessage) -> None:
    """Print the opponents whose results mattered most."""
    if not found.opponents:
        return
    results = {1.0: "beaten", 0.5: "tied", 0.0: "ahead"}
    rows = (
        (
            *(one.player, one.rank, one.rating, one.deviation),
            *(results.get(one.score, f"{one.score:.2f}"), one.expected, one.effect),
        )
        for one in found.opponents[:_OPPONENTS]
    )
    moved = "performance" if found.remembered else "rating"
    which = "Opponents whose results mattered most" if found.teams > 2 else "The opponent"
    print_lines("", f"{which}; effect: points on the {moved}")
    columns = {"opponent": "", "place": "d", "rating": ".2f", "deviation": ".2f"}
    print_table(table({**columns, "result": "", "expected": ".2f", "effect": "+.2f"}, rows))


def _print_remembered(found: ExplainMessage) -> None:
    """Print the part of each remembered performance, with the older ones in one row."""
    if not found.remembered:
        return
    known = [one for one in found.remembered if one.match is not None]
    groups = {str(one.match): [one] for one in known[:_REMEMBERED]}
    groups[f"{len(known) - _REMEMBERED} older"] = known[_REMEMBERED:]
    groups["before them"] = [one for one in found.remembered if one.match is None]
    groups = {name: some for name, some in groups.items() if some}
    weights = [math.fsum(one.weight for one in some) for some in groups.values()]
    shares = rounded_parts([100 * weight for weight in weights], 100.0)
    parts = [math.fsum(one.change for one in some) for some in groups.values()]
    changes = rounded_parts(parts, _change(found))
    rows = [
        (name, _date(some[0].time) if len(some) == 1 else "", _mean(some), f"{share:.2f} %", change)
        for (name, some), share, change in zip(groups.items(), shares, changes, strict=True)
    ]
    rows.append(("all", "", found.rating, "100.00 %", _change(found)))
    print_lines(
        "",
        "The new rating is the mean of these; points: weight x (performance - rating before)",
    )
    columns = {"match": "", "date": "", "performance": ".2f", "weight": ">", "points": "+.2f"}
    print_table(table(columns, rows))


def _mean(some: Sequence[RememberedMessage]) -> float:
    """Return the mean of performances by their weights."""
    if len(some) == 1:
        return some[0].performance
    weight = math.fsum(one.weight for one in some)
    return math.fsum(one.weight * one.performance for one in some) / weight if weight else math.nan


def _change(found: ExplainMessage) -> float:
    """Return the difference of the ratings shown."""
    return round(round(found.rating, 2) - round(found.rating_before, 2), 2)


def _date(time: int | str | None, lead: str = "") -> str:
    """Return the day of a time, or its number in an order without dates, after `lead`."""
    from equipoise.data.times import LAST_ORDER

    if time is None:
        return ""
    if isinstance(time, int) and 0 <= time <= LAST_ORDER:
        return lead + str(time)
    if isinstance(time, int):
        return lead + datetime.fromtimestamp(time, UTC).date().isoformat()
    return lead + time[:10]

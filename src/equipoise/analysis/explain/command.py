"""equipoise explain: why a match changed a rating."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import pairwise
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
from equipoise.wording import counted

if TYPE_CHECKING:
    from equipoise.messages.histories import ExplainMessage, RememberedMessage


def explain(*, system: options.System, request: ExplainRequest, as_json: options.Json) -> None:
    """Explain why a match changed a player's rating.

    The parts of the explanation add up to the change. The history is rated up to the match with
    the given system and parameters, as `equipoise rate` does.

    Example:
      equipoise explain examples/contests.csv --player jade-kite
      equipoise explain examples/contests.csv --player jade-kite --since 2020-09-01
    """
    from msgspec.structs import asdict

    from equipoise.analysis.explain.computation import explain_matches

    settings = system.settings()
    with working("rating") as job:
        answers, read = explain_matches(
            system.chosen(settings), options.weighed(request, settings), job.progress
        )
    answer = answers[-1]
    if request.all_since is not None:
        if as_json:
            print_json({"matches": answers, "change": _total(answers), "history": read})
            return
        print_lines(*_told_together(answers))
        say(*reading_lines(read))
        return
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


def print_explanation(message: ExplainMessage) -> None:
    """Print what happened in one sentence, the parts of the change, and if they come from."""
    print_lines(summary(message))
    _print_contributions(message)
    _print_quantities(message)
    _print_opponents(message)
    _print_remembered(message)
    if message.least_change is not None and message.largest_change is not None:
        # The change is the difference of two rounded ratings, which may be 0.01 beyond a bound.
        change = _change(message)
        least = min(round(message.least_change, 2), change)
        most = max(round(message.largest_change, 2), change)
        print_lines(
            "",
            f"Any result of this match gives a change between {least:+.2f} and {most:+.2f} points.",
        )


def _print_posterior(message: ExplainMessage) -> None:
    """Print the statistics of the posterior density, if it was asked for."""
    from equipoise.messages.histories import PosteriorExplainMessage

    if not isinstance(message, PosteriorExplainMessage):
        return
    posterior = message.posterior
    rows = [
        ("mode", posterior.rating, "the rating"),
        ("mean", posterior.mean, ""),
        ("median", posterior.median, ""),
        ("standard deviation", posterior.standard_deviation, ""),
        ("deviation", posterior.deviation, "as if all factors were normal"),
        ("2.5 %", posterior.low, "probability that the skill is lower"),
        ("97.5 %", posterior.high, ""),
    ]
    print_lines("", "Posterior density of the skill after the match")
    print_table(table({"statistic": "", "points": ".2f", "meaning": ""}, rows))


def summary(message: ExplainMessage) -> str:
    """Return what happened, in one sentence."""
    from equipoise.display import RANGE_LABEL, half_width_in_words

    change = _change(message)
    verb = "gained" if change > 0 else "lost" if change < 0 else "neither gained nor lost"
    amount = f" {abs(change):.2f}" if change else ""
    from_, to = (
        "" if deviation is None else f" +- {half_width_in_words(deviation)}"
        for deviation in (message.deviation_before, message.deviation)
    )
    level = "" if message.deviation is None else f" ({RANGE_LABEL})"
    return (
        f"{message.player} {_result(message)} in match "
        f"{message.match}{_date(message.time, ', ')}, and "
        f"{verb}{amount} points: {message.rating_before:.2f}{from_} -> "
        f"{message.rating:.2f}{to}{level}."
    )


def _total(messages: Sequence[ExplainMessage]) -> float:
    """Return the change of the rating over several matches."""
    return messages[-1].rating - messages[0].rating_before


def _told_together(messages: Sequence[ExplainMessage]) -> list[str]:
    """Return a sentence for each match, and one for all of them."""
    first, last = messages[0], messages[-1]
    change = round(last.rating, 2) - round(first.rating_before, 2)
    between = 0.0
    for message, following in pairwise(messages):
        between += following.rating_before - message.rating
    also = "" if abs(between) < 0.005 else f", of which {between:+.2f} between the matches"
    number = counted(len(messages), "match", "matches")
    return [
        *map(summary, messages),
        "",
        f"In {number}: {first.rating_before:.2f} -> {last.rating:.2f}, {change:+.2f} points{also}.",
    ]


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


def _result(message: ExplainMessage) -> str:
    """Return the result of the player, and the result that was expected."""
    if message.teams == 2:
        verb = {1.0: "won", 0.5: "drew", 0.0: "lost"}[message.score]
        against = f" against {message.opponents[0].player}" if message.opponents else ""
        return f"{verb}{against} (expected score {message.expected:.2f})"
    others = f", tied with {message.tied} other{'s' * (message.tied > 1)}" if message.tied else ""
    expected = 1 + (1 - message.expected) * (message.teams - 1)
    return (
        f"came {ordinal(message.rank)} of {message.teams:,}{others} "
        f"(expected about {ordinal(round(expected))})"
    )


def _print_contributions(message: ExplainMessage) -> None:
    """Print the parts of the change, rounded so that they add up to the last digit."""
    change = _change(message)
    parts = rounded_parts([contribution.change for contribution in message.contributions], change)
    rows = [
        (contribution.name, part, contribution.reason)
        for contribution, part in zip(message.contributions, parts, strict=True)
    ]
    rows.append(("change of rating", change, ""))
    print_lines("")
    print_table(table({"what": "", "points": "+.2f", "why": ""}, rows))


def _print_quantities(message: ExplainMessage) -> None:
    """Print the intermediate quantities of the computation."""
    if not message.quantities:
        return
    rows = (
        (
            quantity.name,
            "unknown"
            if quantity.value is None
            else cell(quantity.value, ".2f" if quantity.unit else ".5g"),
            *(quantity.unit, quantity.meaning),
        )
        for quantity in message.quantities
    )
    print_lines("", "Intermediate values")
    print_table(table({"number": "", "value": ">", "unit": "", "meaning": ""}, rows))


def _print_opponents(message: ExplainMessage) -> None:
    """Print the opponents whose results mattered most."""
    if not message.opponents:
        return
    results = {1.0: "beaten", 0.5: "tied", 0.0: "ahead"}
    rows = (
        (
            *(opponent.player, opponent.rank, opponent.rating, opponent.deviation),
            *(
                results.get(opponent.score, f"{opponent.score:.2f}"),
                opponent.expected,
                opponent.effect,
            ),
        )
        for opponent in message.opponents[:_OPPONENTS]
    )
    moved = "performance" if message.remembered else "rating"
    which = "Opponents whose results mattered most" if message.teams > 2 else "The opponent"
    print_lines("", f"{which}; effect: points on the {moved}")
    columns = {"opponent": "", "place": "d", "rating": ".2f", "deviation": ".2f"}
    print_table(table({**columns, "result": "", "expected": ".2f", "effect": "+.2f"}, rows))


def _print_remembered(message: ExplainMessage) -> None:
    """Print the part of each remembered performance, with the older ones in one row."""
    if not message.remembered:
        return
    known = [memory for memory in message.remembered if memory.match is not None]
    groups = {str(memory.match): [memory] for memory in known[:_REMEMBERED]}
    groups[f"{len(known) - _REMEMBERED} older"] = known[_REMEMBERED:]
    groups["before them"] = [memory for memory in message.remembered if memory.match is None]
    groups = {name: some for name, some in groups.items() if some}
    weights = [math.fsum(memory.weight for memory in some) for some in groups.values()]
    shares = rounded_parts([100 * weight for weight in weights], 100.0)
    parts = [math.fsum(memory.change for memory in some) for some in groups.values()]
    changes = rounded_parts(parts, _change(message))
    rows = [
        (name, _date(some[0].time) if len(some) == 1 else "", _mean(some), f"{share:.2f} %", change)
        for (name, some), share, change in zip(groups.items(), shares, changes, strict=True)
    ]
    rows.append(("all", "", message.rating, "100.00 %", _change(message)))
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
    weight = math.fsum(memory.weight for memory in some)
    return (
        math.fsum(memory.weight * memory.performance for memory in some) / weight
        if weight
        else math.nan
    )


def _change(message: ExplainMessage) -> float:
    """Return the difference of the ratings shown."""
    return round(round(message.rating, 2) - round(message.rating_before, 2), 2)


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

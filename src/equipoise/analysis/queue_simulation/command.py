"""equipoise matchmaking simulate: days of a queue, before a ruleset goes live."""

from __future__ import annotations

import math
import textwrap
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import typer

from equipoise.analysis.queue_simulation import SimulationRequest
from equipoise.cli import options
from equipoise.cli.options import command_line
from equipoise.cli.report import (
    print_json,
    print_lines,
    print_table,
    say,
    say_compiled,
    table,
    working,
)

if TYPE_CHECKING:
    from equipoise.analysis.queue_simulation.computation import SimulationAnswer

EXAMPLE = """\b
Example:
  equipoise matchmaking simulate --ruleset examples/narrow.json --days 5
  equipoise matchmaking simulate --ruleset examples/narrow.json --ruleset examples/wide.json"""


def simulate(
    context: typer.Context,
    *,
    request: SimulationRequest,
    system: options.System,
    as_json: options.Json,
) -> None:
    """Simulate days of a queue: waits, give-ups and fairness of matches, before a ruleset is live.

    People come, wait, give up, are matched by the tick of `matchmaking tick`, and play. Only they
    are models; every assumption is printed. All rulesets see the same people, so few days tell them
    apart. With --system, ratings change with every match, and their error is measured.
    """
    from equipoise.analysis.queue_simulation import computation as work

    chosen = system.chosen(system.settings())
    if request.report is not None:
        shown = command_line(context, ("ruleset", "config", "trace", "report", "parameters"))
        request = replace(request, command=shown)
    with working("simulating") as job:
        answer = work.simulate(request, chosen, job.progress)
    if request.report is not None:
        from equipoise.analysis.queue_simulation.report import write_page

        write_page(answer, request.report, request.command)
    if as_json:
        print_json(work.to_json(answer))
        return
    _print(answer)
    if request.report is not None:
        say(f"wrote {request.report}")
    say_compiled(job.compilation)


def _print(answer: SimulationAnswer) -> None:
    """Print the measures, the verdict and the assumptions."""
    from equipoise.analysis.queue_simulation.computation import shown_measures
    from equipoise.analysis.queue_simulation.report import number, shown, with_interval
    from equipoise.matchmaking.measures import MEASURES

    found = answer.found
    known = shown_measures(found)
    columns = {"measure": "", "unit": "", **dict.fromkeys(found.labels, ">")}
    rows: list[list[Any]] = [
        [
            MEASURES[name].words,
            MEASURES[name].unit,
            *(number(found.estimates[label][name].mean) for label in found.labels),
        ]
        for name in known
    ]
    print_table(table(columns, rows))
    others = found.labels[1:]
    if others and (found.days > 1 or found.blocks):
        print_lines("", f"Differences to {found.labels[0]}, with 95 % intervals")
        compared = [
            name for name in known if not math.isnan(found.differences[others[0]][name].lower)
        ]
        print_table(
            table(
                {"measure": "", "unit": "", **dict.fromkeys(others, ">")},
                [
                    [
                        MEASURES[name].words,
                        MEASURES[name].unit,
                        *(with_interval(found.differences[label][name]) for label in others),
                    ]
                    for name in compared
                ],
            )
        )
    if answer.verdict:
        print_lines("", *answer.verdict)
    for label, games in found.games.items():
        if games:
            print_lines("", f"{label}: ratings by games played before, on the first day")
            forms = {"games_from": ",d", "visits": ",d", "rating_error": ".1f"}
            forms |= {"rating_correlation": ".3f", "deviation": ".1f"}
            print_table(table(forms, [[row[name] for name in forms] for row in games]))
    listed = [f"{name} {shown(value)}" for name, value in answer.assumptions.items()]
    print_lines("", *textwrap.wrap(f"Assumptions: {', '.join(listed)}.", 100))
    units = "1 trace" if found.blocks else f"{found.days} days"
    say(f"{units}, seed {answer.seed}, {answer.seconds:.1f} s", *answer.notes)
    for label, reasons in found.reasons.items():
        if reasons:
            told = ", ".join(f"{count:,} {reason}" for reason, count in reasons.items())
            say(f"{label}: tickets without a match on the first day waited for: {told}")

"""equipoise matchmaking: a queue in, matches and reasons out; or days of it, simulated."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import typer

from equipoise.analysis import requests
from equipoise.analysis.matchmaking import SimulationRequest
from equipoise.analysis.requests import typed
from equipoise.cli import options
from equipoise.cli.application import create_group
from equipoise.cli.options import add_command, command_line
from equipoise.cli.report import (
    cut,
    print_json,
    print_lines,
    print_table,
    say,
    table,
    working,
)
from equipoise.wording import counted

if TYPE_CHECKING:
    from equipoise.analysis.matchmaking.computation import SimulationAnswer
    from equipoise.data.matchmaking import Tick, Waiting

#: Width of a cell, and number of rows of a table; `--json` has everything.
_CELL, _ROWS = 60, 200


def tick(
    *,
    source: Any = typed(
        ...,
        "JSON with now, a ruleset and tickets; or - for standard input.",
        "REQUEST",
        argument=True,
        read=requests.source,
    ),
    as_json: options.Json,
) -> None:
    """Match queued tickets: fill sessions, make matches, and explain why the others wait.

    Each match is the best around its oldest ticket: most players, then lowest cost. The objective
    "accelbyte" uses the cost of AccelByte's rulesets; "fair" prefers even win probabilities.

    Example:
      equipoise matchmaking tick examples/queue.json
    """
    from equipoise.matchmaking.request import read_tick_request
    from equipoise.messages.questions import tick_message

    answer = read_tick_request(source).tick()
    if as_json:
        print_json(tick_message(answer))
    else:
        _print_tick(answer)


def _print_tick(answer: Tick) -> None:
    if answer.matches:
        print_lines(f"{counted(len(answer.matches), 'match', 'matches')}:")
        print_table(
            table(
                {"teams": "", "region": "", "cost": ".4f", "proved": "", "backfill": ""},
                (
                    [
                        _teams(match.teams),
                        match.region or "",
                        match.cost,
                        "yes" if match.proved else "no",
                        "yes" if match.backfill else "",
                    ]
                    for match in answer.matches[:_ROWS]
                ),
            )
        )
    else:
        print_lines("No matches.")
    for backfill in answer.backfills[:_ROWS]:
        full = "full" if backfill.full else "not full"
        print_lines(f"Session {backfill.session}: {_teams(backfill.teams)} ({full})")
    if answer.waiting:
        print_lines("", f"{counted(len(answer.waiting), 'ticket')} waiting:")
        print_table(
            table(
                {"ticket": "", "reasons": "", "next change": ""},
                (
                    [cut(str(ticket.ticket), _CELL), cut(_reasons(ticket), _CELL), _time(ticket)]
                    for ticket in answer.waiting[:_ROWS]
                ),
            )
        )
    if answer.expired:
        ids = cut(", ".join(map(str, answer.expired)), _CELL)
        print_lines("", f"{counted(len(answer.expired), 'ticket')} expired: {ids}")
    print_lines(*(f"Note: {note}." for note in answer.notes))


def _teams(teams: tuple[tuple[int | str, ...], ...]) -> str:
    return cut(" / ".join(", ".join(map(str, team)) for team in teams), _CELL)


def _reasons(ticket: Waiting) -> str:
    """Return the reasons of a ticket, in words."""
    words = []
    for reason in ticket.reasons:
        text = f"{reason['reason']} {reason['count']}"
        if "nearest" in reason:
            text += (
                f" ({reason['attribute']}: nearest at {reason['nearest']:g}, "
                f"tolerance {reason['tolerance']:g})"
            )
        words.append(text)
    return "; ".join(words)


def _time(ticket: Waiting) -> str:
    return "" if ticket.next_change_at is None else f"{ticket.next_change_at:g}"


def import_rules(
    *,
    source: Any = typed(
        ...,
        "A FlexMatch rule set in JSON; or - for standard input.",
        "RULESET",
        argument=True,
        read=requests.source,
    ),
    as_json: options.Json,
) -> None:
    """Convert a FlexMatch rule set to a ruleset.

    Prints the ruleset, and on standard error every part that was changed or has no equivalent, with
    its path. --json prints both.

    Example:
      equipoise matchmaking import flexmatch.json > ruleset.json
    """
    from equipoise.matchmaking.flexmatch import import_flexmatch
    from equipoise.messages.conversion import plain, to_message
    from equipoise.messages.questions import ImportedRulesetMessage

    imported = import_flexmatch(source)
    if as_json:
        print_json(to_message(ImportedRulesetMessage, imported, changes=plain(imported.changes)))
        return
    print_json(imported.ruleset)
    if imported.default_attributes:
        values = ", ".join(f"{k} {v:g}" for k, v in imported.default_attributes.items())
        say(f"default_attributes of requests: {values}")
    for change in imported.changes:
        say(f"{change.kind}: {change.path}: {change.text}")


def simulate(
    context: typer.Context,
    *,
    request: SimulationRequest,
    system: options.System,
    as_json: options.Json,
) -> None:
    """Simulate a queue before a ruleset goes live: waits, give-ups and match fairness.

    Players arrive, wait, give up, are matched as by `matchmaking tick`, and play. Only the players
    are modelled; every assumption is printed. All rulesets get the same players, so a few days are
    enough to compare them. With --system, ratings change with every match, and their error is
    measured.

    Example:
      equipoise matchmaking simulate --ruleset examples/narrow.json --days 5
      equipoise matchmaking simulate --ruleset examples/narrow.json --ruleset examples/wide.json
    """
    from equipoise.analysis.matchmaking import computation as work

    chosen = system.chosen(system.settings())
    if request.report is not None:
        shown = command_line(context, ("ruleset", "config", "trace", "report", "parameters"))
        request = replace(request, command=shown)
    with working("simulating") as job:
        answer = work.simulate(request, chosen, job.progress)
    if request.report is not None:
        from equipoise.analysis.matchmaking.report import write_page

        write_page(answer, request.report, request.command)
    if as_json:
        print_json(work.to_json(answer))
        return
    _print_days(answer)
    if request.report is not None:
        say(f"wrote {request.report}")


def _print_measures(names: list[str], cells: Mapping[str, Mapping[str, str]]) -> None:
    """Print a row for each measure; cells : label -> measure -> text."""
    from equipoise.matchmaking.measures import MEASURES

    columns = {"measure": "", "unit": "", **dict.fromkeys(cells, ">")}
    rows = [
        [MEASURES[name].words, MEASURES[name].unit, *(texts[name] for texts in cells.values())]
        for name in names
    ]
    print_table(table(columns, rows))


def _print_days(answer: SimulationAnswer) -> None:
    """Print the measures, the verdict and the assumptions."""
    from equipoise.analysis.matchmaking.computation import shown_measures
    from equipoise.analysis.matchmaking.report import number, shown, with_interval

    comparison = answer.found
    known = shown_measures(comparison)
    means = {
        label: {name: number(of[name].mean) for name in known}
        for label, of in comparison.estimates.items()
    }
    _print_measures(known, means)
    if comparison.differences and (comparison.days > 1 or comparison.blocks):
        print_lines("", f"Differences to {comparison.labels[0]}, with 95 % intervals")
        first = comparison.differences[comparison.labels[1]]
        compared = [name for name in known if not math.isnan(first[name].lower)]
        intervals = {
            label: {name: with_interval(of[name]) for name in compared}
            for label, of in comparison.differences.items()
        }
        _print_measures(compared, intervals)
    if answer.verdict:
        print_lines("", *answer.verdict)
    for label, tables in comparison.first.items():
        if tables.games:
            print_lines("", f"{label}: ratings by games played before, on the first day")
            forms = {"games_from": ",d", "visits": ",d", "rating_error": ".1f"}
            forms |= {"rating_correlation": ".3f", "deviation": ".1f"}
            print_table(table(forms, [[row[name] for name in forms] for row in tables.games]))
    listed = [f"{name} {shown(value)}" for name, value in answer.assumptions.items()]
    print_lines("", *textwrap.wrap(f"Assumptions: {', '.join(listed)}.", 100))
    units = "1 trace" if comparison.blocks else f"{comparison.days} days"
    say(f"{units}, seed {answer.seed}, {answer.seconds:.1f} s", *answer.notes)
    for label, tables in comparison.first.items():
        if tables.reasons:
            told = ", ".join(f"{count:,} {reason}" for reason, count in tables.reasons.items())
            say(f"{label}: tickets without a match on the first day waited for: {told}")


application = create_group("Match queued tickets, import rule sets and simulate queues.")
add_command(application, "tick", tick)
add_command(application, "import", import_rules)
add_command(application, "simulate", simulate)

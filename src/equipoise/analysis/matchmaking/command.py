"""equipoise matchmaking: a queue in, matches and reasons out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from equipoise.analysis.matchmaking import ImportOrder, TickOrder
from equipoise.analysis.queue_simulation.command import EXAMPLE as SIMULATE_EXAMPLE
from equipoise.analysis.queue_simulation.command import simulate
from equipoise.cli import options
from equipoise.cli.helping import create_group
from equipoise.cli.options import add_command
from equipoise.cli.report import cut, print_json, print_lines, print_table, say, table
from equipoise.wording import counted

if TYPE_CHECKING:
    from equipoise.data.matchmaking import Tick, Waiting

EXAMPLE = """\b
Example:
  equipoise matchmaking tick examples/queue.json"""
IMPORT_EXAMPLE = """\b
Example:
  equipoise matchmaking import flexmatch.json > ruleset.json"""

#: Width of a cell, and number of rows of a table; `--json` has everything.
_CELL, _ROWS = 60, 200


def tick(*, order: TickOrder, as_json: options.Json) -> None:
    """Decide who plays with whom: fill sessions, make matches, and say why others wait.

    Each match is the best around its oldest ticket: most players, then least cost. The objective
    "accelbyte" has the cost of AccelByte's rulesets, "fair" that of an even win probability.
    """
    from equipoise.matchmaking.request import read_tick_request
    from equipoise.messages.matchmaking import tick_message

    answer = read_tick_request(order.source).tick()
    if as_json:
        print_json(tick_message(answer))
    else:
        _print(answer)


def _print(answer: Tick) -> None:
    if answer.matches:
        print_lines(f"{counted(len(answer.matches), 'match', 'matches')}:")
        print_table(
            table(
                {"teams": "", "region": "", "cost": ".4f", "proved": "", "backfill": ""},
                (
                    [
                        _teams(one.teams),
                        one.region or "",
                        one.cost,
                        "yes" if one.proved else "no",
                        "yes" if one.backfill else "",
                    ]
                    for one in answer.matches[:_ROWS]
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
                    [cut(str(one.ticket), _CELL), cut(_reasons(one), _CELL), _time(one)]
                    for one in answer.waiting[:_ROWS]
                ),
            )
        )
    if answer.expired:
        ids = cut(", ".join(map(str, answer.expired)), _CELL)
        print_lines("", f"{counted(len(answer.expired), 'ticket')} expired: {ids}")
    print_lines(*(f"Note: {note}." for note in answer.notes))


def _teams(teams: tuple[tuple[int | str, ...], ...]) -> str:
    return cut(" / ".join(", ".join(map(str, team)) for team in teams), _CELL)


def _reasons(one: Waiting) -> str:
    """Return the reasons of a ticket, in words."""
    words = []
    for reason in one.reasons:
        text = f"{reason['reason']} {reason['count']}"
        if "nearest" in reason:
            text += (
                f" ({reason['attribute']}: nearest at {reason['nearest']:g}, "
                f"tolerance {reason['tolerance']:g})"
            )
        words.append(text)
    return "; ".join(words)


def _time(one: Waiting) -> str:
    return "" if one.next_change_at is None else f"{one.next_change_at:g}"


def import_rules(*, order: ImportOrder, as_json: options.Json) -> None:
    """Turn a FlexMatch rule set into a ruleset.

    Prints the ruleset, and on standard error every part that was changed or has no equivalent, with
    its path. With --json, both.
    """
    from equipoise.matchmaking.flexmatch import import_flexmatch
    from equipoise.messages.matchmaking import ImportedRulesetMessage

    imported = import_flexmatch(order.source)
    if as_json:
        print_json(
            ImportedRulesetMessage(
                ruleset=imported.ruleset,
                default_attributes=imported.default_attributes,
                changes=[
                    {"path": one.path, "kind": one.kind, "text": one.text}
                    for one in imported.changes
                ],
            )
        )
        return
    print_json(imported.ruleset)
    if imported.default_attributes:
        values = ", ".join(f"{k} {v:g}" for k, v in imported.default_attributes.items())
        say(f"default_attributes of requests: {values}")
    for one in imported.changes:
        say(f"{one.kind}: {one.path}: {one.text}")


application = create_group("Match tickets of a queue, import rule sets, and simulate days.")
add_command(application, "tick", tick, EXAMPLE)
add_command(application, "import", import_rules, IMPORT_EXAMPLE)
add_command(application, "simulate", simulate, SIMULATE_EXAMPLE)

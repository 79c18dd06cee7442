"""equipoise rebalance: matched parties in, even teams out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from equipoise.analysis.requests.teams import RebalanceOrder
from equipoise.cli import options
from equipoise.cli.declaring import option
from equipoise.cli.report import print_json, print_lines, print_table
from equipoise.cli.tables import Table, cut, table
from equipoise.wording import counted

if TYPE_CHECKING:
    from equipoise.analysis.files.rebalance import RebalanceAnswer
    from equipoise.data.rebalancing import PartyIds, Rebalance, Step
    from equipoise.messages.teams import ComparedMessage

EXAMPLE = """\b
Example:
  equipoise rebalance examples/rebalance.json --all"""


def rebalance(
    *,
    order: RebalanceOrder,
    compare: bool = option(
        False, "Compare all methods, and `equipoise balance` for two teams: distance, gap and time."
    ),
    as_json: options.Json,
) -> None:
    """Make even teams of matched parties, by the method of the ruleset.

    Parties stay together, and members of a session stay in their teams. Numbers of players are made
    as equal as possible first, then mean attributes. A session or a loose ruleset is rebalanced by
    permutation, a strict ruleset by combination up to 12 players and by greedy above that.
    """
    from equipoise.analysis.files.rebalance import compare_methods, rebalance_request
    from equipoise.messages.teams import ComparisonMessage, rebalance_message

    if compare:
        rows = compare_methods(order)
        if as_json:
            print_json(ComparisonMessage(rows))
        else:
            _print_comparison(rows)
        return
    answer = rebalance_request(order)
    if as_json:
        print_json(rebalance_message(answer.result))
    else:
        _print_rebalance(answer)


#: Width of a cell, and number of rows of a table; `--json` has everything.
_CELL, _ROWS = 60, 200


def _print_rebalance(answer: RebalanceAnswer) -> None:
    """Print the method and its reason, the teams, how even they are, and the sequences tried."""
    result = answer.result
    print_lines(f"{result.method.capitalize()}: {result.reason}.")
    for number in range(len(result.teams)):
        _print_team(answer, number)
    print_lines("", *_evenness(result), *(f"Note: {note}." for note in result.notes))
    if result.steps:
        _print_steps(result)
    if result.candidates:
        _print_candidates(result)


def _print_team(answer: RebalanceAnswer, number: int) -> None:
    """Print a team as a table under its size and means."""
    from equipoise.teams.parties.placing import Matched

    request, team = answer.request, answer.result.teams[number]
    matched = Matched(request)
    names = [rule.attribute for rule in request.ruleset.rules]
    known = {party.ids: (path, party) for path, party in request.everyone()}
    rows, values = [], []
    for ids in team:
        path, party = known[ids]
        own = [[matched.attribute(one, name) for name in names] for one in party.players]
        values += own
        label = "" if party.party is None else str(party.party)
        there = "in session" if path.startswith("session") else ""
        rows.append([cut(label, _CELL), _listed(ids), *_means(own), there])
    means = ", ".join(
        f"mean {name} {mean}" for name, mean in zip(names, _means(values), strict=False)
    )
    count = sum(len(ids) for ids in team)
    players = counted(count, "player")
    print_lines("", f"Team {number + 1}: {players}{', ' if means else ''}{means}")
    if rows:
        columns = ["party", "players", *names, ""]
        if not any(row[-1] for row in rows):
            columns, rows = columns[:-1], [row[:-1] for row in rows]
        print_table(Table(columns, rows, set(names)))


def _means(values: Sequence[Sequence[float]]) -> list[str]:
    """Return the means of columns."""
    return [f"{sum(column) / len(column):.2f}" for column in zip(*values, strict=True)]


def _evenness(result: Rebalance) -> list[str]:
    """Return how even the teams are, and whether more even ones exist."""
    lines = [
        f"The numbers of members differ by {result.member_count_difference}; the distance is "
        f"{result.distance:.2f}."
    ]
    best = result.optimum
    if best is not None:
        same = best.member_count_difference == result.member_count_difference
        if same and result.distance - best.distance <= 1e-9:
            more = "No teams are more even." if best.proved else _bound(result)
        else:
            more = (
                f"More even teams exist: their numbers of members differ by "
                f"{best.member_count_difference}, and the distance is {best.distance:.2f}."
            )
        lines.append(more)
    if result.sequences > 1:
        many = "more than 9 x 10^15" if result.sequences >= 2**53 else f"{result.sequences:,}"
        lines.append(f"Chosen from {many} sequences.")
    return lines


def _bound(result: Rebalance) -> str:
    best = result.optimum
    assert best is not None
    if best.bound_difference == result.member_count_difference:
        return (
            "No more even teams are known. It is proved that no distance is below "
            f"{best.bound_distance:.2f}."
        )
    return (
        "No more even teams are known. It is proved that the numbers of members differ by at least "
        f"{best.bound_difference}."
    )


def _print_steps(result: Rebalance) -> None:
    """Print the steps of the greedy method."""
    print_lines("", "Steps")
    columns = {"step": "d", "totals of teams": "", "party": "", "total": "g", "to team": "d"}
    rows = (
        (number, cut(_totals(step), _CELL), _braces(step.party), step.total, step.team)
        for number, step in enumerate(result.steps[:_ROWS], start=1)
    )
    print_table(table(columns, rows))
    _say_more(len(result.steps))


def _totals(step: Step) -> str:
    return "  ".join(f"{team}: {total:g}" for team, total in step.order)


def _print_candidates(result: Rebalance) -> None:
    """Print every sequence, with a mark at the chosen one."""
    print_lines("", "Sequences")
    rows = (
        (
            f"{number}{' *' if one == result.best else ''}",
            *(cut(" ".join(map(_braces, some)), _CELL) for some in (one.sequence, *one.teams)),
            *(one.member_count_difference, one.distance),
        )
        for number, one in enumerate(result.candidates[:_ROWS], start=1)
    )
    teams = {f"team {number}": "" for number in range(1, len(result.teams) + 1)}
    columns = {"": "", "sequence": "", **teams, "members": "d", "distance": ".2f"}
    print_table(table(columns, rows))
    _say_more(len(result.candidates))


def _say_more(count: int) -> None:
    if count > _ROWS:
        print_lines(f"... and {count - _ROWS:,} more; --json has them all")


def _print_comparison(rows: Sequence[ComparedMessage]) -> None:
    """Print the result of every method."""
    cells = (
        (
            f"{row.method}{' *' if row.chosen else ''}",
            *(row.member_count_difference, row.distance),
            *(_gap(row), f"{1000 * row.seconds:.1f} ms", _remark(row)),
        )
        for row in rows
    )
    columns = {"method": "", "members": "d", "distance": ".2f", "gap": ">", "time": ">", "": ""}
    print_table(table(columns, cells))
    if any(row.chosen for row in rows):
        print_lines(
            "",
            "* the method of the ruleset. The gap is measured from a bound that no teams can beat.",
        )


def _gap(row: ComparedMessage) -> str:
    if row.gap_member_count_difference:
        return counted(row.gap_member_count_difference, "member")
    return "" if row.gap_distance is None else f"{row.gap_distance:.2f}"


def _remark(row: ComparedMessage) -> str:
    if row.objective is not None:
        return f"J {row.objective:.2f}"
    return row.note or ("not all sequences were tried" if row.truncated else "")


def _braces(party: PartyIds) -> str:
    return "{" + _listed(party) + "}"


def _listed(ids: PartyIds) -> str:
    return cut(",".join(map(str, ids)), _CELL)

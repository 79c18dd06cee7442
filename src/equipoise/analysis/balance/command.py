"""equipoise balance and rebalance: a lobby or matched parties in, even teams out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from equipoise.analysis.balance import BalanceRequest, RebalanceOrder
from equipoise.analysis.requests import typed
from equipoise.cli import options
from equipoise.cli.report import (
    Table,
    cut,
    minutes,
    print_json,
    print_lines,
    print_table,
    say,
    table,
)
from equipoise.wording import counted

if TYPE_CHECKING:
    from equipoise.analysis.balance.computation import BalanceAnswer
    from equipoise.analysis.balance.rebalance import RebalanceAnswer
    from equipoise.data.lobby import Balance, Constraint
    from equipoise.data.rebalancing import PartyIds, Rebalance
    from equipoise.messages.questions import ComparedMessage


def balance(*, request: BalanceRequest, as_json: options.Json) -> None:
    """Split a lobby into fair teams.

    With --state, the fairest split has the smallest difference in win probabilities, as `equipoise
    predict` computes them; players not in the state are newcomers. Without a system that predicts
    such teams, it has the smallest difference in mean effective ratings plus 0.8 times the
    difference in uncertainty; then the two best players are in different teams and, if sizes
    differ, the best player is in the smaller team, unless a party makes that impossible. Parties
    stay together, locked players stay in their teams, and players who avoid each other are
    separated.

    Example:
      equipoise balance examples/lobby.csv
    """
    from equipoise.analysis.balance.computation import balance_lobby, message_of

    answer = balance_lobby(request)
    if as_json:
        print_json(message_of(answer))
    else:
        _print_balance(answer, uncertainty_weight=request.split.uncertainty_weight)


#: Width of a team in the table of alternatives.
_NAME = 60


def _print_balance(answer: BalanceAnswer, *, uncertainty_weight: float) -> None:
    """Print the teams, how fair they are, what constraints cost, and the next best splits."""
    # First, because a misspelt name would make all that follows worthless.
    say(*answer.newcomers)
    for number in range(len(answer.balance.teams)):
        _print_team(answer, number)
    lines = [
        *_chance_lines(answer),
        *_fairness(answer, uncertainty_weight),
        *_constraint_lines(answer),
        *_proof(answer),
    ]
    print_lines(*lines)
    _print_alternatives(answer.balance)
    say(*answer.balance.notes, *answer.notes)
    if answer.balance.stopped:
        say("--time-limit ended the search; more time may find fairer teams.")


def _print_team(answer: BalanceAnswer, number: int) -> None:
    """Print a team as a table under its name, win probability and mean."""
    lobby, team = answer.lobby, answer.balance.teams[number]
    row_of = {player: row for row, player in enumerate(lobby.player_ids.tolist())}
    rows = [row_of[player] for player in team]
    mean = float(lobby.strength[rows].mean())
    locked = sorted({lobby.team[row] for row in rows} - {None}) if lobby.team is not None else []
    name = f"Team {number + 1}" + (f" ({locked[0]})" if locked else "")
    size = counted(len(team), "player")
    print_lines(f"{name}: {size}, mean {mean:.1f}, {_chance(answer, number)}")
    names = [f"{player} (new)" if player in lobby.newcomers else str(player) for player in team]
    columns = {"player": "", "effective": ".1f", "rating": ".1f", "deviation": ".1f"}
    values = [names, lobby.strength[rows], lobby.rating[rows], lobby.deviation[rows]]
    if lobby.party is not None:
        columns["party"] = ""
        values.append(lobby.party[rows])
    print_table(table(columns, zip(*values, strict=True)))
    print_lines("")


def _chance(answer: BalanceAnswer, number: int) -> str:
    """Return the win probability of a team, in words."""
    expects = answer.prediction
    if len(answer.balance.teams) > 2:
        return f"beats another team in {100 * expects.expected[number]:.1f} % of cases"
    chances = expects.expected if expects.win is None else expects.win
    return f"wins {100 * chances[number]:.1f} %"


def _chance_lines(answer: BalanceAnswer) -> list[str]:
    """Return lines on the draw probability and on the source of the probabilities, if needed."""
    from equipoise.data.prediction import BY_CURVE, ESTIMATE, TEAM_MEAN, range_in_words

    expects = answer.prediction
    lines = []
    if expects.draw is not None:
        how = ", estimated from earlier draws" if expects.draw_by == ESTIMATE else ""
        lines.append(f"The draw probability is {100 * expects.draw:.1f} %{how}.")
    as_of = "" if answer.at is None else f", as of {minutes(answer.at)}"
    if as_of or expects.by != TEAM_MEAN:
        lines.append(f"Win probabilities are from {expects.by}{as_of}.")
    if expects.uncalibrated is not None:
        plain = ", ".join(f"{100 * chance:.1f} %" for chance in expects.uncalibrated)
        lines.append(f"They are {BY_CURVE}; uncalibrated expected scores: {plain}.")
    if expects.calibrated_range is not None:
        words = range_in_words(expects.calibrated_range)
        lines.append(f"{words[0].upper()}{words[1:]}.")
    return lines


def _amount(balance: Balance, value: float) -> str:
    """Return a difference of objectives with its unit."""
    if balance.objective_kind == "chance":
        return f"{100 * value:.2f} percentage points"
    return f"{value:.2f} points"


def _fairness(answer: BalanceAnswer, weight: float) -> list[str]:
    """Return how different the teams are, in words."""
    balance = answer.balance
    far = "the teams" if len(balance.teams) == 2 else "the two teams that differ most"
    if balance.objective_kind == "chance":
        return [f"The win probabilities of {far} differ by {_amount(balance, balance.objective)}."]
    if balance.objective_kind == "sum":
        return [f"The sums of effective ratings of {far} differ by {balance.objective:.2f} points."]
    return [
        f"The mean effective ratings of {far} differ by {balance.rating_difference:.2f} points,",
        f"and their uncertainties by {balance.deviation_difference:.2f}, which counts "
        f"{weight:g} times: {balance.objective:.2f} in all.",
    ]


def _proof(answer: BalanceAnswer) -> list[str]:
    """Return whether fairer teams can exist."""
    balance = answer.balance
    if balance.compared == 1:
        return ["There is only one possible split."]
    if balance.compared is not None:
        return [f"All {balance.compared:,} splits were compared: none is fairer."]
    if balance.gap == 0:
        return ["This split is proved to be the fairest."]
    return [
        "There are too many splits to compare them all. No split can be below "
        f"{_amount(balance, balance.bound)}, so a fairer one gains at most "
        f"{_amount(balance, balance.gap)}.",
    ]


def _constraint_lines(answer: BalanceAnswer) -> list[str]:
    """Return a line for each constraint that was waived or has a cost, and one for the others."""
    from equipoise.data.lobby import NO_COST

    balance = answer.balance
    lines, free = [], []
    for constraint in balance.constraints:
        what = _in_words(constraint, len(balance.teams))
        if constraint.status == "waived":
            lines.append(
                f"Not kept, because parties, locks and avoid pairs make it impossible: {what}."
            )
        elif constraint.objective_without is None:
            lines.append(f"Kept: {what}.")
        elif balance.objective - constraint.objective_without < NO_COST[balance.objective_kind]:
            free.append(what)
        else:
            cost = _amount(balance, balance.objective - constraint.objective_without)
            lines.append(f"Kept: {what}; without it the teams could be {cost} closer.")
    if free:
        lines.append(f"Kept at no cost: {'; '.join(free)}.")
    return lines


def _in_words(constraint: Constraint, teams: int) -> str:
    """Return what a constraint requires."""
    from equipoise.data.lobby import constraint_in_words

    pieces = constraint_in_words(constraint.kind, constraint.players, constraint.label, teams)
    return "".join(text for text, _ in pieces)


def _print_alternatives(balance: Balance) -> None:
    """Print the next best splits: two teams in full, more teams only by how fair they are."""
    splits = balance.alternatives
    if not splits:
        return
    print_lines("", "Next best")
    columns = {"in all": ".2f", "ratings": ".2f", "uncertainty": ".2f"}
    if balance.objective_kind != "mean":
        columns = {"difference": ".2%" if balance.objective_kind == "chance" else ".2f"}
    numbers = ("objective", "rating_difference", "deviation_difference")[: len(columns)]
    two = len(splits[0].teams) == 2
    if two:
        columns |= {"team 1": "", "team 2": ""}
    rows = (
        [getattr(split, number) for number in numbers]
        + [cut(", ".join(map(str, team)), _NAME) for team in split.teams if two]
        for split in splits
    )
    print_table(table(columns, rows))


def rebalance(
    *,
    order: RebalanceOrder,
    compare: bool = typed(False, "Compare all methods: distance, gap and time."),
    as_json: options.Json,
) -> None:
    """Make even teams from matched parties, by the ruleset's method.

    Parties stay together, and members of a session stay in their teams. Team sizes are made as
    equal as possible first, then mean attributes. A session or a loose ruleset is rebalanced by
    permutation, a strict ruleset by combination up to 12 players and by greedy above that.

    Example:
      equipoise rebalance examples/rebalance.json --all
    """
    from equipoise.analysis.balance.rebalance import compare_methods, rebalance_request
    from equipoise.messages.questions import rebalance_message

    if compare:
        rows = compare_methods(order)
        if as_json:
            print_json({"methods": rows})
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
        _print_rebalanced(answer, number)
    print_lines("", *_evenness(result), *(f"Note: {note}." for note in result.notes))
    if result.steps:
        _print_steps(result)
    if result.candidates:
        _print_candidates(result)


def _print_rebalanced(answer: RebalanceAnswer, number: int) -> None:
    """Print a team as a table under its size and means."""
    from equipoise.teams.party_placing import Matched

    request, team = answer.request, answer.result.teams[number]
    matched = Matched(request)
    names = [rule.attribute for rule in request.ruleset.rules]
    known = {party.ids: (path, party) for path, party in request.everyone()}
    rows, values = [], []
    for ids in team:
        path, party = known[ids]
        own = [[matched.attribute(player, name) for name in names] for player in party.players]
        values += own
        label = "" if party.party is None else str(party.party)
        where = "in session" if path.startswith("session") else ""
        rows.append([cut(label, _CELL), _listed(ids), *_means(own), where])
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
        f"Team sizes differ by {result.member_count_difference}; the distance is "
        f"{result.distance:.2f}."
    ]
    best = result.optimum
    if best is not None:
        same = best.member_count_difference == result.member_count_difference
        if same and result.distance - best.distance <= 1e-9:
            more = "No teams are more even." if best.proved else _bound(result)
        else:
            more = (
                f"More even teams exist: their sizes differ by {best.member_count_difference}, "
                f"and the distance is {best.distance:.2f}."
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
        "No more even teams are known. It is proved that team sizes differ by at least "
        f"{best.bound_difference}."
    )


def _print_steps(result: Rebalance) -> None:
    """Print the steps of the greedy method."""
    print_lines("", "Steps")
    steps = (
        (step, "  ".join(f"{team}: {total:g}" for team, total in step.order))
        for step in result.steps[:_ROWS]
    )
    columns = {"step": "d", "team totals": "", "party": "", "total": "g", "to team": "d"}
    rows = (
        (number, cut(totals, _CELL), _braces(step.party), step.total, step.team)
        for number, (step, totals) in enumerate(steps, start=1)
    )
    print_table(table(columns, rows))
    _say_more(len(result.steps))


def _print_candidates(result: Rebalance) -> None:
    """Print every sequence, with a mark at the chosen one."""
    print_lines("", "Sequences")
    rows = (
        (
            f"{number}{' *' if candidate == result.best else ''}",
            *(
                cut(" ".join(map(_braces, some)), _CELL)
                for some in (candidate.sequence, *candidate.teams)
            ),
            *(candidate.member_count_difference, candidate.distance),
        )
        for number, candidate in enumerate(result.candidates[:_ROWS], start=1)
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
            *(_gap(row), f"{1000 * row.seconds:.1f} ms"),
            row.note or ("not all sequences were tried" if row.truncated else ""),
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


def _braces(party: PartyIds) -> str:
    return "{" + _listed(party) + "}"


def _listed(ids: PartyIds) -> str:
    return cut(",".join(map(str, ids)), _CELL)

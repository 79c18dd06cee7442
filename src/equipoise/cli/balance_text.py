"""Teams in words that a player would accept."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from equipoise.cli.report import print_table, say

if TYPE_CHECKING:
    from equipoise.data.split import Constraint, Split
    from equipoise.workflows.balance import BalanceAnswer

#: A cost below this is none.
_NOTHING = 5e-3
#: Letters of a team that a table of alternatives shows.
_NAME = 60


def print_balance(answer: BalanceAnswer, *, uncertainty_weight: float, by_sum: bool) -> None:
    """Print the teams, how fair they are, what constraints cost, and the next best splits."""
    for number in range(len(answer.balance.teams)):
        _print_team(answer, number)
    lines = [
        *_fairness(answer, uncertainty_weight, by_sum),
        *_constraint_lines(answer, by_sum),
        *_proof(answer, by_sum),
    ]
    sys.stdout.write("\n".join(lines) + "\n")
    _print_alternatives(answer.balance.alternatives, by_sum)
    if answer.balance.stopped:
        say("The search was ended by --time-limit; more time may find fairer teams.")


def _print_team(answer: BalanceAnswer, number: int) -> None:
    """Print a team as a table under its name, chance and mean."""
    lobby, team = answer.lobby, answer.balance.teams[number]
    row_of = {one: row for row, one in enumerate(lobby.player_ids.tolist())}
    rows = [row_of[one] for one in team]
    mean = float(lobby.strength[rows].mean())
    locked = sorted({lobby.team[row] for row in rows} - {None}) if lobby.team is not None else []
    name = f"Team {number + 1}" + (f" ({locked[0]})" if locked else "")
    chance = 100 * answer.win_probability[number]
    wins = "wins" if len(answer.balance.teams) == 2 else "beats another with"
    sys.stdout.write(f"{name}: {len(team)} players, mean {mean:.1f}, {wins} {chance:.1f} %\n")
    columns = {
        "player": [str(one) for one in team],
        "effective": [f"{lobby.strength[row]:.1f}" for row in rows],
        "rating": [f"{lobby.rating[row]:.1f}" for row in rows],
        "deviation": [f"{lobby.deviation[row]:.1f}" for row in rows],
    }
    numbers = set(columns) - {"player"}
    if lobby.party is not None:
        columns["party"] = [lobby.party[row] or "" for row in rows]
    print_table(list(columns), [list(row) for row in zip(*columns.values(), strict=True)], numbers)
    sys.stdout.write("\n")


def _fairness(answer: BalanceAnswer, weight: float, by_sum: bool) -> list[str]:
    """Return what separates the teams, in words."""
    found = answer.balance
    far = "the teams" if len(found.teams) == 2 else "the two teams furthest apart"
    if by_sum:
        return [f"The sums of effective ratings of {far} differ by {found.objective:.2f} points."]
    return [
        f"The mean effective ratings of {far} differ by {found.rating_difference:.2f} points,",
        f"and how sure we are of them by {found.deviation_difference:.2f}, which counts "
        f"{weight:g} times: {found.objective:.2f} in all.",
    ]


def _proof(answer: BalanceAnswer, by_sum: bool) -> list[str]:
    """Return how sure it is that there are no fairer teams."""
    found = answer.balance
    if found.compared is not None:
        return [f"All {found.compared:,} ways to split were compared: none is fairer."]
    if found.gap == 0:
        return ["It is proved that no split is fairer."]
    unit = "points" if by_sum else "points of this measure"
    return [
        f"There are too many ways to compare all. No split can be below {found.bound:.2f}, so",
        f"at most {found.gap:.2f} {unit} could still be gained.",
    ]


def _constraint_lines(answer: BalanceAnswer, by_sum: bool) -> list[str]:
    """Return a line for every constraint that was waived or cost anything, one for the others."""
    found = answer.balance
    lines, free = [], []
    for one in found.constraints:
        what = _in_words(one, len(found.teams))
        if one.status == "waived":
            lines.append(f"Given up, as parties, locks and avoid pairs leave no room: {what}.")
        elif one.objective_without is None:
            lines.append(f"Kept: {what}.")
        elif found.objective - one.objective_without < _NOTHING:
            free.append(what)
        else:
            cost = found.objective - one.objective_without
            lines.append(f"Kept: {what}; without that the teams could be {cost:.2f} points closer.")
    if free:
        lines.append(f"Kept at no cost: {'; '.join(free)}.")
    return lines


def _in_words(constraint: Constraint, teams: int) -> str:
    """Return what a constraint asks for."""
    kind, _, of = constraint.name.partition(":")
    if kind == "top-two":
        return f"the top {'two' if teams == 2 else teams} in different teams"
    if kind == "uneven":
        return "the top player in a smaller team"
    if kind == "party":
        return f"party {of} together"
    if kind == "lock":
        return f"{of} in the team locked to"
    return f"{' and '.join(of.split(';'))} apart"


def _print_alternatives(splits: tuple[Split, ...], by_sum: bool) -> None:
    """Print the next best splits: of two teams the first, of more only how fair they are."""
    if not splits:
        return
    sys.stdout.write("\nNext best\n")
    rows = []
    for split in splits:
        cells = [f"{split.objective:.2f}"]
        if not by_sum:
            cells += [f"{split.rating_difference:.2f}", f"{split.deviation_difference:.2f}"]
        rows.append([*cells, *(_name(split, team) for team in range(len(split.teams)))])
    names = ["difference"] if by_sum else ["in all", "ratings", "uncertainty"]
    columns = [*names, *(f"team {number + 1}" for number in range(len(splits[0].teams)))]
    if len(splits[0].teams) > 2:
        columns, rows = names, [row[: len(names)] for row in rows]
    print_table(columns, rows, set(names))


def _name(split: Split, team: int) -> str:
    """Return the players of a team as one cell."""
    name = ", ".join(str(one) for one in split.teams[team])
    return name if len(name) <= _NAME else f"{name[: _NAME - 3]}..."

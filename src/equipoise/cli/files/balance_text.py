"""Teams in words that a player would accept."""

from __future__ import annotations

from typing import TYPE_CHECKING

from equipoise.cli.report import print_lines, print_table, say
from equipoise.cli.tables import cut, table
from equipoise.data.prediction import ESTIMATE, TEAM_MEAN
from equipoise.wording import counted

if TYPE_CHECKING:
    from equipoise.analysis.files.balance import BalanceAnswer
    from equipoise.data.lobby import Constraint, Split

#: A cost below this is none.
_NOTHING = 5e-3
#: Letters of a team that a table of alternatives shows.
_NAME = 60


def print_balance(answer: BalanceAnswer, *, uncertainty_weight: float, by_sum: bool) -> None:
    """Print the teams, how fair they are, what constraints cost, and the next best splits."""
    for number in range(len(answer.balance.teams)):
        _print_team(answer, number)
    lines = [
        *_chance_lines(answer),
        *_fairness(answer, uncertainty_weight, by_sum),
        *_constraint_lines(answer, by_sum),
        *_proof(answer, by_sum),
    ]
    print_lines(*lines)
    _print_alternatives(answer.balance.alternatives, by_sum)
    say(*answer.balance.notes, *answer.notes)
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
    size = counted(len(team), "player")
    print_lines(f"{name}: {size}, mean {mean:.1f}, {_chance(answer, number)}")
    names = [f"{one} (new)" if one in lobby.newcomers else str(one) for one in team]
    columns = {"player": "", "effective": ".1f", "rating": ".1f", "deviation": ".1f"}
    values = [names, lobby.strength[rows], lobby.rating[rows], lobby.deviation[rows]]
    if lobby.party is not None:
        columns["party"] = ""
        values.append(lobby.party[rows])
    print_table(table(columns, zip(*values, strict=True)))
    print_lines("")


def _chance(answer: BalanceAnswer, number: int) -> str:
    """Return what is expected of a team, in words."""
    expects = answer.prediction
    if len(answer.balance.teams) > 2:
        return f"beats another team in {100 * expects.expected[number]:.1f} % of cases"
    chances = expects.expected if expects.win is None else expects.win
    return f"wins {100 * chances[number]:.1f} %"


def _chance_lines(answer: BalanceAnswer) -> list[str]:
    """Return the chance of a draw, and by what the chances are; nothing where that is as usual."""
    expects = answer.prediction
    lines = []
    if expects.draw is not None:
        how = ", estimated from earlier draws" if expects.draw_by == ESTIMATE else ""
        lines.append(f"A draw has a chance of {100 * expects.draw:.1f} %{how}.")
    if answer.at is not None or expects.by != TEAM_MEAN:
        lines.append(f"Chances from {expects.by}{_as_of(answer)}.")
    return lines


def _as_of(answer: BalanceAnswer) -> str:
    return "" if answer.at is None else f", as of {answer.at}"


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
    if found.compared == 1:
        return ["There is only one way to split."]
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
    from equipoise.data.lobby import constraint_in_words

    pieces = constraint_in_words(constraint.kind, constraint.players, constraint.label, teams)
    return "".join(text for text, _ in pieces)


def _print_alternatives(splits: tuple[Split, ...], by_sum: bool) -> None:
    """Print the next best splits: of two teams the first, of more only how fair they are."""
    if not splits:
        return
    print_lines("", "Next best")
    fields = {"objective": "difference" if by_sum else "in all"}
    if not by_sum:
        fields |= {"rating_difference": "ratings", "deviation_difference": "uncertainty"}
    columns = dict.fromkeys(fields.values(), ".2f")
    two = len(splits[0].teams) == 2
    if two:
        columns |= {"team 1": "", "team 2": ""}
    rows = (
        [getattr(split, field) for field in fields]
        + [cut(", ".join(map(str, team)), _NAME) for team in split.teams if two]
        for split in splits
    )
    print_table(table(columns, rows))

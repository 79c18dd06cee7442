"""What balancing a lobby answers: the teams, how fair they are, and what that cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

#: An id as it came: int or str.
Id: TypeAlias = int | str
#: The ids of every team.
Teams: TypeAlias = tuple[tuple[Id, ...], ...]
#: What a constraint asks for: the top players in different teams, the top player in a smaller
#: team, a party together, a locked player in its team, two players apart.
ConstraintKind: TypeAlias = Literal["top-two", "uneven", "party", "lock", "avoid"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """One way to make teams of a lobby.

    teams : ids; the team with the top player is the first, and so on; in a team the best first
    objective : what is minimised, rating points: rating_difference + weight x deviation_difference
    rating_difference : between the mean effective ratings of the two teams furthest apart
    deviation_difference : between the uncertainties of the same two teams
    """

    teams: Teams
    objective: float
    rating_difference: float
    deviation_difference: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Constraint:
    """A constraint, whether it was kept, and what keeping it cost.

    kind : what it asks for
    players : ids of the players it is about, best first: the top players, the top player, the
        members of the party, the locked player, or the two who avoid each other
    label : the name of the party, or of the team that the player is locked to; None otherwise
    status : "waived" where parties, locks and avoid pairs leave no way to keep it
    objective_without : the least objective without this one constraint; None: not searched for
    """

    kind: ConstraintKind
    players: tuple[Id, ...]
    label: str | None = None
    status: Literal["held", "waived"]
    objective_without: float | None

    @property
    def name(self) -> str:
        """Text for people and logs: "top-two", "uneven", "party:NAME", "lock:PLAYER", "avoid:A;B".

        Ids may contain these separators: read `kind`, `players` and `label` instead of parsing it.
        """
        if self.kind == "party":
            return f"party:{self.label}"
        if self.kind in ("lock", "avoid"):
            return f"{self.kind}:{';'.join(str(one) for one in self.players)}"
        return self.kind


def constraint_in_words(
    kind: str, players: Sequence[Id], label: str | None, teams: int
) -> list[tuple[str, bool]]:
    """Return what a constraint asks for, as pieces of text in order.

    kind, players, label : as `Constraint` has them; teams : how many teams are made
    Returns : (text, whether users wrote it) of every piece
    """
    if kind == "top-two":
        return [(f"the top {'two' if teams == 2 else teams} in different teams", False)]
    if kind == "uneven":
        return [("the top player in a smaller team", False)]
    if kind == "party":
        return [("party ", False), (str(label), True), (" together", False)]
    if kind == "lock":
        return [(str(players[0]), True), (" in team ", False), (str(label), True)]
    one, other = players
    return [(str(one), True), (" and ", False), (str(other), True), (" apart", False)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Balance:
    """The fairest split of a lobby, and its neighbours.

    best : the split
    constraints : all that were in the lobby or asked for
    alternatives : the next best splits, best first
    bound : no split has an objective below this one
    gap : objective - bound, in rating points; 0: proved to be the fairest
    compared : number of splits that were looked at, None where it was a search
    stopped : the time limit ended the search
    notes : other things a user should know, as sentences
    """

    best: Split
    constraints: tuple[Constraint, ...]
    alternatives: tuple[Split, ...]
    bound: float
    gap: float
    compared: int | None = None
    stopped: bool = False
    notes: tuple[str, ...] = ()

    @property
    def teams(self) -> Teams:
        """The ids of every team."""
        return self.best.teams

    @property
    def objective(self) -> float:
        """What was minimised, in rating points."""
        return self.best.objective

    @property
    def rating_difference(self) -> float:
        """Between the mean effective ratings of the two teams furthest apart."""
        return self.best.rating_difference

    @property
    def deviation_difference(self) -> float:
        """Between the uncertainties of the same two teams."""
        return self.best.deviation_difference

"""What balancing a lobby answers: the teams, how fair they are, and what that cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

#: An id as it came: int or str.
Id: TypeAlias = int | str
#: The ids of every team.
Teams: TypeAlias = tuple[tuple[Id, ...], ...]


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

    name : "top-two", "uneven", "party:NAME", "lock:PLAYER", "avoid:PLAYER;PLAYER"
    status : "waived" where parties, locks and avoid pairs leave no way to keep it
    objective_without : the least objective without this one constraint; None: not searched for
    """

    name: str
    status: Literal["held", "waived"]
    objective_without: float | None


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
    """

    best: Split
    constraints: tuple[Constraint, ...]
    alternatives: tuple[Split, ...]
    bound: float
    gap: float
    compared: int | None = None
    stopped: bool = False

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

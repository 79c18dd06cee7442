"""What rebalancing answers: the teams, how even they are, and how they were found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from equipoise.data.split import Id

#: The players of a party.
PartyIds: TypeAlias = tuple[Id, ...]
#: The parties of every team.
PartyTeams: TypeAlias = tuple[tuple[PartyIds, ...], ...]
#: How parties are arranged; "vertical" is the order of arrival, where rebalancing is off.
Method: TypeAlias = Literal["permutation", "combination", "greedy", "optimal", "vertical"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One way to arrange the parties.

    sequence : the parties in the order in which they were placed
    teams : the parties of every team, those of the session first
    member_count_difference : players of the largest team less those of the smallest
    distance : of the teams' mean attributes from their mean, summed over teams that have players
    """

    sequence: tuple[PartyIds, ...]
    teams: PartyTeams
    member_count_difference: int
    distance: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step of the greedy method.

    order : number, from 1, and total of every team, the least total first
    party, total : who is placed, and the sum of their attributes
    team : number of the team they go to
    """

    order: tuple[tuple[int, float], ...]
    party: PartyIds
    total: float
    team: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Optimum:
    """The best that any method can do for these parties and this number of teams.

    member_count_difference, distance : of the best arrangement known
    bound_difference, bound_distance : no arrangement has a smaller difference; of those that have
        this difference none has a smaller distance
    proved : they are those of the best arrangement: it is the best there is
    """

    member_count_difference: int
    distance: float
    bound_difference: int
    bound_distance: float
    proved: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Rebalance:
    """Teams as the ruleset asks for, and how they were found.

    method : what was used; reason : why, as a sentence
    best : the arrangement chosen
    sequences : number of sequences it was chosen from, equal ones that were merged included
    truncated : not all sequences were looked at, or not all candidates are listed
    optimum : the best there is; None where it was not searched for
    steps : of the greedy method
    notes : what else there is to know, as sentences
    candidates : every sequence in the document's order, where asked for
    """

    method: Method
    reason: str
    best: Candidate
    sequences: int
    truncated: bool = False
    optimum: Optimum | None = None
    steps: tuple[Step, ...] = ()
    notes: tuple[str, ...] = ()
    candidates: tuple[Candidate, ...] = ()

    @property
    def teams(self) -> PartyTeams:
        """The parties of every team."""
        return self.best.teams

    @property
    def member_count_difference(self) -> int:
        """Players of the largest team less those of the smallest."""
        return self.best.member_count_difference

    @property
    def distance(self) -> float:
        """Of the teams' mean attributes from their mean, summed."""
        return self.best.distance

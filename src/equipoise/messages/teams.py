"""Messages about teams: a lobby that is split, and matched parties that are rebalanced."""

from __future__ import annotations

import msgspec

from equipoise.data.rebalancing import Optimum, Rebalance, Step
from equipoise.messages.conversion import to_message


class ConstraintMessage(msgspec.Struct, frozen=True):
    """A constraint, "held" or "waived", and the least objective without it; null: not known.

    name : text for people; ids may contain its separators, so read the other fields instead
    kind : "top-two", "uneven", "party", "lock" or "avoid"
    players : whom it is about, best first: the top players, the top player, the members of the
        party, the locked player, or the two who avoid each other
    label : of the party, or of the team that the player is locked to; else null
    """

    name: str
    status: str
    objective_without: float | None
    kind: str
    players: list[int | str]
    label: str | None


class AlternativeMessage(msgspec.Struct, frozen=True):
    """One of the next best splits."""

    teams: list[list[int | str]]
    objective: float
    rating_difference: float
    deviation_difference: float


class BalanceMessage(msgspec.Struct, frozen=True):
    """The answer of `equipoise balance --json`.

    `teams` has the team with the top player first. `expected`, `win`, `draw`, `draw_by` and `by`
    are what `predict` answers for these teams: `expected` is a team's mean score against each
    other team, of two teams win + draw/2; `by` names the pool's system, or is "team mean" for teams
    that it cannot rate and for lobbies without a pool. `win_probability` is an earlier name of
    `expected`. `objective_kind` says what `objective` is: "chance", the highest minus the lowest
    `expected`; "mean" or "sum", a difference of ratings in points. No split has an objective below
    `bound`; `gap` is 0 where the split is proved to be the fairest. `newcomers` are players whom
    the pool does not know. `at` is the time for which ratings were read, null where the lobby
    brought them; `notes` are sentences about the answer, for example that the lobby has no
    deviations.
    """

    teams: list[list[int | str]]
    objective: float
    rating_difference: float
    deviation_difference: float
    win_probability: list[float]
    constraints: list[ConstraintMessage]
    alternatives: list[AlternativeMessage]
    bound: float
    gap: float
    expected: list[float]
    win: list[float] | None
    draw: float | None
    draw_by: str | None
    by: str
    newcomers: list[int | str]
    at: int | str | None
    notes: list[str]
    objective_kind: str = "mean"


#: The players of a party.
Party = list[int | str]


class CandidateMessage(msgspec.Struct, frozen=True):
    """A sequence, and the teams that it leads to."""

    sequence: list[Party]
    teams: list[list[Party]]
    member_count_difference: int
    distance: float


class OptimumMessage(msgspec.Struct, frozen=True):
    """The most even teams known, and what is proved that none are more even than."""

    member_count_difference: int
    distance: float
    bound_member_count_difference: int
    bound_distance: float
    proved: bool


class TotalMessage(msgspec.Struct, frozen=True):
    """A team's number, from 1, and the total of its attributes."""

    team: int
    total: float


class StepMessage(msgspec.Struct, frozen=True):
    """A step of the greedy method: teams by their totals, who is placed, and in which team."""

    step: int
    order: list[TotalMessage]
    party: Party
    total: float
    team: int


class RebalanceMessage(msgspec.Struct, frozen=True):
    """The answer of `equipoise rebalance --json`.

    `teams` has, for every team, the players of every party. `sequences` is the number of sequences
    the teams were chosen from (2^53 means that or more); `truncated` says that not all of them were
    tried or listed. `optimum` is null if it was not searched for. `steps` is empty for all methods
    except greedy, and `candidates` unless requested.
    """

    method: str
    reason: str
    teams: list[list[Party]]
    member_count_difference: int
    distance: float
    sequences: int
    truncated: bool
    optimum: OptimumMessage | None
    steps: list[StepMessage]
    notes: list[str]
    candidates: list[CandidateMessage]


class ComparedMessage(msgspec.Struct, frozen=True):
    """The result of one method. If it has none, `note` says why and the other fields are null.

    The gaps are to the bound; 0 means that no teams are more even. `objective` is J of `balance`,
    for two teams and the method "balance" only.
    """

    method: str
    chosen: bool
    teams: list[list[Party]] | None
    member_count_difference: int | None
    distance: float | None
    gap_member_count_difference: int | None
    gap_distance: float | None
    objective: float | None
    seconds: float
    truncated: bool
    note: str


class ComparisonMessage(msgspec.Struct, frozen=True):
    """The answer of `equipoise rebalance --compare --json`."""

    methods: list[ComparedMessage]


def rebalance_message(found: Rebalance) -> RebalanceMessage:
    """Return the JSON message."""
    return to_message(
        RebalanceMessage,
        found,
        optimum=found.optimum and _optimum(found.optimum),
        steps=[_step(number, step) for number, step in enumerate(found.steps, start=1)],
    )


def _optimum(found: Optimum) -> OptimumMessage:
    return to_message(OptimumMessage, found, bound_member_count_difference=found.bound_difference)


def _step(number: int, step: Step) -> StepMessage:
    order = [TotalMessage(team, total) for team, total in step.order]
    return to_message(StepMessage, step, step=number, order=order)

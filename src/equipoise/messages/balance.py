"""Shapes of what balancing a lobby answers."""

from __future__ import annotations

import msgspec


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
    `expected`. No split has an objective below `bound`; `gap` is 0 where the split is proved to be
    the fairest. `newcomers` are players whom the pool does not know. `at` is the time for which
    ratings were read, null where the lobby brought them; `notes` are sentences
    about the answer, for example that the lobby has no deviations.
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

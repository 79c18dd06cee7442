"""Shapes of what balancing a lobby answers."""

from __future__ import annotations

import msgspec


class ConstraintMessage(msgspec.Struct, frozen=True):
    """A constraint, "held" or "waived", and the least objective without it; null: not known."""

    name: str
    status: str
    objective_without: float | None


class AlternativeMessage(msgspec.Struct, frozen=True):
    """One of the next best splits."""

    teams: list[list[int | str]]
    objective: float
    rating_difference: float
    deviation_difference: float


class BalanceMessage(msgspec.Struct, frozen=True):
    """The answer of `equipoise balance --json`.

    `teams` has the team with the top player first. `win_probability` is by long-term rating; with
    more than two teams it is the mean chance against each of the others. No split has an objective
    below `bound`; `gap` is 0 where the split is proved to be the fairest.
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

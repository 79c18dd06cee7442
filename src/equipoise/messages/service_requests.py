"""Shapes of questions to a pool of the service."""

from __future__ import annotations

import msgspec

from equipoise.messages.matches import Id, Moment


class PredictRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A match to predict; the answer is that of `equipoise predict --json`.

    teams : ids, team by team; players who are not in the pool are newcomers
    at : time of the match; absent: now
    home : number of the team that plays at home, from 0
    samples, seed : of the distribution of places; absent: none
    what_if : players for whom every place is tried, of more than 100 teams a selection
    """

    teams: list[list[Id]]
    at: Moment | None = None
    home: int | None = None
    samples: int | None = None
    seed: int = 0
    what_if: list[Id] = []


class BalancePlayer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A player of a lobby.

    rating, deviation : where the pool does not know the player; a newcomer's where absent
    party : players of one party stay together; team : locked to that team, from 1
    avoid : players who must not be in the same team
    """

    player: Id
    rating: float | None = None
    deviation: float | None = None
    party: Id | None = None
    team: int | None = None
    avoid: list[Id] = []


class BalanceRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A lobby to split; the answer is that of `equipoise balance --json`.

    players : ids, or ids with what else is known; those who are not in the pool are newcomers
    at : time for which ratings are read; absent: now
    The others are parameters of `equipoise.balance`.
    """

    players: list[BalancePlayer | Id]
    at: Moment | None = None
    teams: int | None = None
    size: int | None = None
    objective: str = "mean"
    uncertainty_weight: float = 0.8
    top_two: bool = True
    uneven: bool = True
    alternatives: int = 5
    seed: int = 0

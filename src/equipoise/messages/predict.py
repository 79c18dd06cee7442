"""Shapes of what predicting a match answers."""

from __future__ import annotations

from typing import Any

import msgspec


class PredictedPlayer(msgspec.Struct, frozen=True):
    """A player of a coming match; no deviation where the system has none.

    A `newcomer` is unknown to the pool and has the rating that newcomers begin with.
    """

    player: int | str
    rating: float
    deviation: float | None
    newcomer: bool = False


class Places(msgspec.Struct, frozen=True):
    """How a team's place is distributed, from samples: chances, and where nine of ten lie.

    `top3` and `top10` are null in fields that are no larger.
    """

    mean: float
    lower: int
    upper: int
    first: float
    top3: float | None
    top10: float | None


class PredictedTeam(msgspec.Struct, frozen=True):
    """A team of a coming match.

    `rating` is the mean of its players' ratings, `deviation` the root mean square of theirs;
    `expected` the mean score against each other team, `expected_place` what follows from it.
    """

    players: list[PredictedPlayer]
    rating: float
    deviation: float | None
    expected: float
    expected_place: float
    places: Places | None


class Outcome(msgspec.Struct, frozen=True):
    """A player's rating after a match in which the team comes in this place.

    `tied` counts other teams in that place: 1 in a draw of two teams.
    """

    place: int
    tied: int
    rating: float
    deviation: float | None
    change: float


class WhatIfMessage(msgspec.Struct, frozen=True):
    """What each place of the team, numbered from 0, would do to a player's rating."""

    player: int | str
    team: int
    rating_before: float
    deviation_before: float | None
    outcomes: list[Outcome]


class PredictMessage(msgspec.Struct, frozen=True):
    """The answer of `equipoise predict --json`; teams are in the order in which they were named.

    `at` is the time of the match; null: that of the last match. `pairs[i][j]` is the chance that
    team i beats team j, a tie one half; null in large fields. `win` and `draw` are given for two
    teams, and a team's `expected` is win + draw/2. `draw_by` names the system where it models
    draws, else it is "estimate": from how often two teams drew before, and null (with `win` and
    `draw`) below 50 such matches. `by` names the system that expects all this, or is "team mean"
    for teams that it cannot rate. `newcomers` are players whom the pool does not know; `notes`
    say what else to know. `samples` and `seed` are those of the places, null where none were
    wanted.
    """

    system: str
    parameters: dict[str, Any]
    at: int | str | None
    teams: list[PredictedTeam]
    pairs: list[list[float]] | None
    win: list[float] | None
    draw: float | None
    samples: int | None
    seed: int | None
    what_if: list[WhatIfMessage]
    by: str = ""
    draw_by: str | None = None
    newcomers: list[int | str] = []
    notes: list[str] = []

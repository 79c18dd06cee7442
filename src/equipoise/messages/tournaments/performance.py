"""Messages of the performance table of a tournament."""

from __future__ import annotations

import msgspec

from equipoise.messages.errors import ProblemMessage


class PerformanceRow(msgspec.Struct, frozen=True, rename={"class_": "class"}):
    """A player; null where there is no such number.

    `error` is the half-width at the requested confidence. `class_ppr` is the rating among the
    players of the same class; `lower` and `upper` bound a rating from one side.
    """

    player: int | str
    games: float
    points: float
    expected: float | None
    rating: float | None
    average_opponent: float | None
    tpr: float | None
    cpr: float | None
    fide: float | None
    ppr: float | None
    error: float | None
    status: str
    class_: int | None
    class_ppr: float | None
    lower: float | None
    upper: float | None
    extra: dict[str, float | None] = {}


class SweepMessage(msgspec.Struct, frozen=True):
    """Who took every point of whom, and by how much at least they are better for it."""

    winners: list[int | str]
    losers: list[int | str]
    games: float
    difference: float | None


class SuperiorityMessage(msgspec.Struct, frozen=True):
    """Row i, column j: the probability that players[i] is better than players[j].

    prior : "field", with the spread of the field as the prior of strengths, or "flat"
    """

    players: list[int | str]
    probability: list[list[float | None]]
    prior: str = "field"


class TieBreakPartMessage(msgspec.Struct, frozen=True):
    """A game or round of a tie-break; null where there is no such number.

    `score` is the opponent's score or rating that counts, `value` what one game adds. `status` is
    `counts`, `cut` or `left out`.
    """

    round: int | None
    opponent: int | str | None
    kind: str
    games: float
    points: float
    score: float | None
    value: float | None
    status: str


class TieBreakMessage(msgspec.Struct, frozen=True):
    """How a tie-break of a player came about."""

    player: int | str
    name: str
    total: float | None
    parts: list[TieBreakPartMessage]


class PerformanceMessage(msgspec.Struct, frozen=True):
    """The answer of `equipoise performance --json`.

    `exists`: finite ratings predict every score. `relative`: no rating is known, the mean is 0.
    `regularised`: a prior was given, so `ppr` is not the equilibrium. `left_out` counts results
    that are not games, by reason; `skipped` those with `problems`, where these are skipped.
    """

    players: list[PerformanceRow]
    exists: bool
    components: int
    sweeps: list[SweepMessage]
    relative: bool
    regularised: bool
    held: list[int | str]
    confidence: float
    colour_advantage: float
    draw_parameter: float | None
    reasons: list[str]
    left_out: dict[str, int]
    notes: list[str]
    superiority: SuperiorityMessage | None = None
    details: list[TieBreakMessage] = []
    skipped: int = 0
    problems: list[ProblemMessage] = []

"""Messages of the strengths of players from rankings and choices."""

from __future__ import annotations

import msgspec

from equipoise.messages.histories import HistoryMessage


class StrengthRow(msgspec.Struct, frozen=True):
    """A player; null where there is no such number.

    `error` is the half-width at the requested confidence. `chosen` counts how often the player was
    placed before others, `expected` how often the ratings expect it. Ratings of different
    `component` cannot be compared.
    """

    player: int | str
    rating: float | None
    error: float | None
    matches: int
    chosen: float
    expected: float
    component: int | None


class StrengthsMessage(msgspec.Struct, frozen=True):
    """The answer of `equipoise strengths --json`."""

    players: list[StrengthRow]
    components: int
    log_likelihood: float
    residual: float
    confidence: float
    prior: float
    scale: float
    history: HistoryMessage

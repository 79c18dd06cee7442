"""Shape of what a command says of the history that it read."""

from __future__ import annotations

import msgspec

from equipoise.messages.errors import ProblemMessage


class HistoryMessage(msgspec.Struct, frozen=True):
    """What was read and what was left out.

    unrated : matches marked as not rated; filtered : matches outside what was asked for
    """

    matches: int
    participations: int
    players: int
    unrated: int
    filtered: int
    dropped_matches: list[str]
    dropped_rows: int
    problems: list[ProblemMessage]
    notes: list[str]

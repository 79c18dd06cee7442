"""Shape of what simulating a history answers."""

from __future__ import annotations

from typing import Any

import msgspec


class SimulateMessage(msgspec.Struct, frozen=True):
    """What was made, from which seed and parameters, and where it went."""

    kind: str
    seed: int
    parameters: dict[str, Any]
    matches: int
    participations: int
    players: int
    output: str | None
    skills: str | None
    seconds: float

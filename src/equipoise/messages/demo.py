"""Shapes of what the guided tour answers."""

from __future__ import annotations

import msgspec


class StepMessage(msgspec.Struct, frozen=True):
    """A step of the tour: what it is about, what was typed and what came of it."""

    words: str
    command: str
    output: str
    seconds: float


class DemoMessage(msgspec.Struct, frozen=True):
    """The answer of `equipoise demo --json`."""

    steps: list[StepMessage]
    folder: str | None
    seconds: float

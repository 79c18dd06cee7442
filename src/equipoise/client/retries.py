"""When a call is sent again, and after how long."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from time import time
from typing import Any

from equipoise.client.call import Call
from equipoise.errors import require

#: The service has not taken up the request.
_NOT_TAKEN_UP = frozenset({429})
#: The service was away, or busy; it may have taken up the request.
_AWAY = frozenset({502, 503, 504})


@dataclass(frozen=True, slots=True)
class Reply:
    """What the service answered, its content still as bytes."""

    status: int
    headers: Mapping[str, str]
    content: bytes


@dataclass(frozen=True, slots=True)
class Failure:
    """No answer came; `unseen`: the service cannot have seen the request."""

    reason: str
    unseen: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Retries:
    """How often and how fast a call is repeated that found the service away or busy.

    attempts : in all, 1 for none after the first
    first, longest : seconds before the second attempt, doubled for each after it up to `longest`;
        half of each is drawn by chance, so that many clients do not come back at once
    patience : seconds that a service may ask to wait with Retry-After; where it asks for more,
        the call fails at once
    """

    attempts: int = 6
    first: float = 0.1
    longest: float = 5.0
    patience: float = 60.0
    chance: random.Random = field(default_factory=random.Random, repr=False, compare=False)

    def __post_init__(self) -> None:
        require(self.attempts >= 1, "attempts", "at least 1", self.attempts)
        require(self.first >= 0, "first", "at least 0 seconds", self.first)
        require(self.longest >= 0, "longest", "at least 0 seconds", self.longest)
        require(self.patience >= 0, "patience", "at least 0 seconds", self.patience)

    def pause(self, call: Call[Any], attempt: int, outcome: Reply | Failure) -> float | None:
        """Return the seconds to wait before the call is sent again, None where it is not.

        attempt : how often it was sent, from 1
        """
        if attempt >= self.attempts or not _may_repeat(call, outcome):
            return None
        usual = min(self.longest, self.first * 2.0 ** (attempt - 1))
        usual *= self.chance.uniform(0.5, 1.0)
        asked = _retry_after(outcome)
        if asked is None:
            return usual
        return max(asked, usual) if asked <= self.patience else None


def _may_repeat(call: Call[Any], outcome: Reply | Failure) -> bool:
    if isinstance(outcome, Failure):
        return call.repeatable or outcome.unseen
    return outcome.status in _NOT_TAKEN_UP or (call.repeatable and outcome.status in _AWAY)


def _retry_after(outcome: Reply | Failure) -> float | None:
    """Return what the service asked for, in seconds; it may have said a number or a time."""
    if isinstance(outcome, Failure):
        return None
    said = outcome.headers.get("retry-after", "").strip()
    if said.isdecimal() and said.isascii():
        return float(said)
    try:
        return max(0.0, parsedate_to_datetime(said).timestamp() - time())
    except ValueError:
        return None

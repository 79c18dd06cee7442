"""Messages about the known ratings with which players of a pool begin."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from equipoise.messages.matches import Id

_Deviation = Annotated[float, Meta(gt=0)]


class InitialRating(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, gc=False
):
    """A player with a known rating; without a deviation, the player has that of newcomers."""

    player: Id
    rating: float
    deviation: _Deviation | None = None


class InitialMapping(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Two ratings of another scale, and the same two on the scale of the pool.

    All other ratings are on the straight line through them; deviations are multiplied by its slope.
    """

    there: tuple[float, float]
    here: tuple[float, float]


class InitialRequest(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, kw_only=True
):
    """The ratings with which players of a pool begin: a list, or those of another pool.

    ratings : each player once; an empty list takes earlier known ratings back
    pool : instead of `ratings`: a pool of the same service, whose current ratings are copied
    mapping : how ratings of another scale correspond to those of this pool; without it they are
        taken as they are. A pool of another scale needs it
    reason : kept in the log
    """

    ratings: list[InitialRating] | None = None
    pool: str | None = None
    mapping: InitialMapping | None = None
    reason: str = ""


class InitialMessage(msgspec.Struct, frozen=True):
    """The known ratings of a pool in short.

    seq : number of the log record; null if the pool has none
    players : how many players began with a known rating
    received : ISO 8601
    source, mapping : the pool that they were copied from, and the mapping that was used; null for
        none
    """

    pool: str
    seq: int | None
    players: int
    received: str | None = None
    source: str | None = None
    mapping: InitialMapping | None = None
    reason: str = ""


class InitialPage(msgspec.Struct, frozen=True):
    """Known ratings of a pool on its own scale, by player; `next` is the cursor of the next page.

    summary : as after they were recorded
    """

    summary: InitialMessage
    ratings: list[InitialRating]
    next: str | None

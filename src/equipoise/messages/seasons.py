"""Messages about seasons: how one ends, what the next one begins with, and the past ones."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import UNSET, Meta, UnsetType

from equipoise.messages.matches import PlayerDifference
from equipoise.messages.pools import LatePolicy, PoolTimes

#: A "hard" reset forgets all ratings; a "soft" one moves them towards a centre.
Reset: TypeAlias = Literal["hard", "soft"]
#: The centre of a soft reset: the mean rating of the season, or that of a new player.
Centre: TypeAlias = Literal["mean", "initial"]
#: Whether players who are disqualified at the end remain disqualified, or return.
Disqualified: TypeAlias = Literal["stay", "return"]


class SeasonSettings(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, kw_only=True
):
    """Settings that change for the new season; the fields are those of `PoolRequest`."""

    system: str | UnsetType = UNSET
    parameters: dict[str, Any] | UnsetType = UNSET
    statistics: dict[str, float] | UnsetType = UNSET
    times: PoolTimes | UnsetType = UNSET
    late: LatePolicy | UnsetType = UNSET
    public: bool | UnsetType = UNSET
    display_deviations: float | UnsetType = UNSET
    display_floor: float | UnsetType | None = UNSET
    display_decay_per_day: float | UnsetType = UNSET
    display_decay_after_days: float | UnsetType = UNSET
    placement_matches: int | UnsetType = UNSET
    inactive_days: float | UnsetType | None = UNSET


class SeasonRequest(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, kw_only=True
):
    """The end of a season. Repeating the request changes nothing and returns the same answer.

    season : name of the one that ends; its archive is the pool POOL.SEASON
    reset : "soft" moves ratings to centre + keep x (rating - centre) and widens deviations to
        sqrt(deviation^2 + widen^2), at most that of a new player; "hard" forgets them
    keep : from 0 to 1
    widen : null is half the deviation of a new player
    towards : centre of a soft reset
    disqualified : whether players who are disqualified at the end "stay" so, or "return"
    settings : of the new season, if they differ
    """

    season: Annotated[
        str, Meta(min_length=1, max_length=40, pattern="^[a-z0-9][a-z0-9_-]*$", examples=["2025-1"])
    ]
    reset: Reset = "soft"
    keep: Annotated[float, Meta(ge=0, le=1)] = 0.5
    widen: Annotated[float, Meta(ge=0, le=1e9)] | None = None
    towards: Centre = "mean"
    disqualified: Disqualified = "stay"
    settings: SeasonSettings = SeasonSettings()


class SeasonMessage(msgspec.Struct, frozen=True):
    """A season that has ended, and what the next one began with.

    pool : of the next season; archive : the pool of the season that ended
    players, matches : numbers in the season that ended
    centre : of a soft reset; null for a hard one, or if there were no ratings
    seeded : number of players with whom the next season began
    """

    season: str
    pool: str
    archive: str
    ended: str
    players: int
    matches: int
    reset: str
    keep: float
    widen: float | None
    towards: str
    centre: float | None
    seeded: int


class SeasonList(msgspec.Struct, frozen=True):
    """Seasons of a pool that have ended, newest first."""

    seasons: list[SeasonMessage]


class SeasonPreview(msgspec.Struct, frozen=True, kw_only=True):
    """What ending a season would do. The season continues.

    players, matches : numbers in the season, which the pool `archive` would keep
    centre : as in SeasonMessage; widen : null for a hard reset, or where there are no deviations
    start, start_deviation : of a new player in the next season
    barred : players who would stay disqualified; webhooks : that would follow the pool's name
    sample : some of the players, evenly from the highest rating to the lowest, with their initial
        ratings in the next season; null for a hard reset
    """

    archive: str
    players: int
    matches: int
    reset: Reset
    keep: float
    widen: float | None
    towards: Centre
    centre: float | None
    start: float
    start_deviation: float | None
    barred: int
    webhooks: int
    sample: list[PlayerDifference]

"""Messages about pools: how one is created and changed, what it is now, how it was verified."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import UNSET, UnsetType

#: What happens to a late match, one older than the last match of the pool.
LatePolicy: TypeAlias = Literal["reject", "append", "replay"]
#: Whether the kernels of a pool are loaded. While they are compiled, posts are refused with 503.
KernelStatus: TypeAlias = Literal["ready", "compiling", "failed"]
#: How a pool writes times. A pool with "none" rates matches in the order in which they arrive.
PoolTimes: TypeAlias = Literal["seconds", "datetime", "none"]


class PoolRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a pool is made with.

    What decides how the system reads matches stays as it is until the season ends: `system`,
    `parameters`, `statistics`, and whether there are times. The rest can be changed.

    system, parameters : as in `equipoise rate --system NAME --set NAME=VALUE`
    statistics : weights that make a performance of statistics, as `--stat NAME=WEIGHT`
    times : how times are answered; both ways of writing them are read
    late : a match older than the last one is refused ("reject"), rated as if it took place at
        the time of the last one ("append"), or put in its place and the pool replayed ("replay")
    public : anybody may read without a key
    display_deviations : k of the rating shown, rating - k x deviation
    display_floor : the rating shown is never below it; null for none
    display_decay_per_day : by which the rating shown, never the rating itself, falls for every
        day that a player has been away longer than `display_decay_after_days`, counted up to the
        day of the pool's last match
    placement_matches : with fewer matches than these a player is provisional
    inactive_days : without a match for so many days before the pool's last one a player is
        inactive; null for never
    """

    system: str = "elo-mmr"
    parameters: dict[str, Any] = {}
    statistics: dict[str, float] = {}
    times: PoolTimes = "seconds"
    late: LatePolicy = "reject"
    public: bool = False
    display_deviations: float = 0.0
    display_floor: float | None = None
    display_decay_per_day: float = 0.0
    display_decay_after_days: float = 30.0
    placement_matches: int = 0
    inactive_days: float | None = None


class PoolChange(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Settings of a pool to change; the fields are those of PoolRequest.

    reason : kept in the log
    """

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
    reason: str = ""


class DeletedPool(msgspec.Struct, frozen=True):
    """A pool that was deleted; its rows are cleared away in the background.

    matches, players : how many it had
    """

    pool: str
    deleted: str
    matches: int
    players: int


class PoolMessage(msgspec.Struct, frozen=True):
    """A pool as it is set and as it stands.

    matches : in the log, void and unrated ones included; last_seq : of its last entry
    generation : counts replays that were swapped in
    pending : an amendment or a late match waits for its replay
    code : version of the code that rated
    closed : when its season ended, null while it goes on; a closed pool takes no matches
    notes : what to know about the system with these parameters, sentences
    archive_of, season : of a closed pool: the pool that it was, and the name of the season
    unused : what changes no rating in this pool: fields of posted matches, which are kept all the
        same, and settings that were given (`statistics`, and `parameters.NAME`)
    kernels : whether the service has the kernels of the system: "compiling" and "failed" pools
        take no posts for now; kernels_failure : why compiling failed the last time
    """

    pool: str
    system: str
    parameters: dict[str, Any]
    statistics: dict[str, float]
    times: str
    late: str
    public: bool
    display_deviations: float
    placement_matches: int
    inactive_days: float | None
    created: str
    players: int
    matches: int
    last_seq: int
    last_time: int | str | None
    generation: int
    pending: bool
    code: str
    closed: str | None = None
    archive_of: str | None = None
    season: str | None = None
    display_floor: float | None = None
    display_decay_per_day: float = 0.0
    display_decay_after_days: float = 30.0
    notes: list[str] = []
    unused: list[str] = []
    kernels: KernelStatus = "ready"
    kernels_failure: str | None = None


class PoolList(msgspec.Struct, frozen=True):
    """The pools that a key may read."""

    pools: list[PoolMessage]


class VerifyMessage(msgspec.Struct, frozen=True):
    """Whether a full replay of the log gives what is stored, bit for bit.

    differences : sentences, at most 20; `different` counts them all
    head : of the hash chain over the log, hexadecimal. An exported and imported pool has the same
    local_head : of the chain that also covers the keys that posted, for this database alone
    chained_from : the first record that was chained when it was recorded. An upgrade has chained
        those before it, and the chain does not say what they were before that
    """

    pool: str
    identical: bool
    matches: int
    players: int
    changes: int
    different: int
    differences: list[str]
    seconds: float
    head: str
    local_head: str
    chained_from: int


class AuditVerifyMessage(msgspec.Struct, frozen=True):
    """Whether the audit log leads to the head of its hash chain.

    head : hexadecimal; chained_from : the first row that was chained when it was written
    deleted_through : the last row that was deleted because of its age, 0 for none
    """

    identical: bool
    rows: int
    head: str
    chained_from: int
    deleted_through: int
    differences: list[str]


class VerifyList(msgspec.Struct, frozen=True):
    """The answer of `equipoise verify --json`: all pools that were verified, and the audit log."""

    identical: bool
    pools: list[VerifyMessage]
    audit: AuditVerifyMessage

"""Messages about pools and their seasons: how they are created and changed, what they are now."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import UNSET, Meta, UnsetType

from equipoise.messages.matches import Id, PlayerDifference

#: What happens to a late match, one older than the last match of the pool.
LatePolicy: TypeAlias = Literal["reject", "append", "replay"]
#: Whether the kernels of a pool are loaded. While they are compiled, posts are refused with 503.
KernelStatus: TypeAlias = Literal["ready", "compiling", "failed"]
#: How a pool writes times. A pool with "none" rates matches in the order in which they arrive.
PoolTimes: TypeAlias = Literal["seconds", "datetime", "none"]
_Deviation = Annotated[float, Meta(gt=0)]
#: Ready-made tiers: titles of Codeforces, classes of US Chess, five around the initial rating.
TierPreset: TypeAlias = Literal["codeforces", "chess", "five"]


class Tier(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A range of ratings shown with a name.

    lower : bound of the range, which ends at that of the next tier; the first tier has no bound
    name, short : at most 40 characters; level : from 1 to 5, which pages draw
    """

    lower: float
    name: str
    short: str
    level: Annotated[int, Meta(ge=1, le=5)]


class PoolRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The settings of a pool.

    Settings that decide how the system reads matches cannot change until the season ends: `system`,
    `statistics`, whether there are times, and `parameters`, except those of the entry and level. A
    change of these or of `calibrate` rates the whole log again. All others can be changed.

    system, parameters : as in `equipoise rate --system NAME --set NAME=VALUE`
    statistics : weights that compute a performance from statistics, as in `--stat NAME=WEIGHT`
    times : how times are written in answers; posts may use both forms
    late : a match older than the last one is rejected ("reject"), rated at the time of the last
        one ("append"), or rated in its place by a replay of the pool ("replay")
    public : whether anybody can read the pool without a key
    display_deviations : k of the rating shown, rating - k x deviation
    display_floor : the rating shown is never below it; null for none
    display_decay_per_day : lowers the rating shown, never the rating itself, for every day that a
        player has been away beyond `display_decay_after_days`, counted up to the day of the pool's
        last match
    placement_matches : a player with fewer matches is provisional; if left out, 3 in a new pool
    inactive_days : a player without a match in this number of days before the pool's last one is
        inactive; null for never
    title : name for readers, at most 100 characters; empty: the pages show the name of the pool
    description : what the pool is about, at most 1,000 characters
    unit : what a match is called, for example "contest", at most 30 characters
    tiers : at most 30 by lower bound, or the name of ready-made ones; empty for none
    provisional_deviation : a player with a larger deviation is provisional too; null for none
    calibrate : whether predictions are corrected by a curve that the pool learns from its matches
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
    placement_matches: int | UnsetType = UNSET
    inactive_days: float | None = None
    title: str = ""
    description: str = ""
    unit: str = "match"
    tiers: list[Tier] | TierPreset = []
    provisional_deviation: float | None = None
    calibrate: bool = False


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
    title: str | UnsetType = UNSET
    description: str | UnsetType = UNSET
    unit: str | UnsetType = UNSET
    tiers: list[Tier] | TierPreset | UnsetType = UNSET
    provisional_deviation: float | UnsetType | None = UNSET
    calibrate: bool | UnsetType = UNSET


class PoolChange(SeasonSettings, frozen=True, kw_only=True):
    """Settings of a pool to change; the fields are those of PoolRequest.

    parameters : those that are left out stay
    reason : kept in the log
    """

    reason: str = ""


class DeletedPool(msgspec.Struct, frozen=True):
    """A pool that was deleted; its rows are deleted in the background.

    matches, players : their numbers
    """

    pool: str
    deleted: str
    matches: int
    players: int


class PoolEntry(msgspec.Struct, frozen=True):
    """Where newcomers enter a pool, and the level that it holds.

    rating : with which a newcomer enters now
    weight : what is known of newcomers, in first matches that say all about a player; null where
        the entry is fixed
    level, target : the level of the pool, a moving mean of the ratings of experienced players, and
        the level to hold; null where none is held
    """

    rating: float
    weight: float | None
    level: float | None
    target: float | None


class PoolMessage(msgspec.Struct, frozen=True):
    """The settings of a pool, its numbers and its status.

    matches : in the log, void and unrated ones included; last_seq : number of the last record
    generation : number of replays that have replaced the ratings
    pending : whether an amendment or a late match waits for a replay
    code : version of the code that rated
    closed : when its season ended, null before that; a closed pool accepts no matches
    notes : sentences about the system with these parameters
    archive_of, season : of a closed pool: its earlier name, and the name of the season
    unused : fields of posted matches and given settings (`statistics` and `parameters.NAME`) that
        change no rating in this pool
    known_ratings : number of players who began with a known rating
    profiles : number of the last log record of players' profiles; 0 for none
    tiers : as they apply, also if the settings name ready-made ones
    kernels : whether the kernels of the system are loaded; while they are "compiling" or "failed",
        posts get 503; kernels_failure : why compiling failed last
    entry : null where every newcomer enters at the initial rating and no level is held
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
    title: str = ""
    description: str = ""
    unused: list[str] = []
    kernels: KernelStatus = "ready"
    kernels_failure: str | None = None
    entry: PoolEntry | None = None
    known_ratings: int = 0
    profiles: int = 0
    unit: str = "match"
    tiers: list[Tier] = []
    provisional_deviation: float | None = None
    calibrate: bool = False


class PoolList(msgspec.Struct, frozen=True):
    """The pools that a key may read."""

    pools: list[PoolMessage]


class VerifyMessage(msgspec.Struct, frozen=True):
    """Whether a complete replay of the log gives the stored values, bit for bit.

    differences : sentences, at most 20; `different` counts them all
    head : of the hash chain over the log, hexadecimal. An exported and imported pool has the same
    local_head : of the chain that also covers the keys that posted, for this database alone
    chained_from : the first record that was chained when it was recorded. An upgrade chained the
        earlier ones, and the chain does not show whether they were changed before that
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


class ProfileRequest(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, gc=False
):
    """What pages show of a player beside the id; without name, link and attributes nothing.

    name : at most 200 characters; link : https, at most 500 characters; attributes : at most 10
    """

    player: Id
    name: str | None = None
    link: str | None = None
    attributes: dict[str, str | int | float | bool | None] = {}


class ProfilesRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Profiles of players, from 1 to 10,000, each player once; each replaces an earlier one.

    reason : kept in the log
    """

    profiles: list[ProfileRequest]
    reason: str = ""


class ProfilesMessage(msgspec.Struct, frozen=True):
    """What a request for profiles changed.

    seq : number of the log record, null if nothing changed; changed : number of profiles
    """

    pool: str
    seq: int | None
    changed: int


class InitialPage(msgspec.Struct, frozen=True):
    """Known ratings of a pool on its own scale, by player; `next` is the cursor of the next page.

    summary : as after they were recorded
    """

    summary: InitialMessage
    ratings: list[InitialRating]
    next: str | None


#: A "hard" reset forgets all ratings; a "soft" one moves them towards a centre.
Reset: TypeAlias = Literal["hard", "soft"]
#: The centre of a soft reset: the mean rating of the season, or that of a new player.
Centre: TypeAlias = Literal["mean", "initial"]
#: Whether players who are disqualified at the end remain disqualified, or return.
Disqualified: TypeAlias = Literal["stay", "return"]


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

"""Messages for those who run the service: keys, webhooks, logs, backups, checks."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import Meta

from equipoise.messages.histories import HistoryMessage
from equipoise.messages.matches import Moment

#: A reader reads, a writer also posts matches, an admin also amends and creates pools and keys.
Role: TypeAlias = Literal["reader", "writer", "admin"]


#: Characters of a token. Somebody with the database could guess shorter ones.
SHORTEST_TOKEN, LONGEST_TOKEN = 20, 200
Token: TypeAlias = Annotated[
    str,
    Meta(
        min_length=SHORTEST_TOKEN,
        max_length=LONGEST_TOKEN,
        description="Random text. If the request is repeated with it, the response is the same.",
    ),
]
#: How long the previous secret remains valid after a rotation unless the request says otherwise,
#: and at most, seconds.
KEEP_SECONDS, MOST_KEEP_SECONDS = 86_400, 90 * 86_400


class KeyRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A key to create.

    name : description for users; pool : absent or null for all pools
    expires : seconds since 1970 or ISO 8601; absent or null: never
    token : random text; a repeated request with the same token returns the same key and secret
    """

    name: str
    role: Role
    pool: str | None = None
    expires: Moment | None = None
    token: Token | None = None


class RotationRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A rotation of a key.

    keep_seconds : how long the previous secret remains valid
    token : random text; a repeated request with the same token returns the same secret
    """

    keep_seconds: Annotated[int, Meta(ge=0, le=MOST_KEEP_SECONDS)] = KEEP_SECONDS
    token: Token | None = None


class KeyMessage(msgspec.Struct, frozen=True):
    """A key without its secret; `pool` null is for all pools.

    previous_until : end of the validity of the previous secret; null if there is none
    """

    key: int
    name: str
    role: str
    pool: str | None
    created: str
    expires: str | None
    revoked: str | None
    last_used: str | None
    previous_until: str | None = None


class NewKeyMessage(msgspec.Struct, frozen=True):
    """A key that was just created or rotated.

    secret : goes into `Authorization: Bearer`; the service stores only a hash of it
    """

    key: KeyMessage
    secret: str


class KeyList(msgspec.Struct, frozen=True):
    """All keys, newest first."""

    keys: list[KeyMessage]


class AuditEntry(msgspec.Struct, frozen=True):
    """An action of an administrator.

    time : ISO 8601; key : number of the key, null for the command line
    what : "pool.created", "pool.changed", "pool.deleted", "pool.rerate", "key.created",
        "key.rotated", "key.revoked", "amendment.recorded", "initial_ratings.set", "profiles.set",
        "player.erased", "season.ended", "webhook.created", "webhook.disabled", "webhook.enabled",
        "webhook.deleted"
    pool : its name at the time, null for what concerns no pool
    subject : the match, player, key, season or webhook that it is about
    """

    entry: int
    time: str
    key: int | None
    what: str
    pool: str | None
    subject: str | None
    detail: dict[str, Any]


class AuditPage(msgspec.Struct, frozen=True):
    """A page of the audit log, newest first; `next` is the cursor of the next page."""

    entries: list[AuditEntry]
    next: str | None


#: "match.rated": also for a match that waited for a replay. "ratings.corrected": a replay changed
#: ratings, after amendments or because it was requested.
EventKind: TypeAlias = Literal["match.rated", "ratings.corrected", "season.ended"]


class WebhookRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """An address that receives the events of a pool from now on.

    events : kinds of events that it receives; empty: all
    """

    url: Annotated[str, Meta(min_length=1, max_length=2000, examples=["https://example.org/hook"])]
    events: list[EventKind] = []


class WebhookMessage(msgspec.Struct, frozen=True):
    """A webhook, and the state of its deliveries.

    disabled : when it was disabled; disabled_because : why the service disabled it, null if an
        administrator did
    waiting : number of events of all kinds that it has not received yet
    failures : number of failures since the last delivery, the first at `failing_since`
    failure : why the last attempt failed; next_attempt : earliest time of the next attempt
    """

    webhook: int
    url: str
    events: list[str]
    created: str
    disabled: str | None
    waiting: int
    last_delivery: str | None
    failures: int
    failure: str | None
    next_attempt: str | None
    disabled_because: str | None = None
    failing_since: str | None = None


class NewWebhookMessage(msgspec.Struct, frozen=True):
    """A webhook that was just created; `secret` signs its messages and is shown once."""

    webhook: WebhookMessage
    secret: str


class WebhookList(msgspec.Struct, frozen=True):
    """The webhooks of a pool, newest first."""

    webhooks: list[WebhookMessage]


class WebhookTestMessage(msgspec.Struct, frozen=True):
    """The result of a test message; status : of the answer, null if there was none."""

    delivered: bool
    status: int | None
    failure: str | None
    seconds: float


class AmendmentLine(msgspec.Struct, frozen=True):
    """An amendment that a replay took into account."""

    seq: int
    kind: str
    match: str | None
    player: str | None


class CorrectedMessage(msgspec.Struct, frozen=True):
    """The data of "ratings.corrected": a replay that was swapped in.

    amendments : those that it took into account, at most 100; amended : number of all of them
    matches : number of replayed matches; changed : players whose rating changed, null if unknown
    """

    generation: int
    amended: int
    amendments: list[AmendmentLine]
    matches: int | None
    changed: int | None


class EventMessage(msgspec.Struct, frozen=True):
    """An event as it is sent to a webhook.

    type : an EventKind or "webhook.test"
    timestamp : when it happened; pool : current name of the pool
    data : MatchMessage, CorrectedMessage or SeasonMessage
    """

    type: str
    timestamp: str
    pool: str
    data: Any


LogKind: TypeAlias = Literal[
    "match",
    "void",
    "restore",
    "correct",
    "describe",
    "disqualify",
    "reinstate",
    "rename",
    "settings",
    "erase",
    "initial",
    "profiles",
]

#: Version of the format; a reader refuses later ones. Version 2 added changes of settings and
#: disqualifications from one match, version 3 the hash chain and erasures, version 4 known ratings,
#: version 5 effects of disqualifications, version 6 descriptions, profiles and
#: renamed players. A log is
#: written as the earliest version that has its records, so that earlier programs can read it.
LOG_VERSION = 6
WITHOUT_DESCRIPTIONS = 5
WITHOUT_EFFECTS = 4
WITHOUT_KNOWN_RATINGS = 3
OLDEST_LOG_VERSION = 1


class LogHead(msgspec.Struct, frozen=True, omit_defaults=True):
    """The first line: the pool, its first settings, and the number of records that follow.

    settings : the PoolRequest that created the pool, byte for byte
    seed : packed state with which the season began, absent if it began without players
    head : of the hash chain over the records, hexadecimal; absent before version 3
    """

    equipoise_log: int
    pool: str
    settings: msgspec.Raw
    entries: int
    seed: bytes | None = None
    head: str | None = None


class LogLine(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """A record of the log.

    content : of a match or correction, the posted content without its time; of changed settings,
        the values after and before; of known ratings, the ratings; of other records, the reason,
        and the effect of a disqualification
    time : as it was posted, absent if there was none; of a disqualification, its beginning
    received : ISO 8601
    key : number of the key that posted it
    counts : the time at which it counts, absent if it is `time` or there are no times
    salt : random bytes for the hash chain; leaf : of a rewritten record, its first leaf
    """

    seq: int
    kind: LogKind
    received: str
    content: msgspec.Raw
    match: str | None = None
    player: str | None = None
    time: Moment | None = None
    key: int | None = None
    counts: Moment | None = None
    salt: bytes | None = None
    leaf: bytes | None = None


class ExportMessage(msgspec.Struct, frozen=True):
    """What an export wrote.

    count : number of records of the log, of matches (a log as a table, changes) or of players
        (ratings), as `counted` says
    """

    pool: str
    what: Literal["log", "ratings", "changes"]
    file: str
    format: Literal["csv", "parquet", "ndjson"]
    count: int
    counted: Literal["records", "matches", "players"]
    bytes: int
    seconds: float


class FailedImport(msgspec.Struct, frozen=True):
    """A file that could not be imported into its pool, or not completely, and why."""

    pool: str
    file: str
    error: str


class ImportMessage(msgspec.Struct, frozen=True):
    """What an import added to a pool.

    matches, amendments : recorded now; known_matches, known_amendments : recorded before
    pending : the ratings wait for a replay by another process
    head : of the hash chain over the pool's log, hexadecimal; same_head : whether the imported
        log gives the same head, null if it gives none
    history : what was read of a history, null for a log
    known_ratings : number of players of the pool who began with a known rating
    system : rating system of the pool
    """

    pool: str
    created: bool
    matches: int
    known_matches: int
    amendments: int
    known_amendments: int
    last_seq: int
    pending: bool
    history: HistoryMessage | None
    seconds: float
    head: str
    same_head: bool | None
    known_ratings: int = 0
    system: str = ""


class BackupMessage(msgspec.Struct, frozen=True):
    """A backup that was made.

    file : its path; bytes : its size
    removed : older backups that were deleted
    """

    file: str
    bytes: int
    removed: list[str]
    seconds: float


class RestoreMessage(msgspec.Struct, frozen=True):
    """A backup that was restored.

    database : its address, without a password
    schema : the version of its schema before the upgrade to the current one
    verified : whether the stored ratings of all pools were compared with their logs
    """

    database: str
    schema: str
    pools: int
    matches: int
    verified: bool
    seconds: float


class CheckMessage(msgspec.Struct, frozen=True):
    """One check of a database.

    status : "ok"; "failed"; "skipped" if it is not possible
    detail : what was found
    """

    check: str
    status: str
    detail: str


class CheckList(msgspec.Struct, frozen=True):
    """All checks of a database; ok : whether none of them failed."""

    ok: bool
    checks: list[CheckMessage]


class ErasedPool(msgspec.Struct, frozen=True):
    """What the erasure of a player's name rewrote in one pool.

    seq : number of its log record; null in a preview
    matches, amendments : log records with the name: matches and corrections, and other amendments
    texts : titles, links and attributes of matches with the name
    ratings, changes : rows of the tables, including those of replays that are not deleted yet
    checkpoints, differences : of replays
    seed : whether the initial ratings of the season contain the name
    """

    pool: str
    seq: int | None
    matches: int
    amendments: int
    ratings: int
    changes: int
    checkpoints: int
    differences: int
    seed: bool
    texts: int = 0


class ErasureMessage(msgspec.Struct, frozen=True):
    """What the erasure of a player's name rewrote.

    player : the pseudonym in place of the name; null in a preview
    audit : rows of the audit log
    remaining : number of texts with the name that stay: ids of matches, roles, sides
    """

    player: str | None
    pools: list[ErasedPool]
    audit: int
    remaining: int

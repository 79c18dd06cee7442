"""Messages of the export and import of a log: a head, then one line for each record."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from equipoise.messages.histories import HistoryMessage
from equipoise.messages.matches import Moment

LogKind: TypeAlias = Literal[
    "match",
    "void",
    "restore",
    "correct",
    "disqualify",
    "reinstate",
    "settings",
    "erase",
    "initial",
]

#: Version of the format; a reader refuses later ones. Version 2 added changes of settings and
#: disqualifications from one match, version 3 the hash chain and erasures, version 4 known ratings,
#: version 5 effects of disqualifications. A log is written as the earliest version that has its
#: records, so that earlier programs can read it.
LOG_VERSION = 5
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


class ImportList(msgspec.Struct, frozen=True):
    """The answer of `equipoise db import --each --json`: what each file added, and which failed."""

    imported: list[ImportMessage]
    failed: list[FailedImport]

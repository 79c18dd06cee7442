"""Messages of the export and import of a log: a head, then one line for each record."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from equipoise.messages.histories import HistoryMessage
from equipoise.messages.matches import Moment
from equipoise.messages.pools import PoolRequest

LogKind: TypeAlias = Literal[
    "match", "void", "restore", "correct", "disqualify", "reinstate", "settings", "erase"
]

#: Version of the format; a reader refuses later ones. Version 2 added changes of settings and
#: disqualifications from one match, version 3 erasures.
LOG_VERSION = 3
OLDEST_LOG_VERSION = 1


class LogHead(msgspec.Struct, frozen=True, omit_defaults=True):
    """The first line: the pool, its first settings, and the number of records that follow.

    seed : packed state with which the season began, absent if it began without players
    """

    equipoise_log: int
    pool: str
    settings: PoolRequest
    entries: int
    seed: bytes | None = None


class LogLine(msgspec.Struct, frozen=True, omit_defaults=True):
    """A record of the log.

    content : of a match or correction, the posted content without its time; of changed settings,
        the values after and before; of other records, the reason
    time : as it was posted, absent if there was none; of a disqualification, its beginning
    received : ISO 8601
    key : number of the key that posted it
    """

    seq: int
    kind: LogKind
    received: str
    content: msgspec.Raw
    match: str | None = None
    player: str | None = None
    time: Moment | None = None
    key: int | None = None


class ImportMessage(msgspec.Struct, frozen=True):
    """What an import added to a pool.

    matches, amendments : recorded now; known_matches, known_amendments : recorded before
    pending : the ratings wait for a replay, which another process does
    history : what was read of a history, null for a log
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

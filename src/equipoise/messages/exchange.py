"""Shapes of a pool's log as a file: a head, and then a line an entry."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from equipoise.messages.histories import HistoryMessage
from equipoise.messages.matches import Moment
from equipoise.messages.pools import PoolRequest

LogKind: TypeAlias = Literal[
    "match", "void", "restore", "correct", "disqualify", "reinstate", "settings"
]

#: Version of the shape; a reader refuses versions it does not know. Version 2 knows changed
#: settings, and disqualifications from one match.
LOG_VERSION = 2
OLDEST_LOG_VERSION = 1


class LogHead(msgspec.Struct, frozen=True, omit_defaults=True):
    """The first line: which pool this is, how it was set at first, and how many entries follow.

    seed : packed state with which a season began, absent where it began with nobody
    """

    equipoise_log: int
    pool: str
    settings: PoolRequest
    entries: int
    seed: bytes | None = None


class LogLine(msgspec.Struct, frozen=True, omit_defaults=True):
    """An entry of the log.

    content : of a match or correction what was posted but its time, of others the reason; of
        changed settings what was set, and what it was before
    time : as it was posted, absent where there was none; of a disqualification from when it holds
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
    """What an import brought into a pool.

    matches, amendments : recorded now; known_matches, known_amendments : there before
    pending : ratings await a replay, which somebody else is at
    history : how a history was read, null for a log
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

"""A pool's log as lines of JSON, losing nothing, and back.

Amendments of a log that is imported: recorded again, each once.

What a season began with, as part of the log that is exported and imported.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from sqlalchemy import Connection

from equipoise.errors import ConflictError, InvalidDataError, InvalidParameterError, Problem
from equipoise.messages.exchange import LOG_VERSION, OLDEST_LOG_VERSION, LogHead, LogLine
from equipoise.messages.matches import DisqualifyRequest, MatchRequest, Moment, ReasonRequest
from equipoise.messages.pools import PoolRequest
from equipoise.pools.amending import correct_match, disqualify, reinstate, restore_match, void_match
from equipoise.pools.pool.pools import iso, rules_of
from equipoise.pools.pool.settings import SettingsContent, content_of, import_settings
from equipoise.pools.posting.posted_matches import PoolRules, id_text, moment
from equipoise.pools.seasons import plant_ratings
from equipoise.rating.pool_state import PoolState
from equipoise.store import log, pools
from equipoise.store.connection import Store
from equipoise.store.log import LogRecord
from equipoise.store.pools import PoolRecord, Seed, change_pool, get_pool

_encoder = msgspec.json.Encoder()
_heads = msgspec.json.Decoder(LogHead)
_lines = msgspec.json.Decoder(LogLine)
_matches = msgspec.json.Decoder(MatchRequest)
_reasons = msgspec.json.Decoder(ReasonRequest)

#: What the head of a log begins with, so that no other lines of JSON are taken for one.
_MARK = b'{"equipoise_log":'


def head_line(pool: PoolRecord, settings: PoolRequest, seed: bytes | None) -> bytes:
    """Return the first line of a pool's log.

    settings : with which it was made; seed : what its season began with
    """
    head = LogHead(LOG_VERSION, pool.name, settings, pool.last_seq, seed)
    return _encoder.encode(head) + b"\n"


def entry_line(entry: LogRecord) -> bytes:
    """Return the line of an entry."""
    line = LogLine(
        seq=entry.seq,
        kind=entry.kind,
        received=iso(entry.received),
        content=msgspec.Raw(entry.content.encode()),
        match=entry.match,
        player=entry.player,
        time=None if entry.posted_time is None else _moment(entry.posted_time),
        key=entry.key,
    )
    return _encoder.encode(line) + b"\n"


def is_log(path: Path) -> bool:
    """Return whether a file is a pool's log."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(_MARK)) == _MARK


def read_head(path: Path) -> LogHead:
    """Return the head of a log. Raises : InvalidDataError."""
    with path.open("rb") as file:
        try:
            head = _heads.decode(file.readline())
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise _broken(path, 1, "must be the head of a pool's log", str(error)) from error
    if not OLDEST_LOG_VERSION <= head.equipoise_log <= LOG_VERSION:
        rule = (
            f"must be from {OLDEST_LOG_VERSION} to {LOG_VERSION}, the versions of logs that this "
            "version of equipoise reads"
        )
        raise _broken(path, 1, rule, str(head.equipoise_log), "equipoise_log")
    return head


def check_log(path: Path, head: LogHead) -> None:
    """Read a log to its end, so that nothing is recorded of one that is damaged or cut short.

    Raises : InvalidDataError
    """
    count = 0
    for number, line in log_entries(path):
        count += 1
        try:
            _check_content(line)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise _broken(
                path, number, "must be a valid record of this kind", str(error)
            ) from error
        if line.seq != count:
            rule = f"must be {count}: records are numbered consecutively"
            raise _broken(path, number, rule, str(line.seq), "seq")
    if count != head.entries:
        rule = f"must have {head.entries} records, as its first line says"
        raise _broken(path, None, rule, str(count))


def _check_content(line: LogLine) -> None:
    """Read what a line says. Raises : msgspec.MsgspecError."""
    if line.kind in ("match", "correct"):
        match_of(line)
    elif line.kind == "settings":
        content_of(line.content)
    else:
        reason_of(line)


def match_of(line: LogLine) -> MatchRequest:
    """Return what a match or a correction says. Raises : msgspec.MsgspecError."""
    found = _matches.decode(line.content)
    return msgspec.structs.replace(found, time=line.time)


def reason_of(line: LogLine) -> str:
    """Return why something was amended. Raises : msgspec.MsgspecError."""
    return _reasons.decode(line.content).reason


def log_entries(path: Path) -> Iterator[tuple[int, LogLine]]:
    """Give every entry of a log with the number of its line. Raises : InvalidDataError."""
    with path.open("rb") as file:
        file.readline()
        for number, text in enumerate(file, start=2):
            try:
                line = _lines.decode(text)
                moment(line.received, "received")
            except (msgspec.MsgspecError, UnicodeDecodeError, InvalidParameterError) as error:
                raise _broken(path, number, "must be a log record", str(error)) from error
            yield number, line


def _moment(time: int) -> Moment:
    """Return microseconds since 1970 so that reading them gives the same."""
    return iso(time) if time % 1_000_000 else time // 1_000_000


def _broken(path: Path, line: int | None, rule: str, got: str, field: str = "") -> InvalidDataError:
    return InvalidDataError([Problem(str(path), line, field, rule, got)])


class LoggedAmendments:
    """The amendments that a pool has, and those of a log that join them."""

    def __init__(self, store: Store, pool: str) -> None:
        self._store, self._pool = store, pool
        with store.read() as connection:
            entries = log.amendments(connection, get_pool(connection, pool).id)
        self._known = {_identity(entry) for entry in entries}

    def record(self, line: LogLine) -> bool:
        """Record an amendment; return False for one that is there already.

        Raises : EquipoiseError where the pool refuses it
        """
        received = moment(line.received, "received")
        since = None if line.time is None else moment(line.time)
        is_correction = line.kind == "correct"
        is_change = line.kind == "settings"
        if is_correction:
            says = _same(match_of(line))
        else:
            says = _same_settings(content_of(line.content)) if is_change else reason_of(line)
        if (line.kind, line.match, line.player, says, since, received) in self._known:
            return False
        own: dict[str, Any] = {"key": None, "now": received}
        match, player = line.match or "", line.player or ""
        if is_correction:
            correct_match(self._store, self._pool, match, match_of(line), **own)
        elif is_change:
            import_settings(self._store, self._pool, content_of(line.content), received)
        elif line.kind in ("void", "restore"):
            amend = void_match if line.kind == "void" else restore_match
            amend(self._store, self._pool, match, ReasonRequest(reason_of(line)), **own)
        else:
            amend_player = disqualify if line.kind == "disqualify" else reinstate
            request = DisqualifyRequest(since=line.time, reason=reason_of(line), match=line.match)
            amend_player(self._store, self._pool, player, request, **own)
        return True


def _identity(entry: LogRecord) -> tuple[Any, ...]:
    """Return what makes an amendment the same as another."""
    if entry.kind == "correct":
        says = _same(msgspec.json.decode(entry.content, type=MatchRequest))
    elif entry.kind == "settings":
        says = _same_settings(content_of(entry.content))
    else:
        says = msgspec.json.decode(entry.content, type=ReasonRequest).reason
    return entry.kind, entry.match, entry.player, says, entry.posted_time, entry.received


def _same_settings(content: SettingsContent) -> str:
    """Return what a change of settings says, in one way of writing it."""
    plain = [content.settings, content.reason]
    return msgspec.json.encode(plain, order="deterministic").decode()


def _same(request: MatchRequest) -> str:
    """Return what a match says but its time, in one way of writing it."""
    plain = msgspec.structs.replace(request, match=id_text(request.match), time=None)
    return msgspec.json.encode(plain, order="deterministic").decode()


#: Number of the archive of a season that came from elsewhere: no pool has it.
_ELSEWHERE = 0


def seed_of(connection: Connection, pool: PoolRecord) -> bytes | None:
    """Return the packed state that a pool began with, None where nobody was known."""
    return None if pool.follows is None else pools.content_of(connection, pool.id)


def plant_seed(store: Store, pool: str, content: bytes | None) -> None:
    """Let a pool begin with the state of a log, as it does already or as it is still empty.

    Raises : ConflictError where it began with another; InvalidDataError
    """
    with store.write() as connection:
        record = get_pool(connection, pool, lock=True)
        if seed_of(connection, record) == content:
            return
        if content is None or record.last_seq or record.follows is not None:
            raise ConflictError(
                f"pool {pool!r} started with other ratings than the pool of the log"
            )
        rules = rules_of(record.settings)
        state = _state(content, rules)
        players = plant_ratings(connection, record.id, record.generation, rules, state)
        pools.add_seed(connection, record.id, Seed(_ELSEWHERE, "{}", None, players), content)
        change_pool(connection, record.id, players=players, follows=_ELSEWHERE)


def _state(content: bytes, rules: PoolRules) -> PoolState:
    """Return the state that is packed. Raises : InvalidDataError."""
    try:
        found = PoolState.from_bytes(zlib.decompress(content), "the seed of the log")
    except zlib.error as error:
        raise InvalidDataError([], f"the seed of the log is damaged: {error}") from error
    if found.system != rules.system:
        raise InvalidDataError([], "the seed of the log is of another system than the pool's")
    return found

"""A pool's log as lines of JSON that lose nothing, and back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
from sqlalchemy import Connection

from equipoise.errors import InvalidDataError, InvalidParameterError, Problem
from equipoise.messages.exchange import LOG_VERSION, OLDEST_LOG_VERSION, LogHead, LogLine
from equipoise.messages.matches import MatchRequest, Moment, ReasonRequest
from equipoise.messages.pools import PoolRequest
from equipoise.pools.pool.rules import iso, moment
from equipoise.pools.pool.settings import content_of
from equipoise.store import pools
from equipoise.store.log import LogRecord
from equipoise.store.pools import PoolRecord

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


def record_line(log_record: LogRecord) -> bytes:
    """Return the line of an record."""
    line = LogLine(
        seq=log_record.seq,
        kind=log_record.kind,
        received=iso(log_record.received),
        content=msgspec.Raw(log_record.content.encode()),
        match=log_record.match,
        player=log_record.player,
        time=None if log_record.posted_time is None else _moment(log_record.posted_time),
        key=log_record.key,
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
    for number, line in log_records(path):
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


def log_records(path: Path) -> Iterator[tuple[int, LogLine]]:
    """Give every record of a log with the number of its line. Raises : InvalidDataError."""
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


def seed_of(connection: Connection, pool: PoolRecord) -> bytes | None:
    """Return the packed state that a pool began with, None where nobody was known."""
    return None if pool.follows is None else pools.content_of(connection, pool.id)

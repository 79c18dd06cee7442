"""A pool's log as lines of JSON, and back, without loss.

The first line is the head: the settings of the pool at first, the number of records, and the seed
of its season. Each further line is one record, in the order of the log.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
from sqlalchemy import Connection

from equipoise.errors import InvalidDataError, InvalidParameterError, Problem
from equipoise.messages.matches import Moment
from equipoise.messages.pools import PoolRequest, ProfilesRequest
from equipoise.messages.upkeep import (
    LOG_VERSION,
    OLDEST_LOG_VERSION,
    WITHOUT_DESCRIPTIONS,
    WITHOUT_EFFECTS,
    WITHOUT_KNOWN_RATINGS,
    LogHead,
    LogLine,
)
from equipoise.pools import profiles
from equipoise.pools.contents import content_of
from equipoise.pools.pool.rules import iso, moment, stored_settings
from equipoise.pools.replay.chain_checks import Findings, LogWalk
from equipoise.store import pools
from equipoise.store.log import LoggedAs, LogRecord, Seal, extended
from equipoise.store.pools import PoolRecord, first_heads

_encoder = msgspec.json.Encoder()
_heads = msgspec.json.Decoder(LogHead)
_lines = msgspec.json.Decoder(LogLine)

#: The beginning of the head, by which a log is distinguished from other lines of JSON.
_MARK = b'{"equipoise_log":'


def head_line(pool: PoolRecord, seed: bytes | None, *, effects: bool, descriptions: bool) -> bytes:
    """Return the first line of a pool's log.

    seed : of its season, None for none; effects : whether a disqualification names its effect
    descriptions : whether there are descriptions of matches, profiles or renamed players
    """
    settings = msgspec.Raw(pool.first_settings.encode())
    version = WITHOUT_EFFECTS if pool.initial else WITHOUT_KNOWN_RATINGS
    version = WITHOUT_DESCRIPTIONS if effects else version
    version = LOG_VERSION if descriptions else version
    head = LogHead(version, pool.name, settings, pool.last_seq, seed, pool.head.hex())
    return _encoder.encode(head) + b"\n"


def record_line(record: LogRecord, seal: Seal) -> bytes:
    """Return the line of a record."""
    posted = record.posted_time
    line = LogLine(
        seq=record.seq,
        kind=record.kind,
        received=iso(record.received),
        content=msgspec.Raw(record.content.encode()),
        match=record.match,
        player=record.player,
        time=None if posted is None else _moment(posted),
        key=record.key,
        counts=None if record.time == (posted or 0) else _moment(record.time),
        salt=seal.salt,
        leaf=seal.leaf,
    )
    return _encoder.encode(line) + b"\n"


def logged_as(line: LogLine) -> LoggedAs:
    """Return what a line has of its record beside what was posted."""
    received = moment(line.received, "received")
    if line.salt is None:
        return LoggedAs(received)
    return LoggedAs(
        received=received,
        time=_posted(line) or 0 if line.counts is None else moment(line.counts, "counts"),
        content=bytes(line.content).decode(),
        seal=Seal(line.salt, line.leaf),
    )


def _posted(line: LogLine) -> int | None:
    return None if line.time is None else moment(line.time)


def record_of(line: LogLine, logged: LoggedAs) -> LogRecord:
    """Return a line as a record; logged : what `logged_as` returns for the line."""
    return LogRecord(
        seq=line.seq,
        kind=line.kind,
        match=line.match,
        player=line.player,
        content=bytes(line.content).decode(),
        posted_time=_posted(line),
        time=logged.time or 0,
        needs_replay=False,
        received=logged.received,
        key=None,
    )


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
    try:
        first_settings_of(head)
    except msgspec.MsgspecError as error:
        raise _broken(path, 1, "must be settings of a pool", str(error), "settings") from error
    return head


def first_settings_of(head: LogHead) -> PoolRequest:
    """Return the first settings of the pool of a log."""
    return stored_settings(bytes(head.settings))[0]


def check_log(path: Path, head: LogHead, time_fault: Callable[[int], str | None]) -> bool:
    """Read a log to its end, so that nothing is recorded of one that is damaged or cut short.

    Return whether it has known ratings.

    From version 3 on, its records must lead to the head of the hash chain that it gives, and
    rewritten records must be those that an erasure lists, as in `verify`.
    time_fault : returns the rule that the time of a match breaks, or None
    Raises : InvalidDataError
    """
    count, known_ratings, findings = 0, False, Findings()
    walk = LogWalk(first_heads(bytes(head.settings).decode(), "", 0, 0))
    for number, line, logged in log_records(path):
        count += 1
        known_ratings |= line.kind == "initial"
        try:
            content = content_of(line.kind, bytes(line.content).decode())
            if isinstance(content, ProfilesRequest):
                profiles.checked(content)
        except (msgspec.MsgspecError, UnicodeDecodeError, InvalidDataError) as error:
            raise _broken(
                path, number, "must be a valid record of this kind", str(error)
            ) from error
        if line.seq != count:
            rule = f"must be {count}: records are numbered consecutively"
            raise _broken(path, number, rule, str(line.seq), "seq")
        if line.kind in ("match", "correct") and line.time is not None:
            fault = time_fault(moment(line.time))
            if fault is not None:
                raise _broken(path, number, fault, str(line.time), "time")
        if head.head is not None or logged.seal is not None:
            record = record_of(line, logged)
            leaf = walk.leaf(record, logged.seal or Seal(b""), findings)
            walk.heads = extended(walk.heads, [record], [leaf])
    if count != head.entries:
        rule = f"must have {head.entries} records, as its first line says"
        raise _broken(path, None, rule, str(count))
    if head.head is not None and head.head != walk.heads.shared.hex():
        rule = f"must lead to the head that its first line gives, {head.head}: it was changed"
        raise _broken(path, None, rule, walk.heads.shared.hex(), "head")
    for seq in walk.falsified():
        # The first record is in the second line.
        rule = "must have the content that an erasure lists for it: it was changed"
        raise _broken(path, seq + 1, rule, f"record {seq}", "leaf")
    if findings.count:
        raise _broken(path, None, "must be a hash chain", findings.listed[0])
    return known_ratings


def log_records(path: Path) -> Iterator[tuple[int, LogLine, LoggedAs]]:
    """Give the records of a log with the numbers of their lines, and `logged_as` of them.

    Raises : InvalidDataError
    """
    with path.open("rb") as file:
        file.readline()
        for number, text in enumerate(file, start=2):
            try:
                line = _lines.decode(text)
                logged = logged_as(line)
            except (msgspec.MsgspecError, UnicodeDecodeError, InvalidParameterError) as error:
                raise _broken(path, number, "must be a log record", str(error)) from error
            yield number, line, logged


def _moment(time: int) -> Moment:
    """Return microseconds since 1970 in a form that is read back as the same time."""
    return iso(time) if time % 1_000_000 else time // 1_000_000


def _broken(path: Path, line: int | None, rule: str, got: str, field: str = "") -> InvalidDataError:
    return InvalidDataError([Problem(str(path), line, field, rule, got)])


def seed_of(connection: Connection, pool: PoolRecord) -> bytes | None:
    """Return the packed seed of a pool's season, None for none."""
    return None if pool.follows is None else pools.content_of(connection, pool.id)

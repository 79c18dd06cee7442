"""Profiles of players: set, imported, copied to the next season, and compared with the log.

A request is one record of the log, so it is recorded completely or not at all, and the hash chain,
export, backup and erasure have it. Profiles change no rating. The table follows from the records.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace
from sqlalchemy import Connection

from equipoise.errors import InvalidDataError, Problem
from equipoise.formats.players import PlayerRows
from equipoise.formats.sources import open_source
from equipoise.messages.pools import ProfileRequest, ProfilesMessage, ProfilesRequest
from equipoise.pools.contents import content_of
from equipoise.pools.pool.rules import check_reason, id_fault, id_text, text_faults
from equipoise.pools.records import Draft, append, record_change
from equipoise.pools.replay.chain_checks import Findings
from equipoise.store import log, profiles
from equipoise.store.connection import Store
from equipoise.store.log import LoggedAs, LogRecord
from equipoise.store.pools import PoolRecord, find_pool
from equipoise.store.profiles import ProfileRow

#: Profiles of one request, and attributes of one profile, at most.
MOST_PROFILES, MOST_ATTRIBUTES = 10_000, 10
#: Problems of a request that are listed.
_MOST_PROBLEMS = 100


def set_profiles(
    store: Store, pool: str, request: ProfilesRequest, *, key: int | None, now: int
) -> ProfilesMessage:
    """Set profiles of players, all or none; a profile without any text removes that of the player.

    Profiles that are there already are not recorded again.
    Raises : NotFoundError, ConflictError, InvalidDataError
    """
    content = checked(request)
    changed: list[ProfileRequest] = []

    def make(connection: Connection, record: PoolRecord) -> Draft | None:
        names = [str(profile.player) for profile in content.profiles]
        stored = profiles.profiles_of(connection, record.id, names)
        pairs = zip(content.profiles, map(stored.get, names), strict=True)
        changed[:] = [profile for profile, row in pairs if _row(profile) != row]
        kept = msgspec.structs.replace(content, profiles=changed)
        return _draft(record, kept, now) if changed else None

    after = record_change(store, pool, make, key=key, now=now, then=_then)
    return ProfilesMessage(pool, after.profiled if changed else None, len(changed))


def import_profiles(store: Store, pool: str, content: ProfilesRequest, logged: LoggedAs) -> None:
    """Record the profiles of an imported log. Raises : NotFoundError, ConflictError."""
    now = logged.received

    def make(_: Connection, record: PoolRecord) -> Draft:
        return _draft(record, content, now)

    record_change(store, pool, make, key=None, now=now, logged=logged, then=_then)


def checked(request: ProfilesRequest) -> ProfilesRequest:
    """Return a request with ids as text. Raises : InvalidDataError."""
    check_reason(request.reason)
    count = len(request.profiles)
    if not 0 < count <= MOST_PROFILES:
        rule = f"must be from 1 to {MOST_PROFILES:,}"
        raise InvalidDataError([Problem("", None, "profiles", rule, f"{count:,}")])
    problems: list[Problem] = []
    seen: set[str] = set()
    for at, profile in enumerate(request.profiles):
        player = id_text(profile.player)
        faults = list(text_faults(profile.name, profile.link, profile.attributes, MOST_ATTRIBUTES))
        repeated = "must not repeat a player" if player in seen else None
        faults += [("player", rule, player) for rule in (id_fault(player), repeated) if rule]
        seen.add(player)
        for field, rule, got in faults:
            named = "name" if field == "title" else field
            problems.append(Problem("", None, f"profiles[{at}].{named}", rule, str(got)[:200]))
    if problems:
        summary = f"{len(problems):,} problems in the profiles" if len(problems) > 1 else ""
        raise InvalidDataError(problems[:_MOST_PROBLEMS], summary)
    listed = [
        msgspec.structs.replace(profile, player=id_text(profile.player))
        for profile in request.profiles
    ]
    return msgspec.structs.replace(request, profiles=listed)


def read_profiles(path: str) -> list[ProfileRequest]:
    """Return the profiles in a table: `player`, `name`, `link`, and attributes in other columns.

    Raises : InvalidDataError, InvalidParameterError
    """
    table = open_source(path, None)
    if "player" not in table.frame.columns:
        got = ", ".join(table.frame.columns)
        rule = "must be a column of the table"
        raise InvalidDataError([Problem(table.name, None, "player", rule, got)])
    rows = PlayerRows(table, "the profiles")
    rows.check_once("must not repeat a player")
    rows.refuse()
    every = zip(rows.ids.to_list(), table.frame.iter_rows(named=True), strict=True)
    return [_of_row(id_text(player), row) for player, row in every]


def _of_row(player: str, row: Mapping[str, Any]) -> ProfileRequest:
    """Return the profile in a row of a table."""
    texts: dict[str, str] = {}
    attributes: dict[str, str | int | float | bool | None] = {}
    for name, value in row.items():
        if name == "player" or value in (None, "") or value != value:
            continue
        if name in ("name", "link"):
            texts[name] = str(value)
        else:
            attributes[name] = value if isinstance(value, str | int | float) else str(value)
    return ProfileRequest(player, texts.get("name"), texts.get("link"), attributes)


def set_file(store: Store, pool: str, path: str, reason: str, *, now: int) -> ProfilesMessage:
    """Set the profiles of a table as `read_profiles` does, as many in a record as it may have.

    All are checked before the first is set.
    Raises : NotFoundError, ConflictError, InvalidDataError, InvalidParameterError
    """
    every = read_profiles(path)
    starts = range(0, max(len(every), 1), MOST_PROFILES)
    requests = [ProfilesRequest(every[at : at + MOST_PROFILES], reason) for at in starts]
    for request in requests:
        checked(request)
    done = [set_profiles(store, pool, request, key=None, now=now) for request in requests]
    last = max((outcome.seq for outcome in done if outcome.seq is not None), default=None)
    return ProfilesMessage(pool, last, sum(outcome.changed for outcome in done))


def folded(text: str) -> str:
    """Return a text as searches compare it: without case and accents."""
    apart = unicodedata.normalize("NFKD", text.casefold())
    return "".join(character for character in apart if not unicodedata.combining(character))


def keep_profiles(
    connection: Connection, old: PoolRecord, new: PoolRecord, key: int | None, now: int
) -> None:
    """Copy the profiles of a season to the next one."""
    held: list[ProfileRequest] = []

    def write(pool: PoolRecord, some: Sequence[ProfileRequest]) -> PoolRecord:
        content = ProfilesRequest(list(some), f"copied from season {old.name}")
        draft = _draft(pool, content, now)
        return append(connection, pool, draft, key=key, now=now, then=_then)[0]

    for rows in profiles.all_profiles(connection, old.id) if old.profiled else ():
        held += [_request(row) for row in rows]
        while len(held) >= MOST_PROFILES:
            new, held = write(new, held[:MOST_PROFILES]), held[MOST_PROFILES:]
    if held:
        write(new, held)


def move_profile(
    connection: Connection, pool: PoolRecord, record: LogRecord, key: int | None, now: int
) -> PoolRecord:
    """Give the profile of a renamed player to the new id, unless that has one.

    Return the pool after that. record : of the rename
    """
    old, new = str(record.player), content_of("rename", record.content).to
    held = profiles.profiles_of(connection, pool.id, [old, new])
    if old not in held:
        return pool
    moved = [] if new in held else [replace(_request(held[old]), player=new)]
    content = ProfilesRequest([*moved, ProfileRequest(old)], "player renamed")
    return append(connection, pool, _draft(pool, content, now), key=key, now=now, then=_then)[0]


def project(connection: Connection, pool: PoolRecord) -> None:
    """Make the table of a pool again from its log."""
    profiles.remove(connection, pool.id)
    for content in _contents_of(connection, pool.id):
        _apply(connection, pool.id, content)


def names_in_log(connection: Connection, pool: PoolRecord, player: str) -> list[str]:
    """Return all names that the log of a pool has for a player."""
    contents = _contents_of(connection, pool.id) if pool.profiled else ()
    given = (profile for content in contents for profile in content.profiles)
    names = dict.fromkeys(profile.name for profile in given if profile.player == player)
    return [name for name in names if name is not None]


def compare_profiles(connection: Connection, pool: PoolRecord, findings: Findings) -> None:
    """Compare the profiles of a pool with its log."""
    numbers = [0, *log.numbers_of_kind(connection, pool.id, "profiles")]
    findings.check(
        pool.profiled == numbers[-1], "the last profiles are not the last ones in the log"
    )
    expected: dict[str, ProfileRow] = {}
    try:
        for content in _contents_of(connection, pool.id):
            for player, row in _rows(content).items():
                expected.pop(player, None)
                if row is not None:
                    expected[player] = row
    except msgspec.MsgspecError as error:
        findings.add(f"profiles in the log cannot be read: {error}")
    for rows in profiles.all_profiles(connection, pool.id):
        for row in rows:
            same = expected.pop(row.player, None) == row
            findings.check(same, f"player {row.player}: the profile is not that of the log")
    for player in expected:
        findings.add(f"player {player}: the profile in the log is missing")


def _contents_of(connection: Connection, pool: int) -> Iterator[ProfilesRequest]:
    for number in log.numbers_of_kind(connection, pool, "profiles"):
        record = log.record_at(connection, pool, number)
        if record is not None:
            yield content_of("profiles", record.content)


def _draft(pool: PoolRecord, content: ProfilesRequest, now: int) -> Draft:
    return Draft(
        kind="profiles",
        content=msgspec.json.encode(content, order="deterministic").decode(),
        time=now,
        columns={"profiled": pool.last_seq + 1},
        action="profiles.set",
        detail={"profiles": len(content.profiles), "reason": content.reason},
    )


def _then(connection: Connection, pool: PoolRecord, new: LogRecord) -> None:
    _apply(connection, pool.id, content_of("profiles", new.content))


def _apply(connection: Connection, pool: int, content: ProfilesRequest) -> None:
    """Write the profiles of a record into the table."""
    rows = _rows(content)
    profiles.put(connection, pool, [row for row in rows.values() if row is not None])
    gone = [player for player, row in rows.items() if row is None]
    if gone:
        profiles.remove(connection, pool, gone)


def _rows(content: ProfilesRequest) -> dict[str, ProfileRow | None]:
    """Return the profiles of a record as rows, by player; the last one of a player counts."""
    return {str(profile.player): _row(profile) for profile in content.profiles}


def _row(profile: ProfileRequest) -> ProfileRow | None:
    """Return a profile as its row, None if it has no text."""
    if profile.name is None and profile.link is None and not profile.attributes:
        return None
    name = profile.name or ""
    attributes = msgspec.json.encode(profile.attributes, order="deterministic").decode()
    return ProfileRow(str(profile.player), name, folded(name), profile.link, attributes)


def _request(row: ProfileRow) -> ProfileRequest:
    return ProfileRequest(
        row.player, row.name or None, row.link, attributes=msgspec.json.decode(row.attributes)
    )


def names_of(store: Store, pool: str, players: Sequence[str]) -> dict[str, str]:
    """Return the names of those players who have one, by id."""
    with store.read() as connection:
        record = find_pool(connection, pool)
        if record is None or not record.profiled:
            return {}
        rows = profiles.profiles_of(connection, record.id, players)
    return {player: row.name for player, row in rows.items() if row.name}

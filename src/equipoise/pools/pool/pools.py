"""Pools: created, listed, read and deleted, and the pages of such lists.

A cursor is the position of a row, made of numbers and text, as JSON in Base64. Programs send it
back unread.

The row in `pools` stays, without the name, so that nothing else ever gets the pool's number.
No progress is recorded: after a crash the next process deletes the rows that are left.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec
from msgspec import UNSET
from msgspec.structs import replace
from sqlalchemy import Connection

import equipoise
from equipoise.analysis.reading import idle_parameters
from equipoise.analysis.systems import plain_parameters
from equipoise.arrays import Floats
from equipoise.errors import ConflictError, InvalidParameterError, require
from equipoise.messages.pools import DeletedPool, PoolEntry, PoolMessage, PoolRequest
from equipoise.pools.pool.rules import (
    PoolRules,
    check_settings,
    decays,
    iso,
    rules_of,
    settings_json,
    written,
)
from equipoise.rating.base_system import System, advantage_notes
from equipoise.rating.newcomers import ENTRY, ENTRY_PARAMETERS
from equipoise.rating.registry import is_later_default, requirement_of
from equipoise.rating.system import Capabilities, RatingSystem
from equipoise.store import keys, pools, webhooks
from equipoise.store.bulk import is_name
from equipoise.store.connection import Store
from equipoise.store.keys import add_audit_row
from equipoise.store.pools import (
    START,
    PoolRecord,
    add_pool,
    all_pools,
    archives_of,
    change_pool,
    find_pool,
    get_pool,
    pool_after,
)

#: Maximum number of rows of a page.
MOST_ROWS = 1000

#: The largest number of a cursor. A database can add to it within 64 bits.
_LARGEST = 2**62

#: With this, `differing` begins the names of parameters.
_PARAMETER = "parameters."

_Position = TypeVar("_Position")


@contextmanager
def read_pool(store: Store, name: str) -> Iterator[tuple[Connection, PoolRecord, PoolRules]]:
    """Give a pool and its rules, and a transaction that reads them. Raises : NotFoundError."""
    with store.read() as connection:
        pool = get_pool(connection, name)
        yield connection, pool, rules_of(pool.settings)


def rules_of_pool(store: Store, name: str) -> PoolRules:
    """Return the rules of a pool. Raises : NotFoundError."""
    with read_pool(store, name) as (_, _, rules):
        return rules


def check_page(limit: int, cursor: str | None = None, around: object = None) -> None:
    """Check what is wanted of a page. Raises : InvalidParameterError.

    limit : its number of rows; around : what is to be in the middle, None without
    """
    require(1 <= limit <= MOST_ROWS, "limit", f"from 1 to {MOST_ROWS}", limit)
    if cursor is not None and around is not None:
        raise InvalidParameterError("around cannot be combined with cursor")


def encode_cursor(position: object) -> str:
    """Return a position, a number or a tuple of numbers and text, as a cursor."""
    return base64.urlsafe_b64encode(msgspec.json.encode(position)).rstrip(b"=").decode()


def decode_cursor(cursor: str | None, shape: type[_Position]) -> _Position | None:
    """Return the position of a cursor, None for no cursor. Raises : InvalidParameterError."""
    if cursor is None:
        return None
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        position = msgspec.json.decode(base64.b64decode(padded, b"-_", validate=True), type=shape)
        _check(position)
    except (binascii.Error, ValueError, msgspec.MsgspecError, RecursionError) as error:
        raise InvalidParameterError(
            "cursor must come from `next` or `previous` of an earlier answer"
        ) from error
    return position


def _check(position: object) -> None:
    """Check that a database accepts the values of a position. Raises : ValueError."""
    for value in position if isinstance(position, tuple) else (position,):
        if isinstance(value, int) and not -_LARGEST <= value <= _LARGEST:
            raise ValueError(value)
        if isinstance(value, str) and not is_name(value):
            raise ValueError(value)


def create_pool(
    store: Store,
    name: str,
    request: PoolRequest,
    now: int,
    *,
    key: int | None = None,
    first_settings: str | None = None,
) -> PoolMessage:
    """Create a pool. The same request again changes nothing and gets the same answer.

    A request without `placement_matches` is the same whatever number the existing pool has.

    key : number of the key that creates it
    first_settings : the request as an imported log has it
    Raises : InvalidDataError; ConflictError if a pool of this name has different settings
    """
    check_settings(name, request)
    with store.write() as connection:
        existing = find_pool(connection, name)
        rules = PoolRules(request) if existing is None else rules_of(existing.settings)
        if request.placement_matches is UNSET:
            request = replace(request, placement_matches=rules.placement_matches)
        new = existing is None
        if new and open_pool(connection, name, request, now, first_settings) is not None:
            add_audit_row(connection, "pool.created", now=now, key=key, pool=name, settings=request)
        found = get_pool(connection, name)
        check_same(name, rules_of(found.settings), rules_of(settings_json(request)))
        return message_of(found)


def check_same(name: str, existing: PoolRules, wanted: PoolRules) -> None:
    """Check that a pool has the settings wanted. Raises : ConflictError."""
    differences = differing(existing, wanted)
    if not differences:
        return
    fixed = [name for name, pair in differences.items() if is_fixed(name, pair)]
    advice = []
    if len(fixed) < len(differences):
        rest = "the others" if fixed else "them" if len(differences) > 1 else "it"
        advice.append(f"Use PATCH /v1/pools/{name} to change {rest}.")
    if fixed:
        advice.insert(
            0,
            f"{', '.join(fixed)} cannot be changed: use another name, or end the season with "
            f"other settings, POST /v1/pools/{name}/seasons.",
        )
    raise ConflictError(
        f"Pool {name!r} already exists with different settings: "
        f"{described_differences(differences)}. " + " ".join(advice)
    )


def differing(old: PoolRules, new: PoolRules) -> dict[str, tuple[Any, Any]]:
    """Return the settings that differ, with both values.

    Parameters are compared as the system has them: a default is the same as no value.
    """
    differences = {
        name: (getattr(old.settings, name), getattr(new.settings, name))
        for name in PoolRequest.__struct_fields__
        if name != "parameters" and getattr(old.settings, name) != getattr(new.settings, name)
    }
    if "system" not in differences and old.system != new.system:
        before, after = plain_parameters(old.system), plain_parameters(new.system)
        for name in sorted({*before, *after}):
            if before.get(name) != after.get(name):
                differences[f"{_PARAMETER}{name}"] = (before.get(name), after.get(name))
    return differences


def is_fixed(name: str, values: tuple[Any, Any]) -> bool:
    """Return whether a difference in a setting changes how the system rates matches.

    The parameters of the entry and level do not: a change of these, which may come during a season,
    waits for a replay of the whole log.
    """
    if name == "times":
        return "none" in values
    parameter = name.removeprefix(_PARAMETER)
    return name in ("system", "statistics") or (
        name.startswith(_PARAMETER) and parameter not in ENTRY_PARAMETERS
    )


def changed_settings(differences: Mapping[str, tuple[Any, Any]]) -> dict[str, Any]:
    """Return the new values of differing settings as the log has them."""
    new = {name: value for name, (_, value) in differences.items()}
    parameters = {
        name.removeprefix(_PARAMETER): new.pop(name)
        for name in differences
        if name.startswith(_PARAMETER)
    }
    return {**new, "parameters": parameters} if parameters else new


def described_differences(differences: Mapping[str, tuple[Any, Any]]) -> str:
    """Return the settings that differ, with both values, as a part of a sentence."""
    return "; ".join(
        f"{name} is {_written(old)}, you sent {_written(new)}"
        for name, (old, new) in differences.items()
    )


def _written(value: Any) -> str:
    return repr(value) if isinstance(value, str) else msgspec.json.encode(value).decode()


def open_pool(
    connection: Connection,
    name: str,
    request: PoolRequest,
    now: int,
    first_settings: str | None = None,
) -> int | None:
    """Add an empty pool and return its number; None if a pool of this name exists.

    first_settings : the request as an imported log has it
    """
    return add_pool(
        connection,
        name,
        settings_json(request),
        code_version(request.system),
        now,
        shared=PoolRules(request).system.initial(0).shared,
        board_day=START[0] if decays(request) else None,
        first_settings=first_settings,
    )


def pool_message(store: Store, name: str) -> PoolMessage:
    """Return the settings of a pool and its status. Raises : NotFoundError."""
    with read_pool(store, name) as (_, pool, _):
        return message_of(pool)


def capabilities_of(store: Store, name: str) -> Capabilities:
    """Return which matches the system of a pool can rate. Raises : NotFoundError."""
    return rules_of_pool(store, name).able


def pool_version(store: Store, name: str) -> tuple[object, ...]:
    """Return what differs whenever answers about a pool may differ. Raises : NotFoundError.

    It has the head of the hash chain: after a restore, another history may have reached the same
    number of records in the same generation.
    """
    with read_pool(store, name) as (_, pool, _):
        return pool.id, pool.generation, pool.head, pool.dirty, pool.board_day, pool.board_from


def pool_messages(store: Store) -> list[PoolMessage]:
    """Return all pools by name."""
    with store.read() as connection:
        return [message_of(pool) for pool in all_pools(connection)]


def pool_parameters(system: RatingSystem) -> dict[str, object]:
    """Return the parameters of a pool.

    It has those of the entry and level only where one is turned on, and those of the home advantage
    only where they are not the default.
    """
    every = plain_parameters(system)
    every = {name: value for name, value in every.items() if not is_later_default(system, name)}
    if isinstance(system, System) and system.changes_entry:
        return every
    return {name: value for name, value in every.items() if name not in ENTRY_PARAMETERS}


def _entry(system: RatingSystem, shared: Mapping[str, Floats]) -> PoolEntry | None:
    """Return where newcomers enter, None where no parameter says so."""
    numbers = shared.get(ENTRY)
    if numbers is None or not isinstance(system, System) or not system.changes_entry:
        return None
    mu, weight, level, target = numbers.tolist()
    held = system.holds_level
    return PoolEntry(
        rating=mu,
        weight=weight if system.learns_entry else None,
        level=level if held else None,
        target=target if held else None,
    )


class _Shown(NamedTuple):
    """What follows from the settings of a pool alone; fields as in PoolMessage."""

    parameters: dict[str, object]
    unused: list[str]


@lru_cache(maxsize=256)
def _shown(rules: PoolRules) -> _Shown:
    """Return what follows from settings: every request about a pool needs it."""
    if rules.fault:
        return _Shown(dict(rules.settings.parameters), [])
    idle = [f"parameters.{name}" for name in idle_parameters(rules.system)]
    return _Shown(pool_parameters(rules.system), [*rules.unused, *idle])


def message_of(pool: PoolRecord) -> PoolMessage:
    """Return a pool with its settings and status."""
    rules = rules_of(pool.settings)
    shown = _shown(rules)
    settings = {name: getattr(rules.settings, name) for name in PoolRequest.__struct_fields__}
    settings |= {
        "parameters": dict(shown.parameters),
        "statistics": dict(rules.settings.statistics),
        "placement_matches": rules.placement_matches,
        "tiers": rules.tiers,
    }
    return PoolMessage(
        **settings,
        pool=pool.name,
        created=iso(pool.created),
        players=pool.players,
        matches=pool.matches,
        last_seq=pool.last_seq,
        last_time=written(pool.last_time, rules),
        generation=pool.generation,
        pending=pool.dirty is not None,
        code=pool.code,
        closed=None if pool.closed is None else iso(pool.closed),
        archive_of=pool.archive_of,
        season=pool.season,
        unused=list(shown.unused),
        notes=_notes(rules, pool.shared),
        entry=None if rules.fault else _entry(rules.system, pool.shared),
        known_ratings=pool.known_ratings,
        profiles=pool.profiled,
    )


def _notes(rules: PoolRules, shared: Mapping[str, Floats]) -> list[str]:
    """Return sentences about the system of a pool with its parameters."""
    if rules.fault:
        return [f"{rules.fault}. What is stored can be read; nothing can be posted or computed"]
    # A system may have notes for users about its parameters; usually there are none.
    own = [*getattr(rules.system, "notes", ()), *advantage_notes(rules.system, shared)]
    if not rules.package:
        return own
    return [f"{rules.settings.system} comes from the package {rules.package}", *own]


def code_version(system: str) -> str:
    """Return the version of the code that rates, with the package of a system that is not built in.

    Raises : NotFoundError, PluginError
    """
    requirement = requirement_of(system)
    return f"{_own_version()} {requirement}" if requirement else _own_version()


@lru_cache(maxsize=1)
def _own_version() -> str:
    """Return the version of this package, with a hash of the sources that make ratings."""
    package, digest = Path(equipoise.__file__).parent, hashlib.sha256()
    folders = [package / name for name in ("rating", "numeric", "data")]
    sources = [path for folder in folders for path in sorted(folder.rglob("*.py"))]
    for path in (*sources, package / "_jit.py"):
        digest.update(path.relative_to(package).as_posix().encode())
        digest.update(path.read_bytes())
    return f"{version('equipoise')}+{digest.hexdigest()[:16]}"


#: Archives that an error names.
_NAMED = 5


def delete_pool(store: Store, pool: str, confirm: str, *, key: int | None, now: int) -> DeletedPool:
    """Delete a pool with its log, ratings and webhooks, and revoke the keys that are for it alone.

    confirm : the name of the pool, repeated
    key : number of the key that deletes it
    Raises : NotFoundError; InvalidParameterError if the name is not repeated; ConflictError
        if archives of the pool exist, or the season after it
    """
    if confirm != pool:
        raise InvalidParameterError(
            f"confirm must repeat the name of the pool, {pool}; got {confirm[:100]!r}"
        )
    with store.write() as connection:
        record = get_pool(connection, pool, lock=True)
        archives = [archive.name for archive in archives_of(connection, pool)]
        if archives:
            more = f" and {len(archives) - _NAMED} more" if len(archives) > _NAMED else ""
            raise ConflictError(
                f"Pool {pool!r} has archives of earlier seasons and cannot be deleted: "
                f"{', '.join(archives[:_NAMED])}{more}"
            )
        after = pool_after(connection, record.id)
        if after is not None:
            raise ConflictError(
                f"Pool {pool!r} is the season before {after!r} and cannot be deleted: that "
                "season started with the ratings of this pool"
            )
        revoked = keys.revoke_keys_of(connection, pool, now)
        webhooks.forget_webhooks(connection, record.id)
        change_pool(
            connection,
            record.id,
            # No pool can have this name.
            name=f"deleted/{record.id}",
            deleted=now,
            garbage=True,
            dirty=None,
            replay_generation=None,
            replay_owner=None,
            replay_until=None,
            checkpoint_due=0,
            board_day=None,
            board_from=None,
            webhooks=0,
        )
        add_audit_row(
            connection,
            "pool.deleted",
            now=now,
            key=key,
            pool=pool,
            number=record.id,
            matches=record.matches,
            players=record.players,
            keys=revoked,
        )
    return DeletedPool(pool, iso(now), record.matches, record.players)


def pools_to_clear(store: Store) -> list[int]:
    """Return the numbers of deleted pools that still have rows."""
    with store.read() as connection:
        return pools.pools_to_clear(connection)


def clear_deleted(store: Store, number: int, *, stop: Callable[[], bool] = lambda: False) -> bool:
    """Delete the rows of a deleted pool, in small steps; return whether all are gone."""
    for table in pools.TABLES:
        after, more = None, True
        while more:
            if stop():
                return False
            with store.write() as connection:
                limit = 1 if table in pools.LARGE else store.sizes.rows
                after = pools.forget_piece(connection, table, number, after, limit)
            more = after is not None
            # Neither SQLite nor locks are fair: without a pause a waiting writer may starve.
            time.sleep(0.001)
    with store.write() as connection:
        change_pool(connection, number, garbage=False)
    return True

"""Pools: created, listed and shown."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path

from msgspec import UNSET
from msgspec.structs import replace
from sqlalchemy import Connection

import equipoise
from equipoise.analysis.files.reading import idle_parameters
from equipoise.analysis.files.systems import plain_parameters
from equipoise.arrays import Floats
from equipoise.errors import (
    ConflictError,
)
from equipoise.messages.pools import PoolEntry, PoolMessage, PoolRequest
from equipoise.pools.pool.checks import check_same, check_settings
from equipoise.pools.pool.rules import PoolRules, decays, iso, rules_of, settings_json, written
from equipoise.rating.advantage.head_start import ADVANTAGE_PARAMETERS, is_saved
from equipoise.rating.advantage.home_system import advantage_notes
from equipoise.rating.base_system import System
from equipoise.rating.entry.entering import ENTRY, ENTRY_PARAMETERS
from equipoise.rating.registry import is_later_default, notes_of, requirement_of
from equipoise.rating.system import RatingSystem
from equipoise.store import audit
from equipoise.store.connection import Store
from equipoise.store.pools import START, PoolRecord, add_pool, all_pools, find_pool, get_pool


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
            audit.note(connection, "pool.created", now=now, key=key, pool=name, settings=request)
        found = get_pool(connection, name)
        check_same(name, rules_of(found.settings), rules_of(settings_json(request)))
        return message_of(found)


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


def check_open(pool: PoolRecord) -> None:
    """Check that a pool is not the archive of a season. Raises : ConflictError."""
    if pool.closed is not None:
        raise ConflictError(
            f"pool {pool.name!r} is closed: it is the archive of season {pool.season!r} "
            f"of {pool.archive_of!r}"
        )


def pool_message(store: Store, name: str) -> PoolMessage:
    """Return the settings of a pool and its status. Raises : NotFoundError."""
    with store.read() as connection:
        return message_of(get_pool(connection, name))


def pool_version(store: Store, name: str) -> tuple[object, ...]:
    """Return what differs whenever answers about a pool may differ. Raises : NotFoundError.

    It has the head of the hash chain: after a restore, another history may have reached the same
    number of records in the same generation.
    """
    with store.read() as connection:
        pool = get_pool(connection, name)
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
    for name in ADVANTAGE_PARAMETERS:
        if name in every and not is_saved(system, name):
            del every[name]
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


def message_of(pool: PoolRecord) -> PoolMessage:
    """Return a pool with its settings and status."""
    rules = rules_of(pool.settings)
    settings = rules.settings
    return PoolMessage(
        pool=pool.name,
        system=settings.system,
        parameters=dict(settings.parameters) if rules.fault else pool_parameters(rules.system),
        statistics=dict(settings.statistics),
        times=settings.times,
        late=settings.late,
        public=settings.public,
        display_deviations=settings.display_deviations,
        placement_matches=rules.placement_matches,
        inactive_days=settings.inactive_days,
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
        display_floor=settings.display_floor,
        display_decay_per_day=settings.display_decay_per_day,
        display_decay_after_days=settings.display_decay_after_days,
        unused=[] if rules.fault else _unused(rules),
        notes=_notes(rules, pool.shared),
        entry=None if rules.fault else _entry(rules.system, pool.shared),
        known_ratings=pool.known_ratings,
    )


def _notes(rules: PoolRules, shared: Mapping[str, Floats]) -> list[str]:
    """Return sentences about the system of a pool with its parameters."""
    if rules.fault:
        return [f"{rules.fault}. What is stored can be read; nothing can be posted or computed"]
    own = [*notes_of(rules.system), *advantage_notes(rules.system, shared)]
    if not rules.package:
        return own
    return [f"{rules.settings.system} comes from the package {rules.package}", *own]


def _unused(rules: PoolRules) -> list[str]:
    """Return the fields of matches and the parameters of a pool that its system does not use."""
    idle = idle_parameters(rules.system)
    return [*rules.unused, *(f"parameters.{name}" for name in idle)]


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

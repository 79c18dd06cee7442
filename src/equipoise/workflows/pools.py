"""Making pools, and how they stand."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path

import msgspec
from sqlalchemy import Connection

import equipoise
from equipoise._jit import source_hash
from equipoise.errors import (
    ConflictError,
    InvalidDataError,
    InvalidParameterError,
    NotFoundError,
    Problem,
)
from equipoise.messages.pools import PoolMessage, PoolRequest
from equipoise.rating.registry import parameters_of
from equipoise.store import audit
from equipoise.store.connection import Store
from equipoise.store.pools import START, PoolRecord, add_pool, all_pools, find_pool, get_pool
from equipoise.workflows.posted_matches import PoolRules

#: Names of pools are parts of addresses.
POOL_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,62}")

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_decoder = msgspec.json.Decoder(PoolRequest)


@lru_cache(maxsize=1)
def code_version() -> str:
    """Return the version of the code that rates: of the package and of the sources."""
    package = Path(equipoise.__file__).parent
    return f"{version('equipoise')}+{source_hash(package)}"


@lru_cache(maxsize=256)
def rules_of(settings: str) -> PoolRules:
    """Return a pool's rules from its settings as they are stored."""
    return PoolRules(_decoder.decode(settings))


def create_pool(
    store: Store, name: str, request: PoolRequest, now: int, *, key: int | None = None
) -> PoolMessage:
    """Make a pool; the same again changes nothing and gets the same answer.

    key : number of the key with which it is made
    Raises : InvalidDataError, ConflictError where a pool of this name is set otherwise
    """
    check_settings(name, request)
    settings = settings_json(request)
    with store.write() as connection:
        new = find_pool(connection, name) is None
        if new and open_pool(connection, name, request, now) is not None:
            audit.note(connection, "pool.created", now=now, key=key, pool=name, settings=request)
        found = get_pool(connection, name)
        if rules_of(found.settings).settings != rules_of(settings).settings:
            raise ConflictError(f"pool {name!r} is there and set otherwise")
        return message_of(found)


def open_pool(connection: Connection, name: str, request: PoolRequest, now: int) -> int | None:
    """Add an empty pool and return its number, None where there is one of this name by now."""
    decays = request.display_decay_per_day > 0 and request.times != "none"
    board_day = START[0] if decays else None
    settings = settings_json(request)
    return add_pool(connection, name, settings, code_version(), now, board_day=board_day)


def settings_json(request: PoolRequest) -> str:
    """Return settings as they are stored.

    In the order in which they came: statistics are summed in it, as on the command line.
    """
    return msgspec.json.encode(request).decode()


def check_open(pool: PoolRecord) -> None:
    """Refuse to change the archive of a season. Raises : ConflictError."""
    if pool.closed is not None:
        raise ConflictError(
            f"pool {pool.name!r} is closed: it is the archive of season {pool.season!r} "
            f"of {pool.archive_of!r}"
        )


def pool_message(store: Store, name: str) -> PoolMessage:
    """Return how a pool is set and stands. Raises : NotFoundError."""
    with store.read() as connection:
        return message_of(get_pool(connection, name))


def pool_messages(store: Store) -> list[PoolMessage]:
    """Return all pools by name."""
    with store.read() as connection:
        return [message_of(pool) for pool in all_pools(connection)]


def message_of(pool: PoolRecord) -> PoolMessage:
    """Return a pool as it is shown."""
    rules = rules_of(pool.settings)
    settings = rules.settings
    return PoolMessage(
        pool=pool.name,
        system=settings.system,
        parameters=_plain(rules),
        statistics=dict(settings.statistics),
        times=settings.times,
        late=settings.late,
        public=settings.public,
        display_deviations=settings.display_deviations,
        placement_matches=settings.placement_matches,
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
    )


def iso(time: int) -> str:
    """Return microseconds since 1970 as ISO 8601 with its zone."""
    return (_EPOCH + timedelta(microseconds=time)).isoformat().replace("+00:00", "Z")


def written(time: int | None, rules: PoolRules) -> int | str | None:
    """Return a time as the pool writes times; None where there is none."""
    if time is None or not rules.timed:
        return None
    return time // 1_000_000 if rules.settings.times == "seconds" else iso(time)


def _plain(rules: PoolRules) -> dict[str, object]:
    return {
        name: str(value) if isinstance(value, float) and math.isinf(value) else value
        for name, value in parameters_of(rules.system).items()
    }


def check_settings(name: str, request: PoolRequest) -> None:
    """Refuse settings that make no pool. Raises : InvalidDataError."""
    problems = []
    if not POOL_NAME.fullmatch(name):
        rule = "must be small letters, digits, '.', '_', '-', at most 63, a letter or digit first"
        problems.append(Problem("", None, "pool", rule, name[:100]))
    bounds = {
        "display_deviations": (request.display_deviations, 0.0, 100.0),
        "display_floor": (request.display_floor, -1e9, 1e9),
        "display_decay_per_day": (request.display_decay_per_day, 0.0, 1e9),
        "display_decay_after_days": (request.display_decay_after_days, 0.0, 1e6),
        "placement_matches": (request.placement_matches, 0, 10**6),
        "inactive_days": (request.inactive_days, 0.0, 1e6),
    }
    for field, (value, low, high) in bounds.items():
        if value is not None and not low <= value <= high:
            rule = f"must be a number from {low:g} to {high:g}"
            problems.append(Problem("", None, field, rule, str(value)))
    for statistic, weight in request.statistics.items():
        if not math.isfinite(weight) or not 0 < len(statistic) <= 100 or "\0" in statistic:
            rule = "must be a name of 1 to 100 characters with a finite weight"
            problems.append(Problem("", None, "statistics", rule, f"{statistic[:100]}: {weight}"))
    try:
        system = PoolRules(request).system
        if request.times == "none" and system.capabilities.needs_time:
            rule = f"must not be 'none': {request.system} with these parameters needs times"
            problems.append(Problem("", None, "times", rule, "none"))
    except (InvalidParameterError, NotFoundError) as error:
        problems.append(Problem("", None, "system", str(error), request.system))
    if problems:
        raise InvalidDataError(problems, f"no pool can be made so; problems: {len(problems)}")

"""Pools: created, listed, and shown; what their settings may be, and how two differ."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import msgspec
from sqlalchemy import Connection

import equipoise
from equipoise._jit import source_hash
from equipoise.analysis.files.reading import idle_parameters
from equipoise.analysis.files.systems import plain_parameters
from equipoise.errors import (
    ConflictError,
    InvalidDataError,
    InvalidParameterError,
    NotFoundError,
    Problem,
)
from equipoise.messages.pools import PoolMessage, PoolRequest
from equipoise.pools.pool.rules import PoolRules, iso, rules_of, written
from equipoise.rating.registry import notes_of
from equipoise.store import audit
from equipoise.store.connection import Store
from equipoise.store.pools import START, PoolRecord, add_pool, all_pools, find_pool, get_pool
from equipoise.wording import counted

#: Characters of a reason at most.
LONGEST_REASON = 2000

#: Names of pools are parts of addresses.
POOL_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,62}")


@lru_cache(maxsize=1)
def code_version() -> str:
    """Return the version of the code that rates: of the package and of the sources."""
    package = Path(equipoise.__file__).parent
    return f"{version('equipoise')}+{source_hash(package, 'rating')}"


def create_pool(
    store: Store, name: str, request: PoolRequest, now: int, *, key: int | None = None
) -> PoolMessage:
    """Make a pool; the same again changes nothing and gets the same answer.

    key : number of the key with which it is made
    Raises : InvalidDataError, ConflictError where a pool of this name has different settings
    """
    check_settings(name, request)
    settings = settings_json(request)
    with store.write() as connection:
        new = find_pool(connection, name) is None
        if new and open_pool(connection, name, request, now) is not None:
            audit.note(connection, "pool.created", now=now, key=key, pool=name, settings=request)
        found = get_pool(connection, name)
        check_same(name, rules_of(found.settings), rules_of(settings))
        return message_of(found)


def open_pool(connection: Connection, name: str, request: PoolRequest, now: int) -> int | None:
    """Add an empty pool and return its number, None where there is one of this name by now."""
    board_day = START[0] if decays(request) else None
    settings = settings_json(request)
    return add_pool(connection, name, settings, code_version(), now, board_day=board_day)


def decays(request: PoolRequest) -> bool:
    """Return whether the rating shown falls while a player is away."""
    return request.display_decay_per_day > 0 and request.times != "none"


def differing(old: PoolRules, new: PoolRules) -> dict[str, tuple[Any, Any]]:
    """Return the settings in which two differ, with both values.

    Parameters are compared as the system has them: one that is given as its default is the same
    as one that is left out.
    """
    found = {
        name: (getattr(old.settings, name), getattr(new.settings, name))
        for name in PoolRequest.__struct_fields__
        if name != "parameters" and getattr(old.settings, name) != getattr(new.settings, name)
    }
    if "system" not in found and old.system != new.system:
        before, after = plain_parameters(old.system), plain_parameters(new.system)
        for name in sorted({*before, *after}):
            if before.get(name) != after.get(name):
                found[f"parameters.{name}"] = (before.get(name), after.get(name))
    return found


def is_fixed(name: str, values: tuple[Any, Any]) -> bool:
    """Return whether a difference in a setting changes how the system rates matches."""
    if name == "times":
        return "none" in values
    return name in ("system", "statistics") or name.startswith("parameters.")


def told_differences(found: Mapping[str, tuple[Any, Any]]) -> str:
    """Return which settings differ, with both values, as a part of a sentence."""
    return "; ".join(
        f"{name} is {_told(old)}, you sent {_told(new)}" for name, (old, new) in found.items()
    )


def _told(value: Any) -> str:
    return repr(value) if isinstance(value, str) else msgspec.json.encode(value).decode()


def check_same(name: str, there: PoolRules, wanted: PoolRules) -> None:
    """Refuse to make a pool that is there with different settings. Raises : ConflictError."""
    found = differing(there, wanted)
    if not found:
        return
    fixed = [name for name, pair in found.items() if is_fixed(name, pair)]
    advice = []
    if len(fixed) < len(found):
        rest = "the others" if fixed else "them" if len(found) > 1 else "it"
        advice.append(f"Use PATCH /v1/pools/{name} to change {rest}.")
    if fixed:
        advice.insert(
            0,
            f"{', '.join(fixed)} cannot be changed: use another name, or end the season with "
            f"other settings, POST /v1/pools/{name}/seasons.",
        )
    raise ConflictError(
        f"Pool {name!r} already exists with different settings: {told_differences(found)}. "
        + " ".join(advice)
    )


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


def check_reason(text: str) -> None:
    """Refuse a reason that the log cannot keep. Raises : InvalidDataError."""
    if len(text) > LONGEST_REASON or "\0" in text:
        rule = f"must have at most {LONGEST_REASON} characters and no NUL"
        raise InvalidDataError([Problem("", None, "reason", rule, text[:100] + "...")])


def message_of(pool: PoolRecord) -> PoolMessage:
    """Return a pool as it is shown."""
    rules = rules_of(pool.settings)
    settings = rules.settings
    return PoolMessage(
        pool=pool.name,
        system=settings.system,
        parameters=plain_parameters(rules.system),
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
        unused=_unused(rules),
        notes=list(notes_of(rules.system)),
    )


def _unused(rules: PoolRules) -> list[str]:
    """Return fields of matches and parameters of the pool that its system does not use."""
    idle = idle_parameters(rules.system)
    return [*rules.unused, *(f"parameters.{name}" for name in idle)]


def check_settings(
    name: str, request: PoolRequest, failed: str = "The pool could not be created"
) -> None:
    """Refuse settings that make no pool. Raises : InvalidDataError.

    failed : what could not be done, for the summary
    """
    problems = []
    if not POOL_NAME.fullmatch(name):
        rule = (
            "must have at most 63 lower-case letters, digits, '.', '_' and '-', starting with a "
            "letter or digit"
        )
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
    except NotFoundError as error:
        problems.append(Problem("", None, "system", str(error), request.system))
    except InvalidParameterError as error:
        problems.append(_parameter_problem(request, str(error)))
    if problems:
        raise InvalidDataError(problems, f"{failed}: {counted(len(problems), 'problem')}")


def _parameter_problem(request: PoolRequest, message: str) -> Problem:
    """Return what is wrong with the parameters, of the one that the message begins with."""
    named = message.split(" ", 1)[0].removeprefix(f"{request.system}.")
    rule, _, got = message.partition("; got ")
    if named not in request.parameters:
        unknown = (one for one in request.parameters if f"has no parameter {one!r}" in message)
        named = next(unknown, "")
    else:
        rule = rule.split(" ", 1)[1]
    return Problem("", None, f"parameters.{named}" if named else "parameters", rule, got)

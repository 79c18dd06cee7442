"""Checks of a pool's settings: whether they are valid, and how they differ from others."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import UNSET

from equipoise.analysis.files.systems import plain_parameters
from equipoise.errors import (
    ConflictError,
    InvalidDataError,
    InvalidParameterError,
    NotFoundError,
    PluginError,
    Problem,
)
from equipoise.messages.pools import PoolRequest
from equipoise.pools.pool.rules import PoolRules
from equipoise.rating.entry.entering import ENTRY_PARAMETERS
from equipoise.wording import counted

#: The names that a pool may have. They are parts of addresses.
POOL_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,62}")

#: With this, `differing` begins the names of parameters.
_PARAMETER = "parameters."

#: Maximum number of characters of a reason.
LONGEST_REASON = 2000


def check_settings(
    name: str, request: PoolRequest, failed: str = "The pool could not be created"
) -> None:
    """Check the name and the settings of a pool. Raises : InvalidDataError.

    failed : what could not be done, for the first line of the error
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
        if value is not None and value is not UNSET and not low <= value <= high:
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
    except (NotFoundError, PluginError) as error:
        problems.append(Problem("", None, "system", str(error), request.system))
    except InvalidParameterError as error:
        problems.append(_parameter_problem(request, str(error)))
    if problems:
        raise InvalidDataError(problems, f"{failed}: {counted(len(problems), 'problem')}")


def _parameter_problem(request: PoolRequest, message: str) -> Problem:
    """Return a message of the registry, which begins with a parameter, as a problem."""
    named = message.split(" ", 1)[0].removeprefix(f"{request.system}.")
    rule, _, got = message.partition("; got ")
    if named not in request.parameters:
        unknown = (one for one in request.parameters if f"has no parameter {one!r}" in message)
        named = next(unknown, "")
    else:
        rule = rule.split(" ", 1)[1]
    return Problem("", None, f"parameters.{named}" if named else "parameters", rule, got)


def check_reason(text: str) -> None:
    """Check the reason of an amendment. Raises : InvalidDataError."""
    if len(text) > LONGEST_REASON or "\0" in text:
        rule = f"must have at most {LONGEST_REASON} characters and no NUL"
        raise InvalidDataError([Problem("", None, "reason", rule, text[:100] + "...")])


def check_same(name: str, there: PoolRules, wanted: PoolRules) -> None:
    """Check that a pool has the settings wanted. Raises : ConflictError."""
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
        f"Pool {name!r} already exists with different settings: {described_differences(found)}. "
        + " ".join(advice)
    )


def differing(old: PoolRules, new: PoolRules) -> dict[str, tuple[Any, Any]]:
    """Return the settings that differ, with both values.

    Parameters are compared as the system has them: a default is the same as no value.
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
                found[f"{_PARAMETER}{name}"] = (before.get(name), after.get(name))
    return found


def is_fixed(name: str, values: tuple[Any, Any]) -> bool:
    """Return whether a difference in a setting changes how the system rates matches."""
    if name == "times":
        return "none" in values
    return name in ("system", "statistics") or (
        name.startswith(_PARAMETER) and not is_replayed(name)
    )


def is_replayed(name: str) -> bool:
    """Return whether a changed setting, as `differing` names it, needs a replay of the whole log.

    These are the parameters of the entry and level, which may change during a season.
    """
    return name.startswith(_PARAMETER) and name.removeprefix(_PARAMETER) in ENTRY_PARAMETERS


def changed_settings(found: Mapping[str, tuple[Any, Any]], which: int) -> dict[str, Any]:
    """Return the differing settings as the log has them: the old ones (0) or the new ones (1)."""
    parameters = {
        name.removeprefix(_PARAMETER): pair[which]
        for name, pair in found.items()
        if name.startswith(_PARAMETER)
    }
    plain = {name: pair[which] for name, pair in found.items() if not name.startswith(_PARAMETER)}
    return {**plain, **({"parameters": parameters} if parameters else {})}


def described_differences(found: Mapping[str, tuple[Any, Any]]) -> str:
    """Return the settings that differ, with both values, as a part of a sentence."""
    return "; ".join(
        f"{name} is {_written(old)}, you sent {_written(new)}" for name, (old, new) in found.items()
    )


def _written(value: Any) -> str:
    return repr(value) if isinstance(value, str) else msgspec.json.encode(value).decode()

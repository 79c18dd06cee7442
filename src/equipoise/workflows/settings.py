"""From what a user says of a system (name, NAME=VALUE, a TOML file) to the system."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from equipoise.errors import InvalidDataError, InvalidParameterError, NotFoundError, Problem
from equipoise.rating.registry import make_system
from equipoise.rating.system import RatingSystem

DEFAULT_SYSTEM = "elo-mmr"


@dataclass(frozen=True, slots=True)
class Settings:
    """What a parameter file says.

    system : name, None where it says nothing
    parameters : of the system, by name
    statistics : weight of every statistic in a player's performance
    """

    system: str | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    statistics: Mapping[str, float] = field(default_factory=dict)


def read_settings(path: str | None) -> Settings:
    """Return what a parameter file says: `system`, `[parameters]` and `[statistics]`.

    Raises : NotFoundError, InvalidDataError.
    """
    if path is None:
        return Settings()
    if not Path(path).is_file():
        raise NotFoundError(f"no parameter file at {path}")
    try:
        content = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidDataError([Problem(path, None, "", "must be TOML", str(error))]) from error
    known = ("system", "parameters", "statistics")
    problems = [
        Problem(path, None, key, f"must be one of {', '.join(known)}", f"the key {key}")
        for key in content
        if key not in known
    ]
    for key, kind in (("system", str), ("parameters", dict), ("statistics", dict)):
        if key in content and not isinstance(content[key], kind):
            rule = "must be text" if kind is str else "must be a table"
            problems.append(Problem(path, None, key, rule, repr(content[key])))
    if problems:
        raise InvalidDataError(problems)
    statistics = numbers(content.get("statistics", {}), "statistics")
    return Settings(content.get("system"), content.get("parameters", {}), statistics)


def assignments(texts: Sequence[str], option: str) -> dict[str, str]:
    """Return {NAME: VALUE} of NAME=VALUE texts. Raises : InvalidParameterError."""
    found: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise InvalidParameterError(f"{option} takes NAME=VALUE; got {text!r}")
        if name.strip() in found:
            raise InvalidParameterError(f"{option} names {name.strip()!r} twice")
        found[name.strip()] = value.strip()
    return found


def numbers(values: Mapping[str, object], what: str) -> dict[str, float]:
    """Return values as numbers. Raises : InvalidParameterError."""
    found = {}
    for name, value in values.items():
        try:
            found[name] = float(str(value))
        except ValueError:
            raise InvalidParameterError(
                f"{what}: the weight of {name} must be a number; got {value!r}"
            ) from None
    return found


def chosen_system(
    name: str | None, settings: Settings, assigned: Sequence[str]
) -> RatingSystem | None:
    """Return the system that command line and parameter file name; the command line wins.

    None where neither says anything of it.
    """
    if name is None and settings.system is None and not settings.parameters and not assigned:
        return None
    wanted = name or settings.system or DEFAULT_SYSTEM
    parameters = dict(settings.parameters) if wanted == (settings.system or wanted) else {}
    return make_system(wanted, {**parameters, **assignments(assigned, "--set")})

"""The file `equipoise.toml` of a project: settings for all commands that are run in its folder.

It is looked for in the working directory, and then in the folders above it. Its section `[reading]`
has keys that are options of reading, also of commands that do not have the option.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import fields
from datetime import date
from pathlib import Path
from typing import Any

from equipoise.analysis.requests import (
    GamesRequest,
    HistoryRequest,
    Typed,
    reading_options,
    reading_words,
)
from equipoise.data.files import read_toml
from equipoise.errors import InvalidParameterError

NAME = "equipoise.toml"
_outside = ContextVar("outside_projects", default=False)


def reading_settings() -> dict[str, tuple[Any, str]]:
    """Return the settings of reading as if they were typed: option -> value, and what to call it.

    Raises : InvalidParameterError
    """
    path = _file()
    if path is None:
        return {}
    try:
        content = read_toml(path)
    except ValueError as error:
        raise InvalidParameterError(f"{path} must be TOML: {error}") from None
    given = content.pop("reading", {})
    for other in content:
        raise InvalidParameterError(
            f"{path} may have the section [reading] alone; got {other}. A system is kept in a "
            "parameter file (--parameters FILE.toml), or in a saved state (--save, --state)"
        )
    if not isinstance(given, dict):
        raise InvalidParameterError(f"{path}: reading must be a table; got {given!r}")
    known = reading_options()
    found = {}
    for key, value in given.items():
        where, option = f"{path}: [reading] {key}", f"--{key.replace('_', '-')}"
        if option not in known:
            keys = ", ".join(one.removeprefix("--") for one in known)
            raise InvalidParameterError(f"{where} must be one of {keys}; got {value!r}")
        if option in found:
            raise InvalidParameterError(
                f"{where} must be given once; {key} is also spelled otherwise"
            )
        typed = _as_typed(value, *known[option], where)
        if option == "--synonyms" and "://" not in typed:
            typed = str(path.parent / typed)
        found[option] = (typed, where)
    return found


@contextmanager
def outside_projects() -> Iterator[None]:
    """Let no file of a project count for the commands that run meanwhile."""
    token = _outside.set(True)
    try:
        yield
    finally:
        _outside.reset(token)


def settings_alone(command: str) -> list[str]:
    """Return the settings of a command that are options of few commands."""
    known = reading_options().items()
    found = [option.removeprefix("--") for option, (typed, _) in known if typed.commands]
    if command != "performance":
        return found
    games = {one.name for one in fields(GamesRequest)}
    return [name for name in found if name.replace("-", "_") in games]


def settings_as_typed(request: HistoryRequest, command: str) -> tuple[list[str], str]:
    """Return the settings of a request as options of a command, and as TOML what it has not."""
    known, words, others = reading_options(), list[str](), dict[str, list[str]]()
    for option, typed in reading_words(request):
        if option not in request.set_by_project:
            continue
        if known[option][0].is_of(command):
            words += typed
        else:
            others.setdefault(option.removeprefix("--"), []).extend(typed[1:])
    texts = []
    for name, values in others.items():
        if known[f"--{name}"][0].many:
            pairs = (one.split("=", 1) for one in values)
            inside = ", ".join(f"{json.dumps(key)} = {json.dumps(value)}" for key, value in pairs)
            texts.append(f"{name} = {{ {inside} }}")
        else:
            # The folders of one machine mean nothing on another.
            value = [Path(one).name if name == "synonyms" else one for one in values]
            texts.append(f"{name} = {json.dumps(value[0]) if value else 'true'}")
    return words, ", ".join(texts)


def used_in_words(settings: Sequence[str]) -> str:
    """Return which settings of the file are used."""
    section = settings[0].rpartition(" ")[0]
    return f"{section} sets {', '.join(one.rpartition(' ')[2] for one in settings)}"


def _file() -> Path | None:
    """Return the file of the working directory, or else of the nearest folder above."""
    if _outside.get():
        return None
    # A folder that may not be looked at has no file for us; os.path says so without an error.
    folder = Path.cwd()
    places = (one / NAME for one in (folder, *folder.parents))
    return next((place for place in places if os.path.isfile(place)), None)


def _as_typed(value: Any, typed: Typed, is_flag: bool, where: str) -> Any:
    """Return a value of TOML as the command line would have it. Raises : InvalidParameterError."""
    if is_flag:
        rule, fits = "true or false", isinstance(value, bool)
    elif typed.metavar == "[=rows]":
        rule, fits = 'true, false, "matches" or "rows"', isinstance(value, bool | str)
        if isinstance(value, bool):
            value = "matches" if value else None
    elif typed.many:
        rule = f'a table, as {where.rpartition(" ")[2]} = {{NEW = "OLD"}}'
        fits = isinstance(value, dict) and not any(
            "=" in name or isinstance(one, dict | list) for name, one in value.items()
        )
        value = [f"{name}={_text(one)}" for name, one in value.items()] if fits else value
    else:
        # A sheet may be a number, and a time one of TOML's own.
        rule, fits = "text", isinstance(value, str | int | date) and not isinstance(value, bool)
        value = _text(value) if fits else value
    if not fits:
        raise InvalidParameterError(f"{where} must be {rule}; got {value!r}")
    return value


def _text(value: object) -> str:
    """Return a value of TOML as it is typed on the command line."""
    if isinstance(value, bool):
        return str(value).lower()
    return value.isoformat() if isinstance(value, date) else str(value)

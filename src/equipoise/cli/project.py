"""The file of a project, `equipoise.toml`: settings that count as options of commands run there.

It is looked for in the working directory, and then in the folders above it. Its section `[reading]`
has keys that are options of reading, also for commands that do not have the option, and its key
`system` is the system of commands that rate a history, if nothing else names one.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import date
from pathlib import Path
from typing import Any

from equipoise.analysis.requests import (
    PROJECT_FILE,
    HistoryRequest,
    Typed,
    reading_options,
    reading_words,
)
from equipoise.data.files import read_toml
from equipoise.errors import InvalidParameterError

#: Whether files of projects are ignored.
_outside = ContextVar("outside_projects", default=False)


def reading_settings() -> dict[str, tuple[Any, str]]:
    """Return the settings of reading as if they were typed: option -> value, and what to call it.

    Raises : InvalidParameterError
    """
    path, content = _project()
    section = content.get("reading", {})
    if not isinstance(section, dict):
        raise InvalidParameterError(f"{path}: reading must be a table; got {section!r}")
    known = reading_options()
    settings = {}
    for key, value in section.items():
        where, option = f"{path}: [reading] {key}", f"--{key.replace('_', '-')}"
        if option not in known:
            keys = ", ".join(option.removeprefix("--") for option in known)
            raise InvalidParameterError(f"{where} must be one of {keys}; got {value!r}")
        if option in settings:
            raise InvalidParameterError(
                f"{where} must be given once; {key} is also spelled otherwise"
            )
        typed = _as_typed(value, *known[option], where)
        if option == "--synonyms" and "://" not in typed:
            typed = str(path.parent / typed)
        settings[option] = (typed, where)
    return settings


@contextmanager
def outside_projects() -> Iterator[None]:
    """Let no file of a project count for the commands that run meanwhile."""
    token = _outside.set(True)
    try:
        yield
    finally:
        _outside.reset(token)


def settings_as_typed(request: HistoryRequest, command: str) -> tuple[list[str], str]:
    """Return the settings of a request as options of a command, and as TOML what it has not."""
    known, words, others = reading_options(), list[str](), dict[str, list[str]]()
    for option, spelled in reading_words(request):
        if option not in request.set_by_project:
            continue
        if known[option][0].is_of(command):
            words += spelled
        else:
            others.setdefault(option.removeprefix("--"), []).extend(spelled[1:])
    texts = []
    for name, values in others.items():
        if known[f"--{name}"][0].many:
            pairs = (pair.split("=", 1) for pair in values)
            inside = ", ".join(f"{json.dumps(key)} = {json.dumps(value)}" for key, value in pairs)
            texts.append(f"{name} = {{ {inside} }}")
        else:
            # The folders of one machine mean nothing on another.
            value = [Path(text).name if name == "synonyms" else text for text in values]
            texts.append(f"{name} = {json.dumps(value[0]) if value else 'true'}")
    return words, ", ".join(texts)


def used_in_words(settings: Sequence[str]) -> str:
    """Return which settings of the file are used."""
    section = settings[0].rpartition(" ")[0]
    return f"{section} sets {', '.join(option.rpartition(' ')[2] for option in settings)}"


def _project() -> tuple[Path, dict[str, Any]]:
    """Return the file of the project with its content, which is empty if there is none.

    Raises : InvalidParameterError
    """
    path = _file()
    if path is None:
        return Path(), {}
    try:
        content = read_toml(path)
    except ValueError as error:
        raise InvalidParameterError(f"{path} must be TOML: {error}") from None
    for key in content.keys() - {"system", "reading"}:
        raise InvalidParameterError(
            f"{path} may have the key system and the section [reading]; got {key}. Parameters of a "
            "system are kept in a parameter file (--parameters FILE.toml), or in a saved state "
            "(--save, --state)"
        )
    return path, content


def with_project_system(
    typed: dict[str, Any], several: bool
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return options with the system of the project, and a note, if nothing else names a system.

    several : whether the command has several systems
    A parameter file, a saved state, a pool and its log name one. Raises : InvalidParameterError
    """
    from equipoise.formats.sources import is_saved_state

    named = [typed[name] for name in ("system", "parameters", "state") if name in typed]
    if any(value not in (None, []) for value in named) or is_saved_state(typed.get("initial")):
        return typed, ()
    if "create" in typed and not _creates_from_table(typed):
        return typed, ()
    path, content = _project()
    system = content.get("system")
    if system is None:
        return typed, ()
    if not isinstance(system, str):
        raise InvalidParameterError(f"{path}: system must be text; got {system!r}")
    note = f"{path} sets the system {system}; --system chooses another system"
    return {**typed, "system": [system] if several else system}, (note,)


def _creates_from_table(typed: dict[str, Any]) -> bool:
    """Return whether `equipoise db import` creates one pool, and not from the log of another."""
    from equipoise.pools.exchange.log_lines import is_log

    return typed["create"] and not typed["each"] and not is_log(Path(typed["source"]))


def _file() -> Path | None:
    """Return the file of the working directory, or else of the nearest folder above."""
    if _outside.get():
        return None
    # A folder that may not be looked at has no file for us; os.path says so without an error.
    folder = Path.cwd()
    places = (parent / PROJECT_FILE for parent in (folder, *folder.parents))
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
            "=" in name or isinstance(item, dict | list) for name, item in value.items()
        )
        value = [f"{name}={_text(item)}" for name, item in value.items()] if fits else value
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

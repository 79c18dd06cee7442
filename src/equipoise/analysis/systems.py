"""Rating systems and settings as users name them: NAME=VALUE, labels, and files of settings.

A parameter file has a system, its parameters and the weights of statistics.
"""

from __future__ import annotations

import math
import typing
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import tomli_w

from equipoise.analysis.requests import (
    assignments,
    numbers,
    project_file,
)
from equipoise.data.files import check_place, read_toml, whole_file
from equipoise.data.history import History
from equipoise.errors import InvalidDataError, InvalidParameterError, NotFoundError, Problem
from equipoise.formats.sources import is_saved_state
from equipoise.messages.histories import ParameterMessage, SystemMessage
from equipoise.rating.plugins.installed import clashes, offered
from equipoise.rating.registry import (
    SYSTEMS,
    check_name,
    fields_of,
    make_system,
    parameters_of,
    system_class,
    system_names,
)
from equipoise.rating.system import USABLE, RatingSystem

DEFAULT_SYSTEM = "elo-mmr"

#: Stands for every system, where those that cannot rate the history are left out.
EVERY = "all"


@dataclass(frozen=True, slots=True)
class Settings:
    """The content of a parameter file.

    system : name of the system, None if the file has none
    parameters : of the system, by name
    statistics : weight of every statistic in a player's performance
    """

    system: str | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    statistics: Mapping[str, float] = field(default_factory=dict)


def read_settings(path: str | None) -> Settings:
    """Return `system`, `[parameters]` and `[statistics]` of a parameter file.

    Raises : NotFoundError, InvalidDataError.
    """
    if path is None:
        return Settings()
    if not Path(path).is_file():
        raise NotFoundError(f"no parameter file at {path}")
    try:
        content = read_toml(path)
    except ValueError as error:
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


def check_parameter_file(path: str) -> None:
    """Refuse a path that is not a parameter file. Raises : InvalidParameterError."""
    if Path(path).suffix.lower() != ".toml":
        raise InvalidParameterError(f"the name of a parameter file must end in .toml; got {path!r}")
    check_place(path)


def write_parameters(
    path: str,
    system: str,
    parameters: Mapping[str, object],
    statistics: Mapping[str, float],
    comments: Sequence[str],
) -> None:
    """Write a system with its parameters, and the weights of statistics, as TOML.

    parameters : those that are None are left out; reading the file makes them None again
    comments : lines at the top of the file
    Raises : InvalidParameterError
    """
    check_parameter_file(path)
    content: dict[str, object] = {
        "system": system,
        "parameters": {name: value for name, value in parameters.items() if value is not None},
    }
    if statistics:
        content["statistics"] = statistics
    top = "".join(f"# {line}\n" for line in comments)
    with whole_file(path) as file:
        file.write((top + tomli_w.dumps(content)).encode())


def chosen_parameters(
    name: str | None, settings: Settings, assigned: Sequence[str]
) -> tuple[str, dict[str, Any]] | None:
    """Return name and parameters of a system; the command line overrides the parameter file.

    None if neither has a system or a parameter.
    """
    if name is None and settings.system is None and not settings.parameters and not assigned:
        return None
    wanted = name or settings.system or DEFAULT_SYSTEM
    parameters = dict(settings.parameters) if wanted == (settings.system or wanted) else {}
    return wanted, {**parameters, **assignments(assigned, "--set")}


def with_every(named: Sequence[str]) -> tuple[list[str], frozenset[str]]:
    """Return texts [LABEL=]NAME with every system instead of `all`, and the labels of those.

    A system whose name is already a label is not added again.
    """
    if EVERY not in named:
        return list(named), frozenset()
    others = [text for text in named if text != EVERY]
    added = [name for name in system_names() if name not in labelled(others)]
    return [*others, *added], frozenset(added)


def chosen_systems(
    named: Sequence[str], settings: Settings, assigned: Sequence[str]
) -> dict[str, RatingSystem]:
    """Return systems by label, in the order of the command line.

    named : texts [LABEL=]NAME; the default label is the name
    settings : of a parameter file: its system is used if none is named, and its parameters are
        those of every system with its name, or of the default system
    assigned : texts LABEL.NAME=VALUE, or NAME=VALUE for a single system; they override the file
    Raises : InvalidParameterError, NotFoundError
    """
    of_file = settings.system or DEFAULT_SYSTEM
    names = labelled(named or [of_file])
    parameters = _by_label(assignments(assigned, "--set"), list(names))
    systems: dict[str, RatingSystem] = {}
    for label, name in names.items():
        from_file = settings.parameters if name == of_file else {}
        systems[label] = make_system(name, {**from_file, **parameters[label]})
    return systems


def without_runaways(
    systems: Mapping[str, RatingSystem], history: History, labels: Collection[str]
) -> tuple[dict[str, RatingSystem], list[str]]:
    """Return systems without those whose ratings run away in matches of many teams, and notes.

    labels : of systems that nobody named; the others stay
    """
    notes = {
        label: system.field_notes(history)
        for label, system in systems.items()
        if label in labels and hasattr(system, "field_notes")
    }
    kept = {label: system for label, system in systems.items() if not notes.get(label)}
    return kept, [
        f"left out: {note}" for notes_of_system in notes.values() for note in notes_of_system
    ]


def labelled(named: Sequence[str]) -> dict[str, str]:
    """Return {label: name}."""
    by_label: dict[str, str] = {}
    for text in named:
        label, equals, name = (part.strip() for part in text.partition("="))
        if not label or (equals and not name):
            raise InvalidParameterError(f"--system takes [LABEL=]NAME; got {text!r}")
        name = name or label
        if label in by_label:
            raise InvalidParameterError(
                f"two systems have the label {label!r}: use --system LABEL={name} for one of them"
            )
        by_label[label] = name
    return by_label


def _by_label(assigned: Mapping[str, str], labels: Sequence[str]) -> dict[str, dict[str, str]]:
    """Return {label: {parameter: value}}; names of parameters have no dot, labels may."""
    by_label: dict[str, dict[str, str]] = {label: {} for label in labels}
    for key, value in assigned.items():
        label, dot, name = key.rpartition(".")
        if not dot and len(labels) == 1:
            label = labels[0]
        elif not dot:
            raise InvalidParameterError(
                f"--set takes LABEL.NAME=VALUE if there are several systems; got {key}={value}"
            )
        if label not in by_label:
            raise InvalidParameterError(
                f"--set names the unknown label {label!r}; the labels are {', '.join(labels)}"
            )
        if name in by_label[label]:
            raise InvalidParameterError(f"--set names {name!r} of {label} twice")
        by_label[label][name] = value
    return by_label


def plain_parameters(system: RatingSystem) -> dict[str, object]:
    """Return the parameters of a system as values for JSON."""
    return {name: plain_value(value) for name, value in parameters_of(system).items()}


def plain_value(value: object) -> object:
    """Return the value of a parameter as a value for JSON: an infinite one as text."""
    return str(value) if isinstance(value, float) and math.isinf(value) else value


def list_systems() -> list[SystemMessage]:
    """Return every system with the matches that it can rate and its parameters.

    Of a system of another package it has the name and the package, which is not imported.
    """
    others = [
        SystemMessage(
            plugin.name, plugin.summary, "", plugin.requirement, [], [], {}, plugin.requirement
        )
        for plugin in offered()
        if plugin.name not in SYSTEMS
    ]
    return [*(described(name) for name in SYSTEMS), *others]


def refused_systems() -> list[str]:
    """Return a sentence for each system of a package that cannot be used for its name."""
    return clashes(frozenset(SYSTEMS))


def described(name: str) -> SystemMessage:
    """Return a system with the matches that it can rate and its parameters.

    Raises : NotFoundError, PluginError
    """
    kind, plugin = system_class(name), check_name(name)
    if plugin is None:
        summary, requirement = SYSTEMS[name].summary, ""
    else:
        summary = (kind.__doc__ or plugin.summary).strip().partition("\n")[0]
        requirement = plugin.requirement
    # Loads kernels, as every system does; who only lists names need not wait for that.
    from equipoise.rating.newcomers import ENTRY_DEFAULTS

    hints = typing.get_type_hints(kind)
    hidden = frozenset() if _has_entry(kind) else frozenset(ENTRY_DEFAULTS)
    parameters = [
        ParameterMessage(
            field.name,
            _type_name(hints[field.name]),
            plain_value(field.default),
            field.metadata.get("note", ""),
        )
        for field in fields_of(kind)
        if field.name not in hidden
    ]
    able = make_system(name).capabilities
    return SystemMessage(
        name=name,
        summary=summary,
        rates=str(able),
        source=requirement or SYSTEMS[name].source,
        parameters=parameters,
        uses=[name for name in USABLE if name in able.uses],
        needs=dict(able.needed),
        package=requirement,
    )


def _has_entry(kind: type[RatingSystem]) -> bool:
    """Whether a system supports a learned entry and a held level."""
    make: Callable[..., RatingSystem] = kind
    try:
        make(entry="learned")
    except (InvalidParameterError, TypeError):
        return False
    return True


def _type_name(hint: Any) -> str:
    if typing.get_origin(hint) is typing.Literal:
        return " | ".join(typing.get_args(hint))
    return hint.__name__ if isinstance(hint, type) else str(hint)


def with_project_system(
    typed: dict[str, Any], several: bool
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return options with the system of the project, and a note, if nothing else names a system.

    several : whether the command has several systems
    A parameter file and a saved state name one. Raises : InvalidParameterError
    """
    named = [typed[name] for name in ("system", "parameters", "state") if name in typed]
    if any(value not in (None, []) for value in named) or is_saved_state(typed.get("initial")):
        return typed, ()
    path, content = project_file()
    system = content.get("system")
    if system is None:
        return typed, ()
    if not isinstance(system, str):
        raise InvalidParameterError(f"{path}: system must be text; got {system!r}")
    note = f"{path} sets the system {system}; --system chooses another system"
    return {**typed, "system": [system] if several else system}, (note,)

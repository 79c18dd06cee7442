"""From what a user says of several systems to the systems, each under a label of its own."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from equipoise.errors import InvalidParameterError
from equipoise.rating.registry import make_system, parameters_of
from equipoise.rating.system import RatingSystem
from equipoise.workflows.clock import working_time
from equipoise.workflows.settings import DEFAULT_SYSTEM, Settings, assignments

_Found = TypeVar("_Found")


def chosen_systems(
    named: Sequence[str], settings: Settings, assigned: Sequence[str]
) -> dict[str, RatingSystem]:
    """Return systems by label, in the order in which they were named.

    named : [LABEL=]NAME each; the label is the name where none is given
    settings : of a parameter file: its system where none is named; its parameters are those of
        every system of its name, or of the default one
    assigned : LABEL.NAME=VALUE each, or NAME=VALUE where there is one system; these win
    Raises : InvalidParameterError, NotFoundError
    """
    of_file = settings.system or DEFAULT_SYSTEM
    names = _labelled(named or [of_file])
    given = _by_label(assignments(assigned, "--set"), list(names))
    systems = {}
    for label, name in names.items():
        from_file = settings.parameters if name == of_file else {}
        systems[label] = make_system(name, {**from_file, **given[label]})
    return systems


def audit_each(
    systems: Mapping[str, RatingSystem],
    audit: Callable[..., _Found],
    progress: Callable[[int, int], None] | None,
) -> tuple[dict[str, _Found], dict[str, float]]:
    """Return what an audit finds of every system, and the seconds that it took, by label.

    audit : called with a system and progress=, a function of (steps done, steps in all)
    progress : called with the same, of all systems
    """
    found: dict[str, _Found] = {}
    seconds: dict[str, float] = {}
    for number, (label, system) in enumerate(systems.items()):

        def note(done: int, total: int, before: int = number) -> None:
            if progress is not None:
                progress(before * total + done, len(systems) * total)

        start = working_time()
        found[label] = audit(system, progress=note)
        seconds[label] = working_time() - start
    return found, seconds


def plain_parameters(system: RatingSystem) -> dict[str, object]:
    """Return the parameters of a system as JSON can hold them."""
    return {name: plain_value(value) for name, value in parameters_of(system).items()}


def plain_value(value: object) -> object:
    """Return the value of a parameter as JSON can hold it: an infinite one as text."""
    return str(value) if isinstance(value, float) and math.isinf(value) else value


def _labelled(named: Sequence[str]) -> dict[str, str]:
    """Return {label: name}."""
    found: dict[str, str] = {}
    for text in named:
        label, equals, name = (part.strip() for part in text.partition("="))
        if not label or (equals and not name):
            raise InvalidParameterError(f"--system takes [LABEL=]NAME; got {text!r}")
        name = name or label
        if label in found:
            raise InvalidParameterError(
                f"two systems are called {label!r}: tell them apart by --system LABEL={name}"
            )
        found[label] = name
    return found


def _by_label(given: Mapping[str, str], labels: Sequence[str]) -> dict[str, dict[str, str]]:
    """Return {label: {parameter: value}}; names of parameters have no dot, labels may."""
    found: dict[str, dict[str, str]] = {label: {} for label in labels}
    for key, value in given.items():
        label, dot, name = key.rpartition(".")
        if not dot and len(labels) == 1:
            label = labels[0]
        elif not dot:
            raise InvalidParameterError(
                f"--set takes LABEL.NAME=VALUE where systems are compared; got {key}={value}"
            )
        if label not in found:
            raise InvalidParameterError(
                f"--set names the system {label!r}; there are {', '.join(labels)}"
            )
        if name in found[label]:
            raise InvalidParameterError(f"--set names {name!r} of {label} twice")
        found[label][name] = value
    return found

"""Values of options for the completion of shells: systems, their parameters, formats.

Typer has the scripts of the shells, which ask `equipoise` with the words typed so far. The answers
may take longer than a command's help.
"""

from __future__ import annotations

from typing import get_args

import typer


def systems(incomplete: str) -> list[tuple[str, str]]:
    """Return the systems that begin so, each with its purpose; a label may stand before."""
    from equipoise.analysis.systems import list_systems

    label, equals, _ = incomplete.rpartition("=")
    return [(f"{label}{equals}{system.name}", system.summary) for system in list_systems()]


def parameters(context: typer.Context) -> list[tuple[str, str]]:
    """Return NAME= for the parameters of the system that the words before name."""
    system = context.params.get("system")
    return _parameters_of(system or _default_system())


def labelled_parameters(context: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    """Return NAME= for a single system, LABEL.NAME= for the parameters of several."""
    named = [text.partition("=") for text in context.params.get("system") or ()]
    labels = {label: name or label for label, _, name in named}
    if len(labels) < 2 and "." not in incomplete:
        return _parameters_of(next(iter(labels.values()), _default_system()))
    return [
        (f"{label}.{name}", about)
        for label, system in labels.items()
        for name, about in _parameters_of(system)
    ]


def _parameters_of(system: str) -> list[tuple[str, str]]:
    from equipoise.analysis.systems import described
    from equipoise.errors import EquipoiseError

    try:
        parameters = described(system).parameters
    except EquipoiseError:
        return []
    return [
        (f"{parameter.name}=", f"{parameter.type}, default {parameter.default}")
        for parameter in parameters
    ]


def _default_system() -> str:
    from equipoise.analysis.systems import DEFAULT_SYSTEM

    return DEFAULT_SYSTEM


def formats() -> list[str]:
    """Return the formats of histories."""
    from equipoise.formats.opening.kinds import Format

    return list(get_args(Format))


def time_formats() -> list[str]:
    """Return the formats of times that have a name."""
    from equipoise.formats.times import NAMED_FORMATS

    return list(NAMED_FORMATS)

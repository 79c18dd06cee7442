"""A command as it can be typed again, for what it made to say how it was made."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import typer


def command_line(context: typer.Context, files: Collection[str]) -> str:
    """Return the command that is running with what was given to it, in the order of its options.

    files : names of the parameters that are paths; of these only the name of the file is kept,
        as the folders of one machine mean nothing on another
    """
    words = context.command_path.split()
    parameters: list[Any] = list(context.command.params)
    for parameter in sorted(parameters, key=lambda one: one.param_type_name != "argument"):
        source = context.get_parameter_source(parameter.name)
        if source is None or source.name != "COMMANDLINE":
            continue
        given = context.params[parameter.name]
        for value in given if isinstance(given, list | tuple) else [given]:
            shown = Path(value).name if parameter.name in files and value != "-" else value
            words += _words(parameter, shown)
    return shlex.join(words)


def _words(parameter: Any, value: object) -> Iterator[str]:
    """Yield an argument, or an option with its value, as they are typed."""
    if parameter.param_type_name == "argument":
        yield str(value)
        return
    option = parameter.opts[0]
    # `--skip-bad` may stand alone, and takes its value behind an equals sign.
    if str(parameter.metavar).startswith("[="):
        yield option if value == "matches" else f"{option}={value}"
        return
    yield option
    if not parameter.is_flag:
        yield str(value)

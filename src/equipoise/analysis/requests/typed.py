"""How a field of a request is typed on the command line.

A request is a dataclass. A field `teams: Annotated[int | None, Typed("Number of teams.")] = None`
declares the option `--teams` where its type and default are declared. This module and those of the
requests load no library, because the help of all commands loads them.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Annotated, Any, get_args, get_origin

from equipoise.errors import InvalidParameterError


@dataclass(frozen=True)
class Typed:
    """What the command line says and does of a field; type and default are the field's own.

    help : may end in a "[default: ...]" of its own, in words
    metavar : placeholder of the value in the help; by default that of a Literal is its choices
    name : of the option, if the field has another one
    argument : whether it is an argument instead of an option
    off : the option is a flag that makes the field False
    read : makes the value of the text, or texts if `many`, and of the name of the option
    otherwise : makes the value if nothing was typed, and has no effect on the default in Python
    commands : the only ones that have the option; without : those that have it not
    needs : field that must be given too, because the option is about the chart that is drawn there
    completes : function of `cli/completion.py`
    least, most : limits of a number
    """

    help: str
    metavar: str | None = None
    name: str = ""
    argument: bool = False
    off: bool = False
    read: Callable[[Any, str], Any] | None = None
    many: bool = False
    otherwise: Callable[[], Any] | None = None
    commands: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    needs: str = ""
    completes: str = ""
    least: float | None = None
    most: float | None = None

    def option(self, field: str) -> str:
        """Return the name of the option that a field is."""
        return self.name or f"--{field.strip('_').replace('_', '-')}"

    def is_of(self, command: str) -> bool:
        """Return whether a command has the option."""
        return command not in self.without and (not self.commands or command in self.commands)


def typed_of(hint: object) -> Typed | None:
    """Return how a field with this annotation is typed; None if it is not."""
    more = get_args(hint)[1:] if get_origin(hint) is Annotated else ()
    return next((one for one in more if isinstance(one, Typed)), None)


def shared(request: Any, function: Callable[..., object]) -> dict[str, Any]:
    """Return the fields of a request that are also parameters of a function, given by name."""
    known = inspect.signature(function).parameters.values()
    names = {one.name for one in known if one.kind is one.KEYWORD_ONLY}
    return {one.name: getattr(request, one.name) for one in fields(request) if one.name in names}


def source(paths: str | list[str], _: str) -> object:
    """Return a path, standard input if it is -, or the list of several paths."""
    if isinstance(paths, list):
        return source(paths[0], _) if len(paths) == 1 else paths
    return sys.stdin.buffer if paths == "-" else paths


def path(given: str, _: str) -> str:
    """Return a path as it is."""
    return given


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


def ids(text: str, option: str) -> list[str]:
    """Return the ids of a text A,B,... Raises : InvalidParameterError."""
    from equipoise.formats.lobby import ids_of

    return ids_of(text, option)


def lists_of_ids(texts: list[str], option: str) -> list[list[str]]:
    """Return the ids of each text. Raises : InvalidParameterError."""
    return [ids(text, option) for text in texts]


def all_cores() -> int:
    """Return the number of cores of this machine."""
    from equipoise.numeric.workers import available_cores

    return available_cores()

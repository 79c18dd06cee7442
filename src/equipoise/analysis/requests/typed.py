"""How a field of a request is typed on the command line.

A request is a dataclass. A field `teams: int | None = typed(None, "Number of teams.")` declares the
option `--teams` where its type and default are declared; what several requests share has a type of
its own, `Annotated[int, Typed("Number of threads.")]`. This module and those of the requests load
no library, because the help of all commands loads them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import Field, dataclass, field, fields
from typing import Annotated, Any, get_args, get_origin, get_type_hints


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


def typed(default: object, help_text: str, metavar: str | None = None, **more: Any) -> Any:
    """Return the default of a field, and how it is typed; `more` is that of `Typed`.

    default : `...` for a required field; a class makes the default
    """
    how = {"typed": Typed(help_text, metavar, **more)}
    if default is ...:
        return field(metadata=how)
    if isinstance(default, type):
        return field(default_factory=default, metadata=how)
    return field(default=default, metadata=how)


def typed_fields(request: type[Any]) -> Iterator[tuple[Field[Any], Any, Typed]]:
    """Yield the fields of a request that are typed, with their types, and how."""
    hints, plain = get_type_hints(request, include_extras=True), get_type_hints(request)
    for one in fields(request):
        how = typed_of(hints[one.name]) or one.metadata.get("typed")
        if how is not None:
            yield one, plain[one.name], how


def typed_of(hint: object) -> Typed | None:
    """Return how a value of this type is typed; None if the type does not say it."""
    more = get_args(hint)[1:] if get_origin(hint) is Annotated else ()
    return next((one for one in more if isinstance(one, Typed)), None)


def shared(request: Any, function: Callable[..., object]) -> dict[str, Any]:
    """Return the fields of a request that are also parameters of a function, given by name."""
    known = inspect.signature(function).parameters.values()
    names = {one.name for one in known if one.kind is one.KEYWORD_ONLY}
    return {one.name: getattr(request, one.name) for one in fields(request) if one.name in names}

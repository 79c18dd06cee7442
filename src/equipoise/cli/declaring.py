"""How commands declare their arguments and options, alone and in groups.

A command is a function whose parameters stand by name alone. A parameter is an argument or an
option; or it is a dataclass whose fields are options, a group that several commands share.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping
from copy import copy
from dataclasses import fields, is_dataclass
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import typer
from typer.models import OptionInfo, ParameterInfo


def option(
    default: object, help_text: str, metavar: str | None = None, *, name: str = "", **more: Any
) -> Any:
    """Return the declaration of an option.

    default : `...` for an option that must be given; the help says any other but None and False
    help_text : may end in a "[default: ...]" of its own, in words
    metavar : what stands for the value in the help
    name : of the option; else that of the parameter is taken
    more : as `typer.Option` takes them
    """
    if default is not ... and default is not None and default is not False:
        help_text += f" [default: {default}]"
    names = [name] if name else []
    return typer.Option(
        default, *names, help=help_text, metavar=metavar, show_default=False, **more
    )


def argument(help_text: str, metavar: str, *, default: object = ..., **more: Any) -> Any:
    """Return the declaration of an argument; `default` is `...` for one that must be given."""
    return typer.Argument(default, help=help_text, metavar=metavar, show_default=False, **more)


def add_command(
    application: typer.Typer, name: str, function: Callable[..., int | None], example: str
) -> None:
    """Add a command under a name, with the example that ends its help."""
    application.command(name, epilog=example)(_plain(function))


def _plain(function: Callable[..., int | None]) -> Callable[..., int | None]:
    """Return a command as Typer takes it: with the options of its groups one by one."""
    hints = get_type_hints(function, include_extras=True)
    groups: dict[str, tuple[type, list[str]]] = {}
    parameters: list[inspect.Parameter] = []
    for one in inspect.signature(function).parameters.values():
        kind = hints[one.name]
        if isinstance(kind, type) and is_dataclass(kind):
            own = list(_options_of(kind))
            groups[one.name] = (kind, [option.name for option in own])
            parameters += own
        else:
            parameters.append(_parameter(one.name, kind, one.default))

    @functools.wraps(function)
    def called(**given: Any) -> int | None:
        for name, (kind, names) in groups.items():
            given[name] = kind(**{option: given.pop(option) for option in names})
        return function(**given)

    shown: Any = called
    shown.__signature__ = inspect.Signature(parameters)
    shown.__annotations__ = {one.name: one.annotation for one in parameters}
    return called


def _options_of(group: type[Any]) -> Iterator[inspect.Parameter]:
    """Yield the options of a group; a field that is declared as None is none of them."""
    hints: Mapping[str, Any] = get_type_hints(group, include_extras=True)
    for field in fields(group):
        if hints[field.name] is not type(None):
            yield _parameter(field.name, hints[field.name], field.default)


def _parameter(name: str, kind: Any, declared: Any) -> inspect.Parameter:
    """Return a parameter whose default is its declaration, the option's name included."""
    if get_origin(kind) is Annotated:
        kind, declared = get_args(kind)
    if isinstance(declared, OptionInfo) and not declared.param_decls:
        declared = copy(declared)
        # Said in full: of a flag Typer would make a pair of options, one to switch it off.
        declared.param_decls = (f"--{name.strip('_').replace('_', '-')}",)
    assert isinstance(declared, ParameterInfo) or kind is typer.Context, name
    default = declared if isinstance(declared, ParameterInfo) else inspect.Parameter.empty
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)

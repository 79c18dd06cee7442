"""How commands declare their arguments and options, and how to write out a command line.

A command is a function with keyword-only parameters. A parameter is an argument, an option, or a
dataclass whose fields are options: a group that several commands share.
"""

from __future__ import annotations

import functools
import inspect
import shlex
from collections.abc import Callable, Collection, Iterator, Mapping
from copy import copy
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import typer
from typer.models import OptionInfo, ParameterInfo

from equipoise.cli.helping import Command, print_short_help

#: Options that also have a letter. A letter means the same in every command.
LETTERS = {"--output": "-o", "--system": "-s"}


def option(
    default: object, help_text: str, metavar: str | None = None, *, name: str = "", **more: Any
) -> Any:
    """Return the declaration of an option.

    default : `...` for a required option; the help shows all other defaults but None and False
    help_text : may end in a "[default: ...]" of its own, in words
    metavar : the placeholder of the value in the help; by default that of a Literal is its choices
    name : of the option; by default it is made of the parameter's name
    more : more arguments of `typer.Option`
    """
    if default is not ... and default is not None and default is not False:
        help_text += f" [default: {default}]"
    names = [name] if name else []
    return typer.Option(
        default, *names, help=help_text, metavar=metavar, show_default=False, **more
    )


def argument(help_text: str, metavar: str, *, default: object = ..., **more: Any) -> Any:
    """Return the declaration of an argument; `default` is `...` for a required one."""
    return typer.Argument(default, help=help_text, metavar=metavar, show_default=False, **more)


def add_command(
    application: typer.Typer, name: str, function: Callable[..., int | None], example: str
) -> None:
    """Add a command under a name, with the example that ends its help."""
    application.command(name, cls=Command, epilog=example)(_plain(function))


def _plain(function: Callable[..., int | None]) -> Callable[..., int | None]:
    """Return a command with the options of its groups one by one, as Typer needs it."""
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
    def called(short_help: bool, **given: Any) -> int | None:
        for name, (kind, names) in groups.items():
            given[name] = kind(**{option: given.pop(option) for option in names})
        return function(**given)

    # Typer's own -h would be the same as --help.
    short_help = typer.Option(False, "-h", hidden=True, is_eager=True, callback=print_short_help)
    parameters.append(_parameter("short_help", bool, short_help))
    shown: Any = called
    shown.__signature__ = inspect.Signature(parameters)
    shown.__annotations__ = {one.name: one.annotation for one in parameters}
    return called


def _options_of(group: type[Any]) -> Iterator[inspect.Parameter]:
    """Yield the options of a group; a field of type None is not an option."""
    hints: Mapping[str, Any] = get_type_hints(group, include_extras=True)
    for field in fields(group):
        if hints[field.name] is not type(None):
            yield _parameter(field.name, hints[field.name], field.default)


def _parameter(name: str, kind: Any, declared: Any) -> inspect.Parameter:
    """Return a parameter whose default is its declaration, with name and placeholder."""
    if get_origin(kind) is Annotated:
        kind, declared = get_args(kind)
    if isinstance(declared, OptionInfo):
        declared = copy(declared)
        if not declared.param_decls:
            # With the full name, Typer does not add a second option that switches a flag off.
            spelled = f"--{name.strip('_').replace('_', '-')}"
            letter = LETTERS.get(spelled)
            declared.param_decls = (spelled,) if letter is None else (spelled, letter)
        if declared.metavar is None:
            choices = (one for one in (kind, *get_args(kind)) if get_origin(one) is Literal)
            declared.metavar = "|".join(get_args(next(choices, None))) or None
    assert isinstance(declared, ParameterInfo) or kind is typer.Context, name
    default = declared if isinstance(declared, ParameterInfo) else inspect.Parameter.empty
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)


def command_line(
    context: typer.Context, files: Collection[str], leave_out: Collection[str] = ()
) -> str:
    """Return the running command as a user can type it again, its options in a fixed order.

    files : names of the parameters that are paths; only the name of the file is kept, because the
        folders of one machine mean nothing on another
    leave_out : names of parameters that are left out
    """
    words = context.command_path.split()
    parameters: list[Any] = list(context.command.params)
    for parameter in sorted(parameters, key=lambda one: one.param_type_name != "argument"):
        source = context.get_parameter_source(parameter.name)
        if source is None or source.name != "COMMANDLINE" or parameter.name in leave_out:
            continue
        given = context.params[parameter.name]
        for value in given if isinstance(given, list | tuple) else [given]:
            shown = Path(value).name if parameter.name in files and value != "-" else value
            words += _words(parameter, shown)
    return shlex.join(words)


def _words(parameter: Any, value: object) -> Iterator[str]:
    """Yield the words of an argument, or of an option with its value."""
    if parameter.param_type_name == "argument":
        yield str(value)
        return
    name = parameter.opts[0]
    # `--skip-bad` needs no value, and takes one after an equals sign.
    if str(parameter.metavar).startswith("[="):
        yield name if value == "matches" else f"{name}={value}"
        return
    yield name
    if not parameter.is_flag:
        yield str(value)

"""How commands declare their arguments and options, and how to write out a command line.

A command is a function with keyword-only parameters. A parameter is an argument, an option, or a
request: a dataclass whose fields are arguments and options, see `analysis/requests/typed.py`.
"""

from __future__ import annotations

import functools
import inspect
import shlex
from collections.abc import Callable, Collection, Iterator, Mapping
from copy import copy
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import typer
from typer.models import OptionInfo, ParameterInfo

from equipoise.analysis.requests.typed import Typed, typed_fields, typed_of
from equipoise.cli import completion
from equipoise.cli.helping import Command, print_short_help
from equipoise.cli.project_file import reading_settings, say_used
from equipoise.errors import InvalidParameterError

#: Options that also have a letter. A letter means the same in every command.
LETTERS = {"--output": "-o", "--system": "-s"}
#: Parameters of commands that stand after the options of reading.
_LAST = ("dry_run", "as_json")


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
    application.command(name, cls=Command, epilog=example)(_plain(function, name))


def _plain(function: Callable[..., int | None], command: str) -> Callable[..., int | None]:
    """Return a command with the options of its requests one by one, as Typer needs it."""
    hints = get_type_hints(function, include_extras=True)
    groups: dict[str, _Group] = {}
    own: list[str] = []
    reading: list[inspect.Parameter] = []
    parameters: list[inspect.Parameter] = []
    for one in inspect.signature(function).parameters.values():
        kind = hints[one.name]
        if is_dataclass(kind):
            groups[one.name] = group = _Group(kind, command)
            parameters += group.parameters()
            reading += group.parameters(reading=True)
        else:
            own.append(one.name)
            parameters.append(_parameter(one.name, kind, one.default))

    # The help has options of reading after the others.
    last = [at for at, one in enumerate(parameters) if one.name in _LAST] or [len(parameters)]
    parameters[last[0] : last[0]] = reading

    @functools.wraps(function)
    def called(short_help: bool, **given: Any) -> int | None:
        quiet = bool(given.get("as_json"))
        made = {name: group.made(given, quiet) for name, group in groups.items()}
        return function(**made, **{name: given[name] for name in own})

    # Typer's own -h would be the same as --help.
    short_help = typer.Option(False, "-h", hidden=True, is_eager=True, callback=print_short_help)
    shown: Any = called
    parameters_and_help = [*parameters, _parameter("short_help", bool, short_help)]
    shown.__signature__ = inspect.Signature(parameters_and_help)
    shown.__annotations__ = {one.name: one.annotation for one in parameters_and_help}
    return called


class _Group:
    """The options of a request: its fields that are `Typed`, and those of requests in it."""

    def __init__(self, kind: Any, command: str) -> None:
        self._kind = kind
        self._groups: dict[str, _Group] = {}
        self._fields: dict[str, tuple[Typed, str, inspect.Parameter | None]] = {}
        for field, hint, typed in typed_fields(kind):
            required = field.default is field.default_factory is MISSING
            default = ... if required else None if field.default is MISSING else field.default
            option = typed.metavar if typed.argument else typed.option(field.name)
            one = None
            if typed.is_of(command):
                one = _parameter(field.name, hint, default, typed)
            self._fields[field.name] = (typed, str(option), one)
        for name, hint in get_type_hints(kind).items():
            if is_dataclass(hint) and name not in self._fields:
                self._groups[name] = _Group(hint, command)
        # Settings of the file are for fields of the request that names a section of it.
        self._set = {
            one.name for base in kind.__mro__ if "SECTION" in vars(base) for one in fields(base)
        }

    def parameters(self, reading: bool = False) -> Iterator[inspect.Parameter]:
        """Yield the options in the order of the fields: those of reading, or the others."""
        for field in fields(self._kind):
            if field.name in self._groups:
                yield from self._groups[field.name].parameters(reading)
                continue
            typed, _, parameter = self._fields.get(field.name, (Typed(""), "", None))
            if parameter and reading == (field.name in self._set and not typed.argument):
                yield parameter

    def made(self, given: Mapping[str, Any], quiet: bool) -> Any:
        """Return the request of what was typed, and of what the file of the project sets.

        quiet : whether nothing is said of the file
        Raises : InvalidParameterError, InvalidDataError
        """
        values = {name: group.made(given, quiet) for name, group in self._groups.items()}
        settings = reading_settings() if self._set else {}
        used: dict[str, str] = {}
        for name, (typed, option, parameter) in self._fields.items():
            value, called = None if parameter is None else given[parameter.name], option
            if name in self._set and option in settings and value in (None, False, []):
                value, called = settings[option]
                used[option] = called
            if value is None or value == []:
                if typed.otherwise is not None:
                    values[name] = typed.otherwise()
            elif typed.needs and value and not given[typed.needs]:
                other = self._fields[typed.needs][1]
                raise InvalidParameterError(f"{option} is about the chart, and needs {other}")
            elif typed.read is not None:
                values[name] = typed.read(value, called)
            elif typed.off:
                values[name] = not value
            else:
                values[name] = tuple(value) if isinstance(value, list) else value
        if used:
            values["set_by_project"] = tuple(used)
            if not quiet:
                say_used(list(used.values()))
        return self._kind(**values)


def _declared(kind: Any, typed: Typed, default: Any) -> tuple[Any, ParameterInfo]:
    """Return type and declaration for Typer of a field with this type and default."""
    required = default is ... and typed.otherwise is None
    listed = get_origin(kind) is tuple
    if typed.read is not None or listed:
        text = list[str] if typed.many or listed else str
        kind, default = text if required else text | None, None
    elif typed.off:
        kind, default = bool, False
    elif typed.otherwise is not None:
        kind, default = kind | None, None
    if required:
        default = ...
    if typed.argument:
        assert typed.metavar is not None
        return kind, argument(typed.help, typed.metavar, default=default)
    more: dict[str, Any] = {"min": typed.least, "max": typed.most}
    if typed.completes:
        more["autocompletion"] = getattr(completion, typed.completes)
    return kind, option(default, typed.help, typed.metavar, name=typed.name, **more)


def _parameter(
    name: str, kind: Any, declared: Any, typed: Typed | None = None
) -> inspect.Parameter:
    """Return a parameter whose default is its declaration, with name and placeholder.

    typed : how it is typed, if its type does not say so
    """
    typed = typed or typed_of(kind)
    if get_origin(kind) is Annotated:
        kind, declared = get_args(kind)[0], declared if typed else get_args(kind)[1]
    if typed is not None:
        kind, declared = _declared(kind, typed, declared)
    if isinstance(declared, OptionInfo):
        declared = copy(declared)
        # With the full name, Typer does not add a second option that switches a flag off.
        names = declared.param_decls or (Typed("").option(name),)
        declared.param_decls = (*names, *(LETTERS[one] for one in names if one in LETTERS))
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

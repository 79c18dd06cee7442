"""How commands declare their options, those that several share, and how to write them out.

A command is a function with keyword-only parameters. A parameter is an argument, an option, or a
request: a dataclass whose fields are arguments and options, see `analysis/requests.py`.

Options of reading may also be settings of a project: of its file `equipoise.toml`, which is looked
for in the working directory, and then in the folders above it. Its section `[reading]` has keys
that are options of reading, also for commands that do not have the option, and its key `system` is
the system of commands that rate a history, if nothing else names one.
"""

from __future__ import annotations

import functools
import inspect
import json
import logging
import os
import shlex
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from copy import copy
from dataclasses import MISSING, dataclass, fields, is_dataclass, replace
from datetime import date
from importlib.util import find_spec
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    TypeAlias,
    TypeVar,
    get_args,
    get_origin,
    get_type_hints,
)

import typer
from typer.models import OptionInfo, ParameterInfo

from equipoise.analysis.requests import (
    PROJECT_FILE,
    HistoryRequest,
    Typed,
    reading_options,
    reading_words,
    typed,
    typed_fields,
    typed_of,
)
from equipoise.cli import completion
from equipoise.cli.helping import Command, print_short_help
from equipoise.cli.report import say
from equipoise.data.files import read_toml
from equipoise.errors import InvalidParameterError
from equipoise.wording import how_to_install

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from equipoise.analysis.systems import Settings
    from equipoise.rating.system import RatingSystem


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
    for parameter in inspect.signature(function).parameters.values():
        kind = hints[parameter.name]
        if is_dataclass(kind):
            groups[parameter.name] = group = _Group(kind, command)
            parameters += group.parameters()
            reading += group.parameters(reading=True)
        else:
            own.append(parameter.name)
            parameters.append(_parameter(parameter.name, kind, parameter.default))

    # The help has options of reading after the others.
    last = [at for at, parameter in enumerate(parameters) if parameter.name in _LAST] or [
        len(parameters)
    ]
    parameters[last[0] : last[0]] = reading

    @functools.wraps(function)
    def called(short_help: bool, **typed: Any) -> int | None:
        quiet = bool(typed.get("as_json"))
        notes: tuple[str, ...] = ()
        if reading and {"system", "parameters"} <= typed.keys():
            typed, notes = _with_project_system(typed, Systems in hints.values())
        requests = {name: group.made(typed, quiet, notes) for name, group in groups.items()}
        return function(**requests, **{name: typed[name] for name in own})

    # Typer's own -h would be the same as --help.
    short_help = typer.Option(False, "-h", hidden=True, is_eager=True, callback=print_short_help)
    shown: Any = called
    parameters_and_help = [*parameters, _parameter("short_help", bool, short_help)]
    shown.__signature__ = inspect.Signature(parameters_and_help)
    shown.__annotations__ = {
        parameter.name: parameter.annotation for parameter in parameters_and_help
    }
    return called


class _Group:
    """The options of a request: its fields that are `Typed`, and those of requests in it."""

    def __init__(self, kind: Any, command: str) -> None:
        self._kind = kind
        self._groups: dict[str, _Group] = {}
        self._fields: dict[str, tuple[Typed, str, inspect.Parameter | None]] = {}
        # Settings of the file are for fields of the request that names a section of it.
        self._set = {
            field.name for base in kind.__mro__ if "SECTION" in vars(base) for field in fields(base)
        }
        for field, hint, how in typed_fields(kind):
            required = field.default is field.default_factory is MISSING
            default = ... if required else None if field.default is MISSING else field.default
            option = how.metavar if how.argument else how.option(field.name)
            parameter = None
            if how.is_of(command):
                if field.name in self._set and hint is bool and how.read is None:
                    # A flag that the file of the project may set can be switched off.
                    both = replace(how, name=f"{option}/--no-{str(option)[2:]}")
                    parameter = _parameter(field.name, bool | None, None, both)
                else:
                    parameter = _parameter(field.name, hint, default, how)
            self._fields[field.name] = (how, str(option), parameter)
        for name, hint in get_type_hints(kind).items():
            if is_dataclass(hint) and name not in self._fields:
                self._groups[name] = _Group(hint, command)

    def parameters(self, reading: bool = False) -> Iterator[inspect.Parameter]:
        """Yield the options in the order of the fields: those of reading, or the others."""
        for field in fields(self._kind):
            if field.name in self._groups:
                yield from self._groups[field.name].parameters(reading)
                continue
            how, _, parameter = self._fields.get(field.name, (Typed(""), "", None))
            if parameter and reading == (field.name in self._set and not how.argument):
                yield parameter

    def made(self, typed: Mapping[str, Any], quiet: bool, notes: tuple[str, ...] = ()) -> Any:
        """Return the request of what was typed, and of what the file of the project sets.

        quiet : whether the file is named in the notes of the answer alone
        notes : what else the file sets
        Raises : InvalidParameterError, InvalidDataError
        """
        values = {name: group.made(typed, quiet, notes) for name, group in self._groups.items()}
        settings = reading_settings() if self._set else {}
        used: dict[str, str] = {}
        for name, (how, option, parameter) in self._fields.items():
            value, called = None if parameter is None else typed[parameter.name], option
            if name in self._set and option in settings and (value is None or value == []):
                value, called = settings[option]
                used[option] = called
            if value is None or value == []:
                if how.otherwise is not None:
                    values[name] = how.otherwise()
            elif how.needs and value and not typed[how.needs]:
                other = self._fields[how.needs][1]
                raise InvalidParameterError(f"{option} is about the chart, and needs {other}")
            elif how.read is not None:
                values[name] = how.read(value, called)
            elif how.off:
                values[name] = not value
            else:
                values[name] = tuple(value) if isinstance(value, list) else value
        if self._set and (used or notes):
            values["set_by_project"] = tuple(used)
            notes = (*((used_in_words(list(used.values())),) if used else ()), *notes)
            if quiet:
                values["notes"] = notes
            else:
                say(*notes)
        return self._kind(**values)


def _declared(kind: Any, how: Typed, default: Any) -> tuple[Any, ParameterInfo]:
    """Return type and declaration for Typer of a field with this type and default."""
    required = default is ... and how.otherwise is None
    listed = get_origin(kind) is tuple
    if how.read is not None or listed:
        text = list[str] if how.many or listed else str
        kind, default = text if required else text | None, None
    elif how.off:
        kind, default = bool, False
    elif how.otherwise is not None:
        kind, default = kind | None, None
    if required:
        default = ...
    if how.argument:
        assert how.metavar is not None
        return kind, argument(how.help, how.metavar, default=default)
    more: dict[str, Any] = {"min": how.least, "max": how.most}
    if how.completes:
        more["autocompletion"] = getattr(completion, how.completes)
    return kind, option(default, how.help, how.metavar, name=how.name, **more)


def _parameter(name: str, kind: Any, declared: Any, how: Typed | None = None) -> inspect.Parameter:
    """Return a parameter whose default is its declaration, with name and placeholder.

    how : how it is typed, if its type does not say so
    """
    how = how or typed_of(kind)
    if get_origin(kind) is Annotated:
        kind, declared = get_args(kind)[0], declared if how else get_args(kind)[1]
    if how is not None:
        kind, declared = _declared(kind, how, declared)
    if isinstance(declared, OptionInfo):
        declared = copy(declared)
        # With the full name, Typer does not add a second option that switches a flag off.
        names = declared.param_decls or (Typed("").option(name),)
        declared.param_decls = (*names, *(LETTERS[letter] for letter in names if letter in LETTERS))
        if declared.metavar is None:
            choices = (part for part in (kind, *get_args(kind)) if get_origin(part) is Literal)
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
    for parameter in sorted(
        parameters, key=lambda parameter: parameter.param_type_name != "argument"
    ):
        source = context.get_parameter_source(parameter.name)
        if source is None or source.name != "COMMANDLINE" or parameter.name in leave_out:
            continue
        typed = context.params[parameter.name]
        for value in typed if isinstance(typed, list | tuple) else [typed]:
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
    yield parameter.secondary_opts[0] if value is False and parameter.secondary_opts else name
    if not parameter.is_flag:
        yield str(value)


#: A request with a history.
_Request = TypeVar("_Request", bound=Any)

Database: TypeAlias = Annotated[
    str,
    option(
        "sqlite:///equipoise.db",
        "The database: sqlite:///FILE or postgresql+psycopg://USER:PASSWORD@HOST/NAME. The "
        "environment variable EQUIPOISE_DATABASE also sets it.",
        "URL",
        envvar="EQUIPOISE_DATABASE",
        show_envvar=False,
    ),
]
Json: TypeAlias = Annotated[
    bool, option(False, "Print the answer and any errors as JSON.", name="--json")
]
DryRun: TypeAlias = Annotated[
    bool,
    option(
        False,
        "Say what would be read, what is odd in it and what would refuse it, as `equipoise "
        "inspect` does. Nothing else is done.",
        name="--dry-run",
    ),
]
_Parameters: TypeAlias = Annotated[
    str | None,
    Typed(
        "Read the system, its [parameters] and [statistics] from a file. --set overrides it.",
        "FILE.toml",
    ),
]


@dataclass(frozen=True, kw_only=True)
class System:
    """Which rating system, with which parameters."""

    system: str | None = typed(
        None,
        "Rating system; `equipoise systems` lists them. [default: of a state or equipoise.toml, or "
        "elo-mmr]",
        completes="systems",
    )
    set_: tuple[str, ...] = typed(
        (),
        "Set a parameter of the system. Repeatable. `equipoise systems SYSTEM` lists them.",
        "NAME=VALUE",
        completes="parameters",
    )
    parameters: _Parameters = None

    def settings(self) -> Settings:
        """Return the settings of the parameter file. Raises : NotFoundError, InvalidDataError."""
        return _settings(self.parameters)

    def chosen(self, settings: Settings) -> RatingSystem | None:
        """Return the system that was chosen; None if neither option nor file names one."""
        from equipoise.analysis.systems import chosen_system

        return chosen_system(self.system, settings, self.set_)


@dataclass(frozen=True, kw_only=True)
class Systems:
    """Which rating systems, under which labels, with which parameters."""

    system: tuple[str, ...] = typed(
        (),
        "A rating system, optionally with a label. Repeatable. [default: elo-mmr]",
        "[LABEL=]NAME",
        completes="systems",
    )
    set_: tuple[str, ...] = typed(
        (),
        "Set a parameter of the system with this label. Repeatable. The default label of a system "
        "is its name.",
        "[LABEL.]NAME=VALUE",
        completes="labelled_parameters",
    )
    parameters: _Parameters = None

    def settings(self) -> Settings:
        """Return the settings of the parameter file. Raises : NotFoundError, InvalidDataError."""
        return _settings(self.parameters)

    def chosen(self, settings: Settings) -> dict[str, RatingSystem]:
        """Return the systems by label."""
        from equipoise.analysis.systems import chosen_systems

        return chosen_systems(self.system, settings, self.set_)

    def chosen_or_every(self, settings: Settings) -> tuple[dict[str, RatingSystem], frozenset[str]]:
        """Return the systems by label, and the labels of those that the name `all` stands for."""
        from equipoise.analysis.systems import chosen_systems, with_every

        named, added = with_every(self.system)
        return chosen_systems(named, settings, self.set_), added


def _settings(path: str | None) -> Settings:
    from equipoise.analysis.systems import read_settings

    return read_settings(path)


def with_weights(history: _Request, settings: Settings) -> _Request:
    """Return a request with the weights of statistics of a parameter file.

    `--stat` overrides the file, and the file the settings of the project.
    """
    weights = [settings.statistics, history.statistics]
    if "--stat" in history.set_by_project:
        weights.reverse()
    weighted: _Request = replace(history, statistics={**weights[0], **weights[1]})
    return weighted


def weighed(request: _Request, settings: Settings) -> _Request:
    """Return a request whose history has these weights."""
    history = with_weights(request.history, settings)
    weighed_request: _Request = replace(request, history=history)
    return weighed_request


@dataclass(frozen=True, kw_only=True)
class Cluster:
    """Other machines that do the work."""

    cluster: str | None = typed(
        None,
        "Let the workers of a Dask scheduler do the work: tls://HOST:PORT, with the certificates "
        "of Dask's configuration, or tcp://127.0.0.1:PORT for one on this machine. Results are "
        "the same. Needs the extra cluster.",
        "ADDRESS",
    )

    @contextmanager
    def executor(self, workers: int | None = None) -> Iterator[Executor | None]:
        """Connect to the cluster; without one, the work stays on this machine: None.

        workers : value of `--workers`, which is for this machine
        Raises : InvalidParameterError, UnavailableError, ConflictError
        """
        if self.cluster is None:
            yield None
            return
        if workers is not None:
            raise InvalidParameterError("--workers cannot be combined with --cluster")
        if find_spec("distributed") is None:
            raise InvalidParameterError(
                f"a cluster needs the library distributed: {how_to_install('cluster')}"
            )
        from equipoise.parallel.cluster import connect

        # All that matters is raised.
        for name in ("distributed", "tornado"):
            logging.getLogger(name).setLevel(logging.CRITICAL)
        with connect(self.cluster) as executor:
            yield executor


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


def _with_project_system(
    typed: dict[str, Any], several: bool
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return options with the system of the project, and a note, if nothing else names a system.

    several : whether the command has several systems
    A parameter file, a saved state and a pool name one. Raises : InvalidParameterError
    """
    from equipoise.formats.opening.kinds import is_saved_state

    named = [typed[name] for name in ("system", "parameters", "state", "create") if name in typed]
    if any(value not in (None, []) for value in named) or is_saved_state(typed.get("initial")):
        return typed, ()
    path, content = _project()
    system = content.get("system")
    if system is None:
        return typed, ()
    if not isinstance(system, str):
        raise InvalidParameterError(f"{path}: system must be text; got {system!r}")
    note = f"{path} sets the system {system}; --system chooses another system"
    return {**typed, "system": [system] if several else system}, (note,)


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

"""How commands declare their options, those that several share, and how to write them out.

A command is a function with keyword-only parameters. A parameter is an argument, an option, or a
request: a dataclass whose fields are arguments and options, see `analysis/requests.py`. The
docstring of a command is its help, which ends in an example.
"""

from __future__ import annotations

import functools
import inspect
import logging
import re
import shlex
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import MISSING, dataclass, fields, is_dataclass, replace
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

from equipoise.analysis.requests import Typed, typed, typed_fields
from equipoise.cli.helping import Command, print_short_help
from equipoise.cli.project import reading_settings, used_in_words, with_project_system
from equipoise.cli.report import say
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


#: Before a paragraph of a heading and indented lines, which the help prints as it is.
_LISTED = re.compile(r"\n\n(?=\S.*:\n  )")


def add_command(application: typer.Typer, name: str, function: Callable[..., int | None]) -> None:
    """Add a command under a name; its docstring ends in an example."""
    text, *listed = _LISTED.split(inspect.getdoc(function) or "")
    epilog = "\n\n".join(f"\b\n{paragraph}" for paragraph in listed)
    application.command(name, cls=Command, help=text, epilog=epilog)(_plain(function, name))


def _plain(function: Callable[..., int | None], command: str) -> Callable[..., int | None]:
    """Return a command with the options of its requests one by one, as Typer needs it."""
    options = _Options(function, command)
    reading = [*options.parameters(reading=True)]
    parameters = [*options.parameters()]
    # The help has options of reading after the others.
    names = [parameter.name for parameter in parameters]
    last = min(names.index(name) if name in names else len(names) for name in _LAST)
    parameters[last:last] = reading
    several = Systems in get_type_hints(function).values()

    @functools.wraps(function)
    def called(short_help: bool, **words: Any) -> int | None:
        notes: tuple[str, ...] = ()
        if reading and {"system", "parameters"} <= words.keys():
            words, notes = with_project_system(words, several)
        status: int | None = options.made(words, bool(words.get("as_json")), notes)
        return status

    # Typer's own -h would be the same as --help.
    short_help = typer.Option(False, "-h", hidden=True, is_eager=True, callback=print_short_help)
    shown: Any = called
    parameters.append(_keyword("short_help", bool, short_help))
    shown.__signature__ = inspect.Signature(parameters)
    shown.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return called


class _Options:
    """The options of a command or request: `Typed` fields, and those of requests within it."""

    def __init__(self, kind: Any, command: str) -> None:
        self._kind = kind
        self._typed = {
            field.name: (field, how, str(how.metavar) if how.argument else how.option(field.name))
            for field, _, how in typed_fields(kind)
        }
        # Settings of the file are for fields of the request that names a section of it.
        bases = [base for base in getattr(kind, "__mro__", ()) if "SECTION" in vars(base)]
        self._set = {field.name for base in bases for field in fields(base)}
        # Declarations for Typer, and the options of requests, in order.
        self._parts: dict[str, inspect.Parameter | _Options] = {}
        for name, hint in get_type_hints(kind).items():
            if name not in self._typed:
                if is_dataclass(hint):
                    self._parts[name] = _Options(hint, command)
                elif hint is typer.Context:
                    self._parts[name] = _keyword(name, hint)
            elif self._typed[name][1].is_of(command):
                self._parts[name] = self._parameter(name, hint)

    def parameters(self, reading: bool = False) -> Iterator[inspect.Parameter]:
        """Yield the options in the order of the fields: those of reading, or the others."""
        for name, part in self._parts.items():
            if isinstance(part, _Options):
                yield from part.parameters(reading)
            elif reading == (name in self._set and not self._typed[name][1].argument):
                yield part

    def made(self, words: Mapping[str, Any], quiet: bool, notes: tuple[str, ...]) -> Any:
        """Return the request of what was typed, and of what the file of the project sets.

        For a command, call it and return its status.

        quiet : whether the file is named in the notes of the answer alone
        notes : what else the file sets
        Raises : InvalidParameterError, InvalidDataError
        """
        values = {
            name: part.made(words, quiet, notes) if isinstance(part, _Options) else words[name]
            for name, part in self._parts.items()
            if name not in self._typed
        }
        settings = reading_settings() if self._set else {}
        used: dict[str, str] = {}
        for name, (field, how, option) in self._typed.items():
            value, called = words[name] if name in self._parts else None, option
            if name in self._set and option in settings and value in (None, []):
                value, called = settings[option]
                used[option] = called
            if value is None or value == []:
                if how.otherwise is not None:
                    values[name] = how.otherwise()
                elif field.default is not MISSING:
                    values[name] = field.default
                elif field.default_factory is not MISSING:
                    values[name] = field.default_factory()
            elif how.needs and value and not words[how.needs]:
                other = self._typed[how.needs][2]
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

    def _parameter(self, name: str, kind: Any) -> inspect.Parameter:
        """Return the declaration of a field for Typer; kind : its type."""
        field, how, option = self._typed[name]
        default = None if field.default is MISSING else field.default
        required = field.default is field.default_factory is MISSING and how.otherwise is None
        if name in self._set and kind is bool and how.read is None:
            # A flag that the file of the project may set can be switched off.
            kind, default, option = bool | None, None, f"{option}/--no-{option[2:]}"
        elif how.read is not None or get_origin(kind) is tuple:
            kind = list[str] if how.many or how.read is None else str
            kind, default = kind if required else kind | None, None
        elif how.off or (kind is bool and required):
            kind, default, required = bool, False, False
        elif how.otherwise is not None:
            kind, default = kind | None, None
        about, metavar = how.help, how.metavar
        more: dict[str, Any] = {"show_default": False, "min": how.least, "max": how.most}
        if how.completes:
            more["autocompletion"] = globals()[f"complete_{how.completes}"]
        declared: Any = ... if required else default
        if how.argument:
            declared = typer.Argument(declared, help=about, metavar=metavar, **more)
            return _keyword(name, kind, declared)
        if not required and default is not None and default is not False:
            about += f" [default: {default}]"
        if metavar is None:
            choices = (part for part in (kind, *get_args(kind)) if get_origin(part) is Literal)
            metavar = "|".join(get_args(next(choices, None))) or None
        # With the full name, Typer does not add a second option that switches a flag off.
        names = (option, LETTERS[option]) if option in LETTERS else (option,)
        more |= {"envvar": how.variable, "show_envvar": False}
        return _keyword(
            name, kind, typer.Option(declared, *names, help=about, metavar=metavar, **more)
        )


def _keyword(name: str, kind: Any, default: Any = inspect.Parameter.empty) -> inspect.Parameter:
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
    Typed(
        "The database: sqlite:///FILE or postgresql+psycopg://USER:PASSWORD@HOST/NAME. The "
        "environment variable EQUIPOISE_DATABASE also sets it. [default: sqlite:///equipoise.db]",
        "URL",
        variable="EQUIPOISE_DATABASE",
        otherwise=lambda: "sqlite:///equipoise.db",
    ),
]
Json: TypeAlias = Annotated[bool, Typed("Print the answer and any errors as JSON.", name="--json")]
DryRun: TypeAlias = Annotated[
    bool,
    Typed(
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
        from equipoise.analysis.systems import read_settings

        return read_settings(self.parameters)

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
        from equipoise.analysis.systems import read_settings

        return read_settings(self.parameters)

    def chosen(self, settings: Settings) -> dict[str, RatingSystem]:
        """Return the systems by label."""
        from equipoise.analysis.systems import chosen_systems

        return chosen_systems(self.system, settings, self.set_)

    def chosen_or_every(self, settings: Settings) -> tuple[dict[str, RatingSystem], frozenset[str]]:
        """Return the systems by label, and the labels of those that the name `all` stands for."""
        from equipoise.analysis.systems import chosen_systems, with_every

        named, added = with_every(self.system)
        return chosen_systems(named, settings, self.set_), added


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


# Values of options for the completion of shells, which ask `equipoise` with the words typed so
# far. The answers may take longer than a command's help.


def complete_systems(incomplete: str) -> list[tuple[str, str]]:
    """Return the systems that begin so, each with its purpose; a label may stand before."""
    from equipoise.analysis.systems import list_systems

    label, equals, _ = incomplete.rpartition("=")
    return [(f"{label}{equals}{system.name}", system.summary) for system in list_systems()]


def complete_parameters(context: typer.Context) -> list[tuple[str, str]]:
    """Return NAME= for the parameters of the system that the words before name."""
    system = context.params.get("system")
    return _parameters_of(system or _default_system())


def complete_labelled_parameters(context: typer.Context, incomplete: str) -> list[tuple[str, str]]:
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


def complete_formats() -> list[str]:
    """Return the formats of histories."""
    from equipoise.formats.table import Format

    return list(get_args(Format))


def complete_time_formats() -> list[str]:
    """Return the formats of times that have a name."""
    from equipoise.formats.times import NAMED_FORMATS

    return list(NAMED_FORMATS)

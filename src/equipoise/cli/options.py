"""How commands declare their options, their help, and the options that several commands share.

A command is a function with keyword-only parameters. A parameter is an argument, an option, or a
request: a dataclass whose fields are arguments and options, see `analysis/requests.py`. The
docstring of a command is its help, which ends in an example. Options stand under headings, and `-h`
is short.
"""

from __future__ import annotations

import functools
import inspect
import logging
import re
import shlex
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
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
from typer.core import TyperCommand

from equipoise.analysis.requests import (
    PROJECT_FILE,
    Typed,
    reading_settings,
    settings_alone,
    typed,
    typed_fields,
)
from equipoise.cli import suggestions
from equipoise.cli.report import print_lines, say
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


def _pool_names_it(words: Mapping[str, Any]) -> bool:
    """Return whether a pool that is there, or the log of one, says which system rates."""
    if "create" not in words:
        return False
    from equipoise.pools.exchange.log_lines import is_log

    return not words["create"] or words["each"] or is_log(Path(words["source"]))


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
        if reading and {"system", "parameters"} <= words.keys() and not _pool_names_it(words):
            from equipoise.analysis.systems import with_project_system

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
            elif how.read is not None:
                values[name] = how.read(value, called)
            elif how.off:
                values[name] = not value
            else:
                values[name] = tuple(value) if isinstance(value, list) else value
        if self._set and (used or notes):
            values["set_by_project"] = (*used, *(("--system",) if notes else ()))
            if used:
                section = next(iter(used.values())).rpartition(" ")[0]
                keys = ", ".join(option.rpartition(" ")[2] for option in used.values())
                notes = (f"{section} sets {keys}", *notes)
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
            more["autocompletion"] = getattr(suggestions, f"complete_{how.completes}")
        declared: Any = ... if required else default
        if how.argument:
            declared = typer.Argument(declared, help=about, metavar=metavar, **more)
            return _keyword(name, kind, declared)
        if not required and default is not None and default is not False and default != "":
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


#: Old name of an option -> its name today, in every command that has the latter.
_OPTIONS = {
    "--resume": "--state",
    "--memory": "--memory-limit",
    "--raw": "--no-escape-formulas",
    "--if-ranked": "--what-if",
}


def with_new_options(words: Sequence[str], known: Collection[str]) -> list[str]:
    """Return the words of a command with the options' new names.

    known : options of the command
    """
    renamed = {old: new for old, new in _OPTIONS.items() if new in known and old not in known}
    words_now: list[str] = []
    for number, word in enumerate(words):
        if word == "--":
            return [*words_now, *words[number:]]
        old, equals, value = word.partition("=")
        if old in renamed:
            say(f"{old} is now called {renamed[old]}.")
            words_now.append(f"{renamed[old]}{equals}{value}")
        else:
            words_now.append(word)
    return words_now


#: Options of a command that are under no other heading.
_OWN = "Options"
#: Heading -> names of options below it.
HEADINGS = {
    "Rating": "system set parameters conservative",
    "Reading": "column format sheet where from until time-format skip-bad stat "
    "lower-score-is-better unplaced walkovers synonyms strict",
    "Known ratings and saved states": "state save restart initial initial-mapping",
    "Search": "metric first grid trials range entry study study-name",
    "Scoring": "min-history ties-as-authors least-difference calibrate scores",
    "Model": "anchor select scale curve draws colour-advantage prior ties",
    "Tie-breaks": "tie-breaks order unplayed pairing tie-break-rules",
    "Speed": "workers cluster memory-limit",
    "Output": "output predictions trace diff chart size report details skills trials-output "
    "no-band no-performances no-escape-formulas json",
}
#: The same for options that mean something else in one command.
_ELSEWHERE = {
    "backtest --from": "Scoring",
    "performance --details": "Tie-breaks",
    "performance --strict": "Options",
    "rate --at": "Rating",
    "rate --by": "Many pools",
    "rate --workers": "Many pools",
    "rate --cluster": "Many pools",
}
_HEADING_OF = {f"--{name}": title for title, names in HEADINGS.items() for name in names.split()}
#: Options that most people need: the help of `-h` in commands with many options.
OFTEN = (
    "all anchor as attribute avoid by chart column compare contests create database details "
    "distribution dry-run each field first from grid json kind late match matches method "
    "metric newcomer objective order output overwrite party places player players pool "
    "posterior range ratings report save set size skip-bad state superiority synonyms system team "
    "teams ties tie-breaks time-format top trials what-if where"
)
#: What the help says below the options of reading.
_IN_FILE = "Sets these options below [reading], for commands in its folder and below. Other keys: "
#: The most options of a command that `-h` shows all.
_FEW = 10
_DEFAULT = re.compile(r"\[default: [^]]*\]")


class Command(TyperCommand):
    """A command whose options stand under headings, and also have their earlier names."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the words after the name of the command."""
        known = {name for parameter in self.params for name in parameter.opts}
        return super().parse_args(ctx, with_new_options(args, known))

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write all arguments and options."""
        self._write(formatter, ctx, self.params, short=False)

    def print_short_help(self, ctx: Any) -> None:
        """Print what the command does, and the options that most people need."""
        parameters: list[Any] = self.params
        options = [
            parameter
            for parameter in parameters
            if parameter.param_type_name == "option" and not parameter.hidden
        ]
        if len(options) <= _FEW:
            print_lines(*self.get_help(ctx).split("\n"))
            return
        often = {f"--{name}" for name in OFTEN.split()}
        few = [
            parameter for parameter in options if parameter.required or often & {*parameter.opts}
        ]
        formatter = ctx.make_formatter()
        self.format_usage(ctx, formatter)
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text((self.help or "").partition("\n\n")[0])
        arguments = [
            parameter for parameter in parameters if parameter.param_type_name == "argument"
        ]
        self._write(formatter, ctx, [*arguments, *few], short=True)
        self.format_epilog(ctx, formatter)
        print_lines(
            *formatter.getvalue().rstrip("\n").split("\n"),
            "",
            f"{len(few)} of {len(options)} options. `{ctx.command_path} --help` shows all.",
        )

    def _write(self, formatter: Any, ctx: Any, parameters: Iterable[Any], *, short: bool) -> None:
        """Write parameters with their help under headings; only its beginning if short."""
        sections: dict[str, list[tuple[str, str]]] = {"Arguments": [], _OWN: []}
        for parameter in parameters:
            record = parameter.get_help_record(ctx)
            if record is None:
                continue
            name, text = record
            # Typer adds the type of an argument to its name.
            if parameter.param_type_name == "argument":
                name, title = name.partition(" <")[0], "Arguments"
            else:
                option = max(parameter.opts, key=len)
                own = _ELSEWHERE.get(f"{ctx.info_name} {option}")
                title = _OWN if short else own or _HEADING_OF.get(option, _OWN)
            sections.setdefault(title, []).append((name, _first_sentence(text) if short else text))
        if (
            not short
            and "Reading" in sections
            and any("--where" in parameter.opts for parameter in self.params)
        ):
            keys = ", ".join(settings_alone(ctx.info_name))
            sections["Reading"].append((PROJECT_FILE, f"{_IN_FILE}{keys}."))
        sections[_OWN].append(("-h, --help", "Show the most used options (-h) or all (--help)."))
        for title, rows in sections.items():
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)


def print_short_help(context: typer.Context, wanted: bool) -> None:
    """Print the short help if `-h` is given, and end the command."""
    if wanted and not context.resilient_parsing:
        command: Any = context.command
        command.print_short_help(context)
        raise typer.Exit


def _first_sentence(text: str) -> str:
    """Return the first sentence of the help of an option, and its default."""
    first, stop, _ = text.removesuffix("  [required]").partition(". ")
    default = _DEFAULT.search(text) if stop else None
    repeated = stop and "epeatable" in text and "epeatable" not in first
    more = (" Repeatable." if repeated else "") + (f" {default[0]}" if default else "")
    return f"{first}{stop.strip()}{more}"


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
Json: TypeAlias = Annotated[bool, Typed("Print the result and any errors as JSON.", name="--json")]
DryRun: TypeAlias = Annotated[
    bool,
    Typed(
        "Only check the input, as `equipoise inspect` does. Shows its columns, first matches, "
        "problems and unusual values.",
        name="--dry-run",
    ),
]
_Parameters: TypeAlias = Annotated[
    str | None,
    Typed(
        "Read the system, its [parameters] and [statistics] from a TOML file. --set "
        "overrides them.",
        "FILE.toml",
    ),
]


@dataclass(frozen=True, kw_only=True)
class System:
    """Which rating system, with which parameters."""

    system: str | None = typed(
        None,
        "Rating system; `equipoise systems` lists them. [default: from state or equipoise.toml, "
        "or elo-mmr]",
        completes="systems",
    )
    set_: tuple[str, ...] = typed(
        (),
        "Set a parameter of the system. Repeatable. `equipoise systems SYSTEM` lists the "
        "parameters.",
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
        from equipoise.analysis.systems import chosen_parameters
        from equipoise.rating.registry import make_system

        chosen = chosen_parameters(self.system, settings, self.set_)
        return None if chosen is None else make_system(*chosen)


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
        "Run the work on the Dask scheduler at this address: tls://HOST:PORT, with the "
        "certificates in Dask's configuration, or tcp://127.0.0.1:PORT on this machine. "
        "Results do not change. Needs the extra `cluster`.",
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

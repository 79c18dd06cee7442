"""How commands and their requests declare options, and the options that several requests share.

A request is a dataclass. A field `teams: int = typed(2, "Number of teams.")` declares the option
`--teams` where its type and default are declared, and so does a parameter of a command; what
several share has a type of its own, `Annotated[int, Typed("Number of threads.")]`. Options of
reading are the same in every command that reads a history; some are options of few commands alone.

The file of a project, `equipoise.toml`, is looked for in the working directory, and then in the
folders above it. Its section `[reading]` has keys that are options of reading, also for commands
that do not have the option, and its key `system` is the system of commands that rate a history, if
nothing else names one.

This module and those of the requests load no library, because the help of all commands loads them.
"""

from __future__ import annotations

import glob
import inspect
import io
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass, replace
from datetime import date
from pathlib import Path
from typing import (
    Annotated,
    Any,
    ClassVar,
    Literal,
    TypeAlias,
    TypeVar,
    get_args,
    get_origin,
    get_type_hints,
)

from equipoise.errors import InvalidParameterError

_Request = TypeVar("_Request", bound=Any)
_Found = TypeVar("_Found")


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
    completes : a shell completes its values by `complete_` and this name, of `cli/options.py`
    least, most : limits of a number
    variable : environment variable that also sets it
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
    completes: str = ""
    least: float | None = None
    most: float | None = None
    variable: str | None = None

    def option(self, field: str) -> str:
        """Return the name of the option that a field is."""
        return self.name or f"--{field.strip('_').replace('_', '-')}"

    def is_of(self, command: str) -> bool:
        """Return whether a command has the option."""
        return command not in self.without and (not self.commands or command in self.commands)


def typed(default: object, help_text: str, metavar: str | None = None, **more: Any) -> Any:
    """Return the default of a field or parameter, and how it is typed; `more` is that of `Typed`.

    default : `...` for a required field; a class makes the default
    """
    how = {"typed": Typed(help_text, metavar, **more)}
    if default is ...:
        return field(metadata=how)
    if isinstance(default, type):
        return field(default_factory=default, metadata=how)
    return field(default=default, metadata=how)


def typed_fields(kind: Any) -> Iterator[tuple[Field[Any], Any, Typed]]:
    """Yield the fields of a request, or the parameters of a command, that are typed; and how."""
    hints, plain = get_type_hints(kind, include_extras=True), get_type_hints(kind)
    for declared in fields(kind) if is_dataclass(kind) else _parameters(kind):
        how = typed_of(hints[declared.name]) or declared.metadata.get("typed")
        if how is not None:
            yield declared, plain[declared.name], how


def _parameters(function: Callable[..., object]) -> Iterator[Field[Any]]:
    """Yield the parameters of a command as fields."""
    for parameter in inspect.signature(function).parameters.values():
        declared: Any = parameter.default
        if not isinstance(declared, Field):
            default = MISSING if declared is inspect.Parameter.empty else declared
            declared = field(default=default)
        declared.name = parameter.name
        yield declared


def typed_of(hint: object) -> Typed | None:
    """Return how a value of this type is typed; None if the type does not say it."""
    more = get_args(hint)[1:] if get_origin(hint) is Annotated else ()
    return next((hint for hint in more if isinstance(hint, Typed)), None)


def shared(request: Any, function: Callable[..., object]) -> dict[str, Any]:
    """Return the fields of a request that are also parameters of a function, given by name."""
    known = inspect.signature(function).parameters.values()
    names = {parameter.name for parameter in known if parameter.kind is parameter.KEYWORD_ONLY}
    return {
        field.name: getattr(request, field.name) for field in fields(request) if field.name in names
    }


def source(paths: str | list[str], _: str) -> object:
    """Return a path, standard input if it is -, or the list of several paths."""
    if isinstance(paths, list):
        return source(paths[0], _) if len(paths) == 1 else paths
    return sys.stdin.buffer if paths == "-" else paths


def path(text: str, _: str) -> str:
    """Return a path as it is."""
    return text


def assignments(texts: Sequence[str], option: str) -> dict[str, str]:
    """Return {NAME: VALUE} of NAME=VALUE texts. Raises : InvalidParameterError."""
    assigned: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise InvalidParameterError(f"{option} takes NAME=VALUE; got {text!r}")
        if name.strip() in assigned:
            raise InvalidParameterError(f"{option} names {name.strip()!r} twice")
        assigned[name.strip()] = value.strip()
    return assigned


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
    from equipoise.formats.players import ids_of

    return ids_of(text, option)


def title_of(source: object, otherwise: str) -> str:
    """Return the name of a file without its endings; `otherwise` for a stream or several files."""
    if not isinstance(source, str) or glob.has_magic(source):
        return otherwise
    return os.path.basename(source.rstrip("/")).partition(".")[0] or otherwise


def all_cores() -> int:
    """Return the number of cores of this machine."""
    from equipoise.numeric.workers import available_cores

    return available_cores()


#: The file of a project, which has settings for all commands that are run in its folder.
PROJECT_FILE = "equipoise.toml"
#: How a source may be given, for the help of all commands that read one.
SOURCES = (
    "a table (.csv, .tsv, .parquet, .arrow, .jsonl, .json, .xlsx, .xls, .ods) or contest "
    "JSON, plain or compressed (.gz, .bz2, .xz, .zst, .zip); a folder; a pattern such as "
    "'2024-*.csv'; an address (https://, s3://, gs://); or - for standard input. Several are "
    "read together."
)
#: The commands with all options of reading.
ALL_OF_THEM = ("rate", "convert", "inspect")
#: Those in which `--from` is something else.
_SCORING = ("backtest", "tune")


def _skip_bad(text: str, option: str) -> str | None:
    # Only a setting of the project makes `no` useful.
    if text not in ("matches", "rows", "no"):
        raise InvalidParameterError(f"{option} takes no value or =rows; got {text!r}")
    return None if text == "no" else text


def _one_of(*choices: str) -> Callable[[str, str], str]:
    """Return what reads one of these words."""

    def read(text: str, option: str) -> str:
        if text not in choices:
            raise InvalidParameterError(f"{option} must be {' or '.join(choices)}; got {text!r}")
        return text

    return read


Columns: TypeAlias = Annotated[
    Mapping[str, str],
    Typed(
        "Rename a column: read OLD as NEW; commas join several, as in "
        "context=surface,best_of. Repeatable.",
        "NEW=OLD",
        name="--column",
        many=True,
        read=assignments,
    ),
]
TimeFormat: TypeAlias = Annotated[
    str | None,
    Typed(
        "Format of times, such as %d/%m/%Y, excel or s. Also iso, ms and us.",
        "FORMAT",
        completes="time_formats",
    ),
]
Synonyms: TypeAlias = Annotated[
    str | None,
    Typed(
        "Merge players who appear under several names. The column name of this table has a "
        "name in the file, same_as the player's usual name.",
        "FILE",
        commands=ALL_OF_THEM,
    ),
]
Sheet: TypeAlias = Annotated[
    str | None,
    Typed(
        "Name or number of a workbook's sheet. [default: the only sheet with a table]",
        "SHEET",
        commands=(*ALL_OF_THEM, "performance"),
    ),
]
Restart: TypeAlias = Annotated[
    bool,
    Typed("With --state: rate from the beginning. HISTORY must contain all matches of the state."),
]
Initial: TypeAlias = Annotated[
    str | None,
    Typed(
        "Start from known ratings: a table with the columns player, rating and optionally "
        "deviation, such as the output of `equipoise rate`; a saved state; or PGN or a FIDE "
        "report, whose ratings in each player's first game count. Players not in it are "
        "newcomers.",
        "FILE",
    ),
]
InitialMapping: TypeAlias = Annotated[
    str | None,
    Typed(
        "Convert known ratings from another scale. 1500=25,1850=33 converts 1500 to 25 and "
        "1850 to 33; the straight line through these two points converts all others.",
        "FROM=TO,FROM=TO",
    ),
]
Calibrate: TypeAlias = Annotated[
    str | None,
    Typed(
        "With --state: calibrate the predictions by a curve learned from this history, which "
        "is read as by `equipoise rate` without options. Also shows the uncalibrated "
        "predictions.",
        "HISTORY",
    ),
]
#: Threads for large matches, which do not change results: no option; a command uses all cores.
Threads: TypeAlias = Annotated[int, Typed("", otherwise=all_cores, commands=("",))]
Confidence: TypeAlias = Annotated[float, Typed("Confidence level of the intervals.")]
Table: TypeAlias = Annotated[
    str | None, Typed("Write the table: .csv, .parquet, .json, .jsonl or .tsv.", "FILE")
]
RawText: TypeAlias = Annotated[
    bool,
    Typed(
        "Write text to CSV and TSV unchanged. By default, text that a spreadsheet would run "
        "as a formula gets a leading apostrophe, which Equipoise removes when it reads the "
        "file.",
        name="--no-escape-formulas",
    ),
]
Workers: TypeAlias = Annotated[
    int | None,
    Typed(
        "Number of worker processes. Results do not depend on it. [default: 1]",
        least=1,
    ),
]
TiesAsAuthors: TypeAlias = Annotated[
    bool,
    Typed("Count pairs predicted to tie as correct, as the authors of Elo-MMR do."),
]
LeastDifference: TypeAlias = Annotated[
    tuple[str, ...],
    Typed(
        "Treat differences in METRIC below VALUE as too small to matter. Repeatable. "
        "[default: 0.0005 for log_loss, brier and ndcg, 0.05 for the others]",
        "METRIC=VALUE",
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryRequest:
    """Which history to read, and how; the options of every command that reads one.

    strict : refuse columns and options that a system does not use, instead of noting them
    set_by_project : options that were not typed, but are settings of the file `equipoise.toml`;
        `--system` if the file names the system
    notes : what the answer says of these settings, where nothing else does
    """

    SECTION: ClassVar[str] = "reading"

    source: object = typed(
        ...,
        f"The matches: PGN, a FIDE report, {SOURCES} A table has a row for each player in a "
        "match or for each game between two sides, or is a cross table. `equipoise inspect` "
        "shows how a file is read.",
        "HISTORY",
        argument=True,
        many=True,
        read=source,
    )
    columns: Columns = field(default_factory=dict)
    statistics: Mapping[str, float] = typed(
        dict,
        "Weight of a statistic in the performance. Repeatable.",
        "NAME=WEIGHT",
        name="--stat",
        many=True,
        read=lambda texts, option: numbers(assignments(texts, option), option),
        commands=(*ALL_OF_THEM, "import"),
    )
    lower_score_is_better: bool = typed(
        False, "Rank the lowest value in the column score first.", commands=ALL_OF_THEM
    )
    unplaced: Literal["last"] | None = typed(
        None,
        "Rank players without a place (DNF, NC, DSQ) last, tied with each other.",
        "last",
        read=_one_of("last"),
        commands=ALL_OF_THEM,
    )
    walkovers: Literal["drop", "keep"] = typed(
        "keep",
        "Count walkovers as wins (keep) or leave them out (drop), if a table of winners and "
        "losers marks them in its score (W/O). Retirements always count. [default: keep]",
        "drop|keep",
        read=_one_of("drop", "keep"),
        commands=(*ALL_OF_THEM, *_SCORING),
    )
    skip_bad: Literal["matches", "rows"] | None = typed(
        None,
        "Skip matches with problems; =rows skips only the bad rows, =no none. The problems are "
        "listed.",
        "[=rows]",
        read=_skip_bad,
    )
    since: str | None = typed(
        None, "Use only matches at or after this time.", "TIME", name="--from", without=_SCORING
    )
    until: str | None = typed(None, "Use only matches before this time.", "TIME")
    time_format: TimeFormat = None
    where: Mapping[str, str] = typed(
        dict,
        "Use only matches with this value. Repeatable.",
        "COLUMN=VALUE",
        many=True,
        read=assignments,
    )
    synonyms: Synonyms = None
    format: str | None = typed(
        None,
        "Format of the history, if neither its name nor its content shows it.",
        completes="formats",
    )
    sheet: Sheet = None
    strict: bool = typed(
        False,
        "Reject columns and options that the system does not use, instead of listing them in a "
        "note.",
        commands=("rate",),
    )
    set_by_project: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedRequest(HistoryRequest):
    """Which history to import into a pool, or which log of one."""

    source: object = typed(
        ...,
        "A log that `equipoise db export` wrote, a history in any format that `equipoise rate` "
        "reads, or - for a history on standard input (with --format).",
        "FILE",
        argument=True,
        read=source,
    )


def _skip_bad_games(text: str, option: str) -> bool:
    # A project may set rows for its histories; a game is one row.
    if text not in ("matches", "no") and option.startswith("--"):
        raise InvalidParameterError(f"{option} takes no value for games; got {text!r}")
    return text != "no"


@dataclass(frozen=True, slots=True, kw_only=True)
class GamesRequest:
    """Which games to read, and how, as `equipoise.read_games` has it."""

    SECTION: ClassVar[str] = "reading"

    games: object = typed(
        ...,
        f"The games: .pgn, a FIDE report (.trf), {SOURCES} A table has the columns white, "
        "black, result or player, opponent, points, games; or it is a cross table or a long "
        "history of duels.",
        "GAMES",
        argument=True,
        many=True,
        read=source,
    )
    synonyms: Synonyms = None
    skip_bad: bool = typed(
        False, "Skip games with problems. The problems are listed.", "", read=_skip_bad_games
    )
    columns: Columns = field(default_factory=dict)
    since: str | None = typed(None, "Use only games at or after this time.", "TIME", name="--from")
    until: str | None = typed(None, "Use only games before this time.", "TIME")
    time_format: TimeFormat = None
    where: Mapping[str, str] = typed(
        dict,
        "Use only games with this value of a tag or column. Repeatable.",
        "NAME=VALUE",
        many=True,
        read=assignments,
    )
    format: str | None = typed(
        None, "Format of the games, if neither the name nor the content shows it."
    )
    sheet: Sheet = None
    set_by_project: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NamesRequest:
    """The synonyms of a project, for a command that reads no history but takes names of players."""

    SECTION: ClassVar[str] = "reading"

    synonyms: Synonyms = None
    set_by_project: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def reading_options() -> dict[str, tuple[Typed, bool]]:
    """Return the options of reading by name, and whether they are flags."""
    typed = typed_fields(HistoryRequest)
    return {
        how.option(field.name): (how, kind is bool)
        for field, kind, how in typed
        if not how.argument
    }


def settings_alone(command: str) -> list[str]:
    """Return the settings of a command that are options of few commands."""
    known = reading_options().items()
    names = [option.removeprefix("--") for option, (typed, _) in known if typed.commands]
    if command != "performance":
        return names
    games = {field.name for field in fields(GamesRequest)}
    return [name for name in names if name.replace("-", "_") in games]


def reading_words(request: HistoryRequest) -> Iterator[tuple[str, list[str]]]:
    """Yield the reading options of a request, each with its words on the command line."""
    for declared, kind, how in typed_fields(HistoryRequest):
        option, value = how.option(declared.name), getattr(request, declared.name)
        if how.argument or not value or value == declared.default:
            continue
        if how.many:
            for name, setting in value.items():
                text = f"{setting:g}" if isinstance(setting, float) else setting
                yield option, [option, f"{name}={text}"]
        elif kind is bool or (option == "--skip-bad" and value == "matches"):
            yield option, [option]
        else:
            yield option, [f"{option}={value}"] if option == "--skip-bad" else [option, value]


#: Whether files of projects are ignored.
_outside = ContextVar("outside_projects", default=False)


def reading_settings() -> dict[str, tuple[Any, str]]:
    """Return the settings of reading as if they were typed: option -> value, and what to call it.

    Raises : InvalidParameterError
    """
    path, content = project_file()
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
                f"{where} must be given once; {key} also appears in another spelling"
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


def project_file() -> tuple[Path, dict[str, Any]]:
    """Return the file of the project with its content, which is empty if there is none.

    It is that of the working directory, or else of the nearest folder above.
    Raises : InvalidParameterError
    """
    folder = Path.cwd()
    places = [] if _outside.get() else [one / PROJECT_FILE for one in (folder, *folder.parents)]
    # A folder that may not be looked at has no file for us; os.path says so without an error.
    path = next(filter(os.path.isfile, places), None)
    if path is None:
        return Path(), {}
    # This module loads no library.
    from equipoise.data.files import read_toml

    try:
        content = read_toml(path)
    except ValueError as error:
        raise InvalidParameterError(f"{path} must be TOML: {error}") from None
    for key in content.keys() - {"system", "reading"}:
        raise InvalidParameterError(
            f"{path} may contain only the key system and the section [reading]; got {key}. Keep "
            "parameters of a system in a parameter file (--parameters FILE.toml) or in a saved "
            "state (--save, --state)"
        )
    return path, content


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


def suited(
    request: _Request, source: object, scan: Callable[[_Request, object], _Found]
) -> tuple[_Request, _Found]:
    """Return what `scan` finds in a source, and the request that suits the format of the source.

    Settings of the project that have no place in the format become notes; options that were typed
    stay errors.
    Raises : InvalidParameterError, what `scan` raises
    """
    # This module loads no library.
    from equipoise.formats.table import NoEffectError

    again = repeatable(source) if request.set_by_project else lambda: source
    while True:
        try:
            return request, scan(request, again())
        except NoEffectError as error:
            known = {field.name: (field, how) for field, _, how in typed_fields(type(request))}
            unused = {
                how.option(name): field
                for name, (field, how) in known.items()
                if name in error.parameters and how.option(name) in request.set_by_project
            }
            if not unused:
                raise
            names = ", ".join(option.removeprefix("--") for option in unused)
            has = "has" if len(unused) == 1 else "have"
            note = f"equipoise.toml: [reading] {names} {has} no effect on {error.what}"
            usual = {
                field.name: field.default
                if field.default_factory is MISSING
                else field.default_factory()
                for field in unused.values()
            }
            others = tuple(name for name in request.set_by_project if name not in unused)
            request = replace(request, **usual, set_by_project=others, notes=(*request.notes, note))


class _Named(io.BytesIO):
    """The content of a stream that can be read again, under the name of the stream."""

    name = "standard input"


def repeatable(source: object) -> Callable[[], object]:
    """Return a function that returns the source from its beginning, also if it is a stream."""
    if isinstance(source, list | tuple):
        each = [repeatable(part) for part in source]
        return lambda: [opener() for opener in each]
    stream: Any = sys.stdin.buffer if isinstance(source, str) and source == "-" else source
    if not hasattr(stream, "read"):
        return lambda: source
    content = stream.read()
    data = content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass")
    return lambda: _Named(data)

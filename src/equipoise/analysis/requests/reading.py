"""Which history to read, and how.

These options are the same in every command that reads a history, and keys of the section
`[reading]` of the file `equipoise.toml`. Some of them are options of few commands alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Literal, TypeAlias, get_args, get_type_hints

from equipoise.analysis.requests import typed
from equipoise.analysis.requests.typed import Typed
from equipoise.errors import InvalidParameterError

#: How a source may be given, for the help of all commands that read one.
SOURCES = (
    "a table (.csv, .tsv, .parquet, .arrow, .jsonl, .json, .xlsx, .xls, .ods), contest JSON, all "
    "of these also compressed (.gz, .bz2, .xz, .zst, .zip), a folder, a pattern such as "
    "'2024-*.csv', an address (https://, s3://, gs://), or - for standard input. Several are read "
    "together."
)
#: The commands with all options of reading.
ALL_OF_THEM = ("rate", "convert", "inspect")
#: Those in which `--from` is something else.
_SCORING = ("backtest", "tune")


def _weights(given: list[str], option: str) -> dict[str, float]:
    return typed.numbers(typed.assignments(given, option), option)


def _skip_bad(given: str, option: str) -> str:
    if given not in ("matches", "rows"):
        raise InvalidParameterError(f"{option} takes no value or =rows; got {given!r}")
    return given


def _unplaced(given: str, option: str) -> str:
    if given != "last":
        raise InvalidParameterError(f"{option} must be last; got {given!r}")
    return given


Columns: TypeAlias = Annotated[
    Mapping[str, str],
    Typed(
        "Rename a column: read OLD as NEW. Repeatable.",
        "NEW=OLD",
        name="--column",
        many=True,
        read=typed.assignments,
    ),
]
TimeFormat: TypeAlias = Annotated[
    str | None,
    Typed(
        "Format of times: iso, s, ms, us, excel, or a pattern such as %d/%m/%Y.",
        "FORMAT",
        completes="time_formats",
    ),
]
Synonyms: TypeAlias = Annotated[
    str | None,
    Typed(
        "Table of names of the same player, with columns name and same_as.",
        "FILE",
        commands=ALL_OF_THEM,
    ),
]
Sheet: TypeAlias = Annotated[
    str | None,
    Typed(
        "Name or number of the sheet of a workbook. [default: the only one with a table]",
        "SHEET",
        commands=ALL_OF_THEM,
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryRequest:
    """Which history to read, and how; the options of every command that reads one.

    strict : refuse columns and options that a system does not use, instead of noting them
    set_by_project : options that were not typed, but are settings of the file `equipoise.toml`
    """

    SECTION: ClassVar[str] = "reading"

    source: Annotated[
        object,
        Typed(
            f"The matches: PGN, a FIDE report, {SOURCES} A table has a row for each player in a "
            "match or for each game of two sides, or is a cross table. `equipoise inspect` shows "
            "how it is read.",
            "HISTORY",
            argument=True,
            many=True,
            read=typed.source,
        ),
    ]
    columns: Columns = field(default_factory=dict)
    statistics: Annotated[
        Mapping[str, float],
        Typed(
            "Weight of a statistic in the performance. Repeatable.",
            "NAME=WEIGHT",
            name="--stat",
            many=True,
            read=_weights,
            commands=(*ALL_OF_THEM, "import"),
        ),
    ] = field(default_factory=dict)
    lower_score_is_better: Annotated[
        bool, Typed("Rank the lowest value of the column score first.", commands=ALL_OF_THEM)
    ] = False
    unplaced: Annotated[
        Literal["last"] | None,
        Typed(
            "Give players without a place (DNF, NC, DSQ) the place after the last, which they "
            "share.",
            "last",
            read=_unplaced,
            commands=ALL_OF_THEM,
        ),
    ] = None
    skip_bad: Annotated[
        Literal["matches", "rows"] | None,
        Typed(
            "Skip matches with problems; =rows skips only the bad rows. The problems are listed.",
            "[=rows]",
            read=_skip_bad,
        ),
    ] = None
    since: Annotated[
        str | None,
        Typed("Use only matches at or after this time.", "TIME", name="--from", without=_SCORING),
    ] = None
    until: Annotated[str | None, Typed("Use only matches before this time.", "TIME")] = None
    time_format: TimeFormat = None
    where: Annotated[
        Mapping[str, str],
        Typed(
            "Use only matches with this value. Repeatable.",
            "COLUMN=VALUE",
            many=True,
            read=typed.assignments,
        ),
    ] = field(default_factory=dict)
    synonyms: Synonyms = None
    format: Annotated[
        str | None,
        Typed(
            "Format of the history, if neither its name nor its content shows it.",
            completes="formats",
        ),
    ] = None
    sheet: Sheet = None
    strict: Annotated[
        bool,
        Typed(
            "Reject columns and options that the system does not use, instead of listing them in "
            "a note.",
            commands=("rate",),
        ),
    ] = False
    set_by_project: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedRequest(HistoryRequest):
    """Which history to import into a pool, or which log of one."""

    source: Annotated[
        object,
        Typed(
            "A log that `equipoise db export` wrote, a history in any format that `equipoise rate` "
            "reads, or - for a history on standard input (with --format).",
            "FILE",
            argument=True,
            read=typed.source,
        ),
    ]


def _skip_bad_games(given: str, option: str) -> bool:
    if given != "matches":
        raise InvalidParameterError(f"{option} takes no value for games; got {given!r}")
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class GamesRequest:
    """Which games to read, and how, as `equipoise.read_games` has it."""

    SECTION: ClassVar[str] = "reading"

    games: Annotated[
        object,
        Typed(
            f"The games: .pgn, a FIDE report (.trf), or {SOURCES} A table has columns white, "
            "black, result or player, opponent, points, games, or it is a cross table, or a long "
            "history of duels.",
            "GAMES",
            argument=True,
            many=True,
            read=typed.source,
        ),
    ]
    synonyms: Synonyms = None
    skip_bad: Annotated[
        bool, Typed("Skip games with problems. The problems are listed.", "", read=_skip_bad_games)
    ] = False
    columns: Columns = field(default_factory=dict)
    since: Annotated[
        str | None, Typed("Use only games at or after this time.", "TIME", name="--from")
    ] = None
    until: Annotated[str | None, Typed("Use only games before this time.", "TIME")] = None
    time_format: TimeFormat = None
    where: Annotated[
        Mapping[str, str],
        Typed(
            "Use only games with this value of a tag or column. Repeatable.",
            "NAME=VALUE",
            many=True,
            read=typed.assignments,
        ),
    ] = field(default_factory=dict)
    format: Annotated[
        str | None, Typed("Format of the games, if neither the name nor the content shows it.")
    ] = None
    sheet: Sheet = None
    set_by_project: tuple[str, ...] = ()


def reading_options() -> dict[str, tuple[Typed, bool]]:
    """Return the options of reading by name, and whether they are flags."""
    found = {}
    for field_name, hint in get_type_hints(HistoryRequest, include_extras=True).items():
        one = typed.typed_of(hint)
        if one is not None and not one.argument:
            found[one.option(field_name)] = (one, get_args(hint)[0] is bool)
    return found

"""Which history to read, and how.

These options are the same in every command that reads a history, and keys of the section
`[reading]` of the file `equipoise.toml`. Some of them are options of few commands alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Literal, TypeAlias

from equipoise.analysis.requests import texts
from equipoise.analysis.requests.typed import Typed, typed, typed_fields
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
    return texts.numbers(texts.assignments(given, option), option)


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
        read=texts.assignments,
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
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryRequest:
    """Which history to read, and how; the options of every command that reads one.

    strict : refuse columns and options that a system does not use, instead of noting them
    set_by_project : options that were not typed, but are settings of the file `equipoise.toml`
    """

    SECTION: ClassVar[str] = "reading"

    source: object = typed(
        ...,
        f"The matches: PGN, a FIDE report, {SOURCES} A table has a row for each player in a "
        "match or for each game of two sides, or is a cross table. `equipoise inspect` shows "
        "how it is read.",
        "HISTORY",
        argument=True,
        many=True,
        read=texts.source,
    )
    columns: Columns = field(default_factory=dict)
    statistics: Mapping[str, float] = typed(
        dict,
        "Weight of a statistic in the performance. Repeatable.",
        "NAME=WEIGHT",
        name="--stat",
        many=True,
        read=_weights,
        commands=(*ALL_OF_THEM, "import"),
    )
    lower_score_is_better: bool = typed(
        False, "Rank the lowest value of the column score first.", commands=ALL_OF_THEM
    )
    unplaced: Literal["last"] | None = typed(
        None,
        "Give players without a place (DNF, NC, DSQ) the place after the last, which they share.",
        "last",
        read=_unplaced,
        commands=ALL_OF_THEM,
    )
    skip_bad: Literal["matches", "rows"] | None = typed(
        None,
        "Skip matches with problems; =rows skips only the bad rows. The problems are listed.",
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
        read=texts.assignments,
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedRequest(HistoryRequest):
    """Which history to import into a pool, or which log of one."""

    source: object = typed(
        ...,
        "A log that `equipoise db export` wrote, a history in any format that `equipoise rate` "
        "reads, or - for a history on standard input (with --format).",
        "FILE",
        argument=True,
        read=texts.source,
    )


def _skip_bad_games(given: str, option: str) -> bool:
    # A project may set rows for its histories; a game is one row.
    if given != "matches" and option.startswith("--"):
        raise InvalidParameterError(f"{option} takes no value for games; got {given!r}")
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class GamesRequest:
    """Which games to read, and how, as `equipoise.read_games` has it."""

    SECTION: ClassVar[str] = "reading"

    games: object = typed(
        ...,
        f"The games: .pgn, a FIDE report (.trf), or {SOURCES} A table has columns white, "
        "black, result or player, opponent, points, games, or it is a cross table, or a long "
        "history of duels.",
        "GAMES",
        argument=True,
        many=True,
        read=texts.source,
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
        read=texts.assignments,
    )
    format: str | None = typed(
        None, "Format of the games, if neither the name nor the content shows it."
    )
    sheet: Sheet = None
    set_by_project: tuple[str, ...] = ()


def reading_options() -> dict[str, tuple[Typed, bool]]:
    """Return the options of reading by name, and whether they are flags."""
    found = typed_fields(HistoryRequest)
    return {
        how.option(field.name): (how, kind is bool)
        for field, kind, how in found
        if not how.argument
    }

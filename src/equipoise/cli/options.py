"""Options that several commands share, and what their values mean."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias, cast

from equipoise.cli import completion
from equipoise.cli.declaring import argument, option
from equipoise.errors import InvalidParameterError
from equipoise.wording import how_to_install

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from equipoise.analysis.files.reading import HistoryRequest
    from equipoise.analysis.files.systems import Settings
    from equipoise.rating.system import RatingSystem

#: How a source may be given, for the help of all commands that read one.
SOURCES = (
    "a table (.csv, .tsv, .parquet, .arrow, .jsonl, .json, .xlsx, .xls, .ods), contest JSON, all "
    "of these also compressed (.gz, .bz2, .xz, .zst, .zip), a folder, a pattern such as "
    "'2024-*.csv', an address (https://, s3://, gs://), or - for standard input. Several are read "
    "together."
)
History: TypeAlias = Annotated[
    list[str],
    argument(
        f"The matches: PGN, a FIDE report, {SOURCES} A table has a row for each player in a match "
        "or for each game of two sides, or is a cross table. `equipoise inspect` shows how it is "
        "read.",
        "HISTORY",
    ),
]
Sheet: TypeAlias = Annotated[
    str | None,
    option(
        None,
        "Name or number of the sheet of a workbook. [default: the only one with a table]",
        "SHEET",
    ),
]
Restart: TypeAlias = Annotated[
    bool,
    option(
        False,
        "With --state: rate from the beginning. HISTORY must have all matches of the state.",
    ),
]
Initial: TypeAlias = Annotated[
    str | None,
    option(
        None,
        "Begin with known ratings: a table with the columns player, rating and, optionally, "
        "deviation, such as one that `equipoise rate --output` wrote, or a state that it saved; "
        "or PGN or a FIDE report, with the ratings of first games. Players who are not in it are "
        "newcomers.",
        "FILE",
    ),
]
InitialMapping: TypeAlias = Annotated[
    str | None,
    option(
        None,
        "Convert known ratings from another scale. 1500=25,1850=33 converts 1500 to 25 and 1850 to "
        "33; all others follow the straight line through these two.",
        "THERE=HERE,THERE=HERE",
    ),
]
Threads: TypeAlias = Annotated[
    int | None,
    option(
        None,
        "Number of threads for large matches. It does not change results. [default: all cores]",
        min=1,
    ),
]
Workers: TypeAlias = Annotated[
    int | None,
    option(
        None,
        "Number of processes, each for a part of the work at a time. It does not change results. "
        "[default: 1]",
        min=1,
    ),
]
Title: TypeAlias = Annotated[str | None, option(None, "Chart title.", "TEXT")]
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
        "Say what would be read, what is odd in it and what would refuse it, as "
        "`equipoise inspect` does. Nothing else is done.",
        name="--dry-run",
    ),
]
RawText: TypeAlias = Annotated[
    bool,
    option(
        False,
        "Write text to CSV and TSV as it is. Otherwise text that spreadsheets would run as a "
        "formula begins with an apostrophe, which Equipoise takes away again when it reads it.",
        name="--no-escape-formulas",
    ),
]
Column: TypeAlias = Annotated[
    list[str] | None, option(None, "Rename a column: read OLD as NEW. Repeatable.", "NEW=OLD")
]
TimeFormat: TypeAlias = Annotated[
    str | None,
    option(
        None,
        "Format of times: iso, s, ms, us, excel, or a pattern such as %d/%m/%Y.",
        "FORMAT",
        autocompletion=completion.time_formats,
    ),
]
Synonyms: TypeAlias = Annotated[
    str | None,
    option(None, "Table of names of the same player, with columns name and same_as.", "FILE"),
]
TiesAsAuthors: TypeAlias = Annotated[
    bool,
    option(False, "Count pairs that are predicted equal as correct, as the authors of Elo-MMR do."),
]
Confidence: TypeAlias = Annotated[float, option(0.95, "Confidence level of the intervals.")]
LeastDifference: TypeAlias = Annotated[
    list[str] | None,
    option(
        None,
        "Treat differences of METRIC below VALUE as too small to matter. Repeatable. "
        "[default: 0.0005 for log_loss, brier and ndcg, 0.05 for the others]",
        "METRIC=VALUE",
    ),
]
TeamsTable: TypeAlias = Annotated[
    str | None,
    option(
        None,
        "Write a table with the team of each player: .csv, .parquet, .json, .jsonl or .tsv.",
        "FILE",
    ),
]
_Parameters: TypeAlias = Annotated[
    str | None,
    option(
        None,
        "Read the system, its [parameters] and [statistics] from a file. --set overrides it.",
        "FILE.toml",
    ),
]


@dataclass(frozen=True, kw_only=True)
class System:
    """Which rating system, with which parameters."""

    system: str | None = option(
        None,
        "Rating system; `equipoise systems` lists them. [default: elo-mmr]",
        autocompletion=completion.systems,
    )
    set_: list[str] | None = option(
        None,
        "Set a parameter of the system. Repeatable. `equipoise systems SYSTEM` lists them.",
        "NAME=VALUE",
        autocompletion=completion.parameters,
    )
    parameters: _Parameters

    def settings(self) -> Settings:
        """Return the settings of the parameter file. Raises : NotFoundError, InvalidDataError."""
        return _settings(self.parameters)

    def chosen(self, settings: Settings) -> RatingSystem | None:
        """Return the system that was chosen; None if neither option nor file names one."""
        from equipoise.analysis.files.systems import chosen_system

        return chosen_system(self.system, settings, self.set_ or [])


@dataclass(frozen=True, kw_only=True)
class Systems:
    """Which rating systems, under which labels, with which parameters."""

    system: list[str] | None = option(
        None,
        "A rating system, optionally with a label. Repeatable. [default: elo-mmr]",
        "[LABEL=]NAME",
        autocompletion=completion.systems,
    )
    set_: list[str] | None = option(
        None,
        "Set a parameter of the system with this label. Repeatable. The default label of a system "
        "is its name.",
        "[LABEL.]NAME=VALUE",
        autocompletion=completion.labelled_parameters,
    )
    parameters: _Parameters

    def settings(self) -> Settings:
        """Return the settings of the parameter file. Raises : NotFoundError, InvalidDataError."""
        return _settings(self.parameters)

    def chosen(self, settings: Settings) -> dict[str, RatingSystem]:
        """Return the systems by label."""
        from equipoise.analysis.files.systems import chosen_systems

        return chosen_systems(self.system or [], settings, self.set_ or [])

    def chosen_or_every(self, settings: Settings) -> tuple[dict[str, RatingSystem], frozenset[str]]:
        """Return the systems by label, and the labels of those that the name `all` stands for."""
        from equipoise.analysis.files.systems import chosen_systems, with_every

        named, added = with_every(self.system or [])
        return chosen_systems(named, settings, self.set_ or []), added


def _settings(path: str | None) -> Settings:
    from equipoise.analysis.files.systems import read_settings

    return read_settings(path)


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How to read a history, and which matches to select."""

    column: Column
    stat: list[str] | None = option(
        None, "Weight of a statistic in the performance. Repeatable.", "NAME=WEIGHT"
    )
    lower_score_is_better: bool = option(False, "Rank the lowest value of the column score first.")
    unplaced: str | None = option(
        None,
        "Give players without a place (DNF, NC, DSQ) the place after the last, which they share.",
        "last",
    )
    skip_bad: str | None = option(
        None,
        "Skip matches with problems; =rows skips only the bad rows. The problems are listed.",
        "[=rows]",
    )
    since: str | None = option(
        None, "Use only matches at or after this time.", "TIME", name="--from"
    )
    until: str | None = option(None, "Use only matches before this time.", "TIME")
    time_format: TimeFormat
    where: list[str] | None = option(
        None, "Use only matches with this value. Repeatable.", "COLUMN=VALUE"
    )
    synonyms: Synonyms
    format_: str | None = option(
        None,
        "Format of the history, if neither its name nor its content shows it.",
        autocompletion=completion.formats,
    )
    sheet: Sheet
    strict: bool = option(
        False,
        "Reject columns and options that the system does not use, instead of listing them "
        "in a note.",
    )

    def request(self, source: str | list[str], settings: Settings) -> HistoryRequest:
        """Return which history to read, and how.

        settings : of the parameter file; `--stat` overrides its weights
        Raises : InvalidParameterError
        """
        from equipoise.analysis.files.reading import HistoryRequest
        from equipoise.analysis.files.systems import assignments, numbers

        weights = numbers(assignments(self.stat or [], "--stat"), "--stat")
        return HistoryRequest(
            source=given_files(source),
            format=self.format_,
            sheet=self.sheet,
            columns=assignments(self.column or [], "--column"),
            statistics={**settings.statistics, **weights},
            skip_bad=_skip_bad(self.skip_bad),
            since=self.since,
            until=self.until,
            time_format=self.time_format,
            where=assignments(self.where or [], "--where"),
            lower_score_is_better=self.lower_score_is_better,
            unplaced=_unplaced(self.unplaced),
            synonyms=self.synonyms,
            strict=bool(self.strict),
        )


@dataclass(frozen=True, kw_only=True)
class ReadingWhole(Reading):
    """The same without `--from`, which means something else in some commands."""

    since: None = None


@dataclass(frozen=True, kw_only=True)
class ReadingOnly(Reading):
    """The same without `--strict`, for commands that use no system."""

    strict: None = None  # type: ignore[assignment]


@dataclass(frozen=True, kw_only=True)
class Cluster:
    """Other machines that do the work."""

    cluster: str | None = option(
        None,
        "Let the workers of a Dask scheduler do the work: tls://HOST:PORT, with the certificates "
        "of Dask's configuration, or tcp://127.0.0.1:PORT for one on this machine. Results are the "
        "same. Needs the extra cluster.",
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


def named_values(given: list[str] | None, name: str) -> dict[str, str]:
    """Return NAME=VALUE as a mapping. name : of the option. Raises : InvalidParameterError."""
    if not given:
        return {}
    # It loads every system, which a command without such an option may not need.
    from equipoise.analysis.files.systems import assignments

    return assignments(given, name)


def thread_count(threads: int | None) -> int:
    """Return the value of `--threads`, by default the number of cores."""
    from equipoise.numeric.workers import available_cores

    return threads or available_cores()


def given_file(path: str | None) -> object:
    """Return a path, or standard input if the path is -."""
    return sys.stdin.buffer if path == "-" else path


def given_files(paths: str | list[str]) -> object:
    """Return a path or standard input, or the list of several."""
    if isinstance(paths, str):
        return given_file(paths)
    return given_file(paths[0]) if len(paths) == 1 else paths


def _unplaced(given: str | None) -> Literal["last"] | None:
    """Return the value of `--unplaced`. Raises : InvalidParameterError."""
    if given not in (None, "last"):
        raise InvalidParameterError(f"--unplaced must be last; got {given!r}")
    return cast(Literal["last"] | None, given)


def _skip_bad(given: str | None) -> Literal["matches", "rows"] | None:
    """Return the value of `--skip-bad`. Raises : InvalidParameterError."""
    if given not in (None, "matches", "rows"):
        raise InvalidParameterError(f"--skip-bad takes no value or =rows; got {given!r}")
    return cast(Literal["matches", "rows"] | None, given)

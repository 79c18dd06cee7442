"""Options that several commands share, and what they mean.

What is said of a history that a command has read.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias, cast

from equipoise.cli.declaring import argument, option
from equipoise.errors import InvalidParameterError, Problem
from equipoise.wording import counted

if TYPE_CHECKING:
    from equipoise.analysis.files.reading import HistoryRequest
    from equipoise.analysis.files.systems import Settings
    from equipoise.messages.errors import ProblemMessage
    from equipoise.messages.histories import HistoryMessage, RateSummary
    from equipoise.rating.system import RatingSystem

History: TypeAlias = Annotated[
    str,
    argument(
        "Matches: .csv, .csv.gz, .tsv, .parquet, .jsonl, .arrow, a folder or .zip of contest "
        "JSON, or - for standard input (with --format).",
        "HISTORY",
    ),
]
Restart: TypeAlias = Annotated[
    bool,
    option(
        False,
        "With --resume: rate from the beginning; HISTORY must have all matches of the state.",
    ),
]
Threads: TypeAlias = Annotated[
    int | None,
    option(None, "For large matches; never changes a number. [default: all]", min=1),
]
Title: TypeAlias = Annotated[str | None, option(None, "Chart title.", "TEXT")]
Database: TypeAlias = Annotated[
    str,
    option(
        "sqlite:///equipoise.db",
        "sqlite:///FILE or postgresql+psycopg://USER:PASSWORD@HOST/NAME; without the option what "
        "EQUIPOISE_DATABASE says.",
        "URL",
        envvar="EQUIPOISE_DATABASE",
        show_envvar=False,
    ),
]
Json: TypeAlias = Annotated[bool, option(False, "Print JSON, errors too.", name="--json")]
Column: TypeAlias = Annotated[
    list[str] | None, option(None, "Read column OLD as NEW; repeatable.", "NEW=OLD")
]
TimeFormat: TypeAlias = Annotated[
    str | None,
    option(
        None,
        "How times are written: iso, s, ms, us, excel, or a pattern such as %d/%m/%Y.",
        "FORMAT",
    ),
]
Synonyms: TypeAlias = Annotated[
    str | None, option(None, "Names that mean one player: columns name, same_as.", "FILE")
]
TiesAsAuthors: TypeAlias = Annotated[
    bool,
    option(False, "Count pairs predicted equal as correct, as the authors of Elo-MMR do."),
]
Confidence: TypeAlias = Annotated[float, option(0.95, "Confidence of the intervals.")]
LeastDifference: TypeAlias = Annotated[
    list[str] | None,
    option(
        None,
        "Differences of METRIC below VALUE do not matter, whatever their interval; repeatable. "
        "[default: 0.0005 for log_loss, brier and ndcg, 0.05 for the others]",
        "METRIC=VALUE",
    ),
]
TeamsTable: TypeAlias = Annotated[
    str | None,
    option(
        None,
        "A row a player with the number of the team: .csv, .parquet, .json, .jsonl or .tsv.",
        "FILE",
    ),
]
_OPPONENTS = (
    "(opponents of elo-mmr and elo-mmx is for reproducing published figures only: with it a worse "
    "place can earn a higher rating.)"
)
_Parameters: TypeAlias = Annotated[
    str | None,
    option(None, "System, [parameters] and [statistics] from a file; --set wins.", "FILE.toml"),
]


@dataclass(frozen=True, kw_only=True)
class System:
    """Which rating system, with which parameters."""

    system: str | None = option(None, "Rating system; see `equipoise systems`. [default: elo-mmr]")
    set_: list[str] | None = option(
        None,
        "A parameter of the system; repeatable. `equipoise systems SYSTEM` lists them. "
        + _OPPONENTS,
        "NAME=VALUE",
    )
    parameters: _Parameters

    def settings(self) -> Settings:
        """Return what the parameter file says. Raises : NotFoundError, InvalidDataError."""
        return _settings(self.parameters)

    def chosen(self, settings: Settings) -> RatingSystem | None:
        """Return the system named; None where nothing is said of it."""
        from equipoise.analysis.files.systems import chosen_system

        return chosen_system(self.system, settings, self.set_ or [])


@dataclass(frozen=True, kw_only=True)
class Systems:
    """Which rating systems, under which labels, with which parameters."""

    system: list[str] | None = option(
        None,
        "A rating system, under a label of its own if need be; repeatable. [default: elo-mmr]",
        "[LABEL=]NAME",
    )
    set_: list[str] | None = option(
        None,
        "A parameter of the system so labelled; repeatable. The label of one without is its name. "
        + _OPPONENTS,
        "[LABEL.]NAME=VALUE",
    )
    parameters: _Parameters

    def settings(self) -> Settings:
        """Return what the parameter file says. Raises : NotFoundError, InvalidDataError."""
        return _settings(self.parameters)

    def chosen(self, settings: Settings) -> dict[str, RatingSystem]:
        """Return the systems by label."""
        from equipoise.analysis.files.systems import chosen_systems

        return chosen_systems(self.system or [], settings, self.set_ or [])


def _settings(path: str | None) -> Settings:
    from equipoise.analysis.files.systems import read_settings

    return read_settings(path)


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How to read a history, and which of its matches."""

    column: Column
    stat: list[str] | None = option(
        None, "Weight of a statistic in the performance; repeatable.", "NAME=WEIGHT"
    )
    lower_score_is_better: bool = option(
        False, "Where the column score decides the places, the lowest score is first."
    )
    skip_bad: str | None = option(
        None,
        "Drop bad matches whole, or with =rows only the bad rows; both are listed.",
        "[=rows]",
    )
    since: str | None = option(None, "Only matches from this time on.", "TIME", name="--from")
    until: str | None = option(None, "Only matches before this time.", "TIME")
    time_format: TimeFormat
    where: list[str] | None = option(
        None, "Only matches with this value; repeatable.", "COLUMN=VALUE"
    )
    synonyms: Synonyms
    format_: str | None = option(None, "How the history is written, where its name does not tell.")
    strict: bool = option(
        False, "Refuse columns and options that the system does not use, not only name them."
    )

    def request(self, source: str, settings: Settings) -> HistoryRequest:
        """Return which history to read, and how.

        settings : of the parameter file; `--stat` wins over its weights
        Raises : InvalidParameterError
        """
        from equipoise.analysis.files.reading import HistoryRequest
        from equipoise.analysis.files.systems import assignments, numbers

        weights = numbers(assignments(self.stat or [], "--stat"), "--stat")
        return HistoryRequest(
            source=given_file(source),
            format=self.format_,
            columns=assignments(self.column or [], "--column"),
            statistics={**settings.statistics, **weights},
            skip_bad=_skip_bad(self.skip_bad),
            since=self.since,
            until=self.until,
            time_format=self.time_format,
            where=assignments(self.where or [], "--where"),
            lower_score_is_better=self.lower_score_is_better,
            synonyms=self.synonyms,
            strict=self.strict,
        )


@dataclass(frozen=True, kw_only=True)
class ReadingWhole(Reading):
    """The same from the beginning of the history; `--from`, where there is one, means another."""

    since: None = None


def given_file(path: str | None) -> object:
    """Return a path, or standard input where it is -."""
    return sys.stdin.buffer if path == "-" else path


def _skip_bad(given: str | None) -> Literal["matches", "rows"] | None:
    """Return what `--skip-bad` asks for. Raises : InvalidParameterError."""
    if given not in (None, "matches", "rows"):
        raise InvalidParameterError(f"--skip-bad stands alone or as --skip-bad=rows; got {given!r}")
    return cast(Literal["matches", "rows"] | None, given)


#: Problems shown before the rest is only counted.
SHOWN = 20


def reading_lines(history: HistoryMessage | RateSummary) -> list[str]:
    """Return everything that was left out, and why."""
    left_out = (
        (history.unrated, "match is marked as not rated", "matches are marked as not rated"),
        (history.filtered, "match was filtered out", "matches were filtered out"),
        (len(history.dropped_matches), "bad match was dropped", "bad matches were dropped"),
        (
            history.dropped_rows,
            "bad row was dropped from a match that stayed",
            "bad rows were dropped from matches that stayed",
        ),
    )
    lines = [counted(count, *what) for count, *what in left_out if count]
    return [*lines, *problem_lines(history.problems), *history.notes]


def problem_lines(problems: Sequence[Problem | ProblemMessage]) -> list[str]:
    """Return problems that were skipped on request, a line each, and how many more there are."""
    lines = [
        f"  {Problem(found.file, found.line, found.field, found.rule, found.got)}"
        for found in problems[:SHOWN]
    ]
    if len(problems) > SHOWN:
        lines.append(f"  ... and {counted(len(problems) - SHOWN, 'more problem')}")
    return lines

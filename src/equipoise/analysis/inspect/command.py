"""equipoise inspect and convert: what a file holds, and the same content in another format."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

import typer

from equipoise.analysis.inspect import ConvertRequest
from equipoise.analysis.requests import HistoryRequest, typed
from equipoise.cli import options
from equipoise.cli.options import command_line
from equipoise.cli.report import (
    compiling,
    cut,
    minutes,
    print_json,
    print_lines,
    print_table,
    problem_lines,
    reading_lines,
    say,
    table,
)
from equipoise.wording import counted

if TYPE_CHECKING:
    from equipoise.analysis.inspect.answers import ContentsMessage, ConvertMessage, InspectMessage
    from equipoise.arrays import Ids
    from equipoise.rating.system import RatingSystem


#: What a kind of file is, in words.
_KINDS = {
    "history": "a history, with a row for each player in a match",
    "games": "a history, with a row for each match of two sides",
    "pairs": "a history, with a row for a player and an opponent",
    "crosstable": "a cross table, whose games are read as a history",
    "tournament": "games of a tournament",
    "lobby": "players with ratings, as a lobby has them",
    "request": "a request to rebalance",
    "log": "the log of a pool",
    "": "nothing that a command reads",
}
#: Files of games that are no table, by how they are stored.
_OF_FORMAT = {
    "pgn": "games, which are read as a history",
    "trf": "a FIDE report, whose games are read as a history",
}
#: Letters of a cell of the first matches, and of a name of a column.
_CELL, _NAME = 72, 32
#: Problems that are listed beside the counts by rule.
_PROBLEMS = 5


def inspect(
    *,
    matches: int = typed(5, "Number of matches to show from the beginning.", least=0),
    history: HistoryRequest,
    as_json: options.Json,
) -> int:
    """Check a file before you rate it: its columns, first matches, problems and unusual values.

    Suggests the next command; rates and writes nothing. The file is read as `equipoise rate` reads
    it, with the same options. If it is not a history, the output names the command that reads it.
    Exit status 1 means that the file has problems that keep commands from reading it.

    Example:
      equipoise inspect examples/contests.csv
      equipoise inspect examples/worldcup2022.csv --matches 10
    """
    from equipoise.analysis.inspect.inspection import InspectRequest, inspect_source

    with compiling():
        answer = inspect_source(InspectRequest(history=history, matches=matches))
    return _answered(answer, as_json)


def inspected(
    context: typer.Context,
    history: HistoryRequest,
    as_json: bool,
    *,
    systems: Sequence[RatingSystem] = (),
    reads: Collection[str] = ("history",),
    known: Ids | None = None,
) -> int:
    """Print what a command would read, for its option `--dry-run`; return the exit status.

    systems : those that must be able to rate the history
    reads : what the command reads: "history", "games", "log"
    known : ids of the players of the saved state that the history continues
    """
    from equipoise.analysis.inspect.inspection import InspectRequest, inspect_source

    with compiling():
        answer = inspect_source(
            InspectRequest(
                history=history,
                reads=frozenset(reads),
                given=command_line(context, (), leave_out=("dry_run",)),
                systems=tuple(systems),
                known=known,
            )
        )
    return _answered(answer, as_json)


def _answered(answer: InspectMessage, as_json: bool) -> int:
    if as_json:
        print_json(answer)
    else:
        _print(answer)
    return 0 if answer.ready else 1


def _print(answer: InspectMessage) -> None:
    """Print the answer, each part under its heading, and notes on standard error."""
    stored = f"{answer.format}, " if answer.format else ""
    kind = _OF_FORMAT.get(answer.format) if answer.kind in ("history", "games") else None
    print_lines(f"{answer.source}: {stored}{kind or _KINDS[answer.kind]}")
    if answer.contents is not None:
        whole = "" if not answer.rules else " (without the matches that have problems)"
        print_lines("", f"Contents{whole}", *_content_lines(answer.contents))
    if answer.rules:
        print_lines("", "Problems")
        _print_problems(answer)
    if answer.columns:
        print_lines("", "Columns")
        rows = [
            (cut(column.column, _NAME), column.meaning, column.use) for column in answer.columns
        ]
        print_table(table({"column": "", "read as": "", "use": ""}, rows))
    if answer.matches:
        print_lines("", "First matches")
        _print_matches(answer)
    if answer.oddities:
        print_lines("", "What looks odd")
        for oddity in answer.oddities:
            print_lines(f"  {oddity.text}", f"      {oddity.advice}")
    if answer.next is not None:
        print_lines("", "Next", f"  {answer.next.command}", f"      {answer.next.does}")
    say(*answer.notes)


def _content_lines(contents: ContentsMessage) -> list[str]:
    """Return lines on what there is to rate."""
    matches = counted(contents.matches, "match", "matches")
    lines = [
        f"{matches}, {counted(contents.participations, 'participation')}, "
        f"{counted(contents.players, 'player')}"
    ]
    if contents.first is None:
        lines.append("no times: matches are rated in the order of the file")
    else:
        between = str(minutes(contents.first))
        if contents.first != contents.last:
            between += f" to {minutes(contents.last)}"
        lines.append(between if contents.dated else f"order {between}, without dates")
    teams = contents.largest_team > 1
    size = f"{contents.largest_match:,}"
    if contents.smallest_match != contents.largest_match:
        size = f"{contents.smallest_match:,} to {size}"
    most = f" of up to {contents.largest_team:,} players" if teams else ""
    lines.append(f"{size} {'teams' if teams else 'players'}{most} in a match")
    ties = counted(contents.with_ties, "match", "matches") if contents.with_ties else "no match"
    lines.append(f"{'draws' if contents.largest_match == 2 else 'ties'} in {ties}")
    for many, singular, others in (
        (contents.dropped_matches, "match has a problem", "matches have a problem"),
        (contents.unrated, "match is not rated", "matches are not rated"),
        (contents.filtered, "match was filtered out", "matches were filtered out"),
    ):
        lines += [counted(many, singular, others)] if many else []
    return [f"  {line}" for line in lines]


def _print_problems(answer: InspectMessage) -> None:
    if len(answer.problems) == 1:
        print_lines(*problem_lines(answer.problems))
        print_lines(*(f"      {rule.advice}" for rule in answer.rules if rule.advice))
        return
    for rule in answer.rules:
        where = f"{rule.field}: " if rule.field else ""
        print_lines(f"  {rule.count:,} x {where}{rule.rule}")
        print_lines(*([f"      {rule.advice}"] if rule.advice else []))
    print_lines("  The first of them:", *problem_lines(answer.problems, _PROBLEMS))


def _print_matches(answer: InspectMessage) -> None:
    timed = any(match.time is not None for match in answer.matches)
    columns = {"match": "", **({"time": ""} if timed else {}), "who": "", "result": ""}
    rows = [
        (
            cut(str(match.match), _NAME),
            *((minutes(match.time),) if timed else ()),
            cut(match.who, _CELL),
            cut(match.result, _CELL),
        )
        for match in answer.matches
    ]
    print_table(table(columns, rows))


_FORMS = {
    "history": "a long table",
    "games": "a table of games",
    "trf": "a FIDE report",
}


def convert(*, request: ConvertRequest, as_json: options.Json) -> None:
    """Convert the matches of a file to another format.

    The file is read as `equipoise rate` reads it, with the same options. The output lists
    everything that the new format cannot store. OUT is written completely or not at all, and never
    replaces HISTORY.

    Example:
      equipoise convert examples/contests.csv contests.parquet
      equipoise convert examples/worldcup2022.csv matches.csv
      equipoise convert examples/league.csv games.csv --as games
      equipoise convert examples/interzonal1970.csv interzonal.trf
    """
    from equipoise.analysis.inspect.conversion import convert as converted

    answer = converted(request)
    if as_json:
        print_json(answer)
    else:
        say(*_lines(answer))


def _lines(answer: ConvertMessage) -> list[str]:
    """Return lines on what was written, what it lacks, and what the reader said."""
    matches = counted(answer.written, "match", "matches")
    lines = [
        f"wrote {matches} to {answer.output} as {_FORMS[answer.form]} ({answer.seconds:.2f} s)",
        *(f"  {item}" for item in answer.lost),
    ]
    if answer.form == "history" and not answer.lost:
        lines.append("  nothing is lost: reading it again gives the same history")
    read = [] if answer.history is None else reading_lines(answer.history)
    return [*lines, *read, *answer.notes]

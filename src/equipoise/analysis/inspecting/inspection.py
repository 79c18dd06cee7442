"""Inspecting a file: read it as a command would, and say what there is and what is odd."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from equipoise.analysis.files.reading import HistoryRequest, scanned_history
from equipoise.analysis.inspecting.broken_rules import rules_of
from equipoise.analysis.inspecting.fitting import every_system, fits_of, use_of
from equipoise.analysis.inspecting.next_commands import (
    Choice,
    command,
    commands_for_history,
    may_be_tournament,
    source_in_words,
    words_of,
)
from equipoise.analysis.inspecting.oddities import find_oddities
from equipoise.analysis.inspecting.other_kinds import (
    OtherKind,
    contents_of_games,
    first_games,
    games_of,
    other_kind,
)
from equipoise.analysis.inspecting.preview import first_matches
from equipoise.analysis.inspecting.suggestions import (
    suggested_columns,
    time_formats,
    without_column,
)
from equipoise.data.history import History
from equipoise.data.reading import GamesReading, HistoryReading
from equipoise.errors import EquipoiseError, InvalidDataError, InvalidParameterError
from equipoise.formats.histories import summarise
from equipoise.formats.likely_doubles import describe_spellings
from equipoise.formats.opening.contents import STANDARD_INPUT
from equipoise.formats.options import SkipBad
from equipoise.formats.sources import open_source
from equipoise.formats.table import shown
from equipoise.formats.tables.recognised import spelling
from equipoise.messages.conversion import json_value, to_message
from equipoise.messages.errors import ProblemMessage
from equipoise.messages.sources.inspection import (
    ColumnMessage,
    ContentsMessage,
    InspectMessage,
    Kind,
    MatchLineMessage,
    NextMessage,
    OddityMessage,
    UnfitMessage,
)
from equipoise.option_names import options_named
from equipoise.rating.system import RatingSystem
from equipoise.wording import counted

#: What a column decides, by its meaning. Columns that only some systems use are not here.
_USES = {
    "match": "which match a row belongs to",
    "player": "who played",
    "time": "when: matches are rated in this order",
    "round": "the order, where there is no time",
    "team": "who played together",
    "white": "who played on the first side",
    "black": "who played on the second side",
    "opponent": "who played on the second side",
    "rank": "the places, the lowest first",
    "winner": "who won",
    "rated": "matches where it is false are left out",
    "result": "the result",
    "white_score": "the scores, which decide",
    "black_score": "the scores, which decide",
    "neutral": "whether nobody is at home",
    "points": "the points of the first side",
    "games": "the number of games",
    "draws": "the number of drawn games",
}
#: Names of the two sides of a vote, in the spelling of `spelling`.
_VOTES = (("left", "right"), ("modela", "modelb"))
#: Values of a column that is not read.
_VALUES = 3
#: Kinds of histories beside the long table.
_KINDS: dict[str, Kind] = {"games": "games", "pairs": "pairs", "crosstable": "crosstable"}
_NO_RATING = "kept; no rating depends on it"


@dataclass(frozen=True, slots=True, kw_only=True)
class InspectRequest:
    """What to inspect, and for which command.

    history : the file and how to read it
    matches : number of first matches to show
    reads : what the command that will run can read: "history", "games", "log"; empty for all
    given : the command that was tried with `--dry-run`, without this option; "" for none
    systems : those that must be able to rate the history
    """

    history: HistoryRequest
    matches: int = 5
    reads: frozenset[str] = frozenset()
    given: str = ""
    systems: tuple[RatingSystem, ...] = ()


@options_named()
def inspect_source(request: InspectRequest) -> InspectMessage:
    """Return what a file holds. Bad content does not raise.

    Raises : InvalidParameterError   the options do not suit the file
    Raises : InvalidDataError        it cannot be opened
    """
    source = _repeatable(request.history.source)
    if request.reads == {"games"}:
        return _inspect_games(request, source)
    reading, refused = _scanned(request.history, source())
    history = reading.history
    if history is None and any(problem.line is not None for problem in reading.problems):
        # What can be said of the good matches is said of them.
        skipping = list(_skipping(request.history, source))
        if skipping:
            good = skipping[-1][1]
            choices = [one for one, _ in skipping]
            return _inspect_history(request, good, choices, source, ready=False)
    if history is not None:
        choices = [Choice(request.history, history.players, "")]
        return _inspect_history(request, reading, choices, source, ready=True)
    if time_formats(request.history, reading.problems):
        return _inspect_refused(request, reading, source)
    other = other_kind(request.history, source)
    if other is None and refused is not None:
        raise refused
    if other is None:
        return _inspect_refused(request, reading, source)
    instead = [] if request.reads else without_column(request.history, reading, source)
    return _inspect_other(request, replace(other, next=[*instead, *other.next]), reading)


def _skipping(
    request: HistoryRequest, source: Callable[[], object]
) -> Iterator[tuple[Choice, HistoryReading]]:
    """Yield the ways to skip what has problems, that which keeps the most matches first."""
    most = None
    ways: tuple[SkipBad, ...] = ("matches", "rows")
    found: list[tuple[Choice, HistoryReading]] = []
    for way in ways:
        wanted = replace(request, skip_bad=way)
        reading = _scanned(wanted, source())[0]
        history = reading.history
        if history is None:
            continue
        dropped = len(reading.dropped_matches)
        # A match of which a single player or team is left changes nothing.
        lost = dropped + int((history.teams() == 1).sum())
        if lost == dropped + history.matches:
            continue
        cost = f"{lost:,} of {counted(dropped + history.matches, 'match', 'matches')}"
        if reading.dropped_rows:
            rows = counted(reading.dropped_rows, "row")
            cost = f"{rows}, as if these players had not played, and {cost if lost else 'no match'}"
        if most is None or lost < most:
            found.append((Choice(wanted, history.players, f", and leaves out {cost}"), reading))
        most = lost
    yield from reversed(found)


def _inspect_refused(
    request: InspectRequest, reading: HistoryReading, source: Callable[[], object]
) -> InspectMessage:
    """Return the columns of a table that no command reads, and what may make it readable.

    Raises : InvalidDataError   it is no table, or cannot be opened
    """
    try:
        table = open_source(source(), request.history.format, request.history.sheet)
    except EquipoiseError:
        head = summarise(reading.problems, request.history.source)
        raise InvalidDataError(reading.problems, head) from None
    meanings = {column: meaning for meaning, column in reading.columns.items()}
    columns = []
    for column in table.frame:
        values = ", ".join(shown(value) for value in column.head(_VALUES).to_list())
        meaning = meanings.get(column.name, "")
        nested = column.name in table.nested or column.dtype.is_nested()
        use = "is not read, because its values are nested: " if nested else "has "
        columns.append(ColumnMessage(column.name, meaning, use + (values or "no values")))
    next_commands = time_formats(request.history, reading.problems)
    if not next_commands:
        next_commands = without_column(request.history, reading, source)
    if not meanings:
        next_commands += suggested_columns(request.history, table)
    kind: Kind = _KINDS.get(reading.kind, "history" if meanings else "")
    return _message(
        request,
        replace(reading, format=table.format),
        kind=kind,
        ready=False,
        next=next_commands,
        columns=columns,
    )


class _Named(io.BytesIO):
    """The content of a stream that can be read again, under the name of the stream."""

    name = STANDARD_INPUT


def _repeatable(source: object) -> Callable[[], object]:
    """Return a function that returns the source from its beginning, also if it is a stream."""
    if isinstance(source, list | tuple):
        each = [_repeatable(one) for one in source]
        return lambda: [one() for one in each]
    stream: Any = sys.stdin.buffer if isinstance(source, str) and source == "-" else source
    if not hasattr(stream, "read"):
        return lambda: source
    content = stream.read()
    data = content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass")
    return lambda: _Named(data)


def _scanned(
    request: HistoryRequest, source: object
) -> tuple[HistoryReading, InvalidParameterError | None]:
    """Return the reading of a history, and the error if the kind of the source is unclear."""
    try:
        return scanned_history(request, source), None
    except InvalidParameterError as error:
        return HistoryReading(history=None), error


def _inspect_history(
    request: InspectRequest,
    reading: HistoryReading,
    choices: Sequence[Choice],
    source: Callable[[], object],
    *,
    ready: bool,
) -> InspectMessage:
    """Return what a history holds; `ready` is false if it can only be read without bad matches.

    choices : ways to rate it
    """
    history = reading.history
    assert history is not None
    systems = every_system()
    able, unable = fits_of(systems, history)
    oddities = find_oddities(
        history,
        two_sides=reading.kind == "games",
        ranked="rank" in reading.columns,
        columns=reading.columns,
    )
    read_as = choices[-1].request
    next_commands = commands_for_history(
        choices,
        history,
        able,
        format=reading.format,
        votes=_voted(request.history, reading),
        reversed_ranks=reading.columns["rank"]
        if any(one.kind == "reversed-ranks" for one in oddities)
        else None,
        one_tournament=reading.format == "trf" or reading.kind == "crosstable",
        tournament=may_be_tournament(history) and _reads_games(read_as, source),
    )
    misfits = list(_misfits(request.systems, history))
    if request.given:
        next_commands = _as_given(request, ready=ready and not misfits, instead=next_commands)
    # Names that differ in form are among the oddities.
    said = set(describe_spellings(history.player_ids))
    notes = [note for note in reading.notes if note not in said]
    return _message(
        request,
        replace(reading, notes=(*notes, *misfits)),
        kind=_KINDS.get(reading.kind, "history"),
        ready=ready and bool(able) and not misfits,
        next=next_commands,
        columns=_columns(reading, history, systems),
        contents=_contents(reading, history),
        matches=first_matches(history, request.matches),
        oddities=[to_message(OddityMessage, one) for one in oddities],
        able=able,
        unable=unable,
    )


def _voted(request: HistoryRequest, reading: HistoryReading) -> bool:
    """Return whether the two sides of a table are called as in votes."""
    names = {spelling(name) for name in (*request.columns, *reading.columns.values())}
    return reading.kind == "games" and any({*pair} <= names for pair in _VOTES)


def _reads_games(request: HistoryRequest, source: Callable[[], object]) -> bool:
    """Return whether `equipoise performance` reads the source as well, without problems."""
    if request.statistics or request.lower_score_is_better or request.skip_bad == "rows":
        return False
    try:
        return games_of(request, source()).games is not None
    except EquipoiseError:
        return False


def _misfits(systems: Iterable[RatingSystem], history: History) -> Iterator[str]:
    for system in systems:
        found = system.capabilities.misfits(history)
        if found:
            yield f"{system.name} cannot rate {'; '.join(found)}"


def _as_given(
    request: InspectRequest, *, ready: bool, instead: list[NextMessage]
) -> list[NextMessage]:
    """Return the commands to type after a dry run: the one that was tried, if it would run."""
    if ready:
        return [NextMessage(request.given, "does what the dry run checked")]
    return instead


def _contents(reading: HistoryReading, history: History) -> ContentsMessage:
    sizes, teams, ranks = history.sizes(), history.teams(), history.distinct_ranks()
    first_team = np.cumsum(teams) - teams
    largest = int(np.bincount(np.repeat(first_team, sizes) + history.team).max())
    times = history.times()
    contested = teams > 1
    return ContentsMessage(
        matches=history.matches,
        participations=history.participations,
        players=history.players,
        first=None if times is None else json_value(times[0]),
        last=None if times is None else json_value(times[-1]),
        dated=history.time is not None,
        smallest_match=int(teams.min()),
        largest_match=int(teams.max()),
        largest_team=largest,
        team_matches=int((sizes > teams).sum()),
        pairs=int((teams == 2).sum()),
        with_ties=int((contested & (ranks < teams)).sum()),
        all_tied=int((contested & (ranks == 1)).sum()),
        unrated=reading.unrated,
        filtered=reading.filtered,
        dropped_matches=len(reading.dropped_matches),
    )


def _columns(
    reading: HistoryReading, history: History, systems: Mapping[str, RatingSystem]
) -> list[ColumnMessage]:
    """Return the columns with a meaning, and then those that were kept without one."""
    values = systems.values()
    columns = reading.columns
    found = [
        ColumnMessage(column, meaning, _ordered(meaning, history) or _use(meaning, columns, values))
        for meaning, column in sorted(columns.items(), key=lambda pair: _place(pair[0]))
    ]
    found += [
        ColumnMessage(name, "statistic", "adds to the performance, with the weight of --stat")
        for name in history.statistics
    ]
    known = {*columns, *columns.values()}
    made = {"side", "score"} if reading.kind == "games" else set()
    # The numbers of rounds in PGN and in reports are the order, if there are no dates.
    by_round = history.order is not None and not {"time", "round"} & {*columns}
    found += [
        ColumnMessage(
            name,
            "",
            _USES["round"] if name == "round" and by_round else use_of(name, values) or _NO_RATING,
        )
        for name in history.attributes
        if name not in known | made
    ]
    return found


def _ordered(meaning: str, history: History) -> str:
    """Return what times or rounds do if they are not the order; "" if they are, and for others."""
    if meaning == "time" and history.time is None and history.order is None:
        return "has no values, so the order of the file counts"
    if meaning == "round" and history.order is None:
        return _NO_RATING
    return ""


def _place(meaning: str) -> int:
    """Return the place of a meaning in lists: as in `_USES`, and then the others."""
    return list(_USES).index(meaning) if meaning in _USES else len(_USES)


def _use(meaning: str, columns: Mapping[str, str], systems: Iterable[RatingSystem]) -> str:
    """Return what a column with a meaning decides."""
    decided = not {"rank", "winner", "result"}.isdisjoint(columns)
    if meaning == "score" and not decided:
        return "the places"
    if meaning == "points" and not decided:
        return "the result: points of the first side"
    return _USES.get(meaning) or use_of(meaning, systems) or _NO_RATING


def _inspect_other(
    request: InspectRequest, other: OtherKind, as_history: HistoryReading
) -> InspectMessage:
    """Return what a file holds that is no history; a command for histories cannot read it.

    as_history : what its reader says, which is why
    """
    ready = not request.reads or other.kind in request.reads
    if other.reading is not None:
        text = other.text
        if as_history.problems:
            first = as_history.problems[0]
            text += f", because {first.field or 'it'} {first.rule}; got {first.got}"
        return _of_games(request, other.reading, ready=ready, next=other.next, text=text)
    next_commands = other.next
    if ready and request.given:
        next_commands = [NextMessage(request.given, "does what the dry run checked")]
    reading = HistoryReading(history=None, notes=(other.text,))
    return _message(request, reading, kind=other.kind, ready=ready, next=next_commands)


def _inspect_games(request: InspectRequest, source: Callable[[], object]) -> InspectMessage:
    """Return what games hold, for a command that reads games."""
    reading = games_of(request.history, source())
    if reading.games is not None:
        next_commands = [NextMessage(request.given, "does what the dry run checked")]
        return _of_games(request, reading, ready=True, next=next_commands)
    skipping = replace(request.history, skip_bad="matches")
    good = games_of(skipping, source())
    if good.games is None:
        return _of_games(request, reading, ready=False, next=[])
    skipped = [*words_of(skipping)]
    next_commands = [NextMessage(command("performance", skipped), "rates the games without them")]
    return _of_games(request, good, ready=False, next=next_commands)


def _of_games(
    request: InspectRequest,
    reading: GamesReading,
    *,
    ready: bool,
    next: list[NextMessage],
    text: str = "",
) -> InspectMessage:
    """Return what games hold; text : a sentence on what they are."""
    left_out = [
        f"{counted(many, 'result')} left out: {why}" for why, many in reading.left_out.items()
    ]
    games = reading.games
    as_history = HistoryReading(
        history=None,
        problems=reading.problems,
        notes=(*((text,) if text else ()), *left_out, *reading.notes),
        format=reading.format,
    )
    return _message(
        request,
        as_history,
        kind="tournament",
        ready=ready,
        next=next,
        columns=[
            ColumnMessage(column, meaning, _USES.get(meaning, ""))
            for meaning, column in sorted(reading.columns.items(), key=lambda pair: _place(pair[0]))
        ],
        contents=None if games is None else contents_of_games(reading, games),
        matches=[] if games is None else first_games(games, request.matches),
    )


def _message(
    request: InspectRequest,
    reading: HistoryReading,
    *,
    kind: Kind,
    ready: bool,
    next: list[NextMessage],
    columns: Sequence[ColumnMessage] = (),
    contents: ContentsMessage | None = None,
    matches: Sequence[MatchLineMessage] = (),
    oddities: Sequence[OddityMessage] = (),
    able: Sequence[str] = (),
    unable: Sequence[UnfitMessage] = (),
) -> InspectMessage:
    return InspectMessage(
        source=source_in_words(request.history),
        format=reading.format,
        kind=kind,
        ready=ready,
        columns=list(columns),
        contents=contents,
        matches=list(matches),
        oddities=list(oddities),
        able=list(able),
        unable=list(unable),
        problems=[to_message(ProblemMessage, one) for one in reading.problems],
        rules=rules_of(reading.problems),
        next=next,
        notes=list(reading.notes),
    )

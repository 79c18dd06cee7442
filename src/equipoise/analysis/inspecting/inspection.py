"""Inspecting a file: read it as a command would, and say what it holds and what is odd."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from equipoise.analysis.files.reading import HistoryRequest, scanned_history
from equipoise.analysis.inspecting.broken_rules import rules_of
from equipoise.analysis.inspecting.columns import (
    columns_of,
    columns_of_games,
    columns_with_values,
)
from equipoise.analysis.inspecting.next_commands import (
    command_for_history,
    command_to_mend,
    reading_command,
    source_in_words,
    system_for,
)
from equipoise.analysis.inspecting.oddities import find_oddities
from equipoise.analysis.inspecting.other_kinds import OtherKind, games_of, other_kind
from equipoise.analysis.inspecting.preview import first_games, first_matches
from equipoise.data.history import History
from equipoise.data.reading import GamesReading, HistoryReading
from equipoise.data.tournaments.games import Games
from equipoise.errors import EquipoiseError, InvalidDataError, InvalidParameterError
from equipoise.formats.histories import summarise
from equipoise.formats.likely_doubles import describe_spellings
from equipoise.formats.opening.contents import STANDARD_INPUT
from equipoise.formats.options import SkipBad
from equipoise.formats.sources import open_source
from equipoise.messages.conversion import json_value, to_message
from equipoise.messages.errors import ProblemMessage
from equipoise.messages.sources.inspection import (
    ContentsMessage,
    InspectMessage,
    Kind,
    NextMessage,
)
from equipoise.option_names import options_named
from equipoise.rating.system import RatingSystem
from equipoise.wording import counted

#: Kinds of histories beside the long table.
_KINDS: dict[str, Kind] = {"games": "games", "pairs": "pairs", "crosstable": "crosstable"}


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

    def after(self, ready: bool, instead: NextMessage | None) -> NextMessage | None:
        """Return the command to type next: the one that was tried, if it would run."""
        if ready and self.given:
            return NextMessage(self.given, "does what the dry run checked")
        return instead


@options_named()
def inspect_source(request: InspectRequest) -> InspectMessage:
    """Return what a file holds. Bad content does not raise.

    Raises : InvalidParameterError   the options do not suit the file
    Raises : InvalidDataError        it cannot be opened
    """
    source = _repeatable(request.history.source)
    if request.reads == {"games"}:
        return _inspect_games(request, source)
    refused: InvalidParameterError | None = None
    try:
        reading = scanned_history(request.history, source())
    except InvalidParameterError as error:
        reading, refused = HistoryReading(history=None), error
    if reading.history is not None:
        return _inspect_history(request, reading, reading.history, source, request.history)
    if any(problem.line is not None for problem in reading.problems):
        good = _without_bad(request, source)
        if good is not None:
            return good
    mended = command_to_mend(request.history, reading, source)
    other = None if mended else other_kind(request.history, source)
    if other is not None:
        return _inspect_other(request, other, reading)
    if refused is not None:
        raise refused
    return _inspect_refused(request, reading, source, mended)


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


def _inspect_history(
    request: InspectRequest,
    reading: HistoryReading,
    history: History,
    source: Callable[[], object],
    read_as: HistoryRequest,
    cost: str = "",
) -> InspectMessage:
    """Return what a history holds.

    read_as : the request that reads it, and cost : what it leaves out because of problems
    """
    oddities = find_oddities(
        history,
        two_sides=reading.kind == "games",
        ranked="rank" in reading.columns,
        columns=reading.columns,
    )
    misfits = [
        f"{system.name} cannot rate {'; '.join(found)}"
        for system in request.systems
        if (found := system.capabilities.misfits(history))
    ]
    typed = read_as
    if any(one.kind == "reversed-ranks" for one in oddities):
        others = {new: old for new, old in read_as.columns.items() if new not in ("rank", "score")}
        turned = {**others, "score": reading.columns.get("rank", "rank")}
        typed, cost = replace(read_as, columns=turned), f"{cost}, if the highest rank is the best"
    next_command = command_for_history(typed, reading, history, cost)
    if (reading.format == "trf" or reading.kind == "crosstable") and _reads_games(read_as, source):
        next_command = reading_command("performance", read_as, f"rates the performances{cost}")
    ready = read_as == request.history and system_for(history) is not None and not misfits
    # Names that differ in form are among the oddities.
    said = set(describe_spellings(history.player_ids))
    notes = [note for note in reading.notes if note not in said]
    return _message(
        request,
        replace(reading, notes=(*notes, *misfits)),
        kind=_KINDS.get(reading.kind, "history"),
        ready=ready,
        next=request.after(ready, next_command),
        columns=columns_of(reading, history),
        contents=_contents(reading, history),
        matches=first_matches(history, request.matches),
        oddities=oddities,
    )


def _reads_games(request: HistoryRequest, source: Callable[[], object]) -> bool:
    """Return whether `equipoise performance` reads the source as well, without problems."""
    if request.statistics or request.lower_score_is_better or request.skip_bad == "rows":
        return False
    try:
        return games_of(request, source()).games is not None
    except EquipoiseError:
        return False


def _without_bad(request: InspectRequest, source: Callable[[], object]) -> InspectMessage | None:
    """Return what is left of a history without its problems, None if that is less than a quarter.

    Of the ways to skip them, that which keeps the most matches is taken.
    """
    best: tuple[int, HistoryRequest, HistoryReading, History, str] | None = None
    ways: tuple[SkipBad, ...] = ("matches", "rows")
    for way in ways:
        wanted = replace(request.history, skip_bad=way)
        reading = scanned_history(wanted, source())
        history = reading.history
        if history is None:
            continue
        dropped = len(reading.dropped_matches)
        # A match of which a single player or team is left changes nothing.
        lost = dropped + int((history.teams() == 1).sum())
        # To leave out most of a file is no way to read it.
        if 4 * lost > 3 * (dropped + history.matches) or (best is not None and lost >= best[0]):
            continue
        cost = f"{lost:,} of {counted(dropped + history.matches, 'match', 'matches')}"
        if reading.dropped_rows:
            rows = counted(reading.dropped_rows, "row")
            cost = f"{rows}, as if these players had not played, and {cost if lost else 'no match'}"
        best = lost, wanted, reading, history, f", and leaves out {cost}"
    if best is None:
        return None
    _, wanted, reading, history, cost = best
    return _inspect_history(request, reading, history, source, wanted, cost)


def _contents(reading: HistoryReading, history: History) -> ContentsMessage:
    sizes, teams = history.sizes(), history.teams()
    first_team = np.cumsum(teams) - teams
    times = history.times()
    return ContentsMessage(
        matches=history.matches,
        participations=history.participations,
        players=history.players,
        first=None if times is None else json_value(times[0]),
        last=None if times is None else json_value(times[-1]),
        dated=history.time is not None,
        smallest_match=int(teams.min()),
        largest_match=int(teams.max()),
        largest_team=int(np.bincount(np.repeat(first_team, sizes) + history.team).max()),
        with_ties=int((history.distinct_ranks() < teams).sum()),
        unrated=reading.unrated,
        filtered=reading.filtered,
        dropped_matches=len(reading.dropped_matches),
    )


def _inspect_refused(
    request: InspectRequest,
    reading: HistoryReading,
    source: Callable[[], object],
    mended: NextMessage | None,
) -> InspectMessage:
    """Return the columns of a table that no command reads, and what may make it readable.

    Raises : InvalidDataError   it is no table, or cannot be opened
    """
    try:
        table = open_source(source(), request.history.format, request.history.sheet)
    except EquipoiseError:
        head = summarise(reading.problems, request.history.source)
        raise InvalidDataError(reading.problems, head) from None
    return _message(
        request,
        replace(reading, format=table.format),
        kind=_KINDS.get(reading.kind, "history" if reading.columns else ""),
        ready=False,
        next=mended,
        columns=columns_with_values(table, reading.columns),
    )


def _inspect_other(
    request: InspectRequest, other: OtherKind, as_history: HistoryReading
) -> InspectMessage:
    """Return what a file holds that is no history; a command for histories cannot read it.

    as_history : what its reader says, which is why
    """
    ready = not request.reads or other.kind in request.reads
    if other.games is not None:
        text = other.text
        if as_history.problems:
            first = as_history.problems[0]
            text += f", because {first.field or 'it'} {first.rule}; got {first.got}"
        return _of_games(request, other.games, ready, other.next, text)
    reading = HistoryReading(history=None, notes=(other.text,))
    next_command = request.after(ready, other.next)
    return _message(request, reading, kind=other.kind, ready=ready, next=next_command)


def _inspect_games(request: InspectRequest, source: Callable[[], object]) -> InspectMessage:
    """Return what games hold, for a command that reads games."""
    reading = games_of(request.history, source())
    if reading.games is not None:
        return _of_games(request, reading, True, request.after(True, None))
    skipping = replace(request.history, skip_bad="matches")
    good = games_of(skipping, source())
    if good.games is None:
        return _of_games(request, reading, False, None)
    instead = reading_command("performance", skipping, "rates the games without them")
    return _of_games(request, good, False, instead)


def _of_games(
    request: InspectRequest,
    reading: GamesReading,
    ready: bool,
    next: NextMessage | None,
    *notes: str,
) -> InspectMessage:
    """Return what games hold; notes : sentences on what they are."""
    left_out = [
        f"{counted(many, 'result')} left out: {why}" for why, many in reading.left_out.items()
    ]
    games = reading.games
    return _message(
        request,
        replace(reading, notes=(*notes, *left_out, *reading.notes)),
        kind="tournament",
        ready=ready,
        next=next,
        columns=columns_of_games(reading.columns),
        contents=None if games is None else _contents_of_games(reading, games),
        matches=[] if games is None else first_games(games, request.matches),
    )


def _contents_of_games(reading: GamesReading, games: Games) -> ContentsMessage:
    matches = round(float(games.weights.sum()))
    return ContentsMessage(
        matches=matches,
        participations=2 * matches,
        players=games.players,
        with_ties=0 if games.draws is None else round(float(games.draws.sum())),
        unrated=reading.left_out.get("unrated", 0),
        filtered=reading.left_out.get("filtered", 0),
        dropped_matches=reading.skipped,
    )


def _message(
    request: InspectRequest, reading: HistoryReading | GamesReading, **parts: Any
) -> InspectMessage:
    """Return the message with what a reading says, and the given parts."""
    return InspectMessage(
        source=source_in_words(request.history),
        format=reading.format,
        problems=[to_message(ProblemMessage, one) for one in reading.problems],
        rules=rules_of(reading.problems),
        notes=list(reading.notes),
        **parts,
    )

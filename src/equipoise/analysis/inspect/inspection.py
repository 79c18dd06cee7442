"""Inspecting a file: read it as a command would, and say what it holds and what is wrong or odd."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from msgspec import structs

from equipoise.analysis.inspect.answers import (
    ContentsMessage,
    InspectMessage,
    Kind,
    MatchLineMessage,
    NextMessage,
    OtherKind,
    RuleMessage,
    command_for_history,
    command_to_mend,
    games_of,
    other_kind,
    reading_command,
    source_in_words,
    system_for,
    time_formats,
)
from equipoise.analysis.inspect.oddities import (
    columns_of,
    columns_of_games,
    columns_with_values,
    find_oddities,
)
from equipoise.analysis.reading import candidate_contexts, scanned_history, suited_history
from equipoise.analysis.requests import HistoryRequest, repeatable
from equipoise.arrays import Floats, Ids
from equipoise.data.games import Games
from equipoise.data.history import History, matches_played
from equipoise.errors import EquipoiseError, InvalidDataError, InvalidParameterError, Problem
from equipoise.formats.histories import summarise
from equipoise.formats.names import describe_newcomers, describe_spellings
from equipoise.formats.sources import open_source
from equipoise.formats.table import GamesReading, HistoryReading, SkipBad
from equipoise.messages.conversion import ProblemMessage, json_value, to_message
from equipoise.rating.contexts import CONTEXT
from equipoise.rating.system import RatingSystem
from equipoise.wording import counted, options_named

_TIMES = "--time-format says how times are written, such as --time-format %d/%m/%Y"
#: Field ("" for any) and start of a rule -> what to do. The first that fits counts.
_ADVICE: tuple[tuple[str, str, str], ...] = (
    (
        "",
        "must be on adjacent rows",
        "name the column of times (--column time=NAME), or give every match an id of its own",
    ),
    (
        "time",
        "must be the same on all rows of a match",
        "one id has several times, so it may stand for several matches: give each an id of its own "
        "(--column match=NAME names another column)",
    ),
    ("", "must have one meaning, but this column", "--time-format says which it is"),
    ("", "must be a date or time as in", _TIMES),
    ("", "must be whole seconds since 1970, or a date", _TIMES),
    ("time", "must be", _TIMES),
    (
        "",
        "must appear once in a match",
        "if the rows are games or rounds of a match, each needs an id of its own "
        "(--column match=NAME names another column)",
    ),
    ("", "must have exactly two teams", "give the places of more teams in a column rank"),
    ("match", "must not be empty", "every row needs the id of its match"),
)


def rules_of(problems: Sequence[Problem]) -> list[RuleMessage]:
    """Return the rules that are broken, the most frequent first, and what to do about each."""
    counts = Counter((problem.field, problem.rule) for problem in problems)
    # A problem of a complete file names no line, and nothing can be skipped.
    of_rows = {(problem.field, problem.rule) for problem in problems if problem.line is not None}
    return [
        RuleMessage(field, rule, count, _advice(field, rule) if (field, rule) in of_rows else "")
        for (field, rule), count in counts.most_common()
    ]


def _advice(field: str, rule: str) -> str:
    for of, start, advice in _ADVICE:
        if of in ("", field) and rule.startswith(start):
            return advice
    return (
        "correct these cells, leave their matches out with --skip-bad, or leave out only these "
        "rows with --skip-bad=rows"
    )


#: Players of a team, and letters of a name, that are shown.
_MEMBERS, _LETTERS = 3, 24
#: Letters from which no more places are shown.
_LONG = 40


class _Side(NamedTuple):
    """A player or team of a match.

    rank : from 0; label : of the team, or ""; players : names; score : as text, "" if unknown
    ground : "white" or "at home", or ""
    """

    rank: int
    label: str
    players: list[str]
    score: str
    ground: str

    @property
    def who(self) -> str:
        more = len(self.players) - _MEMBERS
        shown = " + ".join(self.players[:_MEMBERS]) + (f" + {more:,} more" if more > 0 else "")
        return f"{self.label} ({shown})" if self.label else shown


def first_matches(history: History, matches: int) -> list[MatchLineMessage]:
    """Return the first matches of a history, at most so many."""
    some = history.slice(0, min(matches, history.matches))
    times = some.times()
    try:
        scores = some.scores()
    except InvalidDataError:
        scores = None
    lines = []
    for match in range(some.matches):
        sides = _sides(some, range(int(some.offsets[match]), int(some.offsets[match + 1])), scores)
        time = None if times is None else json_value(times[match])
        name = json_value(some.match_ids[match])
        lines.append(MatchLineMessage(name, time, _who(sides), _result(sides)))
    return lines


def _sides(history: History, rows: range, scores: Floats | None) -> list[_Side]:
    """Return the players or teams of a match, in the order of the file."""
    sides: dict[int, _Side] = {}
    at_home, side = history.at_home(), history.attributes.get("side")
    for row in rows:
        team = int(history.team[row])
        if team not in sides:
            label = None if history.team_labels is None else history.team_labels[row]
            score = "" if scores is None or scores[row] != scores[row] else f"{scores[row]:g}"
            rank = int(history.rank[row])
            ground = "at home" if at_home is not None and at_home[row] else ""
            if ground and side is not None and str(side[row]) == "white":
                ground = "white"
            name = "" if label is None else _cut(str(label))
            sides[team] = _Side(rank, name, [], score, ground)
        sides[team].players.append(_cut(str(history.player_ids[history.player[row]])))
    return list(sides.values())


def _who(sides: list[_Side]) -> str:
    if len(sides) == 1:
        return f"{sides[0].who} alone"
    if len(sides) == 2:
        return " against ".join(
            f"{side.who} ({side.ground})" if side.ground else side.who for side in sides
        )
    players = sum(len(side.players) for side in sides)
    teams = f" in {len(sides):,} teams" if players > len(sides) else ""
    return f"{players:,} players{teams}"


def _result(sides: list[_Side]) -> str:
    """Return the winner of two sides and the score, or the first places of more."""
    if len(sides) == 1:
        return ""
    names = [side.label or side.who for side in sides]
    if len(sides) == 2:
        one, other = sides
        between = " to " if "-" in one.score + other.score else "-"
        score = f" {one.score}{between}{other.score}" if one.score and other.score else ""
        won = f"{names[one.rank > other.rank]} won"
        return ("draw" if one.rank == other.rank else won) + score
    ordered = sorted(zip(sides, names, strict=True), key=lambda pair: pair[0].rank)
    text, shown = ordered[0][1], 1
    for (before, _), (side, name) in pairwise(ordered):
        added = text + (" = " if side.rank == before.rank else ", ") + name
        if len(added) > _LONG:
            break
        text, shown = added, shown + 1
    more = len(sides) - shown
    return text + (f", and {more:,} more" if more > 0 else "")


def _cut(text: str) -> str:
    return text if len(text) <= _LETTERS else f"{text[: _LETTERS - 3]}..."


def first_games(games: Games, count: int) -> list[MatchLineMessage]:
    """Return the first results of games, at most so many."""
    lines = []
    for row in range(min(count, games.rows)):
        white, black = (str(games.player_ids[side[row]]) for side in (games.white, games.black))
        points, weight = float(games.points[row]), float(games.weights[row])
        if weight == 1 and points in (0.0, 0.5, 1.0):
            result = "draw" if points == 0.5 else f"{white if points else black} won"
        else:
            result = f"{points:g} of {weight:g} points for {white}"
        lines.append(MatchLineMessage(row + 1, None, f"{white} against {black}", result))
    return lines


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
    known : ids of the players of the saved state that the history continues
    """

    history: HistoryRequest
    matches: int = 5
    reads: frozenset[str] = frozenset()
    given: str = ""
    systems: tuple[RatingSystem, ...] = ()
    known: Ids | None = None

    def after(self, ready: bool, instead: NextMessage | None) -> NextMessage | None:
        """Return the command to type next: the one that was tried, if it would run."""
        tried = NextMessage(self.given, "does what the dry run checked")
        return tried if ready and self.given else instead


@options_named()
def inspect_source(request: InspectRequest) -> InspectMessage:
    """Return what a file holds. Bad content does not raise.

    Raises : InvalidParameterError   the options do not suit the file
    Raises : InvalidDataError        it cannot be opened
    """
    source = repeatable(request.history.source)
    if request.reads == {"games"}:
        return _inspect_games(request, source)
    refused: InvalidParameterError | None = None
    try:
        wanted, reading = suited_history(request.history, source())
        request = replace(request, history=wanted)
    except InvalidParameterError as error:
        reading, refused = HistoryReading(history=None), error
    if reading.history is not None:
        return _inspect_history(request, reading, reading.history, source, request.history)
    formats = time_formats(reading.problems)
    of_rows = any(problem.line is not None for problem in reading.problems)
    good = _without_bad(request, source) if of_rows else None
    if good is not None and not formats:
        return good
    mended = command_to_mend(request.history, reading, source, formats)
    if good is not None:
        # Its matches are good ones that only need a format.
        return structs.replace(good, next=mended)
    other = None if mended else other_kind(request.history, source)
    if other is not None:
        return _inspect_other(request, other, reading)
    if refused is not None:
        raise refused
    return _inspect_refused(request, reading, source, mended)


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
    oddities = find_oddities(history, reading)
    misfits = [
        f"{system.name} cannot rate {'; '.join(reasons)}"
        for system in request.systems
        if (reasons := system.capabilities.misfits(history))
    ]
    typed = read_as
    if any(oddity.kind == "reversed-ranks" for oddity in oddities):
        others = {new: old for new, old in read_as.columns.items() if new not in ("rank", "score")}
        turned = {**others, "score": reading.columns.get("rank", "rank")}
        typed, cost = replace(read_as, columns=turned), f"{cost}, if the highest rank is the best"
    next_command = command_for_history(typed, reading, history, cost)
    # Rounds without dates are those of a tournament.
    rounds = reading.kind == "games" and "round" in reading.columns and history.time is None
    tournament = rounds or reading.format == "trf" or reading.kind == "crosstable"
    if tournament and _reads_games(read_as, source):
        next_command = reading_command("performance", read_as, f"rates the performances{cost}")
    ready = read_as == request.history and system_for(history) is not None and not misfits
    # Names that may be one player are among the oddities.
    spellings = set(describe_spellings(history.player_ids, matches_played(history)))
    notes = [note for note in reading.notes if note not in spellings]
    if request.known is not None:
        notes += describe_newcomers(request.known, history.player_ids, matches_played(history))
    contexts = {} if CONTEXT in history.attributes else candidate_contexts(history)
    for name, values in list(contexts.items())[:_MEMBERS]:
        some = ", ".join(map(_cut, values[:_MEMBERS])) + (", ..." if len(values) > _MEMBERS else "")
        notes.append(
            f"{name} may be a context of matches ({counted(len(values), 'value')}: {some}); tune "
            f"tells what --column context={name} is worth"
        )
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
    ways: dict[int, tuple[HistoryRequest, HistoryReading, History, str]] = {}
    for way in SKIPPED:
        wanted = replace(request.history, skip_bad=way)
        reading = scanned_history(wanted, source())
        history = reading.history
        if history is None:
            continue
        dropped = len(reading.dropped_matches)
        # A match of which a single player or team is left changes nothing.
        lost = dropped + int((history.teams() == 1).sum())
        cost = f"{lost:,} of {counted(dropped + history.matches, 'match', 'matches')}"
        if reading.dropped_rows:
            rows = counted(reading.dropped_rows, "row")
            cost = f"{rows}, as if these players had not played, and {cost if lost else 'no match'}"
        # To leave out most of a file is no way to read it.
        if 4 * lost <= 3 * (dropped + history.matches):
            ways.setdefault(lost, (wanted, reading, history, f", and leaves out {cost}"))
    if not ways:
        return None
    wanted, reading, history, cost = ways[min(ways)]
    return _inspect_history(request, reading, history, source, wanted, cost)


#: What may be skipped; of ways that lose equally many matches, the first is taken.
SKIPPED: tuple[SkipBad, ...] = ("matches", "rows")


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
    parts: dict[str, Any] = {}
    if reading.games is not None:
        parts["contents"] = _contents_of_games(reading, reading.games)
        parts["matches"] = first_games(reading.games, request.matches)
    return _message(
        request,
        replace(reading, notes=(*notes, *left_out, *reading.notes)),
        kind="tournament",
        ready=ready,
        next=next,
        columns=columns_of_games(reading.columns),
        **parts,
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
        problems=[to_message(ProblemMessage, problem) for problem in reading.problems],
        rules=rules_of(reading.problems),
        notes=list(reading.notes),
        **parts,
    )

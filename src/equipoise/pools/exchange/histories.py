"""Files of matches for a pool: a history as posts, and what posting a file would change.

An upload is read and previewed here, and nothing is recorded. Matches that the pool has are left
out, so a file can be uploaded again with further rows. Games without ids get ids of their own, from
their day and players: the same row has the same id in every file, whether a page or
`equipoise db import` reads it.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from functools import partial
from itertools import pairwise
from typing import Any

import msgspec
import numpy as np
from sqlalchemy import Connection

from equipoise.arrays import Ids, Ints
from equipoise.data.history import AT_HOME, HOME_SIDES, SIDES, History, TimeKind
from equipoise.data.times import iso
from equipoise.errors import EquipoiseError, InvalidDataError
from equipoise.formats import scan_history
from equipoise.formats.histories import summarise
from equipoise.formats.table import HistoryReading
from equipoise.messages.conversion import json_value
from equipoise.messages.matches import (
    MatchMessage,
    MatchRequest,
    Moment,
    ParticipationRequest,
    PlayerDifference,
    TeamRequest,
    places_of,
)
from equipoise.pools.pool.pools import read_pool, rules_of_pool
from equipoise.pools.pool.rules import PoolRules, PostedMatch
from equipoise.pools.posting.posting import Post, Undoing, is_same, post_matches, read_by_rules
from equipoise.pools.posting.rating import player_ids, players_of
from equipoise.pools.reading.overview import Newcomer, newcomers
from equipoise.pools.records import amendments_of_matches
from equipoise.rating.contexts import CONTEXT
from equipoise.store import log
from equipoise.store.connection import Store
from equipoise.store.log import erased_players
from equipoise.store.pools import PoolRecord

#: Columns of a history with a field of their own in what is posted.
_OWN = ("role", "side", "at_home")
#: Columns with title and link of the match of a row, and how those of its attributes begin.
TITLE, LINK, ATTRIBUTE = "match_title", "match_link", "match_attributes."
_NOT_HOME_SIDES = [side for side in SIDES if side not in HOME_SIDES]


@dataclass(frozen=True, slots=True, eq=False)
class _Columns:
    """The columns of a history as lists; None for columns that it does not have."""

    players: list[str]
    team: list[int]
    rank: list[int]
    labels: list[Any] | None
    performance: list[float] | None
    share: list[float] | None
    statistics: Mapping[str, list[float]]
    own: Mapping[str, list[Any]]
    attributes: dict[str, list[Any]]
    of_match: Mapping[str, list[Any]]

    @property
    def plain(self) -> bool:
        """Whether players have only an id in each match."""
        kept = (self.statistics, self.own, self.attributes)
        return self.performance is None and self.share is None and not any(kept)


def requests_of(history: History, start: int, stop: int) -> list[MatchRequest]:
    """Return matches start:stop of a history as posts, with ids as text."""
    columns = _columns(history, int(history.offsets[start]), int(history.offsets[stop]))
    contexts = _contexts(columns, history.offsets[start : stop + 1] - history.offsets[start])
    weights = history.weights(start, stop).tolist()
    ceilings, betas, gammas = history.performance_ceiling, history.beta, history.gamma
    bounds = (history.offsets[start : stop + 1] - history.offsets[start]).tolist()
    ids = history.match_ids[start:stop].tolist()
    return [
        MatchRequest(
            match=str(match),
            teams=_teams(columns, bounds[i], bounds[i + 1]),
            time=_time(history, start + i),
            weight=weights[i],
            performance_ceiling=None if ceilings is None else json_value(ceilings[start + i]),
            beta=None if betas is None else json_value(betas[start + i]),
            gamma=None if gammas is None else json_value(gammas[start + i]),
            **_texts(columns.of_match, bounds[i]),
            context=contexts[i] if contexts else None,
        )
        for i, match in enumerate(ids)
    ]


def _contexts(columns: _Columns, offsets: Ints) -> list[str | None]:
    """Return the context of each match; only where its players differ, theirs stay in columns."""
    values = columns.attributes.pop(CONTEXT, None)
    if values is None:
        return []
    texts = [None if _absent(value) else str(_plain(value)) for value in values]
    contexts: list[str | None] = []
    for low, high in pairwise(offsets.tolist()):
        same = len(set(texts[low:high])) == 1
        contexts.append(texts[low] if same else None)
        if same:
            texts[low:high] = [None] * (high - low)
    if any(text is not None for text in texts):
        columns.attributes[CONTEXT] = texts
    return contexts


def posted_time(time: int, kind: TimeKind) -> Moment:
    """Return microseconds since 1970 as a posted time: seconds if the history has seconds."""
    if kind == "seconds" and time % 1_000_000 == 0:
        return time // 1_000_000
    return iso(time)


def _time(history: History, match: int) -> Moment | None:
    if history.time is None:
        return None
    return posted_time(int(history.time[match]), history.time_kind)


def _columns(history: History, low: int, high: int) -> _Columns:
    """Return rows low:high as lists, which Python reads faster than arrays."""
    rows = slice(low, high)
    attributes = {name: column[rows].tolist() for name, column in history.attributes.items()}
    performance, share = history.performance, history.share
    labels = history.team_labels
    return _Columns(
        players=[str(player) for player in history.player_ids[history.player[rows]].tolist()],
        team=history.team[rows].tolist(),
        rank=history.rank[rows].tolist(),
        labels=None if labels is None else _labels(labels[rows]),
        performance=None if performance is None else performance[rows].tolist(),
        share=None if share is None else share[rows].tolist(),
        statistics={name: column[rows].tolist() for name, column in history.statistics.items()},
        own={name: values for name, values in attributes.items() if name in _OWN},
        attributes={
            name: values
            for name, values in attributes.items()
            if name not in _OWN and not _is_of_match(name)
        },
        of_match={name: values for name, values in attributes.items() if _is_of_match(name)},
    )


def _is_of_match(column: str) -> bool:
    return column in (TITLE, LINK) or column.startswith(ATTRIBUTE)


def _texts(columns: Mapping[str, list[Any]], row: int) -> dict[str, Any]:
    """Return title, link and attributes of a match from its first row."""
    values = {name: _plain(value) for name, value in _present(columns, row).items()}
    fields: dict[str, Any] = {
        field: str(values.pop(name))
        for field, name in (("title", TITLE), ("link", LINK))
        if name in values
    }
    if values:
        fields["attributes"] = {
            name.removeprefix(ATTRIBUTE): value for name, value in values.items()
        }
    return fields


def _labels(labels: Ids) -> list[Any]:
    return [None if _absent(label) else str(label) for label in labels.tolist()]


def _teams(columns: _Columns, low: int, high: int) -> list[TeamRequest]:
    """Return the teams of one match in the order of their numbers."""
    members: dict[int, list[int]] = {}
    for row in range(low, high):
        members.setdefault(columns.team[row], []).append(row)
    plain = columns.plain
    return [
        TeamRequest(
            players=[columns.players[row] if plain else _player(columns, row) for row in rows],
            rank=columns.rank[rows[0]],
            team=None if columns.labels is None else columns.labels[rows[0]],
        )
        for _, rows in sorted(members.items())
    ]


def _player(columns: _Columns, row: int) -> ParticipationRequest:
    """Return a player in a match with all values."""
    own = {name: values[row] for name, values in columns.own.items() if not _absent(values[row])}
    side = str(own["side"]) if "side" in own else None
    at_home = _truth(own["at_home"]) if "at_home" in own else None
    if at_home is None and "at_home" in columns.own and side not in (None, *_NOT_HOME_SIDES):
        at_home = False  # Beside a column `at_home`, the side does not count.
    share = None if columns.share is None else json_value(columns.share[row])
    return ParticipationRequest(
        player=columns.players[row],
        performance=None if columns.performance is None else json_value(columns.performance[row]),
        statistics=_present(columns.statistics, row),
        share=None if share == 1.0 else share,
        role=str(own["role"]) if "role" in own else None,
        side=side,
        at_home=at_home,
        attributes={
            name: _plain(value) for name, value in _present(columns.attributes, row).items()
        },
    )


def _truth(value: Any) -> bool:
    """Return whether a value of `at_home` means at home, as `elo` reads the column."""
    if isinstance(value, str):
        return value.strip().lower() in AT_HOME
    return bool(value > 0)


def _present(columns: Mapping[str, list[Any]], row: int) -> dict[str, Any]:
    return {name: values[row] for name, values in columns.items() if not _absent(values[row])}


def _plain(value: Any) -> str | int | float | bool:
    """Return a value of a column as JSON holds it."""
    if isinstance(value, str | int | float | bool):
        return value
    return value.isoformat() if isinstance(value, date) else str(value)


def _absent(value: Any) -> bool:
    # NaN is the only value that differs from itself.
    return value is None or bool(value != value)


def pieces_of(history: History, matches: int) -> Iterator[tuple[int, int]]:
    """Give slices of a history, each with at most `matches` matches.

    Slices with large matches have fewer: four participations for each of `matches`, or one match.
    """
    ends, start = history.offsets, 0
    while start < history.matches:
        within = int(np.searchsorted(ends, ends[start] + 4 * matches, "right")) - 1
        stop = max(start + 1, min(start + matches, within))
        yield start, stop
        start = stop


#: How dates are read that have two meanings, in words.
DATES = {"": "as the file shows", "%d": "day first (31.10.2026)", "%m": "month first (10/31/2026)"}
#: A meaning that a reader found in a column of dates.
_PATTERN = re.compile(r'time_format="([^"]+)"')
#: Players whose changes a preview lists, and the maximum length of an own id.
MOST_LISTED, _LONGEST_ID = 100, 150


class OwnIds:
    """Gives the games of a file ids of their own: "2026-10-03 ada - bo".

    The second game of the same players on a day has a number. Matches come in the order of time.
    """

    def __init__(self) -> None:
        self._day: str | None = None
        self._seen: Counter[str] = Counter()

    @classmethod
    def for_file(
        cls, store: Store, pool: str, reading: HistoryReading, matches: Sequence[MatchRequest]
    ) -> OwnIds | None:
        """Return what names the games of a file; None where they keep their ids.

        matches : the first ones. Earlier versions of `equipoise db import` named games by their
        numbers in the file. A pool with such games keeps these, so that none is recorded twice
        """
        if reading.kind != "games" or "match" in reading.columns or not matches:
            return None
        with read_pool(store, pool) as (connection, record, _):
            numbered = log.match_by_id(connection, record.id, str(matches[0].match))
        if numbered is not None:
            posted = msgspec.json.decode(numbered.content, type=MatchRequest)
            if players_of(posted) == players_of(matches[0]):
                return None
        return cls()

    def named(self, matches: Sequence[MatchRequest]) -> list[MatchRequest]:
        """Return the next matches of the file with their ids, and with scores for ranks."""
        named = []
        for match in matches:
            day = _day_of(match)
            name = _own_name(match, day)
            if day != self._day:
                self._day, self._seen = day, Counter()
            self._seen[name] += 1
            if self._seen[name] > 1:
                name = f"{name} ({self._seen[name]})"
            named.append(msgspec.structs.replace(scored(match), match=name))
        return named


def _day_of(match: MatchRequest) -> str:
    """Return the day of a match as its id has it; "" without a time."""
    return "" if match.time is None else msgspec.json.encode(match.time).decode().strip('"')[:10]


def _own_name(match: MatchRequest, day: str) -> str:
    """Return the id of a match from its day and players."""
    name = " - ".join(", ".join(player_ids(team.players)) for team in match.teams)
    if len(name) > _LONGEST_ID:
        name = hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()[:16]
    return f"{day} {name}".lstrip()


def scored(match: MatchRequest) -> MatchRequest:
    """Return a match with the scores of its teams in place of ranks, if the file has them."""
    teams = []
    for team in match.teams:
        own = {getattr(member, "attributes", {}).get("score") for member in team.players}
        score = own.pop() if len(own) == 1 else None
        if not isinstance(score, int | float):
            return match
        players = list(map(_without_score, team.players))
        teams.append(msgspec.structs.replace(team, players=players, rank=None, score=float(score)))
    changed = msgspec.structs.replace(match, teams=teams)
    # A score may decide nothing: of a game lost by forfeit, or where the lowest is first.
    return changed if places_of(changed) == places_of(match) else match


def _without_score(member: ParticipationRequest | str | int) -> ParticipationRequest | str | int:
    if not isinstance(member, ParticipationRequest):
        return member
    others = {name: value for name, value in member.attributes.items() if name != "score"}
    return msgspec.structs.replace(member, attributes=others)


@dataclass(frozen=True, slots=True)
class Uploaded:
    """A file as a pool understands it.

    format : such as "csv"; columns : meaning -> name in the file; notes : sentences
    fault : why nothing can be posted, None if nothing prevents it; dropped : matches left out
    total, players : numbers of matches and of their players
    matches : those that would be recorded
    known : number of matches that are recorded already
    differing : ids of matches that are recorded with another content
    waiting : number of matches that would be rated later, by a replay
    changes : players whose ratings would change, the largest changes first; changed : all of them
    """

    format: str
    columns: Mapping[str, str]
    notes: Sequence[str] = ()
    fault: InvalidDataError | None = None
    dropped: int = 0
    total: int = 0
    players: int = 0
    matches: list[MatchRequest] = field(default_factory=list)
    known: int = 0
    differing: Sequence[str] = ()
    waiting: int = 0
    newcomers: Sequence[Newcomer] = ()
    changes: Sequence[PlayerDifference] = ()
    changed: int = 0


def read_upload(
    store: Store,
    pool: str,
    content: bytes,
    format: str,
    now: int,
    *,
    dates: str = "",
    sheet: str | None = None,
    skip_bad: bool = False,
    future_seconds: float | None,
) -> Uploaded:
    """Return how a file is understood, and what posting its matches would change.

    format : as in `scan_history`; now : microseconds since 1970
    dates : "%d" or "%m", what comes first in dates that have two meanings
    sheet : of a workbook, as in `scan_history`
    skip_bad : leave out matches with a bad row
    Raises : NotFoundError, ConflictError; InvalidDataError, InvalidParameterError if nothing of
        the file is understood
    """
    rules = rules_of_pool(store, pool)
    reading = _reading(content, format, rules, dates, sheet, skip_bad)
    told = Uploaded(
        format=reading.format,
        columns=reading.columns,
        notes=reading.notes,
        dropped=len(reading.dropped_matches),
    )
    history = reading.history
    if history is None:
        return replace(told, fault=InvalidDataError(reading.problems, summarise(reading.problems)))
    matches = requests_of(history, 0, history.matches)
    if not rules.timed or history.order is not None:
        matches = [msgspec.structs.replace(match, time=None) for match in matches]
    namer = OwnIds.for_file(store, pool, reading, matches)
    imported = None if namer is not None else matches
    matches = [scored(match) for match in matches] if namer is None else namer.named(matches)
    told = replace(told, total=len(matches), players=history.players)
    try:
        return _previewed(store, pool, rules, matches, imported, told, now, future_seconds)
    except InvalidDataError as error:
        return replace(told, fault=_named(error, matches))


def _reading(
    content: bytes, format: str, rules: PoolRules, dates: str, sheet: str | None, skip_bad: bool
) -> HistoryReading:
    """Return the history of a file. Dates with two meanings are read with `dates` first."""
    read = partial(
        scan_history,
        content,
        format=format,
        sheet=sheet,
        statistics=list(rules.settings.statistics),
        skip_bad="matches" if skip_bad else None,
    )
    reading = read()
    patterns = {
        pattern
        for problem in reading.problems
        for pattern in _PATTERN.findall(problem.rule)
        if pattern.startswith(dates)
    }
    return read(time_format=patterns.pop()) if dates and len(patterns) == 1 else reading


def _previewed(
    store: Store,
    pool: str,
    rules: PoolRules,
    matches: Sequence[MatchRequest],
    imported: Sequence[MatchRequest] | None,
    told: Uploaded,
    now: int,
    future_seconds: float | None,
) -> Uploaded:
    """Add what posting matches would change. Raises : InvalidDataError, ConflictError.

    imported : the matches as `equipoise db import` posts them, None where that is the same
    """
    read = read_by_rules(Post(matches), rules)
    if read.refused is not None:
        raise read.refused
    with read_pool(store, pool) as (connection, record, _):
        known, differing = _recorded(connection, record, read.matches)
        if differing and imported is not None:
            others = read_by_rules(Post(imported), rules).matches
            known |= _recorded(connection, record, others)[0]
            differing -= known
    new = [
        match
        for match, posted in zip(matches, read.matches, strict=True)
        if posted.id not in known and posted.id not in differing
    ]
    told = replace(told, matches=new, known=len(known), differing=sorted(differing))
    if not new:
        return told
    (answer,) = post_matches(Undoing(store), pool, [Post(new)], now, future_seconds=future_seconds)
    if isinstance(answer, EquipoiseError):
        raise answer
    assert isinstance(answer, list)
    changes = changes_of(answer)
    names = [player for posted in read.matches for player in players_of(posted.request)]
    return replace(
        told,
        waiting=sum(match.status == "pending" for match in answer),
        newcomers=newcomers(store, pool, names),
        changes=changes[:MOST_LISTED],
        changed=len(changes),
    )


def _recorded(
    connection: Connection, pool: PoolRecord, matches: Sequence[PostedMatch]
) -> tuple[set[str], set[str]]:
    """Return the ids of matches that the pool has, and of those that it has otherwise.

    A match is known as it was posted or as it was corrected.
    """
    there = log.matches_by_id(connection, pool.id, {match.id for match in matches})
    amendments = amendments_of_matches(connection, pool, there)
    erased = erased_players(connection, pool.id) if pool.erased else frozenset()
    known: set[str] = set()
    differing: set[str] = set()
    for match in matches:
        record = there.get(match.id)
        if record is None:
            continue
        # The content of a correction may leave out what is the default.
        corrected = amendments.request(record) == match.request
        corrected &= amendments.time_played(match.id, record.posted_time) == match.time
        same = corrected or is_same(record, match.content, match.time, erased)
        (known if same else differing).add(match.id)
    return known, differing


def changes_of(matches: Sequence[MatchMessage]) -> list[PlayerDifference]:
    """Return what rated matches change together, the largest changes first."""
    first: dict[str, tuple[float | None, float | None]] = {}
    last: dict[str, tuple[float | None, float | None]] = {}
    rated = [match for match in matches if match.status == "rated"]
    # Matches of a file may come in any order; those of a post are rated in that of the log.
    for match in sorted(rated, key=lambda match: match.seq):
        for player in (member for team in match.teams for member in team.players if member.counted):
            first.setdefault(player.player, (player.rating_before, player.deviation_before))
            last[player.player] = player.rating, player.deviation
    changes = [
        PlayerDifference(name, *first[name], *now, (now[0] or 0.0) - (first[name][0] or 0.0))
        for name, now in last.items()
    ]
    return sorted(changes, key=lambda change: (-abs(change.change or 0.0), change.player))


def _named(error: InvalidDataError, matches: Sequence[MatchRequest]) -> InvalidDataError:
    """Return problems with the ids of matches in place of their numbers."""
    problems = [
        replace(
            problem, line=None, field=f"match {matches[problem.line - 1].match}: {problem.field}"
        )
        if problem.line is not None and 0 < problem.line <= len(matches)
        else problem
        for problem in error.problems
    ]
    return InvalidDataError(problems, f"the pool refuses {len(problems)} of these matches")

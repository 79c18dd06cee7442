"""Matches of a pool: as posted, how they count now, and what they did to their players."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import msgspec
from sqlalchemy import Connection

from equipoise.errors import NotFoundError
from equipoise.messages.matches import (
    ChangeMessage,
    MatchLine,
    MatchMessage,
    MatchPage,
    MatchRequest,
    ParticipationRequest,
    SideMessage,
    TeamMessage,
    places_of,
)
from equipoise.pools.contents import reason_of
from equipoise.pools.pool.pools import (
    MOST_ROWS,
    check_page,
    decode_cursor,
    encode_cursor,
    read_pool,
)
from equipoise.pools.pool.rules import PoolRules, iso, unused_fields, written
from equipoise.pools.posting.rating import (
    MOST_TEAMS,
    LoggedMatch,
    chances_of,
    player_ids,
    player_of,
    players_of,
    unpack_extra,
)
from equipoise.pools.records import (
    Amendments,
    Eligibility,
    amendments_of,
    amendments_of_matches,
)
from equipoise.store import changes, log
from equipoise.store.changes import ChangeRow
from equipoise.store.connection import Store
from equipoise.store.log import LogRecord
from equipoise.store.pools import PoolRecord, Position, rated_through

#: A winner with a lower chance is an upset.
UPSET = 0.25
#: Sides of a line, and players of a side.
_SIDES, _NAMED = 3, 5


def is_upset(request: MatchRequest, chances: Sequence[float | None]) -> bool:
    """Return whether the winner of two teams had a low chance."""
    if len(request.teams) != 2:
        return False
    first, second = (team.order for team in request.teams)
    winner = chances[0 if first < second else 1]
    return first != second and winner is not None and winner < UPSET


class Window(NamedTuple):
    """Which players of a match are listed, in the order in which they were posted.

    first : position of the first of them, from 0
    stop : of the first one after them; None for the end of the match
    limit : maximum number of them
    around : put this player in the middle instead
    """

    first: int = 0
    stop: int | None = None
    limit: int = MOST_ROWS
    around: str | None = None


class MatchPart(NamedTuple):
    """The listed players of a match.

    request : the match with only these players; the same if these are all
    places : of its teams in the whole match; numbers : of its teams there, from 0
    first : position of the first of these players, from 0; players, teams : of the whole match
    """

    request: MatchRequest
    places: list[int]
    numbers: Sequence[int]
    first: int
    players: int
    teams: int

    @classmethod
    def of(cls, request: MatchRequest, window: Window) -> MatchPart:
        """Return the players in a window. Raises : NotFoundError if nobody is `around`."""
        count, places = sum(len(team.players) for team in request.teams), places_of(request)
        first = window.first
        if window.around is not None:
            names = players_of(request)
            if window.around not in names:
                raise NotFoundError(f"{window.around} did not take part in match {request.match}")
            middle = names.index(window.around) - window.limit // 2
            first = min(middle, count - window.limit)
        # A correction may have made the match smaller since the cursor was made.
        first = max(0, min(first, count - 1))
        stop = count if window.stop is None else window.stop
        last = max(first + 1, min(first + window.limit, stop))
        teams = len(request.teams)
        if first == 0 and last >= count:
            return cls(request, places, range(teams), 0, count, teams)
        at = 0
        kept, kept_places, numbers = [], [], []
        for number, (team, place) in enumerate(zip(request.teams, places, strict=True)):
            players = team.players[max(first - at, 0) : max(last - at, 0)]
            at += len(team.players)
            if players:
                whole = len(players) == len(team.players)
                kept.append(team if whole else msgspec.structs.replace(team, players=players))
                kept_places.append(place)
                numbers.append(number)
        part = msgspec.structs.replace(request, teams=kept)
        return cls(part, kept_places, numbers, first, count, teams)

    @property
    def names(self) -> list[str]:
        """Return the ids of the listed players."""
        return players_of(self.request)

    def cursors(self, limit: int) -> tuple[str | None, str | None]:
        """Return the cursors of the parts before and after this one; None if there is none."""
        after = self.first + len(self.names)
        before = (max(0, self.first - limit), self.first)
        return (
            encode_cursor(before) if self.first else None,
            encode_cursor((after, self.players)) if after < self.players else None,
        )


#: The players that answers list unless a part is asked for: all, except in very large matches.
FIRST_PLAYERS = Window()


def match(
    store: Store,
    pool: str,
    match_id: str,
    *,
    cursor: str | None = None,
    limit: int = MOST_ROWS,
    around: str | None = None,
) -> MatchMessage:
    """Return a match and what it did to its players.

    cursor : from another part of it; None starts at the first player
    limit : players, from 1 to 1000
    around : put this player in the middle of the part; cannot be combined with cursor
    Raises : NotFoundError, InvalidParameterError
    """
    check_page(limit, cursor, around)
    first, stop = decode_cursor(cursor, tuple[int, int]) or (0, None)
    window = Window(first, stop, limit, around)
    with read_pool(store, pool) as (connection, record, rules):
        stored = stored_matches(connection, record, rules, [match_id], window)
    if match_id not in stored:
        raise NotFoundError(f"no match {match_id!r} in pool {pool!r}")
    return stored[match_id]


def matches(
    store: Store,
    pool: str,
    *,
    cursor: str | None = None,
    limit: int = 50,
    around: str | None = None,
) -> MatchPage:
    """Return a page of matches, newest first.

    cursor : from another page; limit : matches, from 1 to 1000
    around : put this match in the middle of the page; cannot be combined with cursor
    Raises : NotFoundError, InvalidParameterError
    """
    check_page(limit, cursor, around)
    before = decode_cursor(cursor, tuple[int, int])
    with read_pool(store, pool) as (connection, record, rules):
        if around is not None:
            middle = log.get_match(connection, record, around)
            top = log.position_after(connection, record.id, middle.position, limit // 2)
            before = _just_after(top or middle.position)
        logged = log.matches_before(connection, record.id, before, limit + 1)
        shown = logged[:limit]
        newer = None
        if shown and before is not None:
            newer = log.position_after(connection, record.id, shown[0].position, limit)
        lines = _match_lines(connection, record, rules, shown)
    more = len(logged) > limit
    return MatchPage(
        matches=lines,
        next=encode_cursor(shown[-1].position) if more else None,
        previous=None if newer is None else encode_cursor(_just_after(newer)),
    )


def _just_after(position: Position) -> Position:
    """Return the position before which a match is the newest one."""
    time, seq = position
    return time, seq + 1


def lines_at(
    connection: Connection, pool: PoolRecord, rules: PoolRules, seqs: Iterable[int]
) -> list[MatchLine]:
    """Return the matches of these records as lines, in this order, each once."""
    wanted = list(dict.fromkeys(seqs))
    records = log.records_at(connection, pool.id, wanted)
    return _match_lines(connection, pool, rules, [records[seq] for seq in wanted])


def posted_match(store: Store, pool: str, match: str) -> MatchRequest:
    """Return a match as it was posted, or as it was last corrected.

    It has no time if none was given, so that a correction made from it has none either.
    Raises : NotFoundError
    """
    with read_pool(store, pool) as (connection, record, rules):
        logged = log.get_match(connection, record, match)
        amendments = amendments_of(connection, record)
    played = amendments.time_played(match, logged.posted_time)
    time = None if played is None else written(amendments.time(logged), rules)
    return msgspec.structs.replace(amendments.request(logged), time=time)


def stored_matches(
    connection: Connection,
    pool: PoolRecord,
    rules: PoolRules,
    ids: Iterable[str],
    window: Window = FIRST_PLAYERS,
) -> dict[str, MatchMessage]:
    """Return those matches that are in the log, with what they did, by id.

    Raises : NotFoundError as `Window.of`
    """
    logged = log.matches_by_id(connection, pool.id, ids)
    amendments = amendments_of_matches(connection, pool, logged)
    through = rated_through(connection, pool)
    replayed = amendments
    if through is not None and amendments.corrections:
        replayed = amendments_of_matches(connection, pool, logged, through)
    states = {name: _state_of(record, amendments, through) for name, record in logged.items()}
    parts = {name: MatchPart.of(state.request, window) for name, state in states.items()}
    everyone = {player for part in parts.values() for player in part.names}
    eligible = Eligibility.of_players(connection, pool, everyone, amendments.renames)
    messages = {}
    for match_id, record in logged.items():
        part, state = parts[match_id], states[match_id]
        predicts = part.teams <= MOST_TEAMS
        listed = None if predicts or part.request is state.request else part.names
        # While a correction waits for its replay, the changes are those of the match before it.
        rows = changes.changes_of_match(connection, pool, replayed.position(record), listed)
        disqualified = eligible.disqualified(
            amendments.match(record)._replace(request=part.request)
        )
        (chances,) = chances_of(rules, pool, [replayed.match(record)], [rows]) if predicts else [[]]
        if len(chances) != part.teams:
            chances = []
        messages[match_id] = match_message(
            record, state, part, rows, rules, disqualified, limit=window.limit, chances=chances
        )
    return messages


@dataclass(frozen=True, slots=True)
class MatchState:
    """How a match counts now; fields as in MatchMessage, as corrected.

    time, played : microseconds since 1970
    void : the record that voided it, None for none
    """

    request: MatchRequest
    time: int
    played: int | None
    status: str
    corrected: int | None = None
    void: LogRecord | None = None


def _state_of(logged: LogRecord, amendments: Amendments, through: int | None) -> MatchState:
    """Return how a match counts now.

    through : last record that the ratings take into account; None for all
    """
    request = amendments.request(logged)
    name = str(logged.match)
    waits = through is not None and (
        (logged.needs_replay and logged.seq > through) or amendments.touched.get(name, 0) > through
    )
    status = "void" if name in amendments.void else "rated" if request.rated else "unrated"
    correction = amendments.latest(name)
    return MatchState(
        request=request,
        time=amendments.time(logged),
        played=amendments.time_played(name, logged.posted_time),
        status="pending" if waits else status,
        corrected=None if correction is None else correction.seq,
        void=amendments.void.get(name),
    )


def match_message(
    logged: LogRecord,
    state: MatchState,
    part: MatchPart,
    changes: Mapping[str, ChangeRow],
    rules: PoolRules,
    disqualified: Collection[str] = (),
    *,
    limit: int = MOST_ROWS,
    chances: Sequence[float | None] = (),
) -> MatchMessage:
    """Return a match with what it did.

    part : its players that are listed; limit : players of a part
    changes : of those whose rating it changed
    disqualified : players of the match who are disqualified in it
    """
    request = state.request
    all_listed = part.request is request
    previous, following = (None, None) if all_listed else part.cursors(limit)
    return MatchMessage(
        match=str(request.match),
        seq=logged.seq,
        time=written(state.time, rules),
        received=iso(logged.received),
        status=state.status,
        void_reason=None if state.void is None else reason_of(state.void.content),
        corrected=state.corrected,
        weight=request.weight,
        teams=[
            TeamMessage(
                rank=place,
                team=None if team.team is None else str(team.team),
                players=[_change(member, changes, rules, disqualified) for member in team.players],
                score=team.score,
                chance=chances[number] if chances else None,
            )
            for number, team, place in zip(
                part.numbers, part.request.teams, part.places, strict=True
            )
        ],
        unused=unused_fields([request], rules),
        played=written(state.played, rules),
        players_in_match=None if all_listed else part.players,
        teams_in_match=None if all_listed else part.teams,
        previous=previous,
        next=following,
        upset=bool(chances) and is_upset(request, chances),
        title=request.title,
        link=request.link,
        attributes=request.attributes,
        context=request.context,
    )


def sides_of(request: MatchRequest, chances: Sequence[float | None]) -> list[SideMessage]:
    """Return both teams of a match, or the first three of more."""
    teams = request.teams
    orders: list[Any] = [team.rank for team in teams]
    if None in orders:
        orders = [team.order for team in teams]
    shown = list(range(len(teams)))
    if len(teams) > 2:
        # There may be thousands, mostly in order already.
        shown = sorted(shown, key=orders.__getitem__)[:_SIDES]
    ordered = sorted(orders[number] for number in shown)
    return [
        SideMessage(
            rank=1 + ordered.index(orders[number]),
            team=None if teams[number].team is None else str(teams[number].team),
            players=player_ids(teams[number].players)[:_NAMED],
            size=len(teams[number].players),
            score=teams[number].score,
            chance=chances[number],
        )
        for number in shown
    ]


def _match_lines(
    connection: Connection, pool: PoolRecord, rules: PoolRules, records: Sequence[LogRecord]
) -> list[MatchLine]:
    """Return matches as lines of a list."""
    amendments = amendments_of_matches(connection, pool, [str(record.match) for record in records])
    through = rated_through(connection, pool)
    lines: list[MatchLine] = []
    # The matches with chances, by the numbers of their lines. Large ones are not kept in memory.
    counted: dict[int, LoggedMatch] = {}
    for number, record in enumerate(records):
        state = _state_of(record, amendments, through)
        request, teams = state.request, len(state.request.teams)
        if state.status == "rated" and teams <= MOST_TEAMS:
            counted[number] = LoggedMatch(record.seq, state.time, request)
        lines.append(
            MatchLine(
                match=str(request.match),
                seq=record.seq,
                time=written(state.time, rules),
                received=iso(record.received),
                status=state.status,
                players=sum([len(team.players) for team in request.teams]),
                teams=teams,
                played=written(state.played, rules),
                sides=[] if number in counted else sides_of(request, [None] * teams),
                upset=False,
                title=request.title,
            )
        )
    wanted = ((match.position, len(players_of(match.request))) for match in counted.values())
    rated = list(changes.changes_in_turn(connection, pool, wanted))
    of_matches = chances_of(rules, pool, list(counted.values()), rated)
    for (number, match), chances in zip(counted.items(), of_matches, strict=True):
        sides, upset = sides_of(match.request, chances), is_upset(match.request, chances)
        lines[number] = msgspec.structs.replace(lines[number], sides=sides, upset=upset)
    return lines


#: What is posted of a player and returned as it is.
_POSTED = ("statistics", "share", "role", "side", "at_home", "attributes")


def _change(
    member: ParticipationRequest | str | int,
    changes: Mapping[str, ChangeRow],
    rules: PoolRules,
    disqualified: Collection[str],
) -> ChangeMessage:
    """Return what a match did to a player; without numbers if it did nothing."""
    posted = member if isinstance(member, ParticipationRequest) else None
    player = player_of(member)
    change = changes.get(player)
    details: dict[str, Any] = {}
    if posted is not None:
        details = {name: getattr(posted, name) for name in _POSTED}
    if change is None:
        return ChangeMessage(
            player=player,
            counted=False,
            rating_before=None,
            deviation_before=None,
            rating=None,
            deviation=None,
            change=None,
            expected=None,
            performance=None if posted is None else posted.performance,
            disqualified=player in disqualified,
            **details,
        )
    # Written out, as every match that is posted comes here.
    return ChangeMessage(
        player=player,
        counted=True,
        rating_before=change.rating_before,
        deviation_before=change.deviation_before,
        rating=change.rating,
        deviation=change.deviation,
        change=change.rating - change.rating_before,
        expected=change.expected,
        performance=change.performance,
        extra=unpack_extra(rules, change.extra),
        disqualified=player in disqualified,
        **details,
    )

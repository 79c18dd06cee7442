"""Results of matches as lists show them: sides, scores, chances beforehand, opponents.

The log has scores and teams, the changes have the ratings before each match. A chance is computed
from these, as `predict` computes it from states, so it is stored nowhere.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from heapq import nsmallest

import msgspec
import numpy as np
from sqlalchemy import Connection

from equipoise.data.history import HOME_SIDES
from equipoise.errors import EquipoiseError
from equipoise.messages.matches import (
    Id,
    MatchRequest,
    OpponentLine,
    ParticipationRequest,
    PlayerMatch,
    Result,
    SideMessage,
    TeamRequest,
)
from equipoise.pools.contents import title_of
from equipoise.pools.pool.rules import PoolRules, logged_match, written
from equipoise.pools.posting.rating import (
    LoggedMatch,
    context_of,
    history_of,
    object_array,
    player_ids,
    player_of,
    players_of,
    unpack_extra,
)
from equipoise.pools.records import Amendments, amendments_of_matches
from equipoise.rating.contexts import CONTEXT, OFFSET, OFFSET_VARIANCE
from equipoise.rating.predicting import expected_scores
from equipoise.rating.state import State
from equipoise.store import changes, log
from equipoise.store.changes import ChangeRow
from equipoise.store.pools import PoolRecord, rated_through

#: Teams of a match up to which chances are computed and opponents are listed.
MOST_TEAMS = 100
#: Columns of a match that no chance beforehand depends on.
_AFTERWARDS = frozenset({"weight", "share", "score", "performance", "performance_ceiling"})
#: A winner with a lower chance is an upset.
UPSET = 0.25
#: Opponents of a line, sides of a line, players of a side.
_OPPONENTS, _SIDES, _NAMED = 10, 3, 5


def chances_of(
    rules: PoolRules, pool: PoolRecord, match: LoggedMatch, rows: Mapping[str, ChangeRow]
) -> list[float | None]:
    """Return the chance of each team before a match, None for all where it is not known.

    rows : what the match did to its players
    """
    names, count = players_of(match.request), len(match.request.teams)
    unknown: list[float | None] = [None] * count
    if rules.fault or not 2 <= count <= MOST_TEAMS or not rows.keys() >= set(names):
        return unknown
    before = [rows[name] for name in names]
    history = None
    if not rules.able.uses <= _AFTERWARDS:
        numbers = {name: number for number, name in enumerate(names)}
        history = history_of([match], numbers, object_array(names), rules)
    rating = np.array([row.rating_before for row in before], np.float64)
    deviation = np.array([row.deviation_before for row in before], np.float64)
    if CONTEXT in rules.able.uses:
        traced = [unpack_extra(rules, row.extra) for row in before]
        rating = rating + np.array([trace[OFFSET] for trace in traced], np.float64)
        deviation = np.sqrt(
            deviation**2 + np.array([trace[OFFSET_VARIANCE] for trace in traced], np.float64)
        )
    try:
        return list(
            expected_scores(
                rules.system,
                State(initial={}, table=np.zeros((0, 0)), shared=dict(pool.shared)),
                rating,
                deviation,
                np.repeat(np.arange(count), [len(team.players) for team in match.request.teams]),
                history,
                rules.able,
            )
        )
    except EquipoiseError:
        # The pool has changed its system, which cannot predict this match.
        return unknown


def is_upset(request: MatchRequest, chances: Sequence[float | None]) -> bool:
    """Return whether the winner of two teams had a low chance."""
    if len(request.teams) != 2:
        return False
    first, second = (team.order for team in request.teams)
    winner = chances[0 if first < second else 1]
    return first != second and winner is not None and winner < UPSET


class _TeamHead(TeamRequest, frozen=True, gc=False):
    """A team whose players are not decoded."""

    players: msgspec.Raw  # type: ignore[assignment]


class _MatchHead(MatchRequest, frozen=True, gc=False):
    teams: list[_TeamHead]  # type: ignore[assignment]


class LargeMatch(MatchRequest, frozen=True, gc=False):
    """A match of more than MOST_TEAMS teams: those that a list shows, and the numbers of all."""

    all_players: int = 0
    all_teams: int = 0


_match_head = msgspec.json.Decoder(_MatchHead)
_players = msgspec.json.Decoder(list[ParticipationRequest | Id])
#: Characters of a log record that may have more than MOST_TEAMS teams.
_LARGE = 20 * MOST_TEAMS


def listed_match(content: str) -> MatchRequest:
    """Return the match in the content of a log record for a list; a large one as LargeMatch.

    The decoder would take most of its time for players whom no list shows.
    """
    if len(content) < _LARGE or len((head := _match_head.decode(content)).teams) <= MOST_TEAMS:
        return logged_match(content)
    teams = head.teams
    orders = [team.order if team.rank is None else team.rank for team in teams]
    sizes = [team.players for team in teams]
    # Without a comma, each team has one player.
    alone = b"," not in b"".join(sizes)
    return LargeMatch(
        head.match,
        [
            TeamRequest(_players.decode(team.players), team.rank, team.team, team.score)
            for team in (
                teams[at] for at in nsmallest(_SIDES, range(len(teams)), orders.__getitem__)
            )
        ],
        rated=head.rated,
        title=head.title,
        all_players=len(teams) if alone else sum(len(_players.decode(some)) for some in sizes),
        all_teams=len(teams),
    )


def size_of(request: MatchRequest) -> tuple[int, int]:
    """Return the numbers of players and teams of a match."""
    if isinstance(request, LargeMatch):
        return request.all_players, request.all_teams
    return sum(len(team.players) for team in request.teams), len(request.teams)


def sides_of(request: MatchRequest, chances: Sequence[float | None]) -> list[SideMessage]:
    """Return both teams of a match, or the first three of more."""
    teams = request.teams
    shown: list[int] = list(range(len(teams)))
    if len(teams) > 2:
        shown = nsmallest(_SIDES, shown, key=lambda number: teams[number].order)
    ordered = sorted(teams[number].order for number in shown)
    return [
        SideMessage(
            rank=1 + ordered.index(teams[number].order),
            team=None if teams[number].team is None else str(teams[number].team),
            players=player_ids(teams[number].players)[:_NAMED],
            size=len(teams[number].players),
            score=teams[number].score,
            chance=chances[number],
        )
        for number in shown
    ]


class MatchContents:
    """The content of those matches that have few teams, by the number of the record.

    rows : changes of one player
    most_teams : larger matches are left out; None keeps all
    """

    def __init__(
        self,
        connection: Connection,
        pool: PoolRecord,
        rows: Sequence[ChangeRow],
        most_teams: int | None = MOST_TEAMS,
    ) -> None:
        self._connection, self._pool = connection, pool
        small = [row.seq for row in rows if most_teams is None or row.teams <= most_teams]
        self._records = log.records_at(connection, pool.id, small)
        large = [row.seq for row in rows if row.seq not in self._records]
        self._posted = {
            seq: (str(record.match), record.posted_time) for seq, record in self._records.items()
        } | (log.posted_times(connection, pool.id, large) if large else {})
        names = [match for match, _ in self._posted.values()]
        self._amendments = counted = amendments_of_matches(connection, pool, names)
        through = rated_through(connection, pool)
        if through is not None and counted.corrections:
            # The changes are those of the matches as they were before.
            counted = amendments_of_matches(connection, pool, names, through)
        self._counted: Amendments = counted

    def match(self, row: ChangeRow) -> LoggedMatch | None:
        """Return a match as it was rated; None if it has very many teams."""
        record = self._records.get(row.seq)
        return None if record is None else self._counted.match(record)

    def context(self, row: ChangeRow, player: str) -> str | None:
        """Return the context of a match for the player; None without, or if it is not known."""
        match = self.match(row)
        if match is None:
            return None
        for team in match.request.teams:
            for member in team.players:
                if player_of(member) == player:
                    detail = member if isinstance(member, ParticipationRequest) else None
                    return context_of(match.request, detail)
        return None

    def name(self, row: ChangeRow) -> str:
        """Return the id of a match."""
        return self._posted[row.seq][0]

    def changes(self, rows: Iterable[ChangeRow]) -> Iterator[dict[str, ChangeRow]]:
        """Give what each match did to all its players, by id; these matches have few teams."""
        pairs = ((row, self.match(row)) for row in rows)
        wanted = (
            (row.position, 0 if match is None else len(players_of(match.request)))
            for row, match in pairs
        )
        return changes.changes_in_turn(self._connection, self._pool, wanted)

    def lines(self, rules: PoolRules, player: str, rows: Iterable[ChangeRow]) -> list[PlayerMatch]:
        """Return matches of the player as lines, in the order of `rows`."""
        pairs = [(row, self.match(row)) for row in rows]
        rated = self.changes(row for row, match in pairs if match is not None)
        lines = []
        for row, match in pairs:
            line = self._line(rules, row)
            if match is not None:
                line = _detailed(line, rules, self._pool, match, player, next(rated))
            lines.append(line)
        return lines

    def _line(self, rules: PoolRules, row: ChangeRow) -> PlayerMatch:
        """Return a match as a line without what its content adds."""
        name, posted = self._posted[row.seq]
        titled = self._amendments.latest(name) or self._records.get(row.seq)
        titled = titled or log.record_at(self._connection, self._pool.id, row.seq)
        return PlayerMatch(
            match=name,
            seq=row.seq,
            time=written(row.time, rules),
            rank=row.rank + 1,
            teams=row.teams,
            rating_before=row.rating_before,
            deviation_before=row.deviation_before,
            rating=row.rating,
            deviation=row.deviation,
            change=row.rating - row.rating_before,
            expected=row.expected,
            performance=row.performance,
            extra=unpack_extra(rules, row.extra),
            played=written(self._amendments.time_played(name, posted), rules),
            title=None if titled is None else title_of(titled.content),
        )


def _detailed(
    line: PlayerMatch,
    rules: PoolRules,
    pool: PoolRecord,
    match: LoggedMatch,
    player: str,
    rated: Mapping[str, ChangeRow],
) -> PlayerMatch:
    """Return a line with what the content of the match adds; rated : its players' changes."""
    own, others = sides_for(match.request, player, rated)
    if own is None:
        return line
    me = next(member for member in own.players if player_of(member) == player)
    chances = chances_of(rules, pool, match, rated)
    names = [name for team in others for name in player_ids(team.players)]
    alone = others[0] if len(others) == 1 else None
    at_home = None
    if isinstance(me, ParticipationRequest):
        at_home = me.at_home
        if at_home is None and me.side is not None:
            at_home = me.side in HOME_SIDES
    return msgspec.structs.replace(
        line,
        result=result_of(own, others),
        score=own.score,
        opponent_score=None if alone is None else alone.score,
        chance=chances[match.request.teams.index(own)],
        at_home=at_home,
        opponents=[
            OpponentLine(name, rated[name].rating_before if name in rated else None)
            for name in names[:_OPPONENTS]
        ],
    )


def sides_for(
    request: MatchRequest, player: str, rated: Collection[str] | None = None
) -> tuple[TeamRequest | None, list[TeamRequest]]:
    """Return the team of a player, and the others by their places.

    rated : teams without any of these players did not count and are left out; None keeps all
    """
    own, others = None, []
    for team in sorted(request.teams, key=lambda team: team.order):
        names = player_ids(team.players)
        if player in names:
            own = team
        elif rated is None or any(name in rated for name in names):
            others.append(team)
    return own, others


def result_of(own: TeamRequest, others: Sequence[TeamRequest]) -> Result | None:
    """Return the result of a team against a single other one; None if there are more."""
    if len(others) != 1:
        return None
    (other,) = others
    return "draw" if own.order == other.order else "win" if own.order < other.order else "loss"

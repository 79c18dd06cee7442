"""Matches of a player: as lines, in sum, and those against another player."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from statistics import median

import msgspec
from sqlalchemy import Connection

from equipoise.data.history import HOME_SIDES, MICROSECONDS_PER_DAY
from equipoise.errors import require
from equipoise.messages.matches import (
    AgainstMessage,
    MatchRequest,
    MeetingMessage,
    OpponentLine,
    ParticipationRequest,
    PeakMessage,
    PlacesMessage,
    PlayerMatch,
    PlayerSummary,
    Result,
    RivalMessage,
    StreakMessage,
    TeamRequest,
)
from equipoise.pools.contents import title_of
from equipoise.pools.pool.pools import check_page, decode_cursor, encode_cursor, read_pool
from equipoise.pools.pool.rules import PoolRules, written
from equipoise.pools.posting.rating import (
    MOST_TEAMS,
    LoggedMatch,
    chances_of,
    context_of,
    player_ids,
    player_of,
    players_of,
    unpack_extra,
)
from equipoise.pools.reading.questions import chances_now
from equipoise.pools.records import Amendments, amendments_of_matches
from equipoise.store import changes, log, ratings
from equipoise.store.changes import ChangeRow
from equipoise.store.connection import Store
from equipoise.store.pools import PoolRecord, rated_through

#: Opponents of a line.
_OPPONENTS = 10
#: Matches of a player that are read at most.
MOST_MATCHES = 20_000
#: Days over which a change of rating is given.
CHANGE_DAYS = 365
_LAST, _RIVALS, _SURPRISES, _BEST = 10, 5, 2, 4
#: Surprises by the expected scores of players, among which those by the chances of teams are found.
_CANDIDATES = 6


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
    (chances,) = chances_of(rules, pool, [match], [rated])
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


def player_summary(store: Store, pool: str, player: str) -> PlayerSummary:
    """Return what the rated matches of a player say together.

    Raises : NotFoundError
    """
    with read_pool(store, pool) as (connection, record, rules):
        ratings.get_rating(connection, record, player)
        rows = changes.changes_of_player(connection, record, player, None, MOST_MATCHES)
        contents = MatchContents(connection, record, rows)
        duels, opponents = _duels(contents, player, rows)
        results = list(duels.values())
        beaten = [row for row in rows if duels.get(row.seq) == "win"]
        best = _best_win(contents, beaten, opponents)
        wins, losses = (_expected(rows, duels, result) for result in ("win", "loss"))
        fields = [row for row in rows if row.seq not in duels and row.teams > 2]
        rated = [row for row in fields if row.performance is not None]
        rated.sort(key=lambda row: (-(row.performance or 0.0), row.seq))
        won = [row for row in fields if row.rank == 0]
        largest = max(won, key=lambda row: row.teams, default=None)
        single = [row for row in (best, largest) if row is not None]
        shown = [*rows[:_LAST], *wins, *losses, *rated[:_BEST], *single]
        shown = list({row.seq: row for row in shown}.values())
        lines = {line.seq: line for line in contents.lines(rules, player, shown)}
        return PlayerSummary(
            pool=pool,
            player=player,
            covered=len(rows),
            first_time=written(rows[-1].time, rules) if rows else None,
            peak=_peak(contents, rules, rows),
            change=change_since(record, rules, rows),
            won=results.count("win"),
            drawn=results.count("draw"),
            lost=results.count("loss"),
            streak=_streak(results),
            places=None
            if not fields
            else PlacesMessage(
                matches=len(fields),
                median=median(row.rank + 1 for row in fields),
                first=sum(row.rank == 0 for row in fields),
                top3=sum(row.rank < 3 for row in fields),
                top10=sum(row.rank < 10 for row in fields),
                largest_won=None if largest is None else lines[largest.seq],
            ),
            last=[lines[row.seq] for row in rows[:_LAST]],
            best_win=None if best is None else lines[best.seq],
            most_played=_rivals(duels, opponents),
            surprises=_surprises(
                [lines[row.seq] for row in wins],
                [lines[row.seq] for row in losses],
            ),
            best_performances=[lines[row.seq] for row in rated[:_BEST]],
        )


def change_since(pool: PoolRecord, rules: PoolRules, rows: Sequence[ChangeRow]) -> float | None:
    """Return the change of rating in the last year of a pool; rows : newest first."""
    if not rules.timed or pool.last_time is None or not rows:
        return None
    since = pool.last_time - CHANGE_DAYS * MICROSECONDS_PER_DAY
    before = next((row for row in rows if row.time < since), None)
    return None if before is None else rows[0].rating - before.rating


def _duels(
    contents: MatchContents, player: str, rows: Sequence[ChangeRow]
) -> tuple[dict[int, Result], dict[int, list[str]]]:
    """Return results and opponents of the matches of two teams by the number of the record."""
    results: dict[int, Result] = {}
    opponents: dict[int, list[str]] = {}
    for row in rows:
        match = contents.match(row) if row.teams == 2 else None
        own, others = (None, []) if match is None else sides_for(match.request, player)
        result = None if own is None else result_of(own, others)
        if match is None or own is None or result is None:
            continue
        results[row.seq] = result
        mine = set(player_ids(own.players))
        opponents[row.seq] = [player for player in players_of(match.request) if player not in mine]
    return results, opponents


def _peak(
    contents: MatchContents, rules: PoolRules, rows: Sequence[ChangeRow]
) -> PeakMessage | None:
    """Return the highest rating of settled ones, the earliest if there are equal ones."""
    settled = rows[: max(len(rows) - max(rules.placement_matches - 1, 0), 0)]
    if not settled:
        return None
    best = max(settled, key=lambda row: (row.rating, -row.time, -row.seq))
    return PeakMessage(best.rating, contents.name(best), written(best.time, rules))


def _streak(results: Sequence[Result]) -> StreakMessage | None:
    """Return the streak of results, which are newest first."""
    if not results:
        return None
    same = next((at for at, result in enumerate(results) if result != results[0]), len(results))
    runs = [0]
    for result in results:
        if result == "loss":
            runs.append(0)
        else:
            runs[-1] += 1
    return StreakMessage(results[0], same, runs[0], max(runs))


def _best_win(
    contents: MatchContents, beaten: Sequence[ChangeRow], opponents: dict[int, list[str]]
) -> ChangeRow | None:
    """Return the win over the opponents with the highest mean rating before the match."""
    best, highest = None, 0.0
    for row, rated in zip(beaten, contents.changes(beaten), strict=True):
        before = [
            rated[opponent].rating_before for opponent in opponents[row.seq] if opponent in rated
        ]
        if before and (best is None or sum(before) / len(before) > highest):
            best, highest = row, sum(before) / len(before)
    return best


def _rivals(duels: dict[int, Result], opponents: dict[int, list[str]]) -> list[RivalMessage]:
    """Return the opponents who were met most often, then by id."""
    counts: dict[str, Counter[Result]] = {}
    for seq, names in opponents.items():
        for name in names:
            counts.setdefault(name, Counter())[duels[seq]] += 1
    most = sorted(counts, key=lambda name: (-counts[name].total(), name))[:_RIVALS]
    return [
        RivalMessage(name, count.total(), count["win"], count["draw"], count["loss"])
        for name in most
        for count in [counts[name]]
    ]


def _expected(
    rows: Sequence[ChangeRow], duels: dict[int, Result], result: Result
) -> list[ChangeRow]:
    """Return the least expected wins, or losses."""
    expected_rows = [
        row for row in rows if duels.get(row.seq) == result and row.expected is not None
    ]
    sign = 1 if result == "win" else -1
    return sorted(expected_rows, key=lambda row: sign * (row.expected or 0.0))[:_CANDIDATES]


def _surprises(won: Sequence[PlayerMatch], lost: Sequence[PlayerMatch]) -> list[PlayerMatch]:
    """Return wins with a chance below one half and losses above it, the most surprising first."""
    wins = [line for line in won if line.chance is not None and line.chance < 0.5]
    losses = [line for line in lost if line.chance is not None and line.chance > 0.5]
    wins.sort(key=lambda line: line.chance or 0.0)
    losses.sort(key=lambda line: -(line.chance or 0.0))
    return [*wins[:_SURPRISES], *losses[:_SURPRISES]]


def against(
    store: Store, pool: str, player: str, other: str, *, cursor: str | None = None, limit: int = 50
) -> AgainstMessage:
    """Return the matches of two players against each other, newest first.

    cursor : from an earlier page; limit : matches, from 1 to 1000
    Raises : NotFoundError, InvalidParameterError
    """
    check_page(limit)
    require(player != other, "players", "two different ones", player)
    before = decode_cursor(cursor, tuple[int, int])
    with read_pool(store, pool) as (connection, record, rules):
        columns = []
        for name in (player, other):
            ratings.get_rating(connection, record, name)
            rows = changes.changes_of_player(connection, record, name, None, MOST_MATCHES)
            columns.append({row.seq: row for row in rows})
        mine, theirs = columns
        pairs = [(row, theirs[seq]) for seq, row in mine.items() if seq in theirs]
        # Teammates share a rank, so equal ranks alone do not tell a draw.
        level = [row for row, their in pairs if row.rank == their.rank]
        contents = MatchContents(connection, record, level, most_teams=None)
        mates = set()
        for row in level:
            match = contents.match(row)
            own = None if match is None else sides_for(match.request, player)[0]
            if own is not None and other in player_ids(own.players):
                mates.add(row.seq)
        met = [pair for pair in pairs if pair[0].seq not in mates]
        results: dict[int, Result] = {}
        for row, their in met:
            above: Result = "win" if row.rank < their.rank else "loss"
            results[row.seq] = "draw" if row.rank == their.rank else above
        older = [pair for pair in met if before is None or pair[0].position < before]
        shown = older[:limit]
        rows = [row for row, _ in shown]
        lines = MatchContents(connection, record, rows).lines(rules, player, rows)
        meetings = [
            MeetingMessage(
                result=results[row.seq],
                line=line,
                rank=their.rank + 1,
                rating_before=their.rating_before,
                rating=their.rating,
            )
            for (row, their), line in zip(shown, lines, strict=True)
        ]
    counts = Counter(results.values())
    chances = chances_now(store, pool, player, [other])
    return AgainstMessage(
        pool=pool,
        player=player,
        other=other,
        covered=max(map(len, columns)),
        matches=len(met),
        won=counts["win"],
        drawn=counts["draw"],
        lost=counts["loss"],
        duels=sum(row.teams == 2 for row, _ in met),
        together=len(mates),
        chance=None if chances is None else chances[0][0],
        other_chance=None if chances is None else chances[0][1],
        meetings=meetings,
        next=encode_cursor(shown[-1][0].position) if len(older) > limit else None,
    )

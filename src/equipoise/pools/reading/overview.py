"""Whole pools: their overview, highlights and records, the games of some days, and searches.

The cost of an overview is bounded: it covers the newest matches of a very long log, and for the
drift of a very large pool the changes of some players, evenly drawn.

The games of some days are a tournament: rated matches of two single players, as they count now.
They stay in the pool, so the standings of a tournament have a permanent address.

Two names are alike if they are the same without case, accents, spaces and punctuation, or if one
letter more makes them so: left out, added or another one. Digits are never removed, because "player
7" and "player 8" are two players. Names are never merged; a reader decides.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from itertools import chain, groupby
from typing import NamedTuple

from sqlalchemy import Connection

from equipoise.data.history import MICROSECONDS_PER_DAY
from equipoise.data.times import MICROSECONDS
from equipoise.errors import InvalidParameterError, NotFoundError, require
from equipoise.formats.names import close_pairs
from equipoise.messages.matches import (
    ActivityBin,
    HighlightsMessage,
    LeaderboardRow,
    MatchLine,
    MeanPoint,
    MeetingsRecord,
    MostMatches,
    MoverMessage,
    OverviewMessage,
    PeakRecord,
    PoolOverview,
    RatingBin,
    RecordsMessage,
    SeriesRecord,
)
from equipoise.messages.pools import PoolMessage
from equipoise.pools.pool.pools import read_pool
from equipoise.pools.pool.rules import id_fault, written
from equipoise.pools.reading.matches import lines_at
from equipoise.pools.reading.players import search_players
from equipoise.pools.reading.summaries import CHANGE_DAYS
from equipoise.store import changes, log, ratings
from equipoise.store.changes import ChangeRow, MeanRow, RatingTotals, Reach
from equipoise.store.connection import Store
from equipoise.store.pools import PoolRecord

#: Matches of activity and drift, and players whose changes drift is read from, at most.
MOST_COUNTED, MOST_PLAYERS = 200_000, 1_000
#: Bins of ratings, roughly, and fine bins in each, for the median.
_BINS, _FINE = 24, 20
_DAY = MICROSECONDS_PER_DAY


class _Unit(NamedTuple):
    """The width of a bin, microseconds, and the longest span for which it is used."""

    name: str
    width: int
    longest: float


_UNITS = (
    _Unit("day", _DAY, 60 * _DAY),
    _Unit("week", 7 * _DAY, 2 * 366 * _DAY),
    _Unit("four weeks", 28 * _DAY, 8 * 366 * _DAY),
    _Unit("52 weeks", 364 * _DAY, 80 * 366 * _DAY),
    _Unit("four years", 1456 * _DAY, math.inf),
)


def overview(
    store: Store,
    pool: str,
    *,
    most_matches: int = MOST_COUNTED,
    most_players: int = MOST_PLAYERS,
) -> OverviewMessage:
    """Return activity, ratings and drift of a pool.

    most_matches, most_players : limits of what is read

    Raises : NotFoundError
    """
    with read_pool(store, pool) as (connection, record, rules):
        timed = rules.timed
        seen = changes.reach(connection, record, most_matches)
        totals = changes.rating_totals(connection, record)
        bins = _FineBins.of(connection, record, totals)
        unit, start = _unit_of(seen, record, timed)
        activity = {}
        if timed and seen is not None:
            activity = changes.matches_by_bin(connection, record, start, unit.width)
        means: list[MeanRow] = []
        if totals is not None and seen is not None:
            means = changes.means_by_bin(
                connection,
                record,
                players=most_players,
                since=start,
                width=unit.width,
                by_seq=not timed,
                about=totals.mean,
            )
    return OverviewMessage(
        pool=pool,
        unit=unit.name,
        activity=_activity(activity, start, unit.width),
        ratings=bins.whole(),
        median=None if totals is None else bins.median(totals.players),
        mean=None if totals is None else totals.mean,
        provisional=0 if totals is None else totals.provisional,
        drift=[_mean(row, totals, start, unit.width, timed) for row in means],
        covered=0 if seen is None else seen.matches,
    )


def _unit_of(seen: Reach | None, pool: PoolRecord, timed: bool) -> tuple[_Unit, int]:
    """Return the width of bins, and the start of the first: at midnight, or on a Monday."""
    if seen is None:
        return _UNITS[0], 0
    if not timed:
        width = max(1, math.ceil(seen.matches / 60))
        return _Unit("matches", width, math.inf), max(0, pool.last_seq - seen.matches)
    unit = next(unit for unit in _UNITS if seen.last - seen.first <= unit.longest)
    # The first of January 1970 was a Thursday.
    offset = 4 * _DAY if unit.width > _DAY else 0
    return unit, (seen.first - offset) // unit.width * unit.width + offset


def _activity(counts: dict[int, int], start: int, width: int) -> list[ActivityBin]:
    """Return all bins up to the last, also bins without matches."""
    return [
        ActivityBin((start + number * width) // 1_000_000, counts.get(number, 0))
        for number in range(max(counts, default=-1) + 1)
    ]


def _mean(
    row: MeanRow, totals: RatingTotals | None, start: int, width: int, timed: bool
) -> MeanPoint:
    """Return a point of drift: the mean, and a standard deviation to each side of it."""
    about = 0.0 if totals is None else totals.mean
    spread = math.sqrt(max(row.square - (row.mean - about) ** 2, 0.0))
    begins = start + row.bin * width
    return MeanPoint(
        start=begins // 1_000_000 if timed else None,
        match=begins + width if not timed else row.bin,
        participations=row.participations,
        mean=row.mean,
        lower=row.mean - spread,
        upper=row.mean + spread,
    )


def _round_width(least: float) -> float:
    """Return 1, 2 or 5 times a power of ten that is no smaller; 1 where all ratings are equal."""
    if least <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(least))
    return next(size * power for size in (1, 2, 5, 10) if size * power >= least * (1 - 1e-9))


def rating_bins(store: Store, pool: str) -> list[RatingBin]:
    """Return the number of players by rating shown, lowest first. Raises : NotFoundError."""
    with read_pool(store, pool) as (connection, record, _):
        return _FineBins.of(connection, record, changes.rating_totals(connection, record)).whole()


class _FineBins(NamedTuple):
    """Players by fine bins of the rating shown, from the bin of the lowest one.

    least : the lowest rating; fine : width of a bin; counts : players of those that have some
    """

    least: float
    fine: float
    counts: dict[int, int]

    @classmethod
    def of(cls, connection: Connection, pool: PoolRecord, totals: RatingTotals | None) -> _FineBins:
        """Return the bins of a pool."""
        if totals is None:
            return cls(0.0, 1.0, {})
        width = _round_width((totals.high - totals.low) / _BINS)
        low, fine = math.floor(totals.low / width) * width, width / _FINE
        return cls(totals.low, fine, changes.ratings_by_bin(connection, pool, low, fine))

    @property
    def low(self) -> float:
        """Where the first bin begins."""
        width = self.fine * _FINE
        return math.floor(self.least / width) * width

    def whole(self) -> list[RatingBin]:
        """Return bins of round width, the sums of fine ones."""
        width, low = self.fine * _FINE, self.low
        bins = [0] * (max(self.counts, default=-1) // _FINE + 1)
        for number, count in self.counts.items():
            bins[number // _FINE] += count
        return [
            RatingBin(low + at * width, low + (at + 1) * width, count)
            for at, count in enumerate(bins)
        ]

    def median(self, players: int) -> float | None:
        """Return the median of so many players, by linear interpolation in its fine bin."""
        below = 0
        for number, count in sorted(self.counts.items()):
            if below + count >= players / 2:
                return self.low + (number + (players / 2 - below) / count) * self.fine
            below += count
        return None


#: Changes that are read at most: with more, the highlights are of a shorter time.
MOST_CHANGES = 20_000
_UPSETS, _MOVERS = 4, 3
#: Upsets by the expected scores of players, among which those by the chances of teams are found.
_CANDIDATES = 12
#: Newest results of players in which the records of a pool are looked for.
MOST_RESULTS = 100_000
_EARLIEST = -(1 << 62)


def highlights(store: Store, pool: str) -> HighlightsMessage:
    """Return upsets and movers of the year before the pool's last match.

    Raises : NotFoundError
    """
    with read_pool(store, pool) as (connection, record, rules):
        since = 0
        if rules.timed and record.last_time is not None:
            since = record.last_time - CHANGE_DAYS * MICROSECONDS_PER_DAY
        rows = changes.newest_changes(connection, record, since, MOST_CHANGES)
        firsts = [
            row for row in rows if row.teams == 2 and row.rank == 0 and row.expected is not None
        ]
        unexpected = sorted(firsts, key=lambda row: row.expected or 0.0)[:_CANDIDATES]
        lines = lines_at(connection, record, rules, [row.seq for row in unexpected])
        first: dict[str, ChangeRow] = {}
        last: dict[str, ChangeRow] = {}
        for row in rows:
            first[row.player] = row
            last.setdefault(row.player, row)
        moved = {
            player: last[player].rating - row.rating_before
            for player, row in first.items()
            if row.previous[1]
        }
        shown = ratings.ratings_of(connection, record.id, record.generation, list(moved))
    movers = [
        MoverMessage(row.player, row.rating, moved[row.player])
        for row in shown.values()
        if not row.provisional and not row.disqualified
    ]
    movers.sort(key=lambda mover: (mover.change, mover.player))
    return HighlightsMessage(
        pool=pool,
        matches=len({row.seq for row in rows}),
        upsets=greatest_upsets(lines)[:_UPSETS],
        rising=[mover for mover in movers[: -_MOVERS - 1 : -1] if mover.change > 0],
        falling=[mover for mover in movers[:_MOVERS] if mover.change < 0],
    )


def pool_overview(store: Store, pool: str) -> PoolOverview:
    """Return the distribution of ratings of a pool, its upsets, movers and records.

    Raises : NotFoundError
    """
    with store.moment() as moment:
        return PoolOverview(
            pool, overview(moment, pool), highlights(moment, pool), records(moment, pool)
        )


def records(store: Store, pool: str) -> RecordsMessage:
    """Return the records of a pool among its newest results.

    A player is settled from the last of the placement matches on; ratings and upsets count once
    all players of the match are. The first of equal records counts.
    Raises : NotFoundError
    """
    with read_pool(store, pool) as (connection, record, rules):
        rows = changes.newest_changes(connection, record, _EARLIEST, MOST_RESULTS)[::-1]
        busiest = ratings.busiest_player(connection, record)
        counts = Counter(row.player for row in rows)
        known = ratings.ratings_of(connection, record.id, record.generation, counts)
        # Matches so far: those before the rows that were read.
        played = {name: max(0, row.matches - counts[name]) for name, row in known.items()}
        unbeaten: Counter[str] = Counter()
        meetings: Counter[tuple[str, str]] = Counter()
        highest: ChangeRow | None = None
        longest: ChangeRow | None = None
        most_unbeaten = 0
        largest = (0, 0)
        upsets: list[tuple[float, int]] = []
        for seq, group in groupby(rows, key=lambda row: row.seq):
            match = list(group)
            duel = match[0].teams == 2
            if len(match) > largest[0]:
                largest = len(match), seq
            settled = True
            for row in match:
                played[row.player] = matches = played.get(row.player, 0) + 1
                if matches < rules.placement_matches:
                    settled = False
                elif highest is None or row.rating > highest.rating:
                    highest = row
                if duel:
                    series = unbeaten[row.player] = 0 if row.rank else unbeaten[row.player] + 1
                    if series > most_unbeaten:
                        most_unbeaten, longest = series, row
            if duel and len(match) == 2:
                meetings[match[0].player, match[1].player] += 1
            if duel and settled and any(row.rank for row in match):
                upsets += [(row.expected, seq) for row in match if not row.rank and row.expected]
        upsets.sort(key=lambda upset: upset[0])
        least = list(dict.fromkeys(seq for _, seq in upsets))
        lines = lines_at(connection, record, rules, least[:_CANDIDATES])
        big = lines_at(connection, record, rules, [largest[1]] if largest[0] else [])
        ids = {} if highest is None else log.match_ids(connection, record.id, [highest.seq])
    peak = unbeaten_series = None
    if highest is not None:
        when = written(highest.time, rules)
        peak = PeakRecord(highest.player, highest.rating, ids[highest.seq], when)
    if longest is not None:
        when = written(longest.time, rules)
        unbeaten_series = SeriesRecord(longest.player, most_unbeaten, when)
    most_met = [MeetingsRecord(list(pair), count) for pair, count in meetings.most_common(1)]
    return RecordsMessage(
        highest=peak,
        largest=next(iter(big), None),
        most_matches=None if busiest is None else MostMatches(busiest.player, busiest.matches),
        unbeaten=unbeaten_series,
        upset=next(iter(greatest_upsets(lines)), None),
        most_met=next(iter(most_met), None),
        results=len(rows),
    )


def greatest_upsets(lines: Sequence[MatchLine]) -> list[MatchLine]:
    """Return the upsets among matches of two teams, that of the lowest chance first."""
    upsets = [line for line in lines if line.upset]
    return sorted(upsets, key=lambda line: min(side.chance or 0.0 for side in line.sides))


#: Changes of ratings that are read at most, two for each game.
MOST_GAME_CHANGES = 20_000
#: After every seq of a log.
_LAST_SEQ = 2**62


class Game(NamedTuple):
    """A game; points : of the first player, 0, 0.5 or 1; ratings before the tournament."""

    first: str
    second: str
    points: float
    first_rating: float
    second_rating: float


@dataclass(frozen=True, slots=True)
class PoolGames:
    """The games of some days; before, after : ratings of the players."""

    games: list[Game]
    before: dict[str, float]
    after: dict[str, float]


def games_between(store: Store, pool: str, first: date, last: date) -> PoolGames:
    """Return the games of a pool from one day to another in UTC, both included, in order.

    Raises : NotFoundError            no such pool, or no games in this time
    Raises : InvalidParameterError    too many games, days in the wrong order, or no times
    """
    require(first <= last, "from", "not after until", str(first))
    since, until = (
        round(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp()) * MICROSECONDS
        for day in (first, last + timedelta(days=1) if last < date.max else last)
    )
    with read_pool(store, pool) as (connection, record, rules):
        if not rules.timed:
            raise InvalidParameterError("the matches of this pool have no times")
        rows = changes.changes_between(
            connection, record, (since, 0), (until - 1, _LAST_SEQ), MOST_GAME_CHANGES + 1
        )
    if len(rows) > MOST_GAME_CHANGES:
        rule = f"from and until must have at most {MOST_GAME_CHANGES // 2:,} games between them"
        raise InvalidParameterError(rule)
    before: dict[str, float] = {}
    after: dict[str, float] = {}
    matches: dict[tuple[int, int], list[ChangeRow]] = {}
    for row in sorted(rows.values(), key=lambda row: (row.time, row.seq, row.rank, row.player)):
        matches.setdefault((row.time, row.seq), []).append(row)
    duels = [rows for rows in matches.values() if len(rows) == 2 and rows[0].teams == 2]
    if not duels:
        raise NotFoundError(f"no games between two players from {first} to {last}")
    games = []
    for pair in duels:
        for row in pair:
            before.setdefault(row.player, row.rating_before)
            after[row.player] = row.rating
        winner, other = pair
        points = 0.5 if winner.rank == other.rank else 1.0
        ratings = before[winner.player], before[other.player]
        games.append(Game(winner.player, other.player, points, *ratings))
    return PoolGames(games, before, after)


#: Pools in which players and matches are looked for, and what is listed: pools, and players and
#: matches of each pool.
MOST_POOLS = 20
_POOLS, _PLAYERS, _MATCHES = 10, 10, 5
#: Records of a pool in which titles are looked for, and those whose titles are compared.
_NEWEST, _TITLED = 20_000, 20


class FoundInPool(NamedTuple):
    """The players of a pool, best first, and its matches, by id."""

    pool: PoolMessage
    players: list[LeaderboardRow]
    matches: list[MatchLine]


class SearchResult(NamedTuple):
    """The pools whose names have the text, and what other pools contain.

    left_out : number of pools in which nothing was looked for
    """

    pools: list[PoolMessage]
    found: list[FoundInPool]
    left_out: int


def search(store: Store, pools: Sequence[PoolMessage], text: str) -> SearchResult:
    """Return what is found in pools, which the reader may read; the first ones are searched.

    text : part of the name or title of a pool or of the id of a player, in any case, or the
        beginning of the id of a match, as it is written; or part of the title of a match among
        the newest
    """
    wanted = text.casefold()
    named = [pool for pool in pools if wanted in f"{pool.pool}\0{pool.title or ''}".casefold()]
    results = [
        FoundInPool(
            pool,
            search_players(store, pool.pool, text, limit=_PLAYERS),
            _found_matches(store, pool.pool, text),
        )
        for pool in (pools[:MOST_POOLS] if text else ())
    ]
    return SearchResult(
        named[:_POOLS] if text else [],
        [result for result in results if result.players or result.matches],
        max(len(pools) - MOST_POOLS, 0),
    )


def _found_matches(store: Store, pool: str, text: str) -> list[MatchLine]:
    """Return matches by the beginnings of their ids, then by their titles as they are now."""
    with read_pool(store, pool) as (connection, record, rules):
        named = log.matches_beginning(connection, record.id, text, _MATCHES)
        titled = log.matches_titled(connection, record.id, text, newest=_NEWEST, limit=_TITLED)
        names = [str(record.match) for record in titled]
        posted = log.matches_by_id(connection, record.id, names)
        # In the order of `titled`.
        seqs = [record.seq for record in (*named, *filter(None, map(posted.get, names)))]
        lines = lines_at(connection, record, rules, seqs) if seqs else []
    beginning = {record.seq for record in named}
    wanted = text.casefold()
    matching = [
        line for line in lines if line.seq in beginning or wanted in (line.title or "").casefold()
    ]
    matching.sort(key=lambda line: (line.seq not in beginning, seqs.index(line.seq)))
    return matching[:_MATCHES]


@dataclass(frozen=True, slots=True)
class Newcomer:
    """A player whom the pool does not know.

    like : a player of the pool, or an earlier newcomer, with a similar name; None for none
    """

    player: str
    like: str | None = None


def newcomers(store: Store, pool: str, players: Iterable[str]) -> list[Newcomer]:
    """Return the players who are not in a pool, in the given order, each once.

    Raises : NotFoundError
    """
    wanted = [player for player in dict.fromkeys(players) if id_fault(player) is None]
    with read_pool(store, pool) as (connection, record, _):
        known = ratings.ratings_of(connection, record.id, record.generation, wanted)
        new = [player for player in wanted if player not in known]
        if not new:
            return []
        pieces = ratings.players_by_rating(connection, record.id, record.generation)
        rated = (player for piece in pieces for player in piece)
        like = similar(new, chain(rated, new))
    return [Newcomer(player, like.get(player)) for player in new]


def similar(names: Iterable[str], players: Iterable[str]) -> dict[str, str]:
    """Return name -> the first player with a similar name, for names that have one.

    Of two names that are similar to each other, the later one is returned.
    """
    alike: dict[str, str] = {}
    for name, player in close_pairs(names, players):
        if alike.get(player) != name:
            alike.setdefault(name, player)
    return alike

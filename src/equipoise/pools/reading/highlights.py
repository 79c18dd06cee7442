"""What stands out in a pool: upsets, players who rise or fall most, records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import groupby

from equipoise.data.history import MICROSECONDS_PER_DAY
from equipoise.messages.matches import (
    HighlightsMessage,
    MatchLine,
    MeetingsRecord,
    MostMatches,
    MoverMessage,
    PeakRecord,
    PoolOverview,
    RecordsMessage,
    SeriesRecord,
)
from equipoise.pools.pool.pools import read_pool
from equipoise.pools.pool.rules import written
from equipoise.pools.reading.matches import lines_at
from equipoise.pools.reading.players import overview
from equipoise.pools.reading.summaries import CHANGE_DAYS
from equipoise.store import changes, log, ratings
from equipoise.store.changes import ChangeRow
from equipoise.store.connection import Store

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

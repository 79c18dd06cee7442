"""The records of a pool: highest rating, longest series without a loss, greatest upset."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

from equipoise.messages.matches import MatchLine
from equipoise.pools.pool.rules import rules_of, written
from equipoise.pools.reading.highlights import greatest_upsets
from equipoise.pools.reading.matches import lines_at
from equipoise.store import changes
from equipoise.store.changes import ChangeRow
from equipoise.store.connection import Store
from equipoise.store.pools import get_pool

#: Changes of a pool up to which its records are looked for.
MOST_CHANGES = 100_000
_EARLIEST = -(1 << 62)
#: Upsets by the expected scores of players, among which the one by the chance of a team is found.
_CANDIDATES = 6


class RatingRecord(NamedTuple):
    """The highest rating, and the time of the match after which it was reached."""

    player: str
    rating: float
    time: int | str | None


class SeriesRecord(NamedTuple):
    """The longest series of matches without a loss, and the time of the last of them."""

    player: str
    matches: int
    time: int | str | None


class Superlatives(NamedTuple):
    """The records of a pool; None, or 0, where no match of two teams could set one.

    busiest : the player with most matches, and their number
    pair : the players who met most often one against one, and how often
    """

    highest: RatingRecord | None = None
    unbeaten: SeriesRecord | None = None
    upset: MatchLine | None = None
    busiest: tuple[str, int] | None = None
    pair: tuple[str, str, int] | None = None


@dataclass(slots=True)
class _Series:
    """A player's matches so far: their number, the running series without a loss."""

    matches: int = 0
    unbeaten: int = 0


def superlatives(store: Store, pool: str) -> Superlatives:
    """Return the records of a pool; a very large one has none.

    Ratings and upsets count once players are settled.

    Raises : NotFoundError
    """
    with store.read() as connection:
        record = get_pool(connection, pool)
        rules = rules_of(record.settings)
        if changes.count_of(connection, record) > MOST_CHANGES:
            return Superlatives()
        rows = changes.newest_changes(connection, record, _EARLIEST, MOST_CHANGES)[::-1]
        placement = rules.settings.placement_matches
        least = placement if isinstance(placement, int) else 0
        players: dict[str, _Series] = {}
        meetings: Counter[tuple[str, str]] = Counter()
        highest: ChangeRow | None = None
        longest: tuple[int, ChangeRow] | None = None
        upsets: list[tuple[float, int]] = []
        for seq, group in groupby(rows, key=lambda row: row.seq):
            match = list(group)
            duel = match[0].teams == 2
            drawn = duel and all(row.rank == 0 for row in match)
            settled = True
            for row in match:
                series = players.setdefault(row.player, _Series())
                series.matches += 1
                if series.matches < least:
                    settled = False
                elif highest is None or row.rating > highest.rating:
                    highest = row
                if duel:
                    series.unbeaten = 0 if row.rank else series.unbeaten + 1
                    if longest is None or series.unbeaten > longest[0]:
                        longest = series.unbeaten, row
            if duel and len(match) == 2:
                meetings[match[0].player, match[1].player] += 1
            if duel and not drawn and settled:
                upsets += [(row.expected, seq) for row in match if row.rank == 0 and row.expected]
        upsets = sorted(upsets)[: _CANDIDATES * 5]
        seqs = list(dict.fromkeys(seq for _, seq in upsets))[:_CANDIDATES]
        lines = lines_at(connection, record, rules, seqs) if seqs else []
    busiest = max(players, key=lambda one: (players[one].matches, one), default=None)
    pair = meetings.most_common(1)
    return Superlatives(
        highest=None
        if highest is None
        else RatingRecord(highest.player, highest.rating, written(highest.time, rules)),
        unbeaten=None
        if longest is None or not longest[0]
        else SeriesRecord(longest[1].player, longest[0], written(longest[1].time, rules)),
        upset=next(iter(greatest_upsets(lines)), None),
        busiest=None if busiest is None else (busiest, players[busiest].matches),
        pair=None if not pair else (*pair[0][0], pair[0][1]),
    )

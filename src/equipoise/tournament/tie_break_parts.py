"""The parts of which a tie-break is made, and which of them are cut.

Source: FIDE Handbook C.07 [FIDE]_, articles 14 (modifiers) and 16.5 (which part is cut of a player
who was not available in some rounds).

Every tie-break but the direct encounter and the perfect performance is a sum or a mean over parts:
one for each game or round. The least significant part is the one with the opponent of the lowest
score, and of several the one with the lowest value (14.1.1). If a player was not available in some
rounds, their lowest part is cut instead, unless it is lower than the least significant part
(16.5.1). This is repeated for every further cut (16.5.2).

Departures: a row of several games counts as so many parts with their average value.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from equipoise.arrays import Flags, Floats, Ints


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """P parts of the tie-breaks of N players; arrays have shape (P,).

    player, opponent : rows, -1 if there is no opponent; round : from 1, 0 if unknown
    kind : what the round is, index into `ROUND_KINDS`
    games : number of games of the part
    points : taken in it
    score : the opponent's or the dummy's score that counts, or rating; NaN if none does
    value : what one game of the part adds
    voluntary : whether the player was not available
    counts : whether the part counts at all
    players : N
    """

    player: Ints
    opponent: Ints
    round: Ints
    kind: Ints
    games: Floats
    points: Floats
    score: Floats
    value: Floats
    voluntary: Flags
    counts: Flags
    players: int

    def only(self, kept: Flags) -> Parts:
        """Return the same parts, of which only some count."""
        return replace(self, counts=self.counts & kept)

    def with_values(self, value: Floats, score: Floats | None = None) -> Parts:
        """Return the same parts with other values, and perhaps other scores."""
        return replace(self, value=value, score=self.score if score is None else score)

    def total(self, values: Floats) -> Floats:
        """Return sums over the parts that count, shape (N,)."""
        kept = np.where(self.counts, values, 0.0)
        return np.asarray(np.bincount(self.player, kept, self.players), np.float64)

    def number(self) -> Floats:
        """Return how many games count, shape (N,)."""
        return self.total(self.games)

    def sum(self) -> Floats:
        """Return the sum of the values that count, shape (N,)."""
        return self.total(self.games * self.value)

    def known(self) -> Parts:
        """Return the parts without those that have no value."""
        known = ~np.isnan(self.value)
        return replace(self, counts=self.counts & known, value=np.where(known, self.value, 0.0))


def cut(parts: Parts, lowest: int, highest: int) -> Parts:
    """Return the parts without the least and the most significant, in this order (14.1 to 14.4)."""
    for _ in range(lowest):
        parts = _without(parts, _lowest(parts))
    for _ in range(highest):
        parts = _without(parts, _highest(parts))
    return parts


def _without(parts: Parts, rows: Ints) -> Parts:
    """Return the parts with one game fewer in some rows."""
    games, counts = parts.games.copy(), parts.counts.copy()
    games[rows] -= 1.0
    counts[rows] &= games[rows] > 0
    return replace(parts, games=np.maximum(games, 0.0), counts=counts)


def _first(parts: Parts, order: Ints, among: Flags) -> Ints:
    """Return for every player the first row in an order, -1 if there is none, shape (N,)."""
    order = order[among[order]]
    players, at = np.unique(parts.player[order], return_index=True)
    first = np.full(parts.players, -1)
    first[players] = order[at]
    return first


def _lowest(parts: Parts) -> Ints:
    """Return the rows to be cut as the least significant, one for each player who has any."""
    order = np.lexsort((parts.value, parts.score))
    least = _first(parts, order, parts.counts)
    by_value = np.argsort(parts.value, kind="stable")
    absent = _first(parts, by_value, parts.counts & parts.voluntary)
    # An index of -1 reads the last row, which `where` then leaves out.
    if len(parts.value):
        takes = (absent >= 0) & (parts.value[absent] >= parts.value[least])
        least = np.where(takes, absent, least)
    return least[least >= 0]


def _highest(parts: Parts) -> Ints:
    order = np.lexsort((-parts.value, -parts.score))
    most = _first(parts, order, parts.counts)
    return most[most >= 0]

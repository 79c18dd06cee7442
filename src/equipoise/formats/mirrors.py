"""Pairings in a table of pairs: told from one side, or from both sides, which must agree."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from equipoise.arrays import Flags, Floats, Ints
from equipoise.formats.game_rows import GameRows, Players
from equipoise.formats.game_totals import Totals

MIRROR = "must mirror the other side's row: the same games, and points that sum to their number"
SIDES = "must be told from both sides as other pairings are, or all of them from one side"

#: Sums that differ by less, a game, are equal: weights may be fractions.
_TOLERANCE = 1e-9


class Pairings(NamedTuple):
    """The pairings of some rows of a table.

    rows : their numbers among the rows asked for
    of_row : the pairing of each, from 0
    ahead : whether the player of each is the one who appears first in the table
    first, opposite : of each pairing the first row (a place in `rows`) of the direction that
        comes first, and of the other one (-1: told from one side)
    """

    rows: Ints
    of_row: Ints
    ahead: Flags
    first: Ints
    opposite: Ints

    @property
    def mirrored(self) -> bool:
        """Whether any pairing is told from both sides."""
        return bool(np.any(self.opposite >= 0))

    def leading(self, bad: Flags | None = None) -> Ints:
        """Return the rows in whose direction their pairing is told first, but for bad pairings."""
        chosen = self.ahead == self.ahead[self.first][self.of_row]
        rows: Ints = self.rows[chosen if bad is None else chosen & ~bad[self.of_row]]
        return rows

    def repeated(self) -> int:
        """Return the number of pairings with several rows in one direction."""
        counts = np.bincount(self.of_row, minlength=len(self.first))
        return int(np.sum(counts - (self.opposite >= 0) > 1))


def find_pairings(players: Players, rows: Ints) -> Pairings:
    """Return the pairings of rows in which two players met."""
    first, second = players.first[rows], players.second[rows]
    ahead = first < second
    keys = np.minimum(first, second) * len(players.ids) + np.maximum(first, second)
    distinct, of_row = np.unique(keys, return_inverse=True)
    beyond = len(rows)
    earliest = np.full((2, len(distinct)), beyond, np.int64)
    for way in (0, 1):
        there = np.flatnonzero(ahead == (way == 0))[::-1]
        # Assigned from the last row to the first, so that the first one stays.
        earliest[way, of_row[there]] = there
    opposite = earliest.max(axis=0)
    return Pairings(
        rows,
        of_row.astype(np.int64, copy=False),
        ahead,
        earliest.min(axis=0),
        np.where(opposite == beyond, -1, opposite),
    )


def check_mirrors(rows: GameRows, players: Players, totals: Totals, pairings: Pairings) -> Flags:
    """Record and return pairings of one side where others have both, and sides that differ."""
    both = pairings.opposite >= 0
    bad = np.zeros(len(both), dtype=bool)
    if not both.all():
        few = both if 2 * both.sum() < len(both) else ~both
        at = np.sort(pairings.first[few])
        told = "both sides" if both[few][0] else "one side only"
        got = [f"{_pair(players, row)} from {told}" for row in pairings.rows[at].tolist()]
        rows.findings.add(pairings.rows[at], rows.columns["opponent"], SIDES, got)
        bad |= few
    # Sides that are there are compared all the same.
    differ = np.flatnonzero(_differ(totals, pairings) & both & ~bad)
    bad[differ] = True
    differ = differ[np.argsort(pairings.opposite[differ])]
    one, other = pairings.rows[pairings.first[differ]], pairings.rows[pairings.opposite[differ]]
    places = rows.table.places(rows.findings.rows[one])
    got = [
        f"{_told(players, totals, back)}, while line {line} has {_told(players, totals, ahead)}"
        for ahead, back, (_, line) in zip(one.tolist(), other.tolist(), places, strict=True)
    ]
    rows.findings.add(other, rows.columns["opponent"], MIRROR, got)
    return bad


def _differ(totals: Totals, pairings: Pairings) -> Flags:
    """Return the pairings whose two directions do not mirror each other."""

    def sums(column: Floats) -> tuple[Floats, Floats]:
        taken, pairs = column[pairings.rows], len(pairings.first)
        ahead = np.bincount(pairings.of_row, np.where(pairings.ahead, taken, 0.0), pairs)
        back = np.bincount(pairings.of_row, np.where(pairings.ahead, 0.0, taken), pairs)
        return ahead.astype(np.float64), back.astype(np.float64)

    (points, other_points), (games, other_games) = sums(totals.points), sums(totals.games)
    near = _TOLERANCE * np.maximum(games, 1.0)
    differ = np.abs(games - other_games) > near
    differ |= np.abs(points + other_points - games) > near
    if totals.draws is not None:
        draws, other_draws = sums(totals.draws)
        differ |= np.abs(draws - other_draws) > near
    return differ


def _pair(players: Players, row: int) -> str:
    one, other = players.ids[players.first[row]], players.ids[players.second[row]]
    return f"{one!r} against {other!r}"


def _told(players: Players, totals: Totals, row: int) -> str:
    """Return what a row tells: 'ann' against 'bob' 2.5 of 4."""
    score = f"{totals.points[row]:g} of {totals.games[row]:g}"
    if totals.draws is not None:
        score += f" with {totals.draws[row]:g} drawn"
    return f"{_pair(players, row)} {score}"

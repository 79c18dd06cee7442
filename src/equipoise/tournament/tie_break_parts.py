"""The parts of which a tie-break is made, rounds without a game, and which parts are cut.

Source: FIDE Handbook C.07 [FIDE]_, articles 14 (modifiers) and 16.5 (which part is cut of a player
who was not available in some rounds).

Every tie-break but the direct encounter and the perfect performance is a sum or a mean over parts:
one for each game or round. The least significant part is the one with the opponent of the lowest
score, and of several the one with the lowest value (14.1.1). If a player was not available in some
rounds, their lowest part is cut instead, unless it is lower than the least significant part
(16.5.1). This is repeated for every further cut (16.5.2).

Departures: a row of several games counts as so many parts with their average value.

Source: FIDE Handbook C.07, Play-Off and Tie-Break Regulations [FIDE]_, articles 15 and 16. Two
editions: "2026-03", effective from 1 March 2026, and "2024-08", from 1 August 2024. They differ
here in 16.4: from 2026 on, the score of the dummy has a limit.

- In tournaments with pre-determined pairings a forfeit counts as a game against the scheduled
  opponent (15.2). A round without an opponent is not an unplayed round there.
- Otherwise (Swiss), for the tie-breaks of their opponents, a player's score counts with the points
  that were awarded (16.3.1), but requested byes after which the player was never available again
  count as draws (16.3.2).
- An unplayed round of the player counts as one against a dummy with the player's own score (16.4).
  From 2026 on this score is at most that of the scheduled opponent of a forfeit (16.4.1), and half
  a point for every round in all other cases (16.4.2).

Departures: a round of which the source says nothing is unknown, not an absence (`Unplayed`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np

from equipoise.arrays import Flags, Floats, Ints
from equipoise.data.games import KIND, Games, Rounds
from equipoise.errors import require


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


#: "fide": by the regulations; numbers that need a round of which nothing is known are NaN.
#: "absent": a player was absent in such a round. "ignore": only played games count.
Unplayed: TypeAlias = Literal["fide", "absent", "ignore"]
#: "auto": a round robin if every pair of players is scheduled equally often, else "swiss".
Pairing: TypeAlias = Literal["auto", "swiss", "round-robin"]
#: Dates from which the regulations hold.
TieBreakRules: TypeAlias = Literal["2024-08", "2026-03"]

#: Games of a player in a round that does not count: without an opponent in a round robin.
FREE = len(KIND)

_REQUESTED = (KIND["half-bye"], KIND["zero-bye"])
_FORFEITS = (KIND["forfeit-win"], KIND["forfeit-loss"])


@dataclass(frozen=True, slots=True, eq=False)
class Record:
    """The rounds of a tournament as tie-breaks count them; arrays have shape (N, R).

    opponent, points, kind, colour : as in `Rounds`; kind may be `FREE`
    round_robin : whether the pairings were pre-determined
    rules : date of the regulations
    """

    opponent: Ints
    points: Floats
    kind: Ints
    colour: Ints
    round_robin: bool
    rules: TieBreakRules

    @property
    def rounds(self) -> int:
        """Number of rounds."""
        return int(self.opponent.shape[1])

    @property
    def played(self) -> Flags:
        """Whether a game was played over the board."""
        return np.asarray(self.kind == KIND["played"])

    @property
    def met(self) -> Flags:
        """Whether a round counts as one against the scheduled opponent."""
        forfeits = self.round_robin & np.isin(self.kind, _FORFEITS) & (self.opponent >= 0)
        return np.asarray(self.played | forfeits)

    @property
    def unknown(self) -> Flags:
        """Who has a round of which nothing is known, shape (N,)."""
        return np.asarray((self.kind == KIND["unknown"]).any(axis=1))

    @property
    def requested(self) -> Flags:
        """Which rounds are requested byes (16.1.1)."""
        return np.asarray(np.isin(self.kind, _REQUESTED))

    @property
    def voluntary(self) -> Flags:
        """In which rounds a player was not available (16.1.2)."""
        return np.asarray(self.requested | (self.kind == KIND["forfeit-loss"]))

    @property
    def trailing(self) -> Flags:
        """Which requested byes no round follows in which the player was available (16.2.5)."""
        gone = np.logical_and.accumulate(self.voluntary[:, ::-1], axis=1)[:, ::-1]
        return np.asarray(self.requested & gone)

    def scored(self) -> Floats:
        """Return the points of every player, shape (N,)."""
        return np.asarray(self.points.sum(axis=1), np.float64)

    def adjusted(self) -> Floats:
        """Return every player's score for the tie-breaks of opponents (16.3), shape (N,)."""
        if self.round_robin:
            return self.scored()
        return np.asarray(np.where(self.trailing, 0.5, self.points).sum(axis=1), np.float64)

    def counted_scores(self) -> Floats:
        """Return the opponent's or the dummy's score in every round; NaN if it does not count."""
        adjusted, own = self.adjusted(), self.scored()[:, None]
        of_opponent = np.where(self.opponent >= 0, adjusted[self.opponent], np.nan)
        if self.round_robin:
            return np.where(self.met, of_opponent, np.nan)
        limit = np.full(self.points.shape, np.inf)
        if self.rules != "2024-08":
            forfeits = np.isin(self.kind, _FORFEITS) & (self.opponent >= 0)
            limit = np.where(forfeits, of_opponent, 0.5 * self.rounds)
        dummy = np.minimum(own, limit)
        out = np.isin(self.kind, (KIND["unknown"], FREE))
        return np.where(self.played, of_opponent, np.where(out, np.nan, dummy))

    def before_the_end(self) -> Record:
        """Return the rounds as if everyone paired for the last one had drawn a game in it (8.3)."""
        points, kind = self.points.copy(), self.kind.copy()
        paired = self.opponent[:, -1] >= 0
        points[paired, -1] = 0.5
        kind[paired, -1] = KIND["played"]
        return replace(self, points=points, kind=kind)


def record_of(
    games: Games, pairing: Pairing, unplayed: Unplayed, rules: TieBreakRules
) -> Record | None:
    """Return the rounds of a tournament as tie-breaks count them, None if they are not known.

    Raises : InvalidParameterError   unplayed is "absent", and the rounds are not known
    """
    rounds = games.rounds
    if rounds is None:
        require(
            unplayed != "absent", "unplayed", "fide or ignore if games have no rounds", unplayed
        )
        return None
    opponent, points, kind = rounds.opponent, rounds.points, rounds.kind
    round_robin = pairing == "round-robin" or (pairing == "auto" and is_round_robin(rounds))
    if round_robin:
        nothing = np.isin(kind, (KIND["zero-bye"], KIND["unknown"]))
        kind = np.where((opponent < 0) & nothing, FREE, kind)
    if unplayed == "ignore":
        played = kind == KIND["played"]
        kind, points = np.where(played, kind, FREE), np.where(played, points, 0.0)
    if unplayed == "absent":
        kind = np.where(kind == KIND["unknown"], KIND["zero-bye"], kind)
    return Record(opponent, points, kind, rounds.colour, round_robin, rules)


def is_round_robin(rounds: Rounds) -> bool:
    """Return whether every pair of players is scheduled equally often, at least once.

    Players without any opponent do not count.
    """
    present = np.flatnonzero((rounds.opponent >= 0).any(axis=1))
    number = len(present)
    scheduled = int(np.count_nonzero(rounds.opponent >= 0))
    if number < 2 or scheduled % (number * (number - 1)):
        return False
    player, at = np.nonzero(rounds.opponent >= 0)
    opponent = rounds.opponent[player, at]
    _, times = np.unique(player * rounds.players + opponent, return_counts=True)
    return bool((times == scheduled // (number * (number - 1))).all())

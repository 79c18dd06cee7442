"""What of a history is scored: the same for every system that is compared.

Source: [EM]_ section 6.3 and READINGS B9. Scored are matches from a given one on, without the
participations of players who have too few earlier matches. Departures: of a team, those who have
enough stay, so that it counts as many times; the prediction is that of the whole team.

A match has a result if two teams or more took part and it is no match of three or more in which
all tied (READINGS B7). Only such matches are scored, and only they count as earlier ones, whether
or not a system rates the others: so all systems are scored on the same participations. One that is
left with a single tie says nothing of orders; of expected scores it does, since leaving ties out
would make every expected score look too moderate.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from equipoise._jit import kernel
from equipoise.arrays import Flags, Floats, Ints
from equipoise.data.history import History
from equipoise.data.outlook import Outlook
from equipoise.errors import InvalidDataError, require
from equipoise.evaluate.metrics import Field

#: The first this many of a match, before any player is left out, are its top [READINGS B9].
TOP = 100

#: int32: matches that a participation's player had before it.
Counts: TypeAlias = NDArray[np.int32]


class Rows(NamedTuple):
    """The columns of a history that say who played whom: offsets (M + 1,), team and rank (N,)."""

    offsets: Ints
    team: Ints
    rank: Ints


@kernel
def _count_earlier(offsets: Ints, player: Ints, has_result: Flags, players: int) -> Counts:
    """Return how many matches with a result each participation's player has had before it."""
    seen = np.zeros(players, np.int32)
    earlier = np.empty(len(player), np.int32)
    for m in range(len(has_result)):
        for i in range(offsets[m], offsets[m + 1]):
            earlier[i] = seen[player[i]]
        if has_result[m]:
            for i in range(offsets[m], offsets[m + 1]):
                seen[player[i]] += 1
    return earlier


@kernel
def _what_is_left(rows: Rows, earlier: Counts, fewest: int, largest: int) -> tuple[Ints, Flags]:
    """Return (teams of every match that keep a player, whether these have different ranks).

    largest : teams of the largest match
    """
    matches = len(rows.offsets) - 1
    left, decided = np.zeros(matches, np.int64), np.zeros(matches, np.bool_)
    marked = np.full(largest, -1)
    for m in range(matches):
        first = -1
        for i in range(rows.offsets[m], rows.offsets[m + 1]):
            if earlier[i] < fewest:
                continue
            if marked[rows.team[i]] != m:
                marked[rows.team[i]] = m
                left[m] += 1
            if first < 0:
                first = rows.rank[i]
            decided[m] |= rows.rank[i] != first
    return left, decided


@kernel
def _team_columns(
    rows: Rows, first_team: Ints, earlier: Counts, fewest: int, scored: Flags
) -> tuple[Ints, Ints, Flags]:
    """Return (rank, participations that are scored, whether it is of the top) of every team."""
    teams = first_team[-1]
    rank, weight = np.zeros(teams, np.int64), np.zeros(teams, np.int64)
    top = np.zeros(teams, np.bool_)
    better = np.zeros(np.max(np.diff(first_team)) + 1, np.int64)
    for m in np.flatnonzero(scored):
        for i in range(rows.offsets[m], rows.offsets[m + 1]):
            t = first_team[m] + rows.team[i]
            rank[t] = rows.rank[i]
            if earlier[i] >= fewest:
                weight[t] += 1
        better[: first_team[m + 1] - first_team[m] + 1] = 0
        for t in range(first_team[m], first_team[m + 1]):
            better[rank[t] + 1] += 1
        for r in range(first_team[m + 1] - first_team[m]):
            better[r + 1] += better[r]
        for t in range(first_team[m], first_team[m + 1]):
            top[t] = better[rank[t]] < TOP
    return rank, weight, top


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Scored:
    """Which participations and matches of a history are scored.

    earlier : shape (N,), int32; matches with a result that the player had before
    fewest : participations with fewer earlier ones are left out
    teams : shape (M,), teams of every match
    scored, decided : shape (M,); whether a match is scored at all, and whether by its order too
    """

    history: History
    earlier: Counts
    fewest: int
    teams: Ints
    scored: Flags
    decided: Flags

    @classmethod
    def of(cls, history: History, *, min_history: int, first: int) -> Scored:
        """Return what is scored of matches from `first` on.

        Raises : InvalidParameterError, and InvalidDataError where nothing is left
        """
        require(min_history >= 0, "min_history", "at least 0", min_history)
        require(0 <= first <= history.matches, "first", f"from 0 to {history.matches}", first)
        teams = history.teams()
        all_tied = (teams > 2) & (history.distinct_ranks() == 1)
        has_result = (teams > 1) & ~all_tied
        earlier = _count_earlier(history.offsets, history.player, has_result, history.players)
        rows = Rows(history.offsets, history.team, history.rank)
        left, decided = _what_is_left(rows, earlier, min_history, int(teams.max(initial=0)))
        scored = has_result & (left > 1) & (np.arange(history.matches) >= first)
        if not scored.any():
            raise InvalidDataError(
                [],
                "nothing to score: in no match that is to be scored do two players or teams with "
                f"{min_history} earlier matches or more meet and not all tie",
            )
        return cls(
            history=history,
            earlier=earlier,
            fewest=min_history,
            teams=teams,
            scored=scored,
            decided=decided & scored,
        )

    def participations(self) -> int:
        """Return how many participations are scored."""
        kept = np.add.reduceat(self.earlier >= self.fewest, self.history.offsets[:-1], dtype=int)
        return int(kept[self.scored].sum())

    def field(self, start: int, stop: int, outlook: Outlook) -> Field:
        """Return the teams of matches start:stop, as they were predicted to perform.

        outlook : of the participations of these matches
        """
        history = self.history
        low, high = int(history.offsets[start]), int(history.offsets[stop])
        first_team = np.concatenate([[0], np.cumsum(self.teams[start:stop])])
        team, teams = history.team[low:high], int(first_team[-1])
        if teams < high - low:
            matches = np.repeat(first_team[:-1], np.diff(history.offsets[start : stop + 1]))
            outlook = outlook.of_teams(matches + team, teams)
        rows = Rows(history.offsets[start : stop + 1] - low, team, history.rank[low:high])
        rank, weight, top = _team_columns(
            rows, first_team, self.earlier[low:high], self.fewest, self.scored[start:stop]
        )
        return Field(
            offsets=first_team,
            centre=outlook.centre,
            variance=_squared(outlook.scale),
            rank=rank,
            weight=weight,
            top=top,
            decided=self.decided[start:stop],
        )


def _squared(scale: Floats) -> Floats:
    return scale * scale

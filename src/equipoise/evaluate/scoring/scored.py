"""The scored matches and participations of a history, which are the same for every system.

Source: [EM]_ section 6.3 and READINGS B9. Scored are matches from a given one on, without the
participations of players who have too few earlier matches (or, in another reading of the document,
too few matches in all). Departures: the members of a team with enough matches stay, so the team
counts as many times; the prediction is that of the complete team.

A match has a result if two or more teams took part and not all of three or more tied (READINGS B7).
Only such matches are scored, and only they count as earlier matches, whether or not a system rates
the others. So all systems are scored on the same participations. A match in which all remaining
teams tied is not scored by order. It is scored by expected scores, as otherwise every expected
score would look too moderate.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from equipoise._jit import kernel
from equipoise.arrays import Flags, Floats, Ints
from equipoise.data.history import History
from equipoise.data.outlook import Outlook
from equipoise.errors import InvalidDataError, require
from equipoise.evaluate.scoring.experience import STARTS
from equipoise.evaluate.scoring.metrics import PredictedTeams

#: Number of first places of a match that are its top, before players are left out [READINGS B9].
TOP = 100

#: Ends the error when nothing is left to score.
ADVICE = ". Score more matches or lower this number"

#: int32: matches that a participation's player had before it.
Counts: TypeAlias = NDArray[np.int32]


class MatchColumns(NamedTuple):
    """Columns of a history with teams and ranks: offsets (M + 1,), team and rank (N,)."""

    offsets: Ints
    team: Ints
    rank: Ints


@kernel
def _count_earlier(offsets: Ints, player: Ints, has_result: Flags, players: int) -> Counts:
    """Return, for each participation, the player's number of earlier matches with a result."""
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
def _what_is_left(
    rows: MatchColumns, earlier: Counts, fewest: int, largest: int
) -> tuple[Ints, Flags]:
    """Return (number of teams that keep a player, whether these have different ranks), by match.

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
    rows: MatchColumns, first_team: Ints, earlier: Counts, fewest: int, scored: Flags
) -> tuple[Ints, Ints, Flags]:
    """Return (rank, number of scored participations, whether it is in the top) of every team."""
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


@kernel
def _members(rows: MatchColumns, first_team: Ints, earlier: Counts, scored: Flags) -> Ints:
    """Return how many participations of every team are in each group, shape (T, 3)."""
    members = np.zeros((first_team[-1], len(STARTS)), np.int64)
    for m in np.flatnonzero(scored):
        for i in range(rows.offsets[m], rows.offsets[m + 1]):
            group = 0
            while group + 1 < len(STARTS) and earlier[i] >= STARTS[group + 1]:
                group += 1
            members[first_team[m] + rows.team[i], group] += 1
    return members


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Scored:
    """The participations and matches of a history that are scored.

    earlier : shape (N,), int32; earlier matches with a result of the player
    counted : shape (N,), int32; `earlier`, or all matches of the player
    fewest : participations with fewer in `counted` are left out
    teams : shape (M,), number of teams of every match
    played : shape (M,), whether a match is late enough and has a result
    scored, decided : shape (M,); whether a match is scored, and whether by its order too
    """

    history: History
    earlier: Counts
    counted: Counts
    fewest: int
    teams: Ints
    played: Flags
    scored: Flags
    decided: Flags

    @classmethod
    def of(
        cls, history: History, *, min_history: int, first: int, min_total: int | None = None
    ) -> Scored:
        """Return what is scored of matches from `first` on.

        min_history : fewest earlier matches of players who are scored [READINGS B9]
        min_total : instead, fewest matches of these players in the complete history, later ones
            included, as in the wording of [EM]_ sec. 6.3
        Raises : InvalidParameterError, and InvalidDataError if nothing is left
        """
        require(min_history >= 0, "min_history", "at least 0", min_history)
        require(min_total is None or min_total >= 0, "min_total", "at least 0", min_total)
        require(0 <= first <= history.matches, "first", f"from 0 to {history.matches}", first)
        teams = history.teams()
        all_tied = (teams > 2) & (history.distinct_ranks() == 1)
        has_result = (teams > 1) & ~all_tied
        earlier = _count_earlier(history.offsets, history.player, has_result, history.players)
        counted = earlier if min_total is None else _in_all(history, has_result)
        fewest = min_history if min_total is None else min_total
        found = cls(
            history=history,
            earlier=earlier,
            counted=counted,
            fewest=fewest,
            teams=teams,
            played=has_result & (np.arange(history.matches) >= first),
            # Computed by `with_fewest`.
            scored=has_result,
            decided=has_result,
        ).with_fewest(counted, fewest)
        if not found.scored.any():
            which = "earlier matches" if min_total is None else "matches in all"
            raise InvalidDataError(
                [],
                f"nothing to score: no match in this part has two players or teams with {fewest} "
                f"or more {which} that do not all tie{ADVICE}",
            )
        return found

    def with_fewest(self, counted: Counts, fewest: int) -> Scored:
        """Return what is scored of the same matches for other players; it may be empty.

        counted : shape (N,); participations with fewer than `fewest` are left out
        """
        history = self.history
        rows = MatchColumns(history.offsets, history.team, history.rank)
        left, decided = _what_is_left(rows, counted, fewest, int(self.teams.max(initial=0)))
        scored = self.played & (left > 1)
        return replace(
            self, counted=counted, fewest=fewest, scored=scored, decided=decided & scored
        )

    @property
    def everybody(self) -> bool:
        """Whether no player is left out."""
        return self.fewest == 0

    @property
    def fewest_earlier(self) -> int:
        """The fewest earlier matches with which a participation can be scored."""
        return self.fewest if self.counted is self.earlier else 0

    def participations(self) -> int:
        """Return the number of scored participations."""
        kept = np.add.reduceat(self.counted >= self.fewest, self.history.offsets[:-1], dtype=int)
        return int(kept[self.scored].sum())

    def predicted_teams(self, start: int, stop: int, outlook: Outlook) -> PredictedTeams:
        """Return the teams of matches start:stop, as they were predicted to perform.

        outlook : of the participations of these matches
        """
        rows, first_team, part = self._teams(start, stop)
        teams = int(first_team[-1])
        if teams < len(rows.team):
            matches = np.repeat(first_team[:-1], np.diff(rows.offsets))
            outlook = outlook.of_teams(matches + rows.team, teams)
        rank, weight, top = _team_columns(
            rows, first_team, self.counted[part], self.fewest, self.scored[start:stop]
        )
        return PredictedTeams(
            offsets=first_team,
            centre=outlook.centre,
            variance=_squared(outlook.scale),
            rank=rank,
            weight=weight,
            top=top,
            decided=self.decided[start:stop],
        )

    def members(self, start: int, stop: int) -> Ints:
        """Return how many participations of every team of matches start:stop are in each group.

        Shape (T, 3), see `experience`; the teams are those of `predicted_teams`.
        """
        rows, first_team, part = self._teams(start, stop)
        return _members(rows, first_team, self.earlier[part], self.scored[start:stop])

    def _teams(self, start: int, stop: int) -> tuple[MatchColumns, Ints, slice]:
        """Return matches start:stop, the number of the first team of each, and their rows."""
        history = self.history
        part = slice(int(history.offsets[start]), int(history.offsets[stop]))
        offsets = history.offsets[start : stop + 1] - part.start
        first_team = np.concatenate([[0], np.cumsum(self.teams[start:stop])])
        return MatchColumns(offsets, history.team[part], history.rank[part]), first_team, part


def _in_all(history: History, has_result: Flags) -> Counts:
    """Return, for each participation, the player's number of all matches with a result."""
    counts = np.repeat(has_result, np.diff(history.offsets))
    found = np.bincount(history.player[counts], minlength=history.players)
    return found[history.player].astype(np.int32)


def _squared(scale: Floats) -> Floats:
    return scale * scale

"""What of a history is scored: the same for every system that is compared.

Source: [EM]_ section 6.3 and READINGS B9. Scored are matches from a given one on, without the
participations of players who have too few earlier matches (or, in another reading of the document,
too few matches in all). Departures: of a team, those who have
enough stay, so that it counts as many times; the prediction is that of the whole team.

A match has a result if two teams or more took part and it is no match of three or more in which
all tied (READINGS B7). Only such matches are scored, and only they count as earlier ones, whether
or not a system rates the others: so all systems are scored on the same participations. One that is
left with a single tie says nothing of orders; of expected scores it does, since leaving ties out
would make every expected score look too moderate.

What is reached without ratings: a constant rate, learned as the history goes.

Nobody is stronger than anybody, so every pair is even and every order is one tie. Only where two
teams meet and one of them is at home (`at_home` is true or `side` is "home", as `elo` reads them)
is the expected score of that team the mean score of those at home so far: (1 + their points)/(2 +
their matches), which begins at one half. In which order the teams of a match are listed plays no
part, since many files list the winner first.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from equipoise._jit import kernel
from equipoise.arrays import Flags, Floats, Ints
from equipoise.data.history import History
from equipoise.data.prediction import Outlook
from equipoise.errors import InvalidDataError, require
from equipoise.evaluate.scoring.experience import STARTS
from equipoise.evaluate.scoring.metrics import Field

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


@kernel
def _members(rows: Rows, first_team: Ints, earlier: Counts, scored: Flags) -> Ints:
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
    """Which participations and matches of a history are scored.

    earlier : shape (N,), int32; matches with a result that the player had before
    counted : shape (N,), int32; `earlier`, or the matches that the player has in all
    fewest : participations with fewer of those counted are left out
    teams : shape (M,), teams of every match
    played : shape (M,), whether a match is late enough and has a result
    scored, decided : shape (M,); whether a match is scored at all, and whether by its order too
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

        min_history : fewest earlier matches of a player that is scored [READINGS B9]
        min_total : instead, fewest matches of such a player in the whole history, later ones
            included: how [EM]_ sec. 6.3 words it
        Raises : InvalidParameterError, and InvalidDataError where nothing is left
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
            # Filled in as soon as it is known who is left.
            scored=has_result,
            decided=has_result,
        ).with_fewest(counted, fewest)
        if not found.scored.any():
            which = "earlier matches" if min_total is None else "matches in all"
            raise InvalidDataError(
                [],
                "nothing to score: in no match that is to be scored do two players or teams with "
                f"{fewest} {which} or more meet and not all tie",
            )
        return found

    def with_fewest(self, counted: Counts, fewest: int) -> Scored:
        """Return what is scored of the same matches of other players; it may be nothing.

        counted : shape (N,); participations with fewer than `fewest` are left out
        """
        history = self.history
        rows = Rows(history.offsets, history.team, history.rank)
        left, decided = _what_is_left(rows, counted, fewest, int(self.teams.max(initial=0)))
        scored = self.played & (left > 1)
        return replace(
            self, counted=counted, fewest=fewest, scored=scored, decided=decided & scored
        )

    @property
    def everybody(self) -> bool:
        """Whether nobody is left out."""
        return self.fewest == 0

    @property
    def fewest_earlier(self) -> int:
        """The fewest earlier matches with which a participation can be scored."""
        return self.fewest if self.counted is self.earlier else 0

    def participations(self) -> int:
        """Return how many participations are scored."""
        kept = np.add.reduceat(self.counted >= self.fewest, self.history.offsets[:-1], dtype=int)
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
            rows, first_team, self.counted[low:high], self.fewest, self.scored[start:stop]
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

    def members(self, start: int, stop: int) -> Ints:
        """Return how many participations of every team of matches start:stop are in each group.

        Shape (T, 3), see `evaluate.experience`; the teams are those of `field`.
        """
        history = self.history
        low, high = int(history.offsets[start]), int(history.offsets[stop])
        first_team = np.concatenate([[0], np.cumsum(self.teams[start:stop])])
        rows = Rows(
            history.offsets[start : stop + 1] - low, history.team[low:high], history.rank[low:high]
        )
        return _members(rows, first_team, self.earlier[low:high], self.scored[start:stop])


def _in_all(history: History, has_result: Flags) -> Counts:
    """Return how many matches with a result each participation's player has in all."""
    counts = np.repeat(has_result, np.diff(history.offsets))
    found = np.bincount(history.player[counts], minlength=history.players)
    return found[history.player].astype(np.int32)


def _squared(scale: Floats) -> Floats:
    return scale * scale


class ConstantRate:
    """The rates of a history, and what follows from them for each of its matches."""

    name = "constant-rate"

    def __init__(self, history: History) -> None:
        self._history = history
        self._home = history.at_home()
        self._lead = None if self._home is None else _leads(history, self._home)

    def predict(self, start: int, stop: int) -> Outlook:
        """Return the outlook of the participations of matches start:stop."""
        offsets = self._history.offsets[start : stop + 1]
        centre = np.zeros(int(offsets[-1] - offsets[0]))
        if self._home is not None and self._lead is not None:
            lead = np.repeat(self._lead[start:stop], np.diff(offsets))
            centre = np.where(self._home[offsets[0] : offsets[-1]], lead, 0.0)
        # Two of these make the scale of a difference 1.
        scale = np.full(len(centre), math.sqrt(0.5))
        return Outlook(centre=centre, scale=scale, curve="logistic")


def _leads(history: History, home: Flags) -> Floats:
    """Return ln(p/(1 - p)) of the rate p before every match; 0 but where one of two is at home.

    All members of a team are at home or none, else the match is one on neutral ground.
    """
    starts = history.offsets[:-1]
    at_home = np.add.reduceat(home, starts, dtype=np.int64)
    in_first = np.add.reduceat(home & (history.team == 0), starts, dtype=np.int64)
    first = np.add.reduceat(history.team == 0, starts, dtype=np.int64)
    others = history.sizes() - first
    two = history.teams() == 2
    first_home = two & (at_home == first) & (in_first == first)
    second_home = two & (at_home == others) & (in_first == 0)
    # Of two teams the one in row 0 of the match is team 0.
    best = history.rank[starts]
    score = np.where(history.distinct_ranks() == 1, 0.5, np.where(best == 0, 1.0, 0.0))
    points = np.where(first_home, score, np.where(second_home, 1.0 - score, 0.0))
    counts = first_home | second_home
    before = np.cumsum(counts) - counts
    earned = np.cumsum(points) - points
    rate = (1.0 + earned) / (2.0 + before)
    return np.where(counts, np.log(rate / (1.0 - rate)), 0.0)

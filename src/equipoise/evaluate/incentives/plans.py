"""Plans, the places that a player's team might have taken, and the ratings they lead to.

A plan has a number for every match considered: 0 is the actual place, higher numbers are worse
places.

Others frozen (READINGS B13): before every match the other players get the state that they had there
in the honest history, and they finish in the same order. Only the player's own state continues.
Each match is a history of its own, which the system's `run` rates like any other, so nothing is
approximated. What a pool shares (statistics of roles) also does not change.

Others replayed: the complete history is rated with the altered ranks, and all ratings respond.

Some systems can be driven to a point at which they find no rating, or none that fits into float64.
From that point on, the ratings of the plan are NaN.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np

from equipoise.arrays import Flags, Floats, Ints
from equipoise.data.history import History
from equipoise.errors import ConvergenceError
from equipoise.numeric.workers import Workers
from equipoise.rating.replay import pieces
from equipoise.rating.single_match import alone
from equipoise.rating.state import Runs, State
from equipoise.rating.system import Capabilities, RatingSystem

#: Up to the first number of worse places, all are options. Of more, the second number of places is
#: chosen, evenly spread and including the last place.
_ALL_UP_TO, _SPREAD = 6, 3


class Placements(NamedTuple):
    """Options of one participation, from the actual place (0) to the last place.

    row : of the player in the match
    ranks : for each option the ranks of all n participations, dense from 0, each of shape (n,)
    place, tied : shape (options,), place of the player's team from 1, other teams in that place
    """

    row: int
    ranks: tuple[Ints, ...]
    place: Ints
    tied: Ints


def placements(match: History, row: int, capabilities: Capabilities) -> Placements:
    """Return the options that a player's team has in a history of one match.

    The other teams keep their order. A tie is an option if the system rates ties, unless all
    teams would tie and the match would not be rated (READINGS B7).
    """
    own = match.team == match.team[row]
    _, first = np.unique(match.team[~own], return_index=True)
    of_teams, rank = match.rank[~own][first], int(match.rank[row])
    worse = worse_spots(np.unique(of_teams), rank, ties=capabilities.draws)
    if capabilities.skips_all_tied and len(of_teams) > 1 and np.ptp(of_teams) == 0:
        worse = worse[worse != 2 * of_teams[0]]
    if len(worse) > _ALL_UP_TO:
        worse = worse[np.linspace(0, len(worse) - 1, _SPREAD + 1).round().astype(np.int64)[1:]]
    spots = np.concatenate([[2 * rank], worse])
    ranks = [match.rank, *(_with_spot(match.rank, own, int(spot)) for spot in worse)]
    return Placements(
        row=row,
        ranks=tuple(ranks),
        place=np.array([np.sum(2 * of_teams < spot) + 1 for spot in spots]),
        tied=np.array([np.sum(2 * of_teams == spot) for spot in spots]),
    )


def worse_spots(others: Ints, rank: int, *, ties: bool) -> Ints:
    """Return all spots below the team's own, better ones first; shape (options,).

    A spot is twice a rank: an even one ties with the teams of that rank, an odd one is below them.

    others : distinct ranks of the other teams in rising order; rank : the team's own
    """
    below = others[others > rank]
    just_below_ties = [2 * rank + 1] if rank in others else []
    ties_and_below = np.stack([2 * below, 2 * below + 1], axis=1).ravel()
    spots = np.concatenate([just_below_ties, ties_and_below]).astype(np.int64)
    return spots if ties else spots[spots % 2 == 1]


def _with_spot(rank: Ints, own: Flags, spot: int) -> Ints:
    """Return the ranks with the player's own team in a spot, dense from 0."""
    moved = np.where(own, spot, 2 * rank)
    return np.unique(moved, return_inverse=True)[1].astype(np.int64).reshape(-1)


Plan: TypeAlias = tuple[int, ...]

#: Number of states of the player that are kept, after beginnings of plans.
_KEPT = 20_000


class PlanRater(Protocol):
    """Rates the plans of one player.

    options : number of places to choose from in each match, at least 1
    before : rating before the first match
    """

    options: Sequence[int]
    before: float

    def ratings(self, plan: Plan) -> Floats:
        """Return the ratings after each match of a plan, or of its beginning.

        Raises : ConvergenceError in a plan that throws nothing
        """
        ...


class PlayerMatches(NamedTuple):
    """The matches of a player that are considered, in order.

    player : row of the history
    match, row : shape (k,), numbers of matches, and of the player's participation within each
    """

    player: int
    match: Ints
    row: Ints


@dataclass(frozen=True, slots=True)
class MatchSnapshot:
    """A match with the states of its players before it.

    match : a history of this match only, whose players are numbered like its participations
    before : their states, with memory for this match
    """

    match: History
    before: State

    @classmethod
    def of(cls, history: History, match: int, state: State) -> MatchSnapshot:
        """Return the snapshot of a match before which the pool has this state."""
        one, players = alone(history, match)
        before = state.take(players)
        if before.runs is not None:
            before.runs.reserve(np.arange(len(players)), np.ones(len(players), np.int64))
            before.runs.values = before.runs.values[: before.runs.used].copy()
        return cls(one, before)

    def play(
        self, system: RatingSystem, row: int, own: State, ranks: Ints, workers: Workers
    ) -> State:
        """Return a player's state after this match, from the state `own` before it."""
        considered = _memory(self.before)
        shared = considered.shared
        considered.put(np.array([row]), own)
        considered.shared = shared
        system.run(considered, replace(self.match, rank=ranks), 0, 1, None, workers)
        return considered.take(np.array([row]))


def _memory(state: State) -> State:
    """Return a copy of a state with its reserved memory; faster than `State.copy`."""
    runs = state.runs
    if runs is not None:
        runs = Runs(runs.spans.copy(), runs.values.copy(), runs.fields, runs.used)
    shared = {name: values.copy() for name, values in state.shared.items()}
    return State(state.initial, state.table.copy(), runs, shared)


class FrozenRater:
    """Rates plans of a player while all others are reset to their honest states."""

    def __init__(
        self,
        system: RatingSystem,
        considered: PlayerMatches,
        snapshots: Sequence[MatchSnapshot],
        workers: Workers,
    ) -> None:
        self._system, self._snapshots, self._workers = system, snapshots, workers
        self.placements = [
            placements(snapshot.match, row, system.capabilities)
            for snapshot, row in zip(snapshots, considered.row.tolist(), strict=True)
        ]
        self.options: Sequence[int] = [len(one.ranks) for one in self.placements]
        start = snapshots[0].before.take(considered.row[:1])
        self.before = _rating(system, start, 0)
        self._start = _Kept(start, np.zeros(0))
        self._kept: dict[Plan, _Kept] = {}

    def ratings(self, plan: Plan) -> Floats:
        """Return the ratings after each match of a plan, or of its beginning."""
        begun = next((n for n in range(len(plan), 0, -1) if plan[:n] in self._kept), 0)
        now = self._kept[plan[:begun]] if begun else self._start
        for n in range(begun, len(plan)):
            place = self.placements[n]
            ranks = place.ranks[plan[n]]
            try:
                own = self._snapshots[n].play(
                    self._system, place.row, now.own, ranks, self._workers
                )
            except ConvergenceError:
                if not any(plan):
                    raise
                return _without_rest(now.ratings, plan)
            now = _Kept(own, np.append(now.ratings, _rating(self._system, own, 0)))
            if len(self._kept) >= _KEPT:
                del self._kept[next(iter(self._kept))]
            self._kept[plan[: n + 1]] = now
        return now.ratings


class _Kept(NamedTuple):
    """A player's state after the beginning of a plan, and the ratings so far."""

    own: State
    ratings: Floats


class ReplayedRater:
    """Rates plans of a player by replaying everything from the first match considered."""

    def __init__(
        self,
        system: RatingSystem,
        history: History,
        considered: PlayerMatches,
        start: State,
        places: Sequence[Placements],
        workers: Workers,
    ) -> None:
        """`start` is the state of the pool before the first of the matches."""
        first, last = int(considered.match[0]), int(considered.match[-1])
        self._system, self._start, self._workers = system, start, workers
        self._later = history.slice(first, last + 1)
        self._considered = considered._replace(match=considered.match - first)
        self._placements = places
        self.before = _rating(system, start, considered.player)
        self.options: Sequence[int] = [len(one.ranks) for one in places]

    def ratings(self, plan: Plan) -> Floats:
        """Return the ratings after each match of a plan, or of its beginning."""
        later, considered, state = self._altered(plan), self._considered, self._start.copy()
        found, done = np.zeros(0), 0
        for match in considered.match[: len(plan)].tolist():
            try:
                self._system.run(state, later, done, match + 1, None, self._workers)
            except ConvergenceError:
                if not any(plan):
                    raise
                return _without_rest(found, plan)
            found = np.append(found, _rating(self._system, state, considered.player))
            done = match + 1
        return found

    def _altered(self, plan: Plan) -> History:
        """Return the matches with the ranks of a plan."""
        rank = self._later.rank.copy()
        for place, match, option in zip(
            self._placements, self._considered.match.tolist(), plan, strict=False
        ):
            low, high = self._later.offsets[match : match + 2]
            rank[low:high] = place.ranks[option]
        return replace(self._later, rank=rank)


class HonestReplay(NamedTuple):
    """States from a replay of the honest history.

    snapshots : the requested matches with their players' states
    states : states of the pool before the requested matches
    """

    snapshots: dict[int, MatchSnapshot]
    states: dict[int, State]


def replay_honestly(
    system: RatingSystem,
    history: History,
    snapshots: set[int],
    states: set[int],
    workers: Workers,
) -> HonestReplay:
    """Rate the honest history as far as needed and keep the states that plans start from.

    snapshots, states : numbers of matches
    """
    found, state, done = HonestReplay({}, {}), system.initial(history.players), 0
    for match in sorted(snapshots | states):
        for low, high in pieces(history, done, match):
            system.run(state, history, low, high, None, workers)
        done = match
        if match in snapshots:
            found.snapshots[match] = MatchSnapshot.of(history, match, state)
        if match in states:
            found.states[match] = state.copy()
    return found


def _without_rest(ratings: Floats, plan: Plan) -> Floats:
    """Return the ratings, followed by NaN for the other matches of the plan."""
    return np.append(ratings, np.full(len(plan) - len(ratings), np.nan))


def _rating(system: RatingSystem, state: State, row: int) -> float:
    """Return a player's rating after the last match."""
    return float(system.at(state, np.array([row]), None)["rating"][0])

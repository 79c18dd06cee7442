"""Plans of a player who comes in worse on purpose, their ratings, and the best of them.

A plan has a number for every match considered: 0 is the actual place, higher numbers are worse
places.

The others are frozen (READINGS B13): before every match the other players get the state that they
had there in the honest history, and they finish in the same order. Only the player's own state
continues. Each match is a history of its own, which the system's `run` rates like any other, so
nothing is approximated. What a pool shares (statistics of roles) also does not change.

Some systems can be driven to a point at which they find no rating, or none that fits into float64.
From that point on, the ratings of the plan are NaN.

The search compares complete plans by their last rating. Extending the best beginnings would find
nothing, because volatility pays only at the end and costs rating until then. So the search tries

1. all plans, if the budget allows; the answer is then exact,
2. otherwise plans in the known shapes of farming,
3. all ways to throw some of the last matches,
4. from the best of these, changes of blocks and single matches and exchanges of neighbours, as long
   as the rating rises,
5. the same from random plans, until the budget is spent.

The plan it finds exists, so its gain is a lower bound of the possible gain. If it finds none, that
proves nothing, unless all plans were tried.

Source of the shapes: [EM]_ section 5.1 and its references: players alternate bad and good results,
then play their best. The authors' own example [EML]_ comes in last whenever the rating is above a
threshold. A plan throws some of the first matches in one of these ways and ends with honest ones.
To throw a match is to come in last; option 0 of a match is honest.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import NamedTuple, TypeAlias

import numpy as np

from equipoise.arrays import Flags, Floats, Ints
from equipoise.data.audits import LEAST_GAIN
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

#: Number of states of the player that are kept, after beginnings of plans.
_KEPT = 20_000

#: Thresholds, as fractions of the way from the rating before the first match down to the lowest
#: rating when everything is thrown.
_DEPTHS = (0.0, 1 / 64, 1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2)

#: Number of last matches of which all ways to throw some are tried, at most.
_MOST_LAST = 10
#: Number of best plans from which changes start, before random plans.
_STARTS = 4


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
        single, players = alone(history, match)
        before = state.take(players)
        if before.runs is not None:
            before.runs.reserve(np.arange(len(players)), np.ones(len(players), np.int64))
            before.runs.values = before.runs.values[: before.runs.used].copy()
        return cls(single, before)

    def play(
        self, system: RatingSystem, row: int, own: State, ranks: Ints, workers: Workers
    ) -> State:
        """Return a player's state after this match, from the state `own` before it."""
        considered, at = _memory(self.before), np.array([row])
        shared = considered.shared
        considered.put(at, own)
        considered.shared = shared
        system.run(considered, replace(self.match, rank=ranks), 0, 1, None, workers)
        return considered.take(at)


def _memory(state: State) -> State:
    """Return a copy of a state with its reserved memory; faster than `State.copy`."""
    runs = state.runs
    if runs is not None:
        runs = Runs(runs.spans.copy(), runs.values.copy(), runs.fields, runs.used)
    shared = {name: values.copy() for name, values in state.shared.items()}
    return State(state.initial, state.table.copy(), runs, shared)


class FrozenRater:
    """Rates plans of a player while all others are reset to their honest states.

    options : number of places to choose from in each match, at least 1
    before : rating before the first match
    """

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
        self.options: Sequence[int] = [len(placement.ranks) for placement in self.placements]
        start = snapshots[0].before.take(considered.row[:1])
        self.before = _rating(system, start)
        self._start = _Kept(start, np.zeros(0))
        self._kept: dict[Plan, _Kept] = {}

    def ratings(self, plan: Plan) -> Floats:
        """Return the ratings after each match of a plan, or of its beginning.

        Raises : ConvergenceError in a plan that throws nothing
        """
        begun = next((n for n in range(len(plan), 0, -1) if plan[:n] in self._kept), 0)
        now = self._kept[plan[:begun]] if begun else self._start
        for n in range(begun, len(plan)):
            placement, snapshot = self.placements[n], self._snapshots[n]
            ranks = placement.ranks[plan[n]]
            try:
                own = snapshot.play(self._system, placement.row, now.own, ranks, self._workers)
            except ConvergenceError:
                if not any(plan):
                    raise
                return np.append(now.ratings, np.full(len(plan) - n, np.nan))
            now = _Kept(own, np.append(now.ratings, _rating(self._system, own)))
            if len(self._kept) >= _KEPT:
                del self._kept[next(iter(self._kept))]
            self._kept[plan[: n + 1]] = now
        return now.ratings


class _Kept(NamedTuple):
    """A player's state after the beginning of a plan, and the ratings so far."""

    own: State
    ratings: Floats


def replay_honestly(
    system: RatingSystem, history: History, matches: set[int], workers: Workers
) -> dict[int, MatchSnapshot]:
    """Rate the honest history as far as needed, and return matches with their players' states."""
    snapshots, state, done = dict[int, MatchSnapshot](), system.initial(history.players), 0
    for match in sorted(matches):
        for low, high in pieces(history, done, match):
            system.run(state, history, low, high, None, workers)
        done = match
        snapshots[match] = MatchSnapshot.of(history, match, state)
    return snapshots


def _rating(system: RatingSystem, state: State) -> float:
    """Return the rating of the only player of a state after the last match."""
    return float(system.at(state, np.array([0]), None)["rating"][0])


#: (matches of a block, thrown blocks, blocks of a period): everything; alternating blocks; one of
#: three and two of three.
_RHYTHMS = (
    (1, 1, 1),
    *((block, 1, 2) for block in (1, 2, 3, 5, 10, 20)),
    (1, 1, 3),
    (1, 2, 3),
)


def honest(rater: FrozenRater) -> Plan:
    """Return the plan in which nothing is thrown."""
    return (0,) * len(rater.options)


def last_places(rater: FrozenRater) -> Plan:
    """Return the plan in which everything is thrown."""
    return tuple(options - 1 for options in rater.options)


def farming_plans(rater: FrozenRater) -> list[Plan]:
    """Return plans in these shapes, each once, in a fixed order."""
    # The last matches of a plan are honest: 1, 2, 4, 8, ... of them.
    return list(
        dict.fromkeys(
            plan[:-end] + (0,) * end
            for plan in (*_rhythms(rater), *_thresholds(rater))
            for end in (2**power for power in range((len(plan) - 1).bit_length()))
        )
    )


def toggles_at_the_end(rater: FrozenRater, matches: int) -> Iterator[Plan]:
    """Yield all plans that throw some of the last `matches` matches, in binary order."""
    most = last_places(rater)
    first = len(most) - matches
    for thrown in product((0, 1), repeat=matches):
        yield (0,) * first + tuple(
            last * throws for last, throws in zip(most[first:], thrown, strict=True)
        )


def _rhythms(rater: FrozenRater) -> Iterator[Plan]:
    """Yield plans that throw in a rhythm, from the first match on or from the middle."""
    most = last_places(rater)
    for start in (0, len(most) // 2):
        for block, thrown, period in _RHYTHMS:
            yield tuple(
                last if n >= start and (n - start) // block % period < thrown else 0
                for n, last in enumerate(most)
            )


def _thresholds(rater: FrozenRater) -> Iterator[Plan]:
    """Yield plans that throw whenever the rating is above a threshold."""
    most = last_places(rater)
    before = rater.before
    lowest = float(np.nanmin([before, *rater.ratings(most)]))
    for depth in _DEPTHS:
        threshold = before - depth * (before - lowest)
        plan: Plan = ()
        rating = before
        for last in most:
            plan = (*plan, last if rating > threshold else 0)
            rating = float(rater.ratings(plan)[-1])
        yield plan


#: Fractions of the budget for plans in the shapes of farming, and for the last matches.
_SHAPES, _LAST = 0.4, 0.2


class _SpentError(Exception):
    """All plans that the budget allows were tried."""


class Search:
    """Plans that were tried, and the last rating of each; -inf if there is none."""

    def __init__(
        self, rater: FrozenRater, budget: int, note: Callable[[int], object] | None = None
    ) -> None:
        """`note` is called with the number of plans tried."""
        self._rater, self._budget, self._note = rater, budget, note
        self.finals: dict[Plan, float] = {}
        self.complete = False
        self.final(honest(rater))

    def final(self, plan: Plan) -> float:
        """Return the last rating of a plan. Raises : _SpentError before one too many is tried."""
        if plan not in self.finals:
            if len(self.finals) >= self._budget:
                raise _SpentError
            last = float(self._rater.ratings(plan)[-1])
            self.finals[plan] = last if math.isfinite(last) else -math.inf
            if self._note is not None:
                self._note(len(self.finals))
        return self.finals[plan]

    @property
    def failed(self) -> int:
        """Number of plans that leave the player without a rating."""
        return sum(final == -math.inf for final in self.finals.values())

    def best(self, count: int = 1) -> list[Plan]:
        """Return the plans with the highest last ratings; of equal ones, the first tried."""
        return sorted(self.finals, key=lambda plan: -self.finals[plan])[:count]

    def gaining(self) -> Plan:
        """Return the best plan, or the honest one if none gains more than rounding errors."""
        plan, fair = self.best()[0], honest(self._rater)
        return plan if self.finals[plan] - self.finals[fair] > LEAST_GAIN else fair

    def try_all(self, plans: Sequence[Plan], most: int) -> None:
        """Try at most `most` of these plans, evenly spread."""
        picked = np.linspace(0, len(plans) - 1, min(most, len(plans))).round().astype(np.int64)
        for number in picked.tolist():
            self.final(plans[number])

    def climb(self, plan: Plan) -> None:
        """Change blocks and single matches of a plan while that raises its last rating."""
        best, value, improved = plan, self.final(plan), True
        changes = _changes(last_places(self._rater))
        while improved:
            improved = False
            for change in changes:
                other = change(best)
                if other != best and self.final(other) > value:
                    best, value, improved = other, self.final(other), True


def search(
    rater: FrozenRater,
    budget: int,
    *,
    rng: np.random.Generator,
    note: Callable[[int], object] | None = None,
) -> Search:
    """Return the plans that were tried, at most `budget` of them; at least 1 for the honest one.

    rng : generator of the random plans
    """
    result = Search(rater, budget, note)
    result.complete = math.prod(rater.options) <= budget
    if result.complete:
        result.try_all(list(product(*map(range, rater.options))), budget)
        return result
    with suppress(_SpentError):
        result.try_all(farming_plans(rater), int(_SHAPES * budget))
        _try_last(result, rater, int(_LAST * budget))
        for plan in result.best(_STARTS):
            result.climb(plan)
        for plan in _random_plans(rater, budget, rng):
            result.climb(plan)
    return result


def _try_last(result: Search, rater: FrozenRater, budget: int) -> None:
    """Try all ways to throw some of the last matches, as many matches as the budget allows."""
    matches = min(_MOST_LAST, len(rater.options), max(budget, 1).bit_length() - 1)
    for plan in toggles_at_the_end(rater, matches):
        result.final(plan)


def _random_plans(rater: FrozenRater, count: int, rng: np.random.Generator) -> Iterator[Plan]:
    """Yield plans that throw a random share of the matches before a random one."""
    most = last_places(rater)
    for _ in range(count):
        end, share = rng.integers(1, len(most) + 1), rng.choice([0.2, 0.5, 0.8])
        thrown = rng.random(len(most)) < share
        yield tuple(last if thrown[n] and n < end else 0 for n, last in enumerate(most))


def _changes(most: Plan) -> list[Callable[[Plan], Plan]]:
    """Return changes of a plan: of long blocks, then of shorter ones, then of single matches.

    Changes of late matches come first, as the beginnings of such plans are already rated.
    """
    count, nothing = len(most), (0,) * len(most)
    changes: list[Callable[[Plan], Plan]] = []
    for power in range(max(count // 4, 1).bit_length() - 1, -1, -1):
        length = 2**power
        for start in range((count - 1) // length * length, -1, -length):
            for values in (nothing, most):
                block = values[start : start + length]
                changes.append(partial(_with_block, start=start, block=block))
    places = range(count - 1, -1, -1)
    changes += [partial(_exchanged, n=n - 1, most=most) for n in places if n]
    changes += [
        partial(_with_block, start=n, block=(option,))
        for n in places
        for option in range(1, most[n])
    ]
    return changes


def _with_block(plan: Plan, start: int, block: Plan) -> Plan:
    """Return the plan with other options for some matches in a row."""
    return (*plan[:start], *block, *plan[start + len(block) :])


def _exchanged(plan: Plan, n: int, most: Plan) -> Plan:
    """Return the plan with match n thrown instead of n + 1, or n + 1 instead of n."""
    if bool(plan[n]) == bool(plan[n + 1]):
        return plan
    thrown = (0, most[n + 1]) if plan[n] else (most[n], 0)
    return (*plan[:n], *thrown, *plan[n + 2 :])

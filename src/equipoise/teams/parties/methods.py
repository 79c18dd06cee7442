"""The methods of rebalancing, for parties and teams as numbers.

Source: [MR]_; READINGS D2 to D6, D9.
Departures: if no attribute counts, a party's total for the greedy method is its size. In step 3 of
the document's table for that method we read {G,H}.

`fill` is the greedy method. `Methods` has all methods for one number of teams; those that need the
most even compositions (`optimal`) share one search for them. `listing` lists the sequences of a
method in the document's order.
"""

from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from equipoise.teams.parties import combination, permutation
from equipoise.teams.parties.improving import good_start
from equipoise.teams.parties.optimal import Solution, optimum
from equipoise.teams.parties.permutation import Found, NoPlace, Placed, Target
from equipoise.teams.parties.placing import Evenness, Placing

#: Largest total number of teams in the listed steps; the steps of a match of thousands are useless.
MOST_LISTED = 200_000


@dataclass(frozen=True, slots=True)
class GreedyStep:
    """Teams and their totals, the least total first; the party placed, and its team."""

    order: tuple[tuple[int, int], ...]
    party: int
    team: int


#: Levels of evenness that permutation searches for before it tries all sequences.
_LEVELS = 12
#: Parties plus eight times the teams, up to which the effort is not reduced.
_WIDTH = 64
#: Parties times teams squared, above which single sequences take too long.
MOST_WORK = 4_000_000
#: JSON numbers are exact up to here; larger numbers of sequences are reported as this one.
MOST_COUNTED = 2**53


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """Limits of the searches.

    nodes : partial compositions of branch and bound
    chosen : placements of single parties
    pairs : pairs of teams between which exchanges are tried
    in_time : called regularly; False ends the search
    """

    nodes: int = 100_000
    chosen: int = 200_000
    pairs: int = 2_000
    in_time: Callable[[], bool] = lambda: True

    def shared(self, number: int) -> Effort:
        """Return the effort for the `number`-th number of teams, which falls with `number`."""
        return replace(
            self,
            nodes=-(-self.nodes // number),
            chosen=-(-self.chosen // number),
            pairs=-(-self.pairs // number),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Result of a method for one number of teams.

    order, team_of : the sequence, and the team of every party; None if no arrangement was found
    impossible : whether it is proved that there is none
    sequences : number of sequences it was chosen from
    truncated : not all sequences were compared
    solution : the optimum, if it was searched
    without_place : the party for which the greedy method found no place
    """

    order: tuple[int, ...] = ()
    team_of: tuple[int, ...] | None = None
    impossible: bool = False
    sequences: int = 0
    truncated: bool = False
    solution: Solution | None = None
    steps: tuple[GreedyStep, ...] = ()
    without_place: int | None = None


def fill(placing: Placing) -> Outcome:
    """Return the placement of the parties by the greedy method, the largest total first.

    It ends with a party that no team has room for. A long list of steps is left out. Among equals,
    the party that arrived first and the team with the lowest number come first.
    """
    order = sorted(range(placing.parties), key=lambda party: (-placing.weight(party), party))
    counts = list(placing.counts)
    sums = placing.counts if placing.by_size else placing.sums
    teams = sorted((total, team) for team, total in enumerate(sums))
    team_of = [-1] * placing.parties
    listed = placing.parties * placing.teams <= MOST_LISTED
    steps: list[GreedyStep] = []
    for party in order:
        size = placing.sizes[party]
        at = _first_with_room(teams, counts, placing.capacity - size)
        if at is None:
            return Outcome(steps=tuple(steps), without_place=party)
        if listed:
            before = tuple((team, total) for total, team in teams)
            steps.append(GreedyStep(before, party, teams[at][1]))
        total, team = teams.pop(at)
        counts[team] += size
        team_of[party] = team
        bisect.insort(teams, (total + placing.weight(party), team))
    whole = tuple(team_of) if placing.allowed(counts) else None
    return Outcome(order=tuple(order), team_of=whole, steps=tuple(steps), sequences=1)


def _first_with_room(teams: list[tuple[int, int]], counts: list[int], most: int) -> int | None:
    """Return the position of the first team with at most `most` players; None without one."""
    for at, (_, team) in enumerate(teams):
        if counts[team] <= most:
            return at
    return None


class Methods:
    """All methods for one number of teams; the search for the optimum runs once."""

    def __init__(self, placing: Placing, effort: Effort) -> None:
        self.placing = placing
        self.effort = effort
        # A step takes longer with more parties and teams, so large requests get far fewer steps.
        # Some sequences are completed in any case.
        width = max(_WIDTH, placing.parties + 8 * placing.teams)
        self.nodes = max(1, effort.nodes * _WIDTH**2 // width**2)
        fewest = min(effort.chosen, 10 * placing.parties)
        self.chosen = max(1, fewest, effort.chosen * _WIDTH**2 // width**2)
        self._solution: Solution | None = None

    @property
    def solution(self) -> Solution:
        """The most even compositions within the effort."""
        if self._solution is None:
            self._solution = optimum(
                self.placing,
                self.nodes,
                start=good_start(self.placing, self.effort.pairs),
                in_time=self.effort.in_time,
            )
        return self._solution

    def permutation(self) -> Outcome:
        """Return the last of the best sequences in swap order."""
        placing = self.placing
        if placing.parties * placing.teams**2 > MOST_WORK:
            return Outcome(truncated=True)
        solution = self.solution
        found, exact = self._from_targets()
        if found is None or found.placed is None:
            impossible = exact or (solution.evenness is None and solution.proved)
            return Outcome(impossible=impossible, truncated=not exact, solution=solution)
        return Outcome(
            order=found.placed.order,
            team_of=found.placed.team_of,
            sequences=_counted(math.factorial(placing.parties)) if exact else found.finished,
            truncated=not exact,
            solution=solution,
        )

    def _from_targets(self) -> tuple[Found | None, bool]:
        """Return the best sequence found, and whether none is better.

        The search is for the most even compositions, level by level; nearly always some sequence
        leads to one of the first level.
        """
        solution = self.solution
        for _ in range(_LEVELS):
            if solution.evenness is None or not solution.all_ties:
                break
            targets = [self._target(team_of) for team_of in solution.ties]
            found = permutation.search(self.placing, self.chosen, targets=targets)
            if found.placed is not None and found.complete:
                return found, True
            if not found.complete:
                return self._from_all_sequences(found)
            solution = optimum(
                self.placing,
                self.nodes,
                above=solution.evenness,
                in_time=self.effort.in_time,
            )
        if solution.evenness is None and solution.proved:
            return None, True
        if solution.evenness is None or solution.proved:
            return self._from_all_sequences(None)
        targets = [self._target(team_of) for team_of in solution.ties]
        return self._from_all_sequences(
            permutation.search(self.placing, self.chosen, targets=targets)
        )

    def _from_all_sequences(self, known: Found | None) -> tuple[Found | None, bool]:
        """Return the better of the known result and of a search through all sequences."""
        least = self.solution.bound
        found = permutation.search(self.placing, self.chosen, least=least)
        if found.complete or known is None or known.placed is None:
            return found, found.complete
        if found.placed is None or known.placed.evenness <= found.placed.evenness:
            return replace(known, finished=known.finished + found.finished), False
        return found, False

    def _target(self, team_of: tuple[int, ...]) -> Target:
        """Return a composition as masks."""
        placing = self.placing
        masks = [
            1 << (placing.parties + team) if count else 0
            for team, count in enumerate(placing.counts)
        ]
        for party, team in enumerate(team_of):
            masks[team] |= 1 << party
        return Target(placing.evenness_of(team_of), tuple(masks[team] for team in team_of))

    def combination(self) -> Outcome:
        """Return the last of the best fillings in the order of the list."""
        placing, solution = self.placing, self.solution
        if solution.evenness is None:
            return Outcome(
                impossible=solution.proved, truncated=not solution.proved, solution=solution
            )
        named = [combination.last_named(placing, team_of) for team_of in solution.ties]
        best = max(named, key=lambda team_of: combination.place_in_list(placing, team_of))
        exact = solution.all_ties
        if solution.proved and not exact:
            last = self._last_filling(solution.evenness)
            best, exact = (best, False) if last is None else (last, True)
        count = combination.count_fillings(placing)
        return Outcome(
            order=combination.sequence_of(placing, best),
            team_of=best,
            sequences=solution.looked_at if count is None else _counted(count),
            truncated=not exact,
            solution=solution,
        )

    def _last_filling(self, evenness: Evenness) -> tuple[int, ...] | None:
        """Return the last filling of this evenness; None if not found in time."""
        placing = self.placing
        for team_of in combination.Fillings(placing, self.chosen, backwards=True):
            found = placing.evenness_of(team_of)
            if (
                found.difference == evenness.difference
                and found.distance <= evenness.distance + placing.tolerance
            ):
                return team_of
        return None

    def optimal(self) -> Outcome:
        """Return the most even composition; of equal ones the first in order of arrival."""
        placing, solution = self.placing, self.solution
        if solution.evenness is None:
            return Outcome(
                impossible=solution.proved, truncated=not solution.proved, solution=solution
            )
        best = min(solution.ties)
        return Outcome(
            order=combination.sequence_of(placing, best),
            team_of=best,
            sequences=solution.looked_at,
            truncated=not solution.proved,
            solution=solution,
        )

    def greedy(self) -> Outcome:
        """Return the placement of the greedy method; no teams if a party has no place."""
        return fill(self.placing)

    def vertical(self) -> Outcome:
        """Return the first filling in order of arrival."""
        fewest = 4 * (self.placing.parties + self.placing.teams)
        fillings = combination.Fillings(self.placing, max(self.chosen, fewest))
        first = next(iter(fillings), None)
        if first is None:
            return Outcome(impossible=fillings.complete, truncated=not fillings.complete)
        order = combination.sequence_of(self.placing, first)
        return Outcome(order=order, team_of=first, sequences=1)


def _counted(number: int) -> int:
    return min(number, MOST_COUNTED)


#: Parties in all listed sequences together, at most.
MOST_SEQUENCES = 2_000_000


@dataclass(frozen=True, slots=True)
class Listing:
    """Sequences in the document's order.

    placed : sequences that place all parties as allowed; without_place : number of the others
    complete : there are no more
    """

    placed: list[Placed]
    without_place: int
    complete: bool


def listing(placing: Placing, method: str, most: int, outcome: Outcome) -> Listing:
    """Return the sequences of a method, at most `most`.

    most : limit of sequences; five times as many placements
    outcome : the arrangement, for a method that has only one
    """
    most = min(most, max(1, MOST_SEQUENCES // placing.parties))
    if method == "permutation":
        found: Iterator[Placed | NoPlace] = permutation.sequences(placing, 5 * most)
    elif method == "combination":
        found = _filled(placing, 5 * most)
    else:
        assert outcome.team_of is not None
        evenness = placing.evenness_of(outcome.team_of)
        return Listing([Placed(outcome.order, outcome.team_of, evenness)], 0, True)
    placed: list[Placed] = []
    without_place = 0
    for one in itertools.chain(found, [None]):
        if one is None:
            return Listing(placed, without_place, True)
        if len(placed) + without_place >= most:
            break
        if isinstance(one, Placed):
            placed.append(one)
        elif one.sequences == 0:
            break
        else:
            without_place += one.sequences
    return Listing(placed, min(without_place, most - len(placed)), False)


def _filled(placing: Placing, most: int) -> Iterator[Placed | NoPlace]:
    """Yield fillings as sequences; NoPlace(0) if the list ends early."""
    fillings = combination.Fillings(placing, most)
    for team_of in fillings:
        order = combination.sequence_of(placing, team_of)
        yield Placed(order, team_of, placing.evenness_of(team_of))
    if not fillings.complete:
        yield NoPlace(0)

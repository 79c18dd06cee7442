"""Each method on one lobby: parties and teams as numbers in, one arrangement out.

Source: [MR]_; READINGS D2 to D6, D9.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from equipoise.balance import combination, greedy, permutation
from equipoise.balance.greedy import GreedyStep
from equipoise.balance.improving import good_start
from equipoise.balance.optimal import Solution, optimum
from equipoise.balance.permutation import Found, Target
from equipoise.balance.placing import Evenness, Placing

#: Levels of evenness that permutation aims at before it goes through all sequences.
_LEVELS = 12
#: Parties, and teams eight times, up to which all effort is granted.
_WIDTH = 64
#: Parties times teams squared, above which sequences take too long one by one.
MOST_WORK = 4_000_000
#: JSON numbers are exact up to here; more sequences are not told apart.
MOST_COUNTED = 2**53


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """How much may be looked at.

    nodes : partial compositions of branch and bound
    chosen : placements of parties, one by one
    pairs : pairs of teams between which exchanges are looked at
    in_time : asked between; False ends the search
    """

    nodes: int = 100_000
    chosen: int = 200_000
    pairs: int = 2_000
    in_time: Callable[[], bool] = lambda: True

    def shared(self, number: int) -> Effort:
        """Return what is left for the lobby with this number, so that many cost little more."""
        return replace(
            self,
            nodes=-(-self.nodes // number),
            chosen=-(-self.chosen // number),
            pairs=-(-self.pairs // number),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a method came to for some number of teams.

    order, team_of : the sequence, and the team of every party; None: no arrangement was found
    impossible : there is none, which is proved
    sequences : that it was chosen from
    truncated : not all of them were looked at
    solution : the optimum, where it was searched for
    stranded : the party that found no room, of the greedy method
    """

    order: tuple[int, ...] = ()
    team_of: tuple[int, ...] | None = None
    impossible: bool = False
    sequences: int = 0
    truncated: bool = False
    solution: Solution | None = None
    steps: tuple[GreedyStep, ...] = ()
    stranded: int | None = None


class Table:
    """One lobby for all methods; the optimum is searched for once."""

    def __init__(self, placing: Placing, effort: Effort) -> None:
        self.placing = placing
        self.effort = effort
        # What is looked at is as wide as there are parties and teams, and takes longer with both:
        # of wide things far fewer. Some sequences are gone to their end all the same.
        width = max(_WIDTH, placing.parties + 8 * placing.teams)
        self.nodes = max(1, effort.nodes * _WIDTH**2 // width**2)
        fewest = min(effort.chosen, 10 * placing.parties)
        self.chosen = max(1, fewest, effort.chosen * _WIDTH**2 // width**2)
        self._solution: Solution | None = None

    @property
    def solution(self) -> Solution:
        """The most even compositions, as far as effort allows."""
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
        found, exact = self._aimed()
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

    def _aimed(self) -> tuple[Found | None, bool]:
        """Return what sequences come to, and whether none comes to more.

        The most even compositions are aimed at, level by level; nearly always some sequence leads
        to one of the first.
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
                return self._gone_through(found)
            solution = optimum(
                self.placing,
                self.nodes,
                above=solution.evenness,
                in_time=self.effort.in_time,
            )
        if solution.evenness is None and solution.proved:
            return None, True
        if solution.evenness is None or solution.proved:
            return self._gone_through(None)
        targets = [self._target(team_of) for team_of in solution.ties]
        return self._gone_through(permutation.search(self.placing, self.chosen, targets=targets))

    def _gone_through(self, known: Found | None) -> tuple[Found | None, bool]:
        """Return the better of what is known and what going through sequences finds."""
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
        """Return the last filling that is so even, where there are many; None: not soon enough."""
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
        """Return where the greedy method places everyone; None where it strands a party."""
        placing = self.placing
        filled = greedy.fill(placing)
        if filled.stranded is not None:
            return Outcome(steps=filled.steps, stranded=filled.stranded)
        counts = list(placing.counts)
        for party, team in enumerate(filled.team_of):
            counts[team] += placing.sizes[party]
        team_of = filled.team_of if placing.allowed(counts) else None
        return Outcome(order=filled.order, team_of=team_of, steps=filled.steps, sequences=1)

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

"""Rebalances matched parties into even teams, by the method of the ruleset.

Source: [MR]_; READINGS D2 to D6, D9.
Departures: if no attribute counts, a party's total for the greedy method is its size. In step 3 of
the document's table for that method we read {G,H}.

`fill` is the greedy method. `Methods` has all methods for one number of teams; those that need the
most even compositions (`even_teams`) share one search for them. `listing` lists the sequences of a
method in the document's order.

Source: [MR]_, the document on rebalancing in matchmaking; READINGS D for open questions in it, D5
to D8 for the choice of the method. Departures: sequences that lead to the same state are merged
(D9), so permutation and combination find the document's answer without listing every sequence;
`optimal` is a method of our own. A session may stay below player_min_number if too few parties
arrive to fill it, because it is already running.
"""

from __future__ import annotations

import bisect
import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from equipoise.arguments import checks_arguments
from equipoise.data.rebalancing import (
    ARRANGED,
    Candidate,
    Method,
    Optimum,
    Rebalance,
    RebalanceRequest,
    Step,
)
from equipoise.errors import ConvergenceError, InvalidDataError, Problem, require
from equipoise.teams import party_placing as permutation
from equipoise.teams import party_search as combination
from equipoise.teams.even_teams import (
    LISTED_PARTIES,
    Solution,
    optimum,
    two_team_ties,
)
from equipoise.teams.lobby_task import until
from equipoise.teams.party_placing import (
    Evenness,
    Found,
    Matched,
    NoPlace,
    Placed,
    Placing,
    Target,
)
from equipoise.teams.party_search import good_start
from equipoise.wording import counted

#: Largest total number of teams in the listed steps; the steps of a match of thousands are useless.
MOST_LISTED = 200_000

#: Levels of evenness that permutation searches for before it tries all sequences.
_LEVELS = 12
#: Parties plus eight times the teams, up to which the effort is not reduced.
_WIDTH = 64
#: Parties times teams squared, above which single sequences take too long.
MOST_WORK = 4_000_000
#: JSON numbers are exact up to here; larger numbers of sequences are reported as this one.
MOST_COUNTED = 2**53

#: Parties in all listed sequences together, at most.
MOST_SEQUENCES = 2_000_000

#: Players of a match up to which strict rulesets are rebalanced by combination (READINGS D5).
COMBINED = 12

#: Largest number of listed sequences (READINGS D9).
MAX_SEQUENCES = 100_000
#: Number of parties up to which the optimum is computed for methods that do not need it.
_COMPARED = 14
#: Largest number of numbers of teams to try.
MOST_TEAM_COUNTS = 64
#: The methods to use next if a method cannot place all parties (READINGS D6).
_NEXT: dict[Method, tuple[Method, ...]] = {
    "permutation": ("greedy", "combination"),
    "greedy": ("combination",),
}


@dataclass(frozen=True, slots=True)
class GreedyStep:
    """Teams and their totals, the least total first; the party placed, and its team."""

    order: tuple[tuple[int, int], ...]
    party: int
    team: int


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
        most = placing.capacity - size
        for place in teams:
            if counts[place[1]] <= most:
                break
        else:
            return Outcome(steps=tuple(steps), without_place=party)
        total, team = place
        if listed:
            before = tuple((number, of_team) for of_team, number in teams)
            steps.append(GreedyStep(before, party, team))
        teams.remove(place)
        counts[team] += size
        team_of[party] = team
        bisect.insort(teams, (total + placing.weight(party), team))
    whole = tuple(team_of) if placing.allowed(counts) else None
    return Outcome(order=tuple(order), team_of=whole, steps=tuple(steps), sequences=1)


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

    @cached_property
    def solution(self) -> Solution:
        """The most even compositions within the effort."""
        return optimum(
            self.placing,
            self.nodes,
            start=good_start(self.placing, self.effort.pairs),
            in_time=self.effort.in_time,
        )

    def permutation(self) -> Outcome:
        """Return the last of the best sequences in swap order."""
        placing = self.placing
        if placing.parties * placing.teams**2 > MOST_WORK:
            return Outcome(truncated=True)
        solution = self.solution
        outcome, exact = self._from_targets()
        if outcome is None or outcome.placed is None:
            impossible = exact or (solution.evenness is None and solution.proved)
            return Outcome(impossible=impossible, truncated=not exact, solution=solution)
        return Outcome(
            order=outcome.placed.order,
            team_of=outcome.placed.team_of,
            sequences=_counted(math.factorial(placing.parties)) if exact else outcome.finished,
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
            outcome = permutation.search(self.placing, self.chosen, targets=targets)
            if outcome.placed is not None and outcome.complete:
                return outcome, True
            if not outcome.complete:
                return self._from_all_sequences(outcome)
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
        outcome = permutation.search(self.placing, self.chosen, least=least)
        if outcome.complete or known is None or known.placed is None:
            return outcome, outcome.complete
        if outcome.placed is None or known.placed.evenness <= outcome.placed.evenness:
            return replace(known, finished=known.finished + outcome.finished), False
        return outcome, False

    def _target(self, team_of: tuple[int, ...]) -> Target:
        """Return a composition as masks."""
        placing = self.placing
        masks = placing.member_masks()
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
        best = _last_listed(placing, solution.ties)
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
            if placing.evenness_of(team_of).matches(evenness, placing.tolerance):
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


def _last_listed(placing: Placing, ties: list[tuple[int, ...]]) -> tuple[int, ...]:
    """Return the last of the fillings with these compositions in the order of the list."""
    named = [combination.last_named(placing, team_of) for team_of in ties]
    return max(named, key=lambda team_of: combination.place_in_list(placing, team_of))


def _counted(number: int) -> int:
    return min(number, MOST_COUNTED)


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
        orders: Iterator[Placed | NoPlace] = permutation.sequences(placing, 5 * most)
    elif method == "combination":
        orders = _filled(placing, 5 * most)
    else:
        assert outcome.team_of is not None
        evenness = placing.evenness_of(outcome.team_of)
        return Listing([Placed(outcome.order, outcome.team_of, evenness)], 0, True)
    placed: list[Placed] = []
    without_place = 0
    for order in itertools.chain(orders, [None]):
        if order is None:
            return Listing(placed, without_place, True)
        if len(placed) + without_place >= most:
            break
        if isinstance(order, Placed):
            placed.append(order)
        elif order.sequences == 0:
            break
        else:
            without_place += order.sequences
    return Listing(placed, min(without_place, most - len(placed)), False)


def _filled(placing: Placing, most: int) -> Iterator[Placed | NoPlace]:
    """Yield fillings as sequences; NoPlace(0) if the list ends early."""
    fillings = combination.Fillings(placing, most)
    for team_of in fillings:
        order = combination.sequence_of(placing, team_of)
        yield Placed(order, team_of, placing.evenness_of(team_of))
    if not fillings.complete:
        yield NoPlace(0)


def chosen_method(request: RebalanceRequest) -> tuple[Method, str]:
    """Return the method for a request, and the reason."""
    rules = request.ruleset
    if not rules.rebalance_enable:
        return "vertical", (
            "rebalance_enable is false: teams are filled one after the other in the order of "
            "arrival"
        )
    if request.backfill:
        members = sum(len(party.players) for team in request.session for party in team)
        return "permutation", f"a session of {counted(members, 'player')} is filled"
    if not rules.strict:
        name = "min_number" if rules.min_number != rules.max_number else "player_min_number"
        low, high = getattr(rules, name), getattr(rules, name.replace("min", "max"))
        return "permutation", (
            f"the ruleset is loose: {name} is {low}, {name.replace('min', 'max')} is {high}"
        )
    strict = (
        f"the ruleset is strict, {rules.max_number} x {counted(rules.player_max_number, 'player')}"
    )
    if rules.places <= COMBINED:
        return "combination", f"{strict}: {rules.places} in all, not more than {COMBINED}"
    return "greedy", f"{strict}: {rules.places} in all, more than {COMBINED}"


def why_not(method: Method, outcome: Outcome, matched: Matched) -> str:
    """Return why a method found no teams, as a clause."""
    if outcome.without_place is not None:
        return f"{method} finds no place for {matched.name(outcome.without_place)}"
    if outcome.impossible:
        return f"{method} finds no sequence that places everyone"
    if method == "greedy":
        return "greedy leaves a team below player_min_number"
    return f"{method} has too many sequences for these numbers of parties and teams"


def notes_of(matched: Matched, outcome: Outcome, teams: int, below: bool) -> Iterator[str]:
    """Yield notes on the teams.

    below : whether player_min_number was waived, because a session may have too few players
    """
    rules = matched.request.ruleset
    yield from matched.request.notes
    yield from _attribute_notes(matched.request)
    if teams < rules.max_number and not below:
        yield (
            f"{teams} of at most {counted(rules.max_number, 'team')}: with more teams, some would "
            f"not have {_range(rules.player_min_number, rules.player_max_number)} players"
        )
    assert outcome.team_of is not None
    if below:
        yield from _below_minimum(matched, outcome.team_of, teams)
    for rule in rules.rules:
        far = matched.distance_of(rule, outcome.team_of, teams)
        if rule.reference is not None and far > rule.reference + matched.tolerance:
            yield (
                f"the distance of the teams in {rule.attribute} is {far:.2f}, which is more than "
                f"the reference of {rule.reference:g}"
            )
    if outcome.truncated:
        yield "not all sequences were compared: more even teams may exist"


def _attribute_notes(request: RebalanceRequest) -> Iterator[str]:
    """Yield notes on the attributes that count, on default values, and on unused attributes."""
    rules = request.ruleset.rules
    if not rules:
        yield "no matching rule: only the number of members counts, and the distance is 0"
    elif len(rules) > 1:
        parts = ", ".join(
            rule.attribute if rule.max is None else f"{rule.attribute} / {rule.max:g}"
            for rule in rules
        )
        yield f"the distance is computed from the sum of {parts}"
    for rule in rules:
        players = sum(
            player.attributes.get(rule.attribute) is None
            for _, party in request.everyone()
            for player in party.players
        )
        if players:
            yield (
                f"{counted(players, 'player')} without {rule.attribute}: the default of "
                f"{request.default_attributes[rule.attribute]:g} from default_attributes is used"
            )
    if unused := _unused(request):
        yield f"attributes without a matching rule do not count: {', '.join(unused)}"


def _below_minimum(matched: Matched, team_of: tuple[int, ...], teams: int) -> Iterator[str]:
    placing = matched.placing(teams, 0)
    counts = list(placing.counts)
    for party, team in enumerate(team_of):
        counts[team] += placing.sizes[party]
    minimum = matched.request.ruleset.player_min_number
    short = [str(team + 1) for team, count in enumerate(counts) if count < minimum]
    if short:
        yield (
            f"player_min_number ({minimum}) is not reached by team{'s'[: len(short) > 1]} "
            f"{', '.join(short)}: the session stays open"
        )


def listing_notes(listing: Listing, most: int) -> Iterator[str]:
    """Yield notes on a list of sequences."""
    if listing.without_place:
        yield (
            f"{counted(listing.without_place, 'sequence leaves', 'sequences leave')} a party "
            "without a place, or a team below its minimum, and "
            f"{'is' if listing.without_place == 1 else 'are'} not listed"
        )
    if not listing.complete:
        yield f"the list ends after {most:,} sequences: there are more"


def sizes_in_words(matched: Matched) -> str:
    """Return the sizes of the parties, and the teams of the ruleset, in words."""
    counts = sorted(Counter(matched.sizes).items(), reverse=True)
    parties = ", ".join(f"{number} x {size}" for size, number in counts)
    rules = matched.request.ruleset
    return (
        f"parties of {parties} players for {_range(rules.min_number, rules.max_number)} teams of "
        f"{_range(rules.player_min_number, rules.player_max_number)}"
    )


def _unused(request: RebalanceRequest) -> list[str]:
    """Return the attributes that no rule names, at most 20."""
    known = {rule.attribute for rule in request.ruleset.rules}
    unused = {
        str(name)
        for _, party in request.everyone()
        for player in party.players
        for name in player.attributes
    } | set(request.default_attributes)
    return sorted(unused - known)[:20]


def _range(low: int, high: int) -> str:
    return f"{low}" if low == high else f"{low} to {high}"


#: Limit of partial compositions of branch and bound: as the chosen method, and in addition to
#: another method.
NODES, NODES_BESIDE = 1_000_000, 100_000


@checks_arguments("time_limit")
def rebalance(
    request: RebalanceRequest,
    *,
    method: Method | None = None,
    candidates: bool = False,
    max_sequences: int = MAX_SEQUENCES,
    nodes: int | None = None,
    time_limit: float | None = None,
) -> Rebalance:
    """Return parties arranged into teams by the ruleset [MR]_.

    Parties stay together, and members of a session stay in their teams. The difference of member
    counts is minimised first, then the distance of the teams' mean attributes from their mean.

    method : "permutation", "combination", "greedy", "optimal" or "vertical"; None chooses it by the
      ruleset (READINGS D5)
    candidates : whether to list every sequence in the document's order
    max_sequences : number of sequences to list, from 1 to 1,000,000
    nodes : partial compositions that branch and bound may expand; None means a million for
      "optimal", a tenth of that for other methods
    time_limit : seconds after which a search ends with its best result; None limits only its steps,
      so the same request always gets the same answer
    Raises : InvalidParameterError   an argument is out of its range
    Raises : InvalidDataError        the parties fit into no teams that the ruleset allows
    Raises : ConvergenceError        no teams were found, though they may exist

    Examples
    --------
    >>> request = eq.read_rebalance_request("examples/rebalance.json")
    >>> eq.rebalance(request)
    <Rebalance: 2 teams of 3 + 2: A, B and 1 more / D, E; permutation, distance 6.667>
    """
    require(1 <= max_sequences <= 1_000_000, "max_sequences", "from 1 to 1000000", max_sequences)
    require(nodes is None or nodes >= 1, "nodes", "at least 1", nodes)
    require(time_limit is None or time_limit >= 0, "time_limit", "at least 0 seconds", time_limit)
    chosen, reason = chosen_method(request)
    if method is not None:
        chosen, reason = method, "requested"
    if nodes is None:
        nodes = NODES if chosen == "optimal" else NODES_BESIDE
    effort = Effort(nodes=nodes, in_time=until(time_limit))
    matched = Matched(request)
    arrangement = _arranged(matched, chosen, effort)
    return _answer(matched, arrangement, reason, max_sequences if candidates else 0)


@dataclass(frozen=True, slots=True)
class _Arrangement:
    """The teams found, the method that found them, and why earlier methods failed.

    below : whether player_min_number was waived
    """

    method: Method
    outcome: Outcome
    methods: Methods
    failed: tuple[str, ...]
    below: bool


def _arranged(matched: Matched, chosen: Method, effort: Effort) -> _Arrangement:
    """Return the first arrangement, by method and then by number of teams (READINGS D6, D8)."""
    tried: dict[tuple[int, int], Methods] = {}
    proved = True
    methods = (chosen, *_NEXT.get(chosen, ()))
    for teams_and_minimum in _team_numbers(matched):
        failed: list[str] = []
        for method in methods:
            why = ""
            for teams, minimum in teams_and_minimum:
                key = (teams, minimum)
                if key not in tried:
                    placing = matched.placing(teams, minimum)
                    tried[key] = Methods(placing, effort.shared(len(tried) + 1))
                outcome: Outcome = getattr(tried[key], method)()
                if outcome.team_of is not None:
                    below = minimum < matched.request.ruleset.player_min_number
                    return _Arrangement(method, outcome, tried[key], tuple(failed), below)
                why = why or why_not(method, outcome, matched)
                if method == methods[-1]:
                    # The last method considers all arrangements.
                    proved = proved and outcome.impossible
            failed.append(why)
    if not proved:
        raise ConvergenceError("arranging parties into teams", effort.nodes, 1.0)
    summary = "the parties fit into no teams that the ruleset allows"
    got = sizes_in_words(matched)
    raise InvalidDataError([Problem("", None, "parties", ARRANGED, got)], summary)


def _team_numbers(matched: Matched) -> Iterator[list[tuple[int, int]]]:
    """Yield lists of (number of teams, fewest players of each) to try, in this order.

    The second list is for sessions with too few new players: they are filled without a minimum, in
    as few teams as possible.
    """
    minimum = matched.request.ruleset.player_min_number
    counts = list(matched.team_counts())[:MOST_TEAM_COUNTS]
    yield [(teams, minimum) for teams in counts if teams * minimum <= matched.players]
    if matched.request.backfill and minimum > 0:
        yield [(teams, 0) for teams in reversed(counts)]


def _answer(matched: Matched, arrangement: _Arrangement, reason: str, most: int) -> Rebalance:
    outcome, placing = arrangement.outcome, arrangement.methods.placing
    assert outcome.team_of is not None
    reason = "; ".join(
        [
            reason,
            *arrangement.failed,
            *([f"{arrangement.method} does"] if arrangement.failed else []),
        ]
    )
    notes = list(notes_of(matched, outcome, placing.teams, arrangement.below))
    placed = Placed(outcome.order, outcome.team_of, placing.evenness_of(outcome.team_of))
    listed: tuple[Candidate, ...] = ()
    truncated, sequences = outcome.truncated, outcome.sequences
    if most:
        listed_orders = listing(placing, arrangement.method, most, outcome)
        listed = tuple(
            _candidate(matched, placed, placing.teams) for placed in listed_orders.placed
        )
        notes += listing_notes(listed_orders, most)
        truncated = truncated or not listed_orders.complete
        if not listed_orders.complete:
            sequences = len(listed_orders.placed) + listed_orders.without_place
    return Rebalance(
        method=arrangement.method,
        reason=reason,
        best=_candidate(matched, placed, placing.teams),
        sequences=sequences,
        truncated=truncated,
        optimum=_optimum(arrangement),
        steps=_steps(matched, arrangement),
        notes=tuple(notes),
        candidates=listed,
    )


def _candidate(matched: Matched, placed: Placed, teams: int) -> Candidate:
    return Candidate(
        sequence=tuple(matched.parties[party].ids for party in placed.order),
        teams=matched.teams(placed.team_of, placed.order, teams),
        member_count_difference=placed.evenness.difference,
        distance=placed.evenness.distance,
    )


def _optimum(arrangement: _Arrangement) -> Optimum | None:
    """Return the optimum if it is known or quickly found."""
    solution = arrangement.outcome.solution
    if solution is None and arrangement.methods.placing.parties <= _COMPARED:
        solution = arrangement.methods.solution
    if solution is None or solution.evenness is None:
        return None
    return Optimum(
        member_count_difference=solution.evenness.difference,
        distance=solution.evenness.distance,
        bound_difference=solution.bound.difference,
        bound_distance=solution.bound.distance,
        proved=solution.proved,
    )


def _steps(matched: Matched, arrangement: _Arrangement) -> tuple[Step, ...]:
    placing = arrangement.methods.placing
    number = float if placing.by_size else placing.number
    return tuple(
        Step(
            order=tuple((team + 1, number(total)) for team, total in step.order),
            party=matched.parties[step.party].ids,
            total=number(placing.weight(step.party)),
            team=step.team + 1,
        )
        for step in arrangement.outcome.steps
    )


def team_numbers(request: RebalanceRequest) -> tuple[int, ...]:
    """Return the number of the team of every party, from 0, as `rebalance` makes the teams.

    Two new teams of a few parties are found by looking at every division, which is faster.
    Raises : InvalidDataError, ConvergenceError
    """
    chosen, _ = chosen_method(request)
    matched = Matched(request)
    listed = chosen == "combination" and len(request.parties) <= LISTED_PARTIES
    if listed and list(matched.team_counts()) == [2]:
        placing = matched.placing(2, request.ruleset.player_min_number)
        if ties := two_team_ties(placing):
            return _last_listed(placing, ties)
    arrangement = _arranged(matched, chosen, Effort(nodes=NODES_BESIDE))
    assert arrangement.outcome.team_of is not None
    return arrangement.outcome.team_of

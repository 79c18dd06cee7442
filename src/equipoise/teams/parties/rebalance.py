"""Matched parties into even teams, by the method of the ruleset.

Source: [MR]_, the document on rebalancing in matchmaking; READINGS D for what it leaves open.
Departures: sequences that lead to the same state are merged (D9), so permutation and combination
find the document's answer without listing every sequence; `optimal` is a method of our own. A
session may stay below player_min_number where too few parties came to fill it: it runs already.

Which method a ruleset asks for, why, and what else there is to know, in sentences.

Source: [MR]_; READINGS D5 to D8.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import get_args

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
from equipoise.teams.parties.methods import Effort, Listing, Outcome, Table, listing
from equipoise.teams.parties.permutation import Placed
from equipoise.teams.parties.placing import Matched, missing_of
from equipoise.wording import counted

#: Players of a match up to which strict rulesets are rebalanced by combination (READINGS D5).
COMBINED = 12


def chosen_method(request: RebalanceRequest) -> tuple[Method, str]:
    """Return the method that a request asks for, and why."""
    rules = request.ruleset
    if not rules.rebalance_enable:
        return "vertical", (
            "rebalance_enable is false: teams are filled one after the other in the order of "
            "arrival"
        )
    if request.backfill:
        members = sum(len(party.players) for team in request.session for party in team)
        return "permutation", f"a session of {_players(members)} is filled"
    if not rules.strict:
        name = "min_number" if rules.min_number != rules.max_number else "player_min_number"
        low, high = getattr(rules, name), getattr(rules, name.replace("min", "max"))
        return "permutation", (
            f"the ruleset is loose: {name} is {low}, {name.replace('min', 'max')} is {high}"
        )
    strict = f"the ruleset is strict, {rules.max_number} x {_players(rules.player_max_number)}"
    if rules.places <= COMBINED:
        return "combination", f"{strict}: {rules.places} in all, not more than {COMBINED}"
    return "greedy", f"{strict}: {rules.places} in all, more than {COMBINED}"


def why_not(method: Method, outcome: Outcome, matched: Matched) -> str:
    """Return why a method came to nothing, as a half sentence."""
    if outcome.stranded is not None:
        return f"{method} leaves no place for {matched.name(outcome.stranded)}"
    if outcome.impossible:
        return f"{method} finds a place for everyone in no sequence"
    if method == "greedy":
        return "greedy leaves a team below player_min_number"
    return f"{method} has too many sequences for so many parties and teams"


def notes_of(matched: Matched, outcome: Outcome, teams: int, below: bool) -> Iterator[str]:
    """Yield what there is to know about teams that were made.

    below : player_min_number was given up, as a session may have too few players
    """
    rules = matched.request.ruleset
    yield from matched.request.notes
    yield from _attribute_notes(matched.request)
    if teams < rules.max_number and not below:
        yield (
            f"{teams} of at most {counted(rules.max_number, 'team')}: of more, not all would have "
            f"{_range(rules.player_min_number, rules.player_max_number)} players"
        )
    assert outcome.team_of is not None
    if below:
        yield from _below_minimum(matched, outcome.team_of, teams)
    for rule in rules.rules:
        far = matched.distance_of(rule, outcome.team_of, teams)
        if rule.reference is not None and far > rule.reference + matched.tolerance:
            yield (
                f"the teams' {rule.attribute} is {far:.2f} apart, beyond the reference of "
                f"{rule.reference:g}"
            )
    if outcome.truncated:
        yield "not all sequences were looked at: there may be more even teams"


def _attribute_notes(request: RebalanceRequest) -> Iterator[str]:
    """Yield what counts, and what stands in or is left aside."""
    rules = request.ruleset.rules
    if not rules:
        yield "no matching rule: only the number of members counts, and the distance is 0"
    elif len(rules) > 1:
        parts = ", ".join(
            rule.attribute if rule.max is None else f"{rule.attribute} / {rule.max:g}"
            for rule in rules
        )
        yield f"the distance is of the sum of {parts}"
    for one in missing_of(request):
        yield (
            f"{_players(one.players)} without {one.attribute} count {one.default:g}, "
            "of default_attributes"
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
    """Yield what there is to know about a list of sequences."""
    if listing.stranded:
        yield (
            f"{counted(listing.stranded, 'sequence leaves', 'sequences leave')} somebody without "
            "a place, or a team below its minimum, and "
            f"{'is' if listing.stranded == 1 else 'are'} not listed"
        )
    if not listing.complete:
        yield f"the list ends after {most:,} sequences: there are more"


def sizes_in_words(matched: Matched) -> str:
    """Return the sizes of parties and what there is for them."""
    found = sorted(Counter(matched.sizes).items(), reverse=True)
    parties = ", ".join(f"{number} x {size}" for size, number in found)
    rules = matched.request.ruleset
    return (
        f"parties of {parties} players for {_range(rules.min_number, rules.max_number)} teams of "
        f"{_range(rules.player_min_number, rules.player_max_number)}"
    )


def _unused(request: RebalanceRequest) -> list[str]:
    """Return names of attributes that no rule names."""
    known = {rule.attribute for rule in request.ruleset.rules}
    found = {
        str(name)
        for _, party in request.everyone()
        for one in party.players
        for name in one.attributes
    } | set(request.default_attributes)
    return sorted(found - known)[:20]


def _range(low: int, high: int) -> str:
    return f"{low}" if low == high else f"{low} to {high}"


def _players(number: int) -> str:
    return f"{number} player{'s'[: number != 1]}"


#: Partial compositions that branch and bound looks at: of its own, and for another method.
NODES, NODES_BESIDE = 1_000_000, 100_000
#: Sequences that are listed, at most (READINGS D9).
MAX_SEQUENCES = 100_000
#: Parties up to which the optimum is searched for beside a method that does not need it.
_COMPARED = 14
#: Numbers of teams that are tried.
MOST_TEAM_COUNTS = 64
#: What is used where a method cannot place everyone (READINGS D6).
_NEXT: dict[Method, tuple[Method, ...]] = {
    "permutation": ("greedy", "combination"),
    "greedy": ("combination",),
}


@checks_arguments("method", "time_limit")
def rebalance(
    request: RebalanceRequest,
    *,
    method: Method | None = None,
    candidates: bool = False,
    max_sequences: int = MAX_SEQUENCES,
    nodes: int | None = None,
    time_limit: float | None = None,
) -> Rebalance:
    """Return parties arranged into teams as the ruleset asks for [MR]_.

    Parties stay whole, members of a session stay where they are. Least is, first, the difference
    of member counts, then the distance of the teams' mean attributes from their mean.

    method : "permutation", "combination", "greedy", "optimal" or "vertical"; None: as the ruleset
        says (READINGS D5)
    candidates : whether to list every sequence in the document's order
    max_sequences : that are listed, from 1 to 1,000,000
    nodes : partial compositions that branch and bound may look at; None: a million for "optimal",
        a tenth of it for other methods
    time_limit : seconds after which a search ends with what it has; None: only its steps count, so
        that the same request always gets the same answer
    Raises : InvalidParameterError   an argument is out of its range
    Raises : InvalidDataError        the parties fit into no teams that the ruleset allows
    Raises : ConvergenceError        no teams were found, though some may exist
    """
    kind = type(request).__name__
    require(isinstance(request, RebalanceRequest), "request", "a RebalanceRequest", kind)
    known = get_args(Method)
    require(method is None or method in known, "method", f"one of {', '.join(known)}", method)
    require(1 <= max_sequences <= 1_000_000, "max_sequences", "from 1 to 1000000", max_sequences)
    require(nodes is None or nodes >= 1, "nodes", "at least 1", nodes)
    require(time_limit is None or time_limit >= 0, "time_limit", "at least 0 seconds", time_limit)
    chosen, reason = chosen_method(request)
    if method is not None:
        chosen, reason = method, "asked for"
    if nodes is None:
        nodes = NODES if chosen == "optimal" else NODES_BESIDE
    effort = Effort(nodes=nodes, in_time=_clock(time_limit))
    matched = Matched(request)
    made = _arranged(matched, chosen, effort)
    return _answer(matched, made, reason, max_sequences if candidates else 0)


def _clock(limit: float | None) -> Callable[[], bool]:
    if limit is None:
        return lambda: True
    deadline = time.monotonic() + limit
    return lambda: time.monotonic() < deadline


@dataclass(frozen=True, slots=True)
class _Made:
    """What was arranged: by which method, into how many teams, and what failed before."""

    method: Method
    outcome: Outcome
    table: Table
    failed: tuple[str, ...]
    below: bool


def _arranged(matched: Matched, chosen: Method, effort: Effort) -> _Made:
    """Return the first arrangement, by method and then by number of teams (READINGS D6, D8)."""
    tables: dict[tuple[int, int], Table] = {}
    proved = True
    methods = (chosen, *_NEXT.get(chosen, ()))
    for teams_and_minimum in _frames(matched):
        failed: list[str] = []
        for method in methods:
            why = ""
            for teams, minimum in teams_and_minimum:
                key = (teams, minimum)
                if key not in tables:
                    placing = matched.placing(teams, minimum)
                    tables[key] = Table(placing, effort.shared(len(tables) + 1))
                outcome: Outcome = getattr(tables[key], method)()
                if outcome.team_of is not None:
                    below = minimum < matched.request.ruleset.player_min_number
                    return _Made(method, outcome, tables[key], tuple(failed), below)
                why = why or why_not(method, outcome, matched)
                if method == methods[-1]:
                    # The last one looks at all arrangements that there are.
                    proved = proved and outcome.impossible
            failed.append(why)
    if not proved:
        raise ConvergenceError("arranging parties into teams", effort.nodes, 1.0)
    summary = "the parties fit into no teams that the ruleset allows"
    got = sizes_in_words(matched)
    raise InvalidDataError([Problem("", None, "parties", ARRANGED, got)], summary)


def _frames(matched: Matched) -> Iterator[list[tuple[int, int]]]:
    """Yield numbers of teams and the least players of each: as the ruleset says, then for sessions.

    A session to which too few come is filled without a minimum, in as few teams as may be.
    """
    minimum = matched.request.ruleset.player_min_number
    counts = list(matched.team_counts())[:MOST_TEAM_COUNTS]
    yield [(teams, minimum) for teams in counts if teams * minimum <= matched.players]
    if matched.request.backfill and minimum > 0:
        yield [(teams, 0) for teams in reversed(counts)]


def _answer(matched: Matched, made: _Made, reason: str, most: int) -> Rebalance:
    outcome, placing = made.outcome, made.table.placing
    assert outcome.team_of is not None
    reason = "; ".join([reason, *made.failed, *([f"{made.method} does"] if made.failed else [])])
    notes = list(notes_of(matched, outcome, placing.teams, made.below))
    placed = Placed(outcome.order, outcome.team_of, placing.evenness_of(outcome.team_of))
    listed: tuple[Candidate, ...] = ()
    truncated, sequences = outcome.truncated, outcome.sequences
    if most:
        found = listing(placing, made.method, most, outcome)
        listed = tuple(_candidate(matched, one, placing.teams) for one in found.placed)
        notes += listing_notes(found, most)
        truncated = truncated or not found.complete
        if not found.complete:
            sequences = len(found.placed) + found.stranded
    return Rebalance(
        method=made.method,
        reason=reason,
        best=_candidate(matched, placed, placing.teams),
        sequences=sequences,
        truncated=truncated,
        optimum=_optimum(made),
        steps=_steps(matched, made),
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


def _optimum(made: _Made) -> Optimum | None:
    """Return the best there is, where it is known or soon found."""
    solution = made.outcome.solution
    if solution is None and made.table.placing.parties <= _COMPARED:
        solution = made.table.solution
    if solution is None or solution.evenness is None:
        return None
    return Optimum(
        member_count_difference=solution.evenness.difference,
        distance=solution.evenness.distance,
        bound_difference=solution.bound.difference,
        bound_distance=solution.bound.distance,
        proved=solution.proved,
    )


def _steps(matched: Matched, made: _Made) -> tuple[Step, ...]:
    placing = made.table.placing
    number = float if placing.by_size else placing.number
    return tuple(
        Step(
            order=tuple((team + 1, number(total)) for team, total in step.order),
            party=matched.parties[step.party].ids,
            total=number(placing.weight(step.party)),
            team=step.team + 1,
        )
        for step in made.outcome.steps
    )

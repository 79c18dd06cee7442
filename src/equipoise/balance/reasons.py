"""Which method a ruleset asks for, why, and what else there is to know, in sentences.

Source: [MR]_; READINGS D5 to D8.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from equipoise.balance.listing import Listing
from equipoise.balance.matched import Matched, missing_of
from equipoise.balance.methods import Outcome
from equipoise.data.rebalanced import Method
from equipoise.data.ruleset import RebalanceRequest
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

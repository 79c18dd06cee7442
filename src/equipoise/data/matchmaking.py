"""The queue as values: tickets, running sessions, the rules of meeting, and the answer of a tick.

Names are those of AccelByte's rulesets. `MatchRuleset` is a `Ruleset` with the rules that decide
who meets whom, so one file serves the queue and the rebalance.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

from equipoise.data.lobby import Id
from equipoise.data.rebalancing import (
    NAMED_ONCE,
    REFERENCE,
    Fault,
    MatchedPlayer,
    Rule,
    Ruleset,
    alliance_faults,
    is_name,
    is_number,
    is_whole,
    unless,
)
from equipoise.display import Displayed
from equipoise.wording import counted

OptionType: TypeAlias = Literal["all", "any", "unique", "disable"]
BlockedOption: TypeAlias = Literal[
    "blockedPlayerCannotMatch", "blockedPlayerCanMatchOnDifferentTeam", "blockedPlayerCanMatch"
]
Objective: TypeAlias = Literal["accelbyte", "fair"]

#: The largest number of teams and players of the Go project; matches are bounded by the pool.
_LARGEST_WHOLE = 2**31 - 1
SIZE = f"must be a whole number from 1 to {_LARGEST_WHOLE}"
DURATION = "must be a number of seconds from 0"
MILLISECONDS = "must be a whole number of milliseconds from 0"
WEIGHT = "must be a number from 0 to 1000"
NAME = "must be text of 1 to 64 characters"
DIVISOR = "must be at least the greatest reference of the attribute, flexing included"
HAS_RULE = "must be an attribute of matching_rule"
INITIAL = "must not be above region_latency_max_ms"


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchingRule(Rule):
    """A matching rule of the queue.

    weight : factor of the difference in the cost of a match
    max_spread : largest difference between any two tickets of a match; None for none
    for_balancing : whether teams are evened out in it; None leaves it to the other rules
    Raises : InvalidDataError

    Examples
    --------
    >>> from equipoise.data.matchmaking import MatchingRule
    >>> MatchingRule(attribute="mmr", reference=100, weight=2).weight
    2
    """

    weight: float = 1.0
    max_spread: float | None = None
    for_balancing: bool | None = None

    def _faults(self) -> Iterator[Fault]:
        yield from Rule._faults(self)
        short = not is_name(self.attribute) or len(self.attribute) <= 64
        yield from unless(short, "attribute", NAME, self.attribute)
        sound = is_number(self.weight, lambda x: 0 <= x <= 1000)
        yield from unless(sound, "weight", WEIGHT, self.weight)
        sound = self.max_spread is None or _is_from_0(self.max_spread)
        yield from unless(sound, "max_spread", REFERENCE, self.max_spread)


class Alliance(NamedTuple):
    """How many teams a match has, and how many players a team."""

    min_number: int
    max_number: int
    player_min_number: int
    player_max_number: int

    @property
    def places(self) -> int:
        """Players of a full match."""
        return self.max_number * self.player_max_number

    def faults(self, path: str) -> Iterator[Fault]:
        """Yield the numbers that are out of range."""
        return alliance_faults(path, self, dict.fromkeys(self._fields, (1, _LARGEST_WHOLE, SIZE)))


class AllianceFlexing(NamedTuple):
    """An alliance that replaces that of the ruleset once the pivot has waited longer than duration.

    duration : seconds
    """

    duration: float
    alliance: Alliance


class Flexing(NamedTuple):
    """A tolerance that replaces that of a rule once a ticket has waited longer than duration.

    duration : seconds
    """

    attribute: str
    duration: float
    reference: float


class MatchOption(NamedTuple):
    """A ticket attribute that decides who may meet; type : "all", "any", "unique" or "disable"."""

    name: str
    type: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchRuleset(Ruleset):
    """The conditions under which tickets meet, and those for their teams.

    rules : of `MatchingRule` or `Rule`; alliance_flexing_rule, flexing_rule : see their types
    match_options : ticket attributes that must agree
    auto_backfill : whether a new match that is not full asks for more players
    match_options_referred_for_backfill : whether attributes that are no option may differ from
        those of a session
    blocked_player_option : where blocked players may meet
    region_expansion_rate_ms, region_expansion_range_ms : after every rate a ticket accepts regions
        with a latency higher by the range; 0 means 50
    region_latency_initial_range_ms : added to a ticket's best latency from the start
    region_latency_max_ms : the highest latency of all; 0 is no limit
    region_latency_rule_weight : factor of the latency in the cost
    disable_bidirectional_latency_after_ms : wait of a pivot after which others need only list its
        region; 0 is never
    distance_scope : whether tickets must be near the pivot only, or any two near each other
    Raises : InvalidDataError

    Examples
    --------
    >>> from equipoise.data.matchmaking import MatchRuleset
    >>> rules = MatchRuleset(min_number=2, max_number=2, player_min_number=5, player_max_number=5)
    >>> rules.alliance_at(0.0).places
    10
    """

    auto_backfill: bool = False
    alliance_flexing_rule: tuple[AllianceFlexing, ...] = ()
    flexing_rule: tuple[Flexing, ...] = ()
    match_options: tuple[MatchOption, ...] = ()
    match_options_referred_for_backfill: bool = False
    blocked_player_option: BlockedOption = "blockedPlayerCannotMatch"
    region_expansion_rate_ms: int = 5000
    region_expansion_range_ms: int = 0
    region_latency_initial_range_ms: int = 0
    region_latency_max_ms: int = 0
    region_latency_rule_weight: float = 1.0
    disable_bidirectional_latency_after_ms: int = 0
    distance_scope: Literal["pivot", "pair"] = "pivot"

    def alliance_at(self, waited: float) -> Alliance:
        """Return the alliance for a pivot that has waited so many seconds."""
        best, chosen = -1.0, self.alliance
        for step in self.alliance_flexing_rule:
            if waited > step.duration >= best:
                best, chosen = step.duration, step.alliance
        return chosen

    @property
    def alliance(self) -> Alliance:
        """The alliance without flexing."""
        return Alliance(
            self.min_number, self.max_number, self.player_min_number, self.player_max_number
        )

    def divisor(self, rule: Rule) -> float:
        """Return the number by which differences in an attribute are divided in the cost."""
        return float(rule.max) if rule.max else self._greatest(rule)

    def _greatest(self, rule: Rule) -> float:
        flexed = (step.reference for step in self.flexing_rule if step.attribute == rule.attribute)
        return float(max([rule.reference or 0.0, *flexed]))

    def balancing_rules(self) -> tuple[Rule, ...]:
        """Return the rules in which teams are evened out."""
        return balancing_rules(self.rules)

    def _faults(self) -> Iterator[Fault]:
        # The limits of the rebalance hold for the match that is made, not for the ruleset.
        yield from self.alliance.faults("alliance.")
        yield from self._rule_faults()
        names = {rule.attribute for rule in self.rules}
        for at, flexed in enumerate(self.alliance_flexing_rule):
            path = f"alliance_flexing_rule[{at}]."
            yield from unless(_is_from_0(flexed.duration), f"{path}duration", DURATION, flexed[0])
            yield from flexed.alliance.faults(path)
        for at, step in enumerate(self.flexing_rule):
            path = f"flexing_rule[{at}]."
            known = is_name(step.attribute) and step.attribute in names
            yield from unless(_is_from_0(step.duration), f"{path}duration", DURATION, step.duration)
            sound = _is_from_0(step.reference)
            yield from unless(sound, f"{path}reference", REFERENCE, step.reference)
            yield from unless(known, f"{path}attribute", HAS_RULE, step.attribute)
        yield from self._option_faults()
        yield from self._region_faults()
        flexible = all(_is_from_0(step.reference) for step in self.flexing_rule)
        for at, rule in enumerate(self.rules):
            high = rule.max is None or not flexible or rule.max >= self._greatest(rule)
            yield from unless(high, f"matching_rule[{at}].normalizationMax", DIVISOR, rule.max)

    def _option_faults(self) -> Iterator[Fault]:
        seen: set[str] = set()
        for at, option in enumerate(self.match_options):
            path = f"match_options.options[{at}]."
            named = is_name(option.name) and len(option.name) <= 64
            yield from unless(named, f"{path}name", NAME, option.name)
            if named:
                yield from unless(option.name not in seen, f"{path}name", NAMED_ONCE, option.name)
                seen.add(option.name)
            yield from _unless_one_of(get_args(OptionType), f"{path}type", option.type)
        choices, value = get_args(BlockedOption), self.blocked_player_option
        yield from _unless_one_of(choices, "blocked_player_option", value)
        known = self.distance_scope in ("pivot", "pair")
        yield from unless(known, "distance_scope", "must be pivot or pair", self.distance_scope)

    def _region_faults(self) -> Iterator[Fault]:
        broken = False
        for name in MILLISECOND_FIELDS:
            value = getattr(self, name)
            sound = is_whole(value) and 0 <= value <= _LARGEST_WHOLE
            broken |= not sound
            yield from unless(sound, name, MILLISECONDS, value)
        weight = self.region_latency_rule_weight
        sound = is_number(weight, lambda x: 0 <= x <= 1000)
        yield from unless(sound, "region_latency_rule_weight", WEIGHT, weight)
        first, most = self.region_latency_initial_range_ms, self.region_latency_max_ms
        sound = broken or not 0 < most < first
        yield from unless(sound, "region_latency_initial_range_ms", INITIAL, first)


def _unless_one_of(choices: tuple[str, ...], path: str, value: object) -> Iterator[Fault]:
    return unless(value in choices, path, f"must be one of {', '.join(choices)}", value)


def balancing_rules(rules: tuple[Rule, ...]) -> tuple[Rule, ...]:
    """Return the rules marked for balancing; without marks all, as `rebalance` has it."""
    marks = [getattr(rule, "for_balancing", None) for rule in rules]
    if all(mark is None for mark in marks):
        return rules
    return tuple(rule for rule, mark in zip(rules, marks, strict=True) if mark)


#: Fields of a ruleset in milliseconds.
MILLISECOND_FIELDS = (
    "region_expansion_rate_ms",
    "region_expansion_range_ms",
    "region_latency_initial_range_ms",
    "region_latency_max_ms",
    "disable_bidirectional_latency_after_ms",
)


def _is_from_0(value: object) -> bool:
    return is_number(value, lambda x: x >= 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ticket:
    """A party that asks for a match.

    created_at : seconds, on the same clock as `now`
    players : with numeric attributes; attributes : of the ticket, such as the modes it accepts
    latencies : milliseconds by region; empty for no wish
    excluded_sessions : ids of sessions that it does not join
    priority : tickets with a higher one are matched first

    Examples
    --------
    >>> from equipoise.data.matchmaking import Ticket
    >>> from equipoise.data.rebalancing import MatchedPlayer
    >>> Ticket(ticket="t1", created_at=0.0, players=(MatchedPlayer(player="ann"),)).ticket
    't1'
    """

    ticket: Id
    priority: int = 0
    created_at: float
    players: tuple[MatchedPlayer, ...]
    attributes: Mapping[str, Any] = field(default_factory=dict)
    latencies: Mapping[str, float] = field(default_factory=dict)
    excluded_sessions: tuple[Id, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A running match with free places; members keep their teams.

    created_at : seconds; attributes : the values that its match agreed on, by name
    region : None if it has none

    Examples
    --------
    >>> from equipoise.data.matchmaking import Session
    >>> Session(session="s1", created_at=0.0, teams=((), ())).region is None
    True
    """

    session: Id
    created_at: float
    teams: tuple[tuple[Ticket, ...], ...]
    attributes: Mapping[str, Any] = field(default_factory=dict)
    region: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Match(Displayed):
    """Tickets that play together.

    tickets : ids, the pivot first, then by age; teams : the same ids by team
    region : where they play; None if nobody has a wish
    attributes : the values of options and equal attributes, by name
    backfill : whether it asks for more players
    cost : the summed score of the players besides those of the pivot, or for the objective fair
        the distance of the win probability from 1/2
    proved : whether no match around the pivot has more players, or as many and a smaller cost
    """

    tickets: tuple[Id, ...]
    teams: tuple[tuple[Id, ...], ...]
    region: str | None
    attributes: Mapping[str, tuple[Any, ...]]
    backfill: bool
    cost: float
    proved: bool

    def _in_words(self) -> str:
        return f"{counted(len(self.tickets), 'ticket')}, cost {self.cost:.4g}"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Backfill(Displayed):
    """Tickets that join a session, and the ids of all its tickets by team.

    full : whether no place is left
    """

    session: Id
    tickets: tuple[Id, ...]
    teams: tuple[tuple[Id, ...], ...]
    full: bool

    def _in_words(self) -> str:
        return f"{self.session}: {counted(len(self.tickets), 'ticket')}"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Waiting(Displayed):
    """A ticket that stays in the queue.

    reasons : each with "reason", "count" (of the tickets that it excludes) and more
    next_change_at : earliest time, seconds, at which the rules for it change; None: never
    """

    ticket: Id
    reasons: tuple[Mapping[str, Any], ...]
    next_change_at: float | None

    def _in_words(self) -> str:
        words = ", ".join(f"{reason['reason']} {reason['count']}" for reason in self.reasons)
        return f"{self.ticket}: {words}"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Tick(Displayed):
    """The answer of a tick.

    matches, backfills : in the order in which they were made
    waiting : by priority, then age; expired : ids in the same order
    notes : sentences
    """

    matches: tuple[Match, ...]
    backfills: tuple[Backfill, ...]
    waiting: tuple[Waiting, ...]
    expired: tuple[Id, ...]
    notes: tuple[str, ...]

    def _in_words(self) -> str:
        return f"{counted(len(self.matches), 'match', 'matches')}, {len(self.waiting)} waiting"

"""Tickets as arrays: what decides who may meet, once for a tick.

Rows are in the order of priority (highest first), age and id, so a row number is a rank. Everything
that must be equal is one number, the class. Values of options are bits.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from equipoise.arrays import Flags, Floats, Ints
from equipoise.data.matchmaking import MatchRuleset, Session, Ticket
from equipoise.data.rebalancing import (
    ID,
    NAMED_ONCE,
    SOME_PLAYERS,
    Fault,
    Rule,
    attribute_faults,
    is_number,
    is_whole,
    refuse,
    unless,
)

#: Attributes that are never compared.
NEVER_COMPARED = frozenset(
    (
        "new_session_only",
        "blocked_players",
        "blocked_players_detail",
        "latencies",
        "member_attributes",
        "match_attempt",
        "sub_game_mode",
        "role",
    )
)
#: Accepted and own platforms, compared with each other if the first is an option "any".
CROSS, OWN = "cross_platform", "current_platform"
#: Largest number of latencies in the table of tickets and regions.
MOST_LATENCIES = 20_000_000
#: Largest number of tickets times different values of an option.
MOST_VALUES = 200_000_000
#: Largest number of players whom tickets block, each counted for each ticket.
MOST_BLOCKS = 2_000_000
#: Largest latency, milliseconds.
_LONGEST = 1e9
#: Lists and objects within each other in an attribute.
_LEVELS = 16
PLAIN = f"must have finite numbers, and at most {_LEVELS} lists and objects within each other"
LATENCY = "must be a number of milliseconds from 0 to 1000000000"
TIME = "must be a number of seconds from -1e15 to 1e15"
PRIORITY = "must be a whole number from -1000000000 to 1000000000"


def is_time(value: object) -> bool:
    """Return whether a value is a time in seconds."""
    return is_number(value, lambda x: abs(x) <= 1e15)


def _is_plain(value: object, levels: int = _LEVELS) -> bool:
    """Return whether an attribute can be compared: no number that is not finite, few levels."""
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list | tuple):
        return levels > 0 and all(_is_plain(item, levels - 1) for item in value)
    return True


def _key(value: Any) -> Any:
    """Return a value as something that can be compared and hashed."""
    if isinstance(value, list | tuple):
        return ("list", *(_key(item) for item in value))
    if isinstance(value, Mapping):
        return ("map", frozenset((str(name), _key(item)) for name, item in value.items()))
    return ("flag", value) if isinstance(value, bool) else value


def differ(one: Mapping[str, Any], other: Mapping[str, Any], name: str) -> bool:
    """Return whether an attribute that is no option differs; absent and "" are the same."""
    first, second = (None if own.get(name) == "" else own.get(name) for own in (one, other))
    return bool(_key(first) != _key(second))


def values_of(attributes: Mapping[str, Any], name: str) -> dict[Any, Any]:
    """Return the set of values of an option, as key -> value; empty if it is absent."""
    value = attributes.get(name)
    if value is None or value == "" or value == []:
        return {}
    return {_key(item): item for item in (value if isinstance(value, list | tuple) else [value])}


def rank(ticket: Ticket) -> tuple[int, float, str]:
    """Return the key by which tickets have their turn: priority, age and id."""
    return -ticket.priority, ticket.created_at, str(ticket.ticket)


def shared_values(values: Sequence[Mapping[Any, Any]]) -> list[Any]:
    """Return the values that all tickets have, each with values as `values_of` returns them."""
    return [
        value for key, value in values[0].items() if all(key in choices for choices in values[1:])
    ]


def all_values(values: Sequence[Mapping[Any, Any]]) -> list[Any]:
    """Return the values of all tickets."""
    return list({key: value for choices in values for key, value in choices.items()}.values())


def tolerances(ruleset: MatchRuleset, rule: Rule, waited: Floats) -> Floats:
    """Return the tolerances of a rule after waits in seconds; the longest duration counts."""
    limit = np.full(waited.shape, float(rule.reference or 0.0))
    for step in sorted(ruleset.flexing_rule, key=lambda step: step.duration):
        if step.attribute == rule.attribute:
            limit[waited > step.duration] = step.reference
    return limit


def max_spread(rule: Rule) -> float:
    """Return the largest difference between any two tickets of a match, inf for none."""
    spread = getattr(rule, "max_spread", None)
    return math.inf if spread is None else float(spread)


def accepted_latency(ruleset: MatchRuleset, best: Any, waited: Any) -> Any:
    """Return the highest latencies that are accepted, milliseconds."""
    rate, step = ruleset.region_expansion_rate_ms, ruleset.region_expansion_range_ms or 50
    steps = np.maximum(np.ceil(waited * 1000.0 / rate) - 1, 0) if rate else 0
    limit = best + ruleset.region_latency_initial_range_ms + steps * step
    return np.minimum(limit, ruleset.region_latency_max_ms or np.inf)


class Pool:
    """n tickets as columns, and after them a row for each session, which is like a ticket.

    waiting : n
    size : players; wait : seconds; value, limit : shape (n, rules), means and tolerances
    pair_limit : the same of any two tickets, instead of a pivot and another
    kinds : type of each option by name; has_platforms : whether cross_platform is compared with the
        platforms played on
    option_classes : by name, the number of what must be equal in an option
    options, others : numbers of the classes of all options, and of other attributes
    any_bits, unique_bits : the columns of the options of that type by name
    own, wish : bits of the platforms played on and accepted, with `has_platforms`
    separates : whether blocked players may meet, but not in one team
    latency : shape (n, regions), inf where a region is not listed; best : the lowest, inf for none
    accepts : shape (n, regions); unreachable : whether every region is beyond the maximum
    """

    def __init__(
        self,
        tickets: Sequence[Ticket],
        sessions: Sequence[Session],
        ruleset: MatchRuleset,
        now: float,
        defaults: Mapping[str, float],
    ) -> None:
        """Sort tickets by priority, age and id, and sessions by age."""
        queue = sorted(tickets, key=rank)
        self.waiting, self.now, self.ruleset = len(queue), now, ruleset
        self.sessions = sorted(
            sessions, key=lambda session: (session.created_at, str(session.session))
        )
        members = [member for session in self.sessions for team in session.teams for member in team]
        self.kinds = {option.name: option.type for option in ruleset.match_options}
        owned = any(OWN in ticket.attributes for ticket in (*queue, *members))
        self.has_platforms = owned and self.kinds.get(CROSS) == "any"
        rows = self.tickets = [*queue, *map(self._as_ticket, self.sessions)]
        self.size = np.array([len(ticket.players) for ticket in rows], dtype=np.int64)
        self.wait = np.array([max(now - ticket.created_at, 0.0) for ticket in rows])
        rules = ruleset.rules
        value = [_means(ticket.players, ruleset, defaults) for ticket in rows]
        self.value = np.array(value).reshape(len(rows), len(rules))
        self.limit = np.empty((len(rows), len(rules)))
        for at, rule in enumerate(rules):
            self.limit[:, at] = np.minimum(tolerances(ruleset, rule, self.wait), max_spread(rule))
        spreads = np.array([max_spread(rule) for rule in rules])
        in_pairs = ruleset.distance_scope == "pair"
        self.pair_limit = self.limit if in_pairs else np.broadcast_to(spreads, self.limit.shape)
        self.option_classes: dict[str, Ints] = {}
        self.any_bits: dict[str, Any] = {}
        self.unique_bits: dict[str, Any] = {}
        for name, kind in self.kinds.items():
            values = [values_of(ticket.attributes, name) for ticket in rows]
            if kind != "disable":
                self.option_classes[name] = self._numbered(
                    frozenset(choices if kind == "all" else [bool(choices)]) for choices in values
                )
            if kind == "any" and not (name == CROSS and self.has_platforms):
                self.any_bits[name] = _bits(values, name)
            elif kind == "unique":
                self.unique_bits[name] = _bits(values, name)
        columns = [column.tolist() for column in self.option_classes.values()]
        self.options = self._numbered(zip(*columns, strict=True) if columns else [()] * len(rows))
        self.others = self._numbered(
            frozenset((name, _key(ticket.attributes[name])) for name in self.compared(ticket))
            for ticket in rows
        )
        if self.has_platforms:
            both = [values_of(ticket.attributes, name) for name in (OWN, CROSS) for ticket in rows]
            self.own, wish = np.split(_bits(both, OWN), 2)
            # Who names no platforms accepts all.
            self.wish = np.where(wish == 0, -1, wish)
        self._add_regions()
        new_only = [
            str(ticket.attributes.get("new_session_only")).lower() == "true" for ticket in rows
        ]
        self.new_only = np.array(new_only, dtype=bool)
        #: Rows by player, by player whom they block, and by session that they exclude.
        self.rows_of: dict[str, list[int]] = {}
        self.blockers_of: dict[str, list[int]] = {}
        self.excluders_of: dict[str, list[int]] = {}
        listens = ruleset.blocked_player_option != "blockedPlayerCanMatch"
        for row, ticket in enumerate(rows):
            for player in ticket.players:
                self.rows_of.setdefault(str(player.player), []).append(row)
            for name in blocked_by(ticket) if listens else ():
                self.blockers_of.setdefault(str(name), []).append(row)
            for session in ticket.excluded_sessions:
                self.excluders_of.setdefault(str(session), []).append(row)
        self.has_blocks = bool(self.blockers_of)
        self.separates = self.has_blocks and "Different" in ruleset.blocked_player_option
        self.has_twice = any(len(holders) > 1 for holders in self.rows_of.values())
        self._conflicts: dict[int, frozenset[int]] = {}
        self._blocks: dict[int, frozenset[int]] = {}

    def _add_regions(self) -> None:
        """Set the columns of regions."""
        rows, ruleset = self.tickets, self.ruleset
        self.regions = sorted({str(region) for ticket in rows for region in ticket.latencies})
        column = {region: at for at, region in enumerate(self.regions)}
        self.latency = np.full((len(rows), len(self.regions)), np.inf)
        for row, ticket in enumerate(rows):
            for region, milliseconds in ticket.latencies.items():
                self.latency[row, column[str(region)]] = milliseconds
        self.best = self.latency.min(axis=1, initial=np.inf)
        wishes = np.isfinite(self.best)
        highest = accepted_latency(ruleset, self.best, self.wait)
        listed = np.isfinite(self.latency)
        self.accepts = (self.latency <= highest[:, None]) & listed | ~wishes[:, None]
        self.unreachable = wishes & (self.best > (ruleset.region_latency_max_ms or np.inf))

    def _as_ticket(self, session: Session) -> Ticket:
        """Return a session as a ticket: its players, and what its tickets agree on."""
        members = [ticket for team in session.teams for ticket in team]
        attributes = session.attributes
        agreed: dict[str, Any] = {}
        for name in {name: None for ticket in members for name in ticket.attributes} | dict(
            attributes
        ):
            kind = self.kinds.get(name)
            own = [values_of(ticket.attributes, name) for ticket in members]
            shared = kind == "any" or (name == CROSS and self.has_platforms)
            if name == "blocked_players":
                agreed[name] = [blocked for ticket in members for blocked in blocked_by(ticket)]
            elif shared and name not in attributes:
                agreed[name] = shared_values(own)
            elif kind == "unique" or (name == OWN and self.has_platforms):
                agreed[name] = all_values(own)
            elif name in attributes:
                value = attributes[name]
                alone = kind is None and isinstance(value, list | tuple) and len(value) == 1
                agreed[name] = value[0] if alone else value
            else:
                agreed[name] = next(
                    ticket.attributes[name] for ticket in members if name in ticket.attributes
                )
        return Ticket(
            ticket=session.session,
            created_at=session.created_at,
            players=tuple(player for ticket in members for player in ticket.players),
            attributes=agreed,
        )

    def _numbered(self, keys: Iterable[Any]) -> Ints:
        """Return a number for each key, the same for equal keys."""
        numbers: dict[Any, int] = {}
        return np.array([numbers.setdefault(key, len(numbers)) for key in keys], dtype=np.int64)

    def compared(self, ticket: Ticket) -> list[str]:
        """Return the names of attributes that are no option, are there and must be equal."""
        return [
            name
            for name, value in ticket.attributes.items()
            if name not in self.kinds
            and name not in NEVER_COMPARED
            and not (self.has_platforms and name == OWN)
            and value is not None
            and value != ""
        ]

    def excluded_by(self, name: str, row: int, rows: Ints) -> Flags:
        """Return which rows may not meet a row because of an option."""
        column = self.option_classes[name]
        excluded: Flags = column[rows] != column[row]
        if name in self.any_bits and self.any_bits[name][row]:
            excluded |= (self.any_bits[name][rows] & self.any_bits[name][row]) == 0
        elif name in self.unique_bits:
            excluded |= (self.unique_bits[name][rows] & self.unique_bits[name][row]) != 0
        elif name == CROSS and self.has_platforms:
            excluded |= ~self.platforms_agree(row, rows)
        return excluded

    def is_far(self, at: int, row: int, rows: Ints) -> Flags:
        """Return which rows are too far from a row in the attribute of a rule."""
        far = np.abs(self.value[rows, at] - self.value[row, at])
        return np.asarray(far > np.minimum(self.limit[row, at], self.limit[rows, at]))

    def platforms_agree(self, row: int, rows: Any) -> Flags:
        """Return with which rows the platforms of each are among those that the other accepts."""
        own, wish = self.own, self.wish
        return np.asarray((own[rows] & ~wish[row] | own[row] & ~wish[rows]) == 0, dtype=bool)

    def conflicts_of(self, row: int) -> frozenset[int]:
        """Return the rows that share a player with a row, or block one, in either direction."""
        if row not in self._conflicts:
            blocking = frozenset() if self.separates else self.blocking(row)
            self._conflicts[row] = blocking | self.sharing(row)
        return self._conflicts[row]

    def sharing(self, row: int) -> set[int]:
        """Return the rows that have a player of a row."""
        if not self.has_twice:
            return set()
        players = self.tickets[row].players
        return {other for player in players for other in self.rows_of[str(player.player)]} - {row}

    def blocking(self, row: int) -> frozenset[int]:
        """Return the rows that block a player of a row, or have one that it blocks."""
        if not self.has_blocks:
            return frozenset()
        known = self._blocks.get(row)
        if known is None:
            ticket = self.tickets[row]
            rows = {
                other for name in blocked_by(ticket) for other in self.rows_of.get(str(name), ())
            }
            for player in ticket.players:
                rows.update(self.blockers_of.get(str(player.player), ()))
            known = self._blocks[row] = frozenset(rows - {row})
        return known


def blocked_by(ticket: Ticket) -> Collection[Any]:
    """Return the players whom a ticket blocks, as given: text or numbers."""
    value = ticket.attributes.get("blocked_players")
    if value is None or value == "":
        return ()
    return value if isinstance(value, list | tuple | set | frozenset) else (value,)


def _id_faults(path: str, name: object, seen: set[str]) -> Iterator[Fault]:
    """Yield what is wrong with the id of a ticket or session; seen : those before it."""
    yield from unless(is_whole(name) or isinstance(name, str), path, ID, name)
    yield from unless(str(name) not in seen, path, NAMED_ONCE, name)
    seen.add(str(name))


def _faults_of(path: str, item: Ticket | Session) -> Iterator[Fault]:
    """Yield what is wrong with the time of a ticket or session, and what with its attributes."""
    yield from unless(is_time(item.created_at), f"{path}.created_at", TIME, item.created_at)
    if isinstance(item, Ticket):
        sound = is_whole(item.priority) and abs(item.priority) <= 10**9
        yield from unless(sound, f"{path}.priority", PRIORITY, item.priority)
        names = {str(player.player) for player in item.players}
        if not names:
            yield Fault(f"{path}.players", SOME_PLAYERS, "none")
        if len(names) < len(item.players):
            yield Fault(f"{path}.players", "must name each player once", "one twice")
        for region, latency in item.latencies.items():
            sound = is_number(latency, lambda x: 0 <= x <= _LONGEST)
            yield from unless(sound, f"{path}.latencies.{str(region)[:60]}", LATENCY, latency)
    for name, value in item.attributes.items():
        yield from unless(_is_plain(value), f"{path}.attributes.{str(name)[:60]}", PLAIN, value)


def check(
    tickets: Sequence[Ticket],
    sessions: Sequence[Session],
    ruleset: MatchRuleset,
    defaults: Mapping[str, float],
) -> None:
    """Raise InvalidDataError with the path of everything that is wrong."""
    everyone = [(f"tickets[{at}]", ticket) for at, ticket in enumerate(tickets)]
    faults: list[Fault] = []
    seen: set[str] = set()
    for at, session in enumerate(sessions):
        path = f"sessions[{at}]"
        faults += _id_faults(f"{path}.session", session.session, seen)
        faults += _faults_of(path, session)
        for team, members in enumerate(session.teams):
            for place, ticket in enumerate(members):
                everyone.append((f"{path}.teams[{team}][{place}]", ticket))
    if sessions and not ruleset.auto_backfill:
        rule = "must be true if a session is to be filled"
        faults.append(Fault("ruleset.auto_backfill", rule, "false"))
    regions = {region for ticket in tickets for region in ticket.latencies}
    if len(regions) * len(tickets) > MOST_LATENCIES:
        got = f"{len(tickets)} tickets and {len(regions)} regions"
        rule = f"must have at most {MOST_LATENCIES} pairs of a ticket and a region"
        faults.append(Fault("tickets", rule, got))
    blocks = sum(len(blocked_by(ticket)) for _, ticket in everyone)
    if blocks > MOST_BLOCKS:
        rule = f"must block at most {MOST_BLOCKS} players in all"
        faults.append(Fault("tickets", rule, f"{blocks} in blocked_players"))
    names = [rule.attribute for rule in ruleset.rules]
    seen = set()
    for path, ticket in everyone:
        faults += _id_faults(f"{path}.ticket", ticket.ticket, seen)
        faults += _faults_of(path, ticket)
        faults += attribute_faults(names, defaults, [(path, ticket)])
    refuse(faults, "the request")


def _means(
    players: Sequence[Any], ruleset: MatchRuleset, defaults: Mapping[str, float]
) -> list[float]:
    """Return the mean of each attribute of the rules over players."""
    if not players:
        return [math.nan] * len(ruleset.rules)
    means = []
    for rule in ruleset.rules:
        name = rule.attribute
        values = [player.attributes.get(name) for player in players]
        numbers = [float(defaults[name] if number is None else number) for number in values]
        means.append(math.fsum(numbers) / len(numbers))
    return means


def _bits(values: Sequence[Mapping[Any, Any]], name: str) -> Any:
    """Return the values of each ticket, as of `values_of`, as bits."""
    number = {key: at for at, key in enumerate(dict.fromkeys(itertools.chain(*values)))}
    if len(number) * len(values) > MOST_VALUES:
        rule = f"must have at most {MOST_VALUES} pairs of a ticket and one of all values"
        got = f"{len(values)} tickets and {len(number)} values"
        refuse([Fault(f"attributes.{name}", rule, got)], "the tickets")
    column = [sum(1 << number[key] for key in keys) for keys in values]
    return np.array(column, dtype=np.int64 if len(number) < 63 else object)

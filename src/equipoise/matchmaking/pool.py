"""Tickets as arrays: what decides who may meet, once for a tick.

Rows are in the order of priority (highest first), age and id, so a row number is a rank. Everything
that must be equal is one number, the class. Values of options are bits.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from equipoise.arrays import Flags, Floats, Ints
from equipoise.data.lobby import Id
from equipoise.data.matchmaking import MatchRuleset, Session, Ticket
from equipoise.data.rebalancing import (
    ID,
    NAMED_ONCE,
    SOME_PLAYERS,
    Fault,
    attribute_faults,
    is_number,
    is_whole,
    refuse,
    shown,
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
        return levels > 0 and all(_is_plain(one, levels - 1) for one in value)
    return True


def _key(value: Any) -> Any:
    """Return a value as something that can be compared and hashed."""
    if isinstance(value, list | tuple):
        return ("list", *(_key(one) for one in value))
    if isinstance(value, Mapping):
        return ("map", frozenset((str(name), _key(one)) for name, one in value.items()))
    return ("flag", value) if isinstance(value, bool) else value


def values_of(attributes: Mapping[str, Any], name: str) -> dict[Any, Any]:
    """Return the set of values of an option, as key -> value; empty if it is absent."""
    value = attributes.get(name)
    if value is None or value == "" or value == []:
        return {}
    return {_key(one): one for one in (value if isinstance(value, list | tuple) else [value])}


def tolerance(ruleset: MatchRuleset, attribute: str, reference: float, waited: float) -> float:
    """Return the tolerance in an attribute after a wait in seconds."""
    best = -1.0
    for one in ruleset.flexing_rule:
        if one.attribute == attribute and waited > one.duration >= best:
            best, reference = one.duration, one.reference
    return float(reference)


def region_steps(ruleset: MatchRuleset, waited: float) -> int:
    """Return the number of latency steps after a wait in seconds."""
    rate = ruleset.region_expansion_rate_ms
    return max(math.ceil(waited * 1000.0 / rate) - 1, 0) if rate else 0


def accepted_latency(ruleset: MatchRuleset, best: float, waited: float) -> float:
    """Return the highest latency that is accepted, milliseconds."""
    step = ruleset.region_expansion_range_ms or 50
    limit = best + ruleset.region_latency_initial_range_ms + region_steps(ruleset, waited) * step
    most = ruleset.region_latency_max_ms
    return min(limit, most) if most else limit


@dataclass(slots=True)
class Pool:
    """n tickets as columns, and after them a row for each session, which is like a ticket.

    waiting : n
    size : players; wait : seconds; value, limit : shape (n, rules), means and tolerances
    options, others : numbers of the classes of options and of other attributes
    any_bits, unique_bits : one column for each option of that type
    own, wish : bits of platforms, None without the rule; platforms : both as arrays
    latency : shape (n, regions), inf where a region is not listed; best : the lowest, NaN for none
    accepts : shape (n, regions)
    conflicts, blocks : rows that share or block a player, and that block one, by row; filled on
        demand
    """

    waiting: int
    tickets: list[Ticket]
    sessions: list[Session]
    now: float
    ruleset: MatchRuleset
    size: Ints
    wait: Floats
    value: Floats
    limit: Floats
    options: Ints
    others: Ints
    any_names: list[str]
    any_bits: list[Any]
    unique_names: list[str]
    unique_bits: list[Any]
    keys: ClassKeys
    own: Any
    wish: Any
    platforms: tuple[Any, Any] | None
    regions: list[str]
    latency: Floats
    best: Floats
    accepts: Flags
    unreachable: Flags
    new_only: Flags
    rows_of: dict[Any, list[int]]
    blockers_of: dict[Any, list[int]]
    excluders_of: dict[str, list[int]]
    conflicts: dict[int, frozenset[int]]
    blocks: dict[int, frozenset[int]]
    has_blocks: bool
    has_twice: bool

    def conflicts_of(self, row: int) -> frozenset[int]:
        """Return the rows that share a player with a row, or block one, in either direction."""
        found = self.conflicts.get(row)
        if found is None:
            twice, blocked = self.sharing(row), self.blocking(row)
            ignored = self.ruleset.blocked_player_option != "blockedPlayerCannotMatch"
            found = self.conflicts[row] = frozenset(twice if ignored else twice | blocked) - {row}
        return found

    def sharing(self, row: int) -> set[int]:
        """Return the rows that have a player of a row."""
        if not self.has_twice:
            return set()
        players = self.tickets[row].players
        return {one for player in players for one in self.rows_of[str(player.player)]} - {row}

    def blocking(self, row: int) -> frozenset[int]:
        """Return the rows that block a player of a row, or have one that it blocks."""
        if not self.has_blocks:
            return frozenset()
        known = self.blocks.get(row)
        if known is None:
            ticket = self.tickets[row]
            rows = {one for name in blocked_by(ticket) for one in self.rows_of.get(str(name), ())}
            for player in ticket.players:
                rows.update(self.blockers_of.get(str(player.player), ()))
            known = self.blocks[row] = frozenset(rows - {row})
        return known


def blocked_by(ticket: Ticket) -> Collection[Any]:
    """Return the players whom a ticket blocks, as given: text or numbers."""
    value = ticket.attributes.get("blocked_players")
    if value is None or value == "":
        return ()
    return value if isinstance(value, list | tuple | set | frozenset) else (value,)


def platforms_agree(pool: Pool, one: int, other: int) -> bool:
    """Return whether the platforms of each are among those that the other accepts."""
    return not (pool.own[one] & ~pool.wish[other] or pool.own[other] & ~pool.wish[one])


def _faults(
    tickets: Sequence[tuple[str, Ticket]], ruleset: MatchRuleset, defaults: Mapping[str, float]
) -> Iterator[Fault]:
    """Yield what is wrong with tickets, each with its path."""
    names = [rule.attribute for rule in ruleset.rules]
    seen: set[str] = set()
    for path, ticket in tickets:
        if isinstance(ticket.ticket, bool) or not isinstance(ticket.ticket, int | str):
            yield Fault(f"{path}.ticket", ID, shown(ticket.ticket))
        if str(ticket.ticket) in seen:
            yield Fault(f"{path}.ticket", NAMED_ONCE, shown(ticket.ticket))
        seen.add(str(ticket.ticket))
        if not is_time(ticket.created_at):
            yield Fault(f"{path}.created_at", TIME, shown(ticket.created_at))
        if not is_whole(ticket.priority) or abs(ticket.priority) > 10**9:
            yield Fault(f"{path}.priority", PRIORITY, shown(ticket.priority))
        if not ticket.players:
            yield Fault(f"{path}.players", SOME_PLAYERS, "none")
        own = {str(one.player) for one in ticket.players}
        if len(own) < len(ticket.players):
            yield Fault(f"{path}.players", "must name each player once", "one twice")
        for region, latency in ticket.latencies.items():
            if not is_number(latency, lambda x: 0 <= x <= _LONGEST):
                yield Fault(f"{path}.latencies.{str(region)[:60]}", LATENCY, shown(latency))
        yield from _attribute_faults(path, ticket.attributes)
        yield from attribute_faults(names, defaults, [(path, _Players(ticket))])


def _attribute_faults(path: str, attributes: Mapping[str, Any]) -> Iterator[Fault]:
    for name, value in attributes.items():
        if not _is_plain(value):
            yield Fault(f"{path}.attributes.{str(name)[:60]}", PLAIN, shown(value))


class _Players:
    """The players of a ticket as a party without a name."""

    party: Id | None = None

    def __init__(self, ticket: Ticket) -> None:
        self.players = ticket.players


def check(
    tickets: Sequence[Ticket],
    sessions: Sequence[Session],
    ruleset: MatchRuleset,
    defaults: Mapping[str, float],
) -> None:
    """Raise InvalidDataError with the path of everything that is wrong."""
    everyone = [(f"tickets[{at}]", one) for at, one in enumerate(tickets)]
    faults: list[Fault] = []
    named: set[str] = set()
    for at, session in enumerate(sessions):
        path = f"sessions[{at}]"
        if isinstance(session.session, bool) or not isinstance(session.session, int | str):
            faults.append(Fault(f"{path}.session", ID, shown(session.session)))
        if str(session.session) in named:
            faults.append(Fault(f"{path}.session", NAMED_ONCE, shown(session.session)))
        named.add(str(session.session))
        if not is_time(session.created_at):
            faults.append(Fault(f"{path}.created_at", TIME, shown(session.created_at)))
        faults += _attribute_faults(path, session.attributes)
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
    refuse([*faults, *_faults(everyone, ruleset, defaults)], "the request")


def means_of(
    ticket_players: Sequence[Any], ruleset: MatchRuleset, defaults: Mapping[str, float]
) -> list[float]:
    """Return the mean of each attribute of the rules over players."""
    if not ticket_players:
        return [math.nan] * len(ruleset.rules)
    found = []
    for rule in ruleset.rules:
        name = rule.attribute
        values = [one.attributes.get(name) for one in ticket_players]
        numbers = [float(defaults[name] if one is None else one) for one in values]
        found.append(math.fsum(numbers) / len(numbers))
    return found


def _as_ticket(session: Session, keys: ClassKeys) -> Ticket:
    """Return a session as a ticket: its players, and what its tickets agree on."""
    members = [one for team in session.teams for one in team]
    given = session.attributes
    agreed: dict[str, Any] = {}
    names = {name: None for one in members for name in one.attributes} | dict.fromkeys(given)
    for name in names:
        kind = keys.kinds.get(name)
        own = [values_of(one.attributes, name) for one in members]
        shared = kind == "any" or (name == CROSS and keys.platforms)
        if name == "blocked_players":
            agreed[name] = [one for ticket in members for one in blocked_by(ticket)]
        elif shared and name not in given:
            agreed[name] = [v for k, v in own[0].items() if all(k in one for one in own[1:])]
        elif kind == "unique" or (name == OWN and keys.platforms):
            agreed[name] = list({k: v for one in own for k, v in one.items()}.values())
        elif name in given:
            one = given[name]
            alone = kind is None and isinstance(one, list | tuple) and len(one) == 1
            agreed[name] = one[0] if alone else one
        else:
            agreed[name] = next(one.attributes[name] for one in members if name in one.attributes)
    return Ticket(
        ticket=session.session,
        created_at=session.created_at,
        players=tuple(player for one in members for player in one.players),
        attributes=agreed,
    )


def create_pool(
    tickets: Sequence[Ticket],
    sessions: Sequence[Session],
    ruleset: MatchRuleset,
    now: float,
    defaults: Mapping[str, float],
) -> Pool:
    """Return tickets as columns, in the order of priority, age and id; then sessions by age."""
    queue = sorted(tickets, key=lambda one: (-one.priority, one.created_at, str(one.ticket)))
    running = sorted(sessions, key=lambda one: (one.created_at, str(one.session)))
    everyone = [*queue, *(ticket for one in running for team in one.teams for ticket in team)]
    keys = ClassKeys(ruleset, any(OWN in one.attributes for one in everyone))
    rows = [*queue, *(_as_ticket(one, keys) for one in running)]
    count, rules = len(rows), ruleset.rules
    wait = np.array([max(now - one.created_at, 0.0) for one in rows])
    value = np.array([means_of(one.players, ruleset, defaults) for one in rows])
    limit = np.array(
        [
            [tolerance(ruleset, rule.attribute, rule.reference or 0.0, one) for rule in rules]
            for one in wait.tolist()
        ]
    )
    regions = sorted({str(region) for one in rows for region in one.latencies})
    column = {region: at for at, region in enumerate(regions)}
    latency = np.full((count, len(regions)), np.inf)
    for row, one in enumerate(rows):
        for region, milliseconds in one.latencies.items():
            latency[row, column[str(region)]] = milliseconds
    best = latency.min(axis=1, initial=np.inf)
    wishes = np.isfinite(best)
    highest = (
        [
            accepted_latency(ruleset, low, waited)
            for low, waited in zip(best.tolist(), wait.tolist(), strict=True)
        ]
        if wishes.any()
        else [np.inf] * count
    )
    accepts = (latency <= np.array(highest)[:, None]) & np.isfinite(latency) | ~wishes[:, None]
    most = ruleset.region_latency_max_ms
    classes = [keys.of(one.attributes) for one in rows]
    rows_of: dict[Any, list[int]] = {}
    blockers: dict[Any, list[int]] = {}
    excluders: dict[str, list[int]] = {}
    listens = ruleset.blocked_player_option != "blockedPlayerCanMatch"
    for row, one in enumerate(rows):
        for player in one.players:
            rows_of.setdefault(str(player.player), []).append(row)
        for name in blocked_by(one) if listens else ():
            blockers.setdefault(str(name), []).append(row)
        for session in one.excluded_sessions:
            excluders.setdefault(str(session), []).append(row)
    own = wish = platforms = None
    if keys.platforms:
        (both,) = _bits([*rows, *map(_as_wish, rows)], [OWN])
        # Who names no platforms accepts all.
        platforms = both[:count], np.where(both[count:] == 0, -1, both[count:])
        own, wish = (one.tolist() for one in platforms)
    return Pool(
        waiting=len(queue),
        tickets=rows,
        sessions=running,
        now=now,
        ruleset=ruleset,
        size=np.array([len(one.players) for one in rows], dtype=np.int64),
        wait=wait,
        value=value.reshape(count, len(rules)),
        limit=limit.reshape(count, len(rules)),
        options=np.array([one[0] for one in classes], dtype=np.int64),
        others=np.array([one[1] for one in classes], dtype=np.int64),
        any_names=keys.any_names,
        any_bits=_bits(rows, keys.any_names),
        unique_names=keys.unique_names,
        unique_bits=_bits(rows, keys.unique_names),
        keys=keys,
        own=own,
        wish=wish,
        platforms=platforms,
        regions=regions,
        latency=latency,
        best=best,
        accepts=accepts,
        unreachable=wishes & (best > most) if most else np.zeros(count, dtype=bool),
        new_only=np.array(
            [str(one.attributes.get("new_session_only")).lower() == "true" for one in rows],
            dtype=bool,
        ),
        rows_of=rows_of,
        blockers_of=blockers,
        excluders_of=excluders,
        conflicts={},
        blocks={},
        has_blocks=bool(blockers),
        has_twice=any(len(one) > 1 for one in rows_of.values()),
    )


def _as_wish(ticket: Ticket) -> Ticket:
    return Ticket(
        ticket=ticket.ticket,
        created_at=0.0,
        players=(),
        attributes={OWN: ticket.attributes.get(CROSS)},
    )


def _bits(rows: Sequence[Ticket], names: Sequence[str]) -> list[Any]:
    """Return the values of options as bits, a column for each option."""
    columns = []
    for name in names:
        number: dict[Any, int] = {}
        keys = (key for one in rows for key in values_of(one.attributes, name))
        different = len(set(keys))
        if different * len(rows) > MOST_VALUES:
            rule = f"must have at most {MOST_VALUES} pairs of a ticket and one of all values"
            got = f"{len(rows)} tickets and {different} values"
            refuse([Fault(f"attributes.{name}", rule, got)], "the tickets")
        column = []
        for one in rows:
            bits = 0
            for key in values_of(one.attributes, name):
                bits |= 1 << number.setdefault(key, len(number))
            column.append(bits)
        columns.append(np.array(column, dtype=np.int64 if len(number) < 63 else object))
    return columns


class ClassKeys:
    """Numbers for everything that must be equal.

    platforms : whether the option cross_platform is compared with the platforms played on
    """

    def __init__(self, ruleset: MatchRuleset, has_platforms: bool) -> None:
        kinds = {one.name: one.type for one in ruleset.match_options}
        self.kinds = kinds
        self.platforms = has_platforms and kinds.get(CROSS) == "any"
        left_out = CROSS if self.platforms else None
        self.any_names = [
            name for name, kind in kinds.items() if kind == "any" and name != left_out
        ]
        self.unique_names = [name for name, kind in kinds.items() if kind == "unique"]
        self._numbers: dict[Any, int] = {}

    def of(self, attributes: Mapping[str, Any]) -> tuple[int, int]:
        """Return the numbers of the classes of options and of other attributes."""
        options = []
        for name, kind in self.kinds.items():
            if kind == "disable":
                continue
            values = values_of(attributes, name)
            if kind == "all":
                options.append((name, frozenset(values)))
            else:
                options.append((name, frozenset([bool(values)])))
        return self.number(tuple(options)), self.number(
            frozenset((name, _key(attributes[name])) for name in self.compared(attributes))
        )

    def compared(self, attributes: Mapping[str, Any]) -> list[str]:
        """Return the names of attributes that are no option, are there and must be equal."""
        return [
            name
            for name, value in attributes.items()
            if name not in self.kinds
            and name not in NEVER_COMPARED
            and not (self.platforms and name == OWN)
            and value is not None
            and value != ""
        ]

    def differs(self, one: Mapping[str, Any], other: Mapping[str, Any], name: str) -> bool:
        """Return whether an attribute that is no option differs; absent and "" are the same."""
        first, second = (None if own.get(name) == "" else own.get(name) for own in (one, other))
        return bool(_key(first) != _key(second))

    def number(self, key: Any) -> int:
        """Return the number of a key."""
        return self._numbers.setdefault(key, len(self._numbers))

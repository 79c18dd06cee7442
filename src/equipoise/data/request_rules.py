"""What must hold for a request to rebalance: the texts of its rules, its limits, and its checks."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

from equipoise.data.split import Id
from equipoise.errors import InvalidDataError, Problem

#: Limits of a request; nobody matches so many at once, and every answer stays within memory.
MOST_PLAYERS, MOST_TEAMS, MOST_RULES = 10_000, 1_000, 100
MOST_MEGABYTES = 32
#: Problems that are listed before the rest is left out.
MOST_PROBLEMS = 1_000
#: Largest attribute: beyond, a mean has fewer than seven digits after the point.
LARGEST = 1e9

ATTRIBUTE = "must be a number from -1000000000 to 1000000000"
TEAMS = "must be a whole number from 1 to 1000"
PLAYERS = "must be a whole number from 1 to 10000"
NO_PLAYERS = "must be a whole number from 0 to 10000"
NOT_ABOVE = "must not be above the largest number"
REFERENCE = "must be a number from 0"
MAXIMUM = "must be a number above 0"
DISTANCE = "must be distance, the one criterion by which teams can be made alike"
NAMED = "must be text that is not empty"
NAMED_ONCE = "must be named once"
SOME_PLAYERS = "must have at least one player"
SOME_PARTIES = "must have at least one party"
HAS_ATTRIBUTE = "must be given for every player, or in default_attributes"
FITS = "must fit into a team: at most player_max_number players"
TEAM_FITS = "must have at most player_max_number players"
SESSION_TEAMS = "must have at most max_number teams"
ALL_FIT = "must have at most max_number x player_max_number players, with those of the session"
ENOUGH = "must have at least min_number x player_min_number players"
BACKFILL = "must be true where a session is to be filled"
AT_MOST = "must be at most 10000 players in all"
RULES = "must be at most 100 rules"
ARRANGED = "must be parties that can be arranged into the teams of the ruleset"

JSON = "must be JSON"
SIZE = "must be at most 32 MB"
DEPTH = "must not be nested so deeply"
OBJECT = "must be an object"
LIST = "must be a list"
KNOWN = "must be a known field"
GIVEN = "must be given"
GIVEN_ONCE = "must be given once"
TRUE_OR_FALSE = "must be true or false"
ID = "must be text or a whole number"


class Fault(NamedTuple):
    """A rule that is broken: the path to what breaks it, the rule, and what came."""

    field: str
    rule: str
    got: str


class _Player(Protocol):
    @property
    def player(self) -> Id: ...
    @property
    def attributes(self) -> Mapping[str, float]: ...


class _Party(Protocol):
    @property
    def players(self) -> Sequence[_Player]: ...
    @property
    def party(self) -> Id | None: ...


def refuse(faults: Iterable[Fault], what: str, file: str = "") -> None:
    """Raise InvalidDataError if there are any faults; of very many the first."""
    found = list(itertools.islice(faults, MOST_PROBLEMS + 1))
    if found:
        count = len(found)
        number = str(count) if count <= MOST_PROBLEMS else f"more than {MOST_PROBLEMS}"
        problems = [Problem(file, None, *fault) for fault in found[:MOST_PROBLEMS]]
        raise InvalidDataError(problems, f"{number} problem{'s'[: count != 1]} in {what}")


def name_faults(everyone: Iterable[tuple[str, _Party]]) -> Iterator[Fault]:
    """Yield players and parties that are named twice; everyone has a path."""
    players: set[str] = set()
    parties: set[str] = set()
    for path, party in everyone:
        if party.party is not None:
            if str(party.party) in parties:
                yield Fault(f"{path}.party", NAMED_ONCE, shown(party.party))
            parties.add(str(party.party))
        for at, one in enumerate(party.players):
            if str(one.player) in players:
                yield Fault(f"{path}.players[{at}].player", NAMED_ONCE, shown(one.player))
            players.add(str(one.player))


def attribute_faults(
    names: Sequence[str], defaults: Mapping[str, float], everyone: Iterable[tuple[str, _Party]]
) -> Iterator[Fault]:
    """Yield attributes that are missing or out of range; only those named count."""
    for name in names:
        if name in defaults and not is_number(defaults[name], in_range):
            yield Fault(f"default_attributes.{name}", ATTRIBUTE, shown(defaults[name]))
    for path, party in everyone:
        for at, one in enumerate(party.players):
            for name in names:
                where = f"{path}.players[{at}].attributes.{name}"
                value = one.attributes.get(name)
                if value is None:
                    if name not in defaults:
                        yield Fault(where, HAS_ATTRIBUTE, f"nothing for {shown(one.player)}")
                elif not is_number(value, in_range):
                    yield Fault(where, ATTRIBUTE, shown(value))


def shown(value: object) -> str:
    """Return a value as it stands in a problem, in few letters whatever it holds."""
    if isinstance(value, list | tuple):
        return "a list"
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int) and abs(value) > 10**30:
        return "a whole number of more than 30 digits"
    text = "nothing" if value is None else repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def in_range(value: float) -> bool:
    """Return whether an attribute is not too large."""
    return -LARGEST <= value <= LARGEST


def is_name(value: object) -> bool:
    """Return whether a value is text that is not empty."""
    return isinstance(value, str) and value != ""


def is_whole(value: object) -> bool:
    """Return whether a value is a whole number."""
    return isinstance(value, int) and not isinstance(value, bool)


def is_number(value: object, holds: Callable[[float], bool]) -> bool:
    """Return whether a value is a finite number for which a rule holds."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    # A whole number beyond every float is not finite here.
    try:
        number = float(value)
    except OverflowError:
        return False
    return math.isfinite(number) and holds(number)

"""Rebalancing as values: the request of a matchmaker, the rules it must keep, and the result.

Source: [MR]_, READINGS D. Names are those of the document. `RebalanceRequest` holds the ruleset,
the matched parties and the session that they may join. `Rebalance` holds the teams, how even they
are, and how they were found. The texts of the rules are shared with the readers of requests.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol, TypeAlias

from equipoise.arguments import check_fields
from equipoise.data.lobby import Id, teams_html, teams_in_words, teams_table
from equipoise.display import Displayed, Tabular
from equipoise.errors import InvalidDataError, Problem, require
from equipoise.wording import counted

if TYPE_CHECKING:
    import polars as pl

#: Limits of a request, above any real match, so that every result fits into memory.
MOST_PLAYERS, MOST_TEAMS, MOST_RULES = 10_000, 1_000, 100
MOST_MEGABYTES = 32
#: Largest number of problems that are listed; more are left out.
MOST_PROBLEMS = 1_000
#: Largest attribute; the mean of larger ones has fewer than seven digits after the decimal point.
LARGEST = 1e9

ATTRIBUTE = "must be a number from -1000000000 to 1000000000"
TEAMS = "must be a whole number from 1 to 1000"
PLAYERS = "must be a whole number from 1 to 10000"
NO_PLAYERS = "must be a whole number from 0 to 10000"
NOT_ABOVE = "must not be above the largest number"
REFERENCE = "must be a number from 0"
MAXIMUM = "must be a number above 0"
DISTANCE = "must be distance, the only criterion"
NAMED = "must be text that is not empty"
NAMED_ONCE = "must be named once"
SOME_PLAYERS = "must have at least one player"
SOME_PARTIES = "must have at least one party"
HAS_ATTRIBUTE = "must be given for every player, or in default_attributes"
FITS = "must fit into a team: at most player_max_number players"
TEAM_FITS = "must have at most player_max_number players"
SESSION_TEAMS = "must have at most max_number teams"
ALL_FIT = "must have at most max_number x player_max_number players, including the session"
ENOUGH = "must have at least min_number x player_min_number players"
BACKFILL = "must be true if a session is to be filled"
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
    """A rule that is broken: the path of the value, the rule, and the value."""

    field: str
    rule: str
    got: str


class _Player(Protocol):
    @property
    def player(self) -> Id: ...
    @property
    def attributes(self) -> Mapping[str, float]: ...


class _Players(Protocol):
    @property
    def players(self) -> Sequence[_Player]: ...


class _Party(_Players, Protocol):
    @property
    def party(self) -> Id | None: ...


def refuse(faults: Iterable[Fault], what: str, file: str = "") -> None:
    """Raise InvalidDataError if there are any faults; it lists at most the first 1,000."""
    first_faults = list(itertools.islice(faults, MOST_PROBLEMS + 1))
    if first_faults:
        count = len(first_faults)
        number = str(count) if count <= MOST_PROBLEMS else f"more than {MOST_PROBLEMS}"
        problems = [Problem(file, None, *fault) for fault in first_faults[:MOST_PROBLEMS]]
        raise InvalidDataError(problems, f"{number} problem{'s'[: count != 1]} in {what}")


def unless(holds: bool, path: str, rule: str, value: object) -> Iterator[Fault]:
    """Yield a fault of a value unless its rule holds."""
    if not holds:
        yield Fault(path, rule, shown(value))


def name_faults(everyone: Iterable[tuple[str, _Party]]) -> Iterator[Fault]:
    """Yield players and parties that are named twice.

    everyone : every party with its path
    """
    players: set[str] = set()
    parties: set[str] = set()
    for path, party in everyone:
        if party.party is not None:
            if str(party.party) in parties:
                yield Fault(f"{path}.party", NAMED_ONCE, shown(party.party))
            parties.add(str(party.party))
        for at, player in enumerate(party.players):
            if str(player.player) in players:
                yield Fault(f"{path}.players[{at}].player", NAMED_ONCE, shown(player.player))
            players.add(str(player.player))


def attribute_faults(
    names: Sequence[str], defaults: Mapping[str, float], everyone: Iterable[tuple[str, _Players]]
) -> Iterator[Fault]:
    """Yield attributes that are missing or out of range; only those in `names` are checked."""
    for name in (name for name in names if name in defaults):
        sound = is_number(defaults[name], in_range)
        yield from unless(sound, f"default_attributes.{name}", ATTRIBUTE, defaults[name])
    for path, party in everyone:
        for at, player in enumerate(party.players):
            for name in names:
                where = f"{path}.players[{at}].attributes.{name}"
                value = player.attributes.get(name)
                if value is None:
                    if name not in defaults:
                        yield Fault(where, HAS_ATTRIBUTE, f"nothing for {shown(player.player)}")
                else:
                    yield from unless(is_number(value, in_range), where, ATTRIBUTE, value)


def alliance_faults(
    path: str, alliance: object, limits: Mapping[str, tuple[int, int, str]]
) -> Iterator[Fault]:
    """Yield the numbers of teams and players that are out of range, or above their maximum.

    limits : by name, the least and largest number, and the rule in words
    """
    broken = False
    for name, (least, most, rule) in limits.items():
        value = getattr(alliance, name)
        if not is_whole(value) or not least <= value <= most:
            broken = True
            yield Fault(f"{path}{name}", rule, shown(value))
    for low in () if broken else ("min_number", "player_min_number"):
        high = low.replace("min", "max")
        if getattr(alliance, low) > getattr(alliance, high):
            got = f"{getattr(alliance, low)}, while {high} is {getattr(alliance, high)}"
            yield Fault(f"{path}{low}", NOT_ABOVE, got)


def shown(value: object) -> str:
    """Return a value as text of at most 60 characters, for a problem."""
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
    # A whole number above the largest float counts as infinite.
    try:
        number = float(value)
    except OverflowError:
        return False
    return math.isfinite(number) and holds(number)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A matching rule: an attribute in which teams should be similar.

    attribute : its name
    criteria : "distance", the only one
    reference : the matchmaker's tolerance; a larger distance is reported, not refused
    max : divisor of the values if there are several attributes; None is 1
    Raises : InvalidDataError

    Examples
    --------
    >>> eq.Rule(attribute="mmr", reference=100)
    Rule(attribute='mmr', criteria='distance', reference=100, max=None)
    """

    attribute: str
    criteria: str = "distance"
    reference: float | None = None
    max: float | None = None

    def __post_init__(self) -> None:
        """Check every rule."""
        refuse(self._faults(), "the rule")

    def _faults(self) -> Iterator[Fault]:
        yield from unless(is_name(self.attribute), "attribute", NAMED, self.attribute)
        yield from unless(self.criteria == "distance", "criteria", DISTANCE, self.criteria)
        sound = self.reference is None or is_number(self.reference, lambda x: x >= 0)
        yield from unless(sound, "reference", REFERENCE, self.reference)
        sound = self.max is None or is_number(self.max, lambda x: x > 0)
        yield from unless(sound, "max", MAXIMUM, self.max)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruleset:
    """The matchmaker's conditions for teams.

    min_number, max_number : number of teams, from 1 to 1,000
    player_min_number, player_max_number : players of a team; at most from 1 to 10,000
    rules : matching rules; without any, only sizes count
    rebalance_enable : False: parties go into teams in the order they arrived
    auto_backfill : whether a running session may be filled
    Raises : InvalidDataError

    Examples
    --------
    >>> rules = eq.Ruleset(min_number=2, max_number=2, player_min_number=3, player_max_number=5)
    >>> rules.places, rules.strict
    (10, False)
    """

    min_number: int
    max_number: int
    player_min_number: int
    player_max_number: int
    rules: tuple[Rule, ...] = ()
    rebalance_enable: bool = True
    auto_backfill: bool = True

    def __post_init__(self) -> None:
        """Check every rule."""
        check_fields(self, "rules", "rebalance_enable", "auto_backfill")
        object.__setattr__(self, "rules", tuple(self.rules))
        refuse(self._faults(), "the ruleset")

    @property
    def strict(self) -> bool:
        """Whether the number of teams and the players of a team are fixed (READINGS D5)."""
        return (
            self.min_number == self.max_number and self.player_min_number == self.player_max_number
        )

    @property
    def places(self) -> int:
        """Players of a full match."""
        return self.max_number * self.player_max_number

    def _faults(self) -> Iterator[Fault]:
        limits = {
            "min_number": (1, MOST_TEAMS, TEAMS),
            "max_number": (1, MOST_TEAMS, TEAMS),
            "player_min_number": (0, MOST_PLAYERS, NO_PLAYERS),
            "player_max_number": (1, MOST_PLAYERS, PLAYERS),
        }
        yield from alliance_faults("alliance.", self, limits)
        yield from self._rule_faults()

    def _rule_faults(self) -> Iterator[Fault]:
        if len(self.rules) > MOST_RULES:
            yield Fault("matching_rule", RULES, f"{len(self.rules)}")
        seen: set[str] = set()
        for at, rule in enumerate(self.rules):
            if rule.attribute in seen:
                yield Fault(f"matching_rule[{at}].attribute", NAMED_ONCE, repr(rule.attribute))
            seen.add(rule.attribute)


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchedPlayer:
    """A player with attributes by name.

    Examples
    --------
    >>> eq.MatchedPlayer(player="ann", attributes={"mmr": 1700}).attributes["mmr"]
    1700
    """

    player: Id
    attributes: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchedParty:
    """Players who stay together; `party` is the name of the party, None if it has none.

    Examples
    --------
    >>> players = [eq.MatchedPlayer(player=name) for name in ("ann", "ben")]
    >>> eq.MatchedParty(players=players).ids
    ('ann', 'ben')
    """

    players: tuple[MatchedPlayer, ...]
    party: Id | None = None

    def __post_init__(self) -> None:
        """Convert players from any sequence."""
        check_fields(self, "players")
        object.__setattr__(self, "players", tuple(self.players))

    @property
    def ids(self) -> tuple[Id, ...]:
        """The ids of the players."""
        return tuple(player.player for player in self.players)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class RebalanceRequest(Displayed):
    """A request to arrange parties into teams, or into the free places of a session.

    ruleset : conditions for the teams
    parties : in the order they arrived
    session : the parties of every team of a running session; without players it is a new match
    default_attributes : value of an attribute for players without it
    notes : what a reader ignored, as sentences
    Raises : InvalidDataError   lists every broken rule with its path

    Examples
    --------
    >>> request = eq.read_rebalance_request("examples/rebalance.json")
    >>> request
    <RebalanceRequest: 5 players in 3 parties and a session>
    >>> request.ruleset.places
    6
    """

    ruleset: Ruleset
    parties: tuple[MatchedParty, ...]
    session: tuple[tuple[MatchedParty, ...], ...] = ()
    default_attributes: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Convert parties from any sequence, and check every rule."""
        check_fields(self, "ruleset", "parties", "session", "notes")
        attributes = self.default_attributes
        known = isinstance(attributes, Mapping)
        require(known, "default_attributes", "a mapping from names to numbers", attributes)
        object.__setattr__(self, "parties", tuple(self.parties))
        object.__setattr__(self, "session", tuple(tuple(team) for team in self.session))
        object.__setattr__(self, "notes", tuple(self.notes))
        refuse(self._faults(), "the request")

    @property
    def backfill(self) -> bool:
        """Whether there is a session with at least one player."""
        return any(party.players for team in self.session for party in team)

    @property
    def players(self) -> int:
        """Number of players, including those of the session."""
        return sum(len(party.players) for _, party in self.everyone())

    def _in_words(self) -> str:
        parties = counted(len(self.parties), "party", "parties")
        session = " and a session" if self.backfill else ""
        return f"{counted(self.players, 'player')} in {parties}{session}"

    def everyone(self) -> Iterator[tuple[str, MatchedParty]]:
        """Yield every party with its path: those of the session, then those who arrived."""
        for team, parties in enumerate(self.session):
            for at, party in enumerate(parties):
                yield f"session.teams[{team}][{at}]", party
        for at, party in enumerate(self.parties):
            yield f"parties[{at}]", party

    def _faults(self) -> Iterator[Fault]:
        if self.players > MOST_PLAYERS:
            yield Fault("parties", AT_MOST, f"{self.players}")
            return
        if not self.parties:
            yield Fault("parties", SOME_PARTIES, "none")
        for path, party in self.everyone():
            if not party.players:
                yield Fault(f"{path}.players", SOME_PLAYERS, "none")
        yield from name_faults(self.everyone())
        names = [rule.attribute for rule in self.ruleset.rules]
        yield from attribute_faults(names, self.default_attributes, self.everyone())
        yield from self._size_faults()

    def _size_faults(self) -> Iterator[Fault]:
        """Yield the faults of sizes that fit into no teams of the ruleset."""
        rules = self.ruleset
        most = rules.player_max_number
        for path, party in self.everyone():
            if len(party.players) > most and path.startswith("parties"):
                yield Fault(f"{path}.players", FITS, f"{len(party.players)}, of at most {most}")
        if len(self.session) > rules.max_number:
            got = f"{len(self.session)}, of at most {rules.max_number}"
            yield Fault("session.teams", SESSION_TEAMS, got)
        for team, parties in enumerate(self.session):
            count = sum(len(party.players) for party in parties)
            if count > most:
                yield Fault(f"session.teams[{team}]", TEAM_FITS, f"{count}, of at most {most}")
        if self.players > rules.places:
            got = f"{counted(self.players, 'player')} for {rules.max_number} x {most} places"
            yield Fault("parties", ALL_FIT, got)
        if self.backfill and not rules.auto_backfill:
            yield Fault("ruleset.auto_backfill", BACKFILL, "false")
        least = rules.min_number * rules.player_min_number
        if not self.backfill and self.players < least:
            places = f"{rules.min_number} x {rules.player_min_number} places"
            got = f"{counted(self.players, 'player')} for {places}"
            yield Fault("parties", ENOUGH, got)


#: The players of a party.
PartyIds: TypeAlias = tuple[Id, ...]
#: The parties of every team.
PartyTeams: TypeAlias = tuple[tuple[PartyIds, ...], ...]
#: How parties are arranged; "vertical" is the order of arrival, if rebalancing is off.
Method: TypeAlias = Literal["permutation", "combination", "greedy", "optimal", "vertical"]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Candidate(Displayed):
    """One way to arrange the parties.

    sequence : the parties in the order in which they were placed
    teams : the parties of every team, those of the session first
    member_count_difference : players of the largest team minus those of the smallest
    distance : of the teams' mean attributes from their mean, summed over teams with players

    Examples
    --------
    >>> request = eq.read_rebalance_request("examples/rebalance.json")
    >>> best = eq.rebalance(request).best
    >>> best.member_count_difference
    1
    """

    sequence: tuple[PartyIds, ...]
    teams: PartyTeams
    member_count_difference: int
    distance: float

    def _in_words(self) -> str:
        return f"{teams_in_words(players_of(self.teams))}; distance {self.distance:,.3f}"


def players_of(teams: PartyTeams) -> list[list[Id]]:
    """Return the players of every team, in the order of its parties."""
    return [[player for party in team for player in party] for team in teams]


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step of the greedy method.

    order : number (from 1) and total of every team, the least total first
    party, total : the party placed, and the sum of its attributes
    team : number of the team it goes to

    Examples
    --------
    >>> request = eq.read_rebalance_request("examples/rebalance.json")
    >>> greedy = eq.rebalance(request, method="greedy")
    >>> greedy.steps[0].team
    2
    """

    order: tuple[tuple[int, float], ...]
    party: PartyIds
    total: float
    team: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Optimum:
    """The best result that any method can have for these parties and this number of teams.

    member_count_difference, distance : of the best arrangement known
    bound_difference, bound_distance : no arrangement has a smaller difference, and none with this
        difference has a smaller distance
    proved : the best arrangement known reaches the bounds, so it is the optimum

    Examples
    --------
    >>> request = eq.read_rebalance_request("examples/rebalance.json")
    >>> optimum = eq.rebalance(request).optimum
    >>> optimum.proved
    True
    """

    member_count_difference: int
    distance: float
    bound_difference: int
    bound_distance: float
    proved: bool


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Rebalance(Tabular):
    """Teams made by the ruleset, and how they were found.

    method : the method used; reason : why it was used, as a sentence
    best : the arrangement chosen
    sequences : number of sequences it was chosen from, including equal ones that were merged
    truncated : not all sequences were compared, or not all candidates are listed
    optimum : the optimum; None if it was not searched
    steps : steps of the greedy method
    notes : further information for users, as sentences
    candidates : every sequence in the document's order, if requested

    Examples
    --------
    >>> request = eq.read_rebalance_request("examples/rebalance.json")
    >>> teams = eq.rebalance(request)
    >>> teams.method
    'permutation'
    >>> teams.teams
    ((('A',), ('B',), ('C',)), (('D', 'E'),))
    >>> teams.head(2)["player"].to_list()
    ['A', 'B']
    """

    method: Method
    reason: str
    best: Candidate
    sequences: int
    truncated: bool = False
    optimum: Optimum | None = None
    steps: tuple[Step, ...] = ()
    notes: tuple[str, ...] = ()
    candidates: tuple[Candidate, ...] = ()

    def to_polars(self) -> pl.DataFrame:
        """Return a table with one row for each player: team, numbered from 1, and player."""
        return teams_table(players_of(self.teams))

    def _in_words(self) -> str:
        return f"{teams_in_words(players_of(self.teams))}; {self._how_even()}"

    def _how_even(self) -> str:
        return f"{self.method}, distance {self.distance:,.3f}"

    def _repr_html_(self) -> str:
        """Return what a notebook shows: one row for each team."""
        return teams_html(players_of(self.teams), self._how_even(), self.notes)

    @property
    def teams(self) -> PartyTeams:
        """The parties of every team."""
        return self.best.teams

    @property
    def member_count_difference(self) -> int:
        """Players of the largest team minus those of the smallest."""
        return self.best.member_count_difference

    @property
    def distance(self) -> float:
        """Distance of the teams' mean attributes from their mean, summed."""
        return self.best.distance

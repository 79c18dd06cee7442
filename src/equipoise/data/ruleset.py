"""What a matchmaker asks: a ruleset, the parties it matched, and the session they may join.

Source: [MR]_, READINGS D. Names are those of the document.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from equipoise.arguments import check_fields
from equipoise.data import request_rules as must
from equipoise.data.request_rules import (
    Fault,
    attribute_faults,
    is_name,
    is_number,
    is_whole,
    name_faults,
    refuse,
    shown,
)
from equipoise.data.split import Id
from equipoise.errors import require
from equipoise.wording import counted


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """An attribute that teams are to be alike in.

    attribute : its name
    criteria : "distance"; there is no other here
    reference : the matchmaker's tolerance; a larger distance is reported, never refused
    max : what values are divided by where there are several attributes; None divides by 1
    Raises : InvalidDataError
    """

    attribute: str
    criteria: str = "distance"
    reference: float | None = None
    max: float | None = None

    def __post_init__(self) -> None:
        """Check every rule."""
        refuse(self._faults(), "the rule")

    def _faults(self) -> Iterator[Fault]:
        if not is_name(self.attribute):
            yield Fault("attribute", must.NAMED, shown(self.attribute))
        if self.criteria != "distance":
            yield Fault("criteria", must.DISTANCE, shown(self.criteria))
        if self.reference is not None and not is_number(self.reference, lambda x: x >= 0):
            yield Fault("reference", must.REFERENCE, shown(self.reference))
        if self.max is not None and not is_number(self.max, lambda x: x > 0):
            yield Fault("max", must.MAXIMUM, shown(self.max))


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruleset:
    """How teams are to be made.

    min_number, max_number : number of teams, from 1 to 1,000
    player_min_number, player_max_number : players of a team; at most from 1 to 10,000
    rules : what teams are to be alike in; none: only sizes count
    rebalance_enable : False: parties go into teams in the order they arrived
    auto_backfill : whether a running session may be filled
    Raises : InvalidDataError
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
        broken = False
        for name, least, most, rule in (
            ("min_number", 1, must.MOST_TEAMS, must.TEAMS),
            ("max_number", 1, must.MOST_TEAMS, must.TEAMS),
            ("player_min_number", 0, must.MOST_PLAYERS, must.NO_PLAYERS),
            ("player_max_number", 1, must.MOST_PLAYERS, must.PLAYERS),
        ):
            value = getattr(self, name)
            if not is_whole(value) or not least <= value <= most:
                broken = True
                yield Fault(f"alliance.{name}", rule, shown(value))
        if not broken:
            for low, high in (
                ("min_number", "max_number"),
                ("player_min_number", "player_max_number"),
            ):
                if getattr(self, low) > getattr(self, high):
                    got = f"{getattr(self, low)}, while {high} is {getattr(self, high)}"
                    yield Fault(f"alliance.{low}", must.NOT_ABOVE, got)
        if len(self.rules) > must.MOST_RULES:
            yield Fault("matching_rule", must.RULES, f"{len(self.rules)}")
        seen: set[str] = set()
        for at, one in enumerate(self.rules):
            if one.attribute in seen:
                yield Fault(f"matching_rule[{at}].attribute", must.NAMED_ONCE, repr(one.attribute))
            seen.add(one.attribute)


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchedPlayer:
    """A player with attributes by name."""

    player: Id
    attributes: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchedParty:
    """Players who stay together; `party` is the name of the party, None where it has none."""

    players: tuple[MatchedPlayer, ...]
    party: Id | None = None

    def __post_init__(self) -> None:
        """Take players of any sequence."""
        check_fields(self, "players")
        object.__setattr__(self, "players", tuple(self.players))

    @property
    def ids(self) -> tuple[Id, ...]:
        """The ids of the players."""
        return tuple(one.player for one in self.players)


@dataclass(frozen=True, slots=True, kw_only=True)
class RebalanceRequest:
    """What is to be arranged: parties into teams, or into the free places of a session.

    ruleset : how
    parties : in the order they arrived
    session : the parties of every team of a running session; without any player a new match
    default_attributes : value of an attribute for players who do not have it
    notes : what a reader found and left aside, as sentences
    Raises : InvalidDataError   lists every rule that is broken, with the path of what breaks it
    """

    ruleset: Ruleset
    parties: tuple[MatchedParty, ...]
    session: tuple[tuple[MatchedParty, ...], ...] = ()
    default_attributes: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Take parties of any sequence, and check every rule."""
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
        """Number of players, with those of the session."""
        return sum(len(party.players) for _, party in self.everyone())

    def everyone(self) -> Iterator[tuple[str, MatchedParty]]:
        """Yield every party with its path: those of the session, then those who arrived."""
        for team, parties in enumerate(self.session):
            for at, party in enumerate(parties):
                yield f"session.teams[{team}][{at}]", party
        for at, party in enumerate(self.parties):
            yield f"parties[{at}]", party

    def _faults(self) -> Iterator[Fault]:
        if self.players > must.MOST_PLAYERS:
            yield Fault("parties", must.AT_MOST, f"{self.players}")
            return
        if not self.parties:
            yield Fault("parties", must.SOME_PARTIES, "none")
        for path, party in self.everyone():
            if not party.players:
                yield Fault(f"{path}.players", must.SOME_PLAYERS, "none")
        yield from name_faults(self.everyone())
        names = [rule.attribute for rule in self.ruleset.rules]
        yield from attribute_faults(names, self.default_attributes, self.everyone())
        yield from self._size_faults()

    def _size_faults(self) -> Iterator[Fault]:
        """Yield what cannot fit, whatever the teams."""
        rules = self.ruleset
        most = rules.player_max_number
        for path, party in self.everyone():
            if len(party.players) > most and path.startswith("parties"):
                yield Fault(
                    f"{path}.players", must.FITS, f"{len(party.players)}, of at most {most}"
                )
        if len(self.session) > rules.max_number:
            got = f"{len(self.session)}, of at most {rules.max_number}"
            yield Fault("session.teams", must.SESSION_TEAMS, got)
        for team, parties in enumerate(self.session):
            count = sum(len(party.players) for party in parties)
            if count > most:
                yield Fault(f"session.teams[{team}]", must.TEAM_FITS, f"{count}, of at most {most}")
        if self.players > rules.places:
            got = f"{counted(self.players, 'player')} for {rules.max_number} x {most} places"
            yield Fault("parties", must.ALL_FIT, got)
        if self.backfill and not rules.auto_backfill:
            yield Fault("ruleset.auto_backfill", must.BACKFILL, "false")
        least = rules.min_number * rules.player_min_number
        if not self.backfill and self.players < least:
            places = f"{rules.min_number} x {rules.player_min_number} places"
            got = f"{counted(self.players, 'player')} for {places}"
            yield Fault("parties", must.ENOUGH, got)

"""Reads requests for a tick, and writes its answer in the same words.

Every field but now, ruleset and tickets is optional. A fault has the path of its value, such as
`tickets[3].players[0].attributes.mmr`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from inspect import signature
from typing import Any, get_args

from equipoise.data import rebalancing as must
from equipoise.data.lobby import Id
from equipoise.data.matchmaking import MatchRuleset, Objective, Session, Tick, Ticket
from equipoise.data.rebalancing import MatchedPlayer, is_number, refuse, shown
from equipoise.errors import EquipoiseError, InvalidDataError, InvalidParameterError
from equipoise.formats.rebalance_request import OpenRequest, RequestReader, open_rebalance_request
from equipoise.matchmaking.pool import TIME, is_time
from equipoise.matchmaking.ticking import NODE_LIMIT, Score, tick
from equipoise.rating.calibration_curve import LearnedCurve
from equipoise.rating.registry import make_system
from equipoise.rating.system import RatingSystem

#: Largest number of tickets, and of sessions.
MOST_TICKETS = 200_000
ABOVE_0 = "must be a number above 0"
FROM_0 = "must be a number of seconds from 0"
NODES = "must be a whole number from 1 to 1000000000"
CHOICE = f"must be one of {', '.join(get_args(Objective))}"
RATING = "must be a number, or an object with rating and deviation"


@dataclass(frozen=True, slots=True, kw_only=True)
class TickRequest:
    """The arguments of a tick.

    pool : of a service, whose system and ratings count
    name : of the file, "" for values in memory
    """

    now: float
    objective: Objective = "accelbyte"
    system: RatingSystem | None = None
    ratings: Mapping[Id, tuple[float, float]] | None = None
    pool: str | None = None
    waiting_price: float | None = None
    expires_after: float | None = None
    node_limit: int = NODE_LIMIT
    default_attributes: Mapping[str, float] = field(default_factory=dict)
    ruleset: MatchRuleset
    tickets: tuple[Ticket, ...]
    sessions: tuple[Session, ...] = ()
    curve: LearnedCurve | None = None
    score: Score | None = None
    notes: tuple[str, ...] = ()
    name: str = ""

    @property
    def players(self) -> list[str]:
        """The ids of all players, each once."""
        everyone = [*self.tickets, *(t for s in self.sessions for team in s.teams for t in team)]
        return list(dict.fromkeys(str(player.player) for t in everyone for player in t.players))

    def tick(self) -> Tick:
        """Return the answer, with the notes of the request. Raises : as `tick`."""
        if self.pool is not None and self.ratings is None:
            raise InvalidParameterError(
                "pool needs the service, which has its ratings; give system and ratings instead"
            )
        try:
            answer = tick(**{name: getattr(self, name) for name in signature(tick).parameters})
        except InvalidDataError as error:
            problems = [replace(problem, file=self.name) for problem in error.problems]
            raise InvalidDataError(problems, error.summary) from None
        return replace(answer, notes=(*self.notes, *answer.notes))


_NOT_READ = ("curve", "score", "notes", "name")
#: The fields of a request and of its parts.
_FIELDS, _TICKET, _SESSION = (
    tuple(field.name for field in fields(kind) if field.name not in _NOT_READ)
    for kind in (TickRequest, Ticket, Session)
)

#: The values of a request: whether null is the same as nothing, a check, and the rule in words.
_VALUES: tuple[tuple[str, bool, Callable[[Any], bool], str], ...] = (
    ("now", False, is_time, TIME),
    ("objective", False, lambda x: x in get_args(Objective), CHOICE),
    ("waiting_price", True, lambda x: is_number(x, lambda y: y >= 1e-300), ABOVE_0),
    ("expires_after", True, lambda x: is_number(x, lambda y: y >= 0), FROM_0),
    ("node_limit", False, lambda x: must.is_whole(x) and 1 <= x <= 10**9, NODES),
    ("pool", True, must.is_name, must.NAMED),
)
_AS_GIVEN = ("objective", "node_limit", "pool")


def read_tick_request(source: object) -> TickRequest:
    """Return the request of a source, as `read_rebalance_request` takes it.

    Raises : InvalidDataError with the path of each problem, InvalidParameterError
    """
    opened = open_rebalance_request(source)
    reader = _TickReader({})
    request = reader.request(opened.document)
    refuse(reader.faults, opened.name or "the request", opened.name)
    assert request is not None
    return replace(request, name=opened.name)


def read_queue_ruleset(source: object) -> tuple[MatchRuleset, tuple[str, ...]]:
    """Return a ruleset, alone or in a request, and notes on fields without an effect.

    source : as `read_rebalance_request` takes it, or what `open_rebalance_request` returned
    Raises : InvalidDataError with the path of each problem, InvalidParameterError
    """
    opened = source if isinstance(source, OpenRequest) else open_rebalance_request(source)
    reader = RequestReader({})
    document: Any = opened.document
    inside = isinstance(document, Mapping) and "ruleset" in document
    ruleset = reader.queue_ruleset(document["ruleset"] if inside else document, True)
    refuse(reader.faults, opened.name or "the ruleset", opened.name)
    assert ruleset is not None
    return ruleset, reader.notes("in the queue")


class _TickReader(RequestReader):
    """Reads the fields of a tick."""

    def request(self, document: object) -> TickRequest | None:
        """Return the request of a document; None if it has faults."""
        fields = self.fields(document, "", _FIELDS)
        ruleset = self.queue_ruleset(fields.get("ruleset"), "ruleset" in fields)
        notes = self.notes("in the queue")
        self.check("now" in fields, "now", must.GIVEN, "nothing")
        values: dict[str, Any] = {}
        for name, may_be_null, sound, rule in _VALUES:
            value: Any = fields.get(name)
            given = name in fields and not (may_be_null and value is None)
            if given and self.check(sound(value), name, rule, shown(value)):
                values[name] = value if name in _AS_GIVEN else float(value)
        pool = fields.get("pool")
        both = pool is not None and ("system" in fields or "ratings" in fields)
        self.check(not both, "pool", "must be given without system and ratings", "both")
        values["default_attributes"] = self._defaults(fields)
        values["system"] = self._system(fields.get("system"))
        values["ratings"] = self._ratings(fields.get("ratings"))
        self.check("tickets" in fields, "tickets", must.GIVEN, "nothing")
        tickets = self._tickets(fields.get("tickets", []), "tickets")
        sessions = self._sessions(fields.get("sessions") or [])
        if self.faults or ruleset is None:
            return None
        return TickRequest(
            ruleset=ruleset, tickets=tickets, sessions=sessions, notes=notes, **values
        )

    def _defaults(self, fields: Mapping[str, Any]) -> dict[str, float]:
        defaults = {}
        attributes = self.fields(fields.get("default_attributes", {}), "default_attributes")
        for name, value in attributes.items():
            path = f"default_attributes.{str(name)[:60]}"
            if self.check(is_number(value, must.in_range), path, must.ATTRIBUTE, shown(value)):
                defaults[str(name)] = float(value)
        return defaults

    def _system(self, value: object) -> RatingSystem | None:
        """Return the system of a name, or of an object with name and parameters."""
        if value is None:
            return None
        name, parameters = value, {}
        if isinstance(value, Mapping):
            fields = self.fields(value, "system", ("name", "parameters"))
            name = fields.get("name")
            parameters = dict(self.fields(fields.get("parameters", {}), "system.parameters"))
        if not self.check(must.is_name(name), "system", must.NAMED, shown(name)):
            return None
        try:
            return make_system(str(name), parameters)
        except EquipoiseError as error:
            self.check(False, "system", str(error).partition("\n")[0], shown(name))
            return None

    def _ratings(self, value: object) -> dict[Id, tuple[float, float]] | None:
        """Return (rating, deviation) by player."""
        if value is None:
            return None
        ratings: dict[Id, tuple[float, float]] = {}
        for name, rating in self.fields(value, "ratings").items():
            path = f"ratings.{str(name)[:60]}"
            numbers = [rating, 0.0]
            if isinstance(rating, Mapping):
                fields = self.fields(rating, path, ("rating", "deviation"))
                numbers = [fields.get("rating"), fields.get("deviation", 0.0)]
            sound = is_number(numbers[0], must.in_range) and is_number(
                numbers[1], lambda x: 0 <= x <= must.LARGEST
            )
            if self.check(sound, path, RATING, shown(rating)):
                ratings[str(name)] = (float(numbers[0]), float(numbers[1]))
        return ratings

    def _tickets(self, value: object, path: str) -> tuple[Ticket, ...]:
        tickets = []
        for where, ticket in self.items(value, path, MOST_TICKETS):
            if len(self.faults) > must.MOST_PROBLEMS:
                break
            fields = self.fields(ticket, where, _TICKET)
            if not fields:
                self.check(
                    not isinstance(ticket, Mapping), where, must.GIVEN, "an object without it"
                )
                continue
            self.has(fields, where, ("ticket", "created_at", "players"))
            players: list[MatchedPlayer] = []
            for at, player in self.items(fields.get("players", []), f"{where}.players"):
                players += self._player(player, at)
            attributes = self.fields(fields.get("attributes", {}), f"{where}.attributes")
            excluded = self.items(fields.get("excluded_sessions", []), f"{where}.excluded_sessions")
            tickets.append(
                Ticket(
                    ticket=fields.get("ticket", ""),
                    created_at=fields.get("created_at", 0.0),
                    players=tuple(players),
                    attributes=attributes,
                    latencies=self.fields(fields.get("latencies", {}), f"{where}.latencies"),
                    excluded_sessions=tuple(name for _, name in excluded),
                    priority=fields.get("priority", 0),
                )
            )
        return tuple(tickets)

    def _sessions(self, value: object) -> tuple[Session, ...]:
        sessions = []
        for where, session in self.items(value, "sessions", MOST_TICKETS):
            fields = self.fields(session, where, _SESSION)
            self.has(fields, where, ("session", "created_at", "teams"))
            teams = tuple(
                self._tickets(team, at)
                for at, team in self.items(fields.get("teams", []), f"{where}.teams")
            )
            region = fields.get("region")
            named = region is None or must.is_name(region)
            self.check(named, f"{where}.region", must.NAMED, shown(region))
            sessions.append(
                Session(
                    session=fields.get("session", ""),
                    created_at=fields.get("created_at", 0.0),
                    teams=teams,
                    attributes=self.fields(fields.get("attributes", {}), f"{where}.attributes"),
                    region=region,
                )
            )
        return tuple(sessions)

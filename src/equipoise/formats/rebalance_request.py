"""Reads requests to rebalance: from JSON to ruleset, parties and session.

Its rulesets are also those of the queue, so one file serves both: `queue_ruleset` reads what
decides who is matched.

Source: the table of INTERFACES. Unknown fields are refused by name, because ignoring them could
change the meaning of a request. Known fields of rulesets that have no effect here are listed in a
note. A problem has the path of the value, such as `parties[3].players[0].attributes.mmr`.
"""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, TypeVar

from equipoise.arguments import checks_arguments
from equipoise.data import rebalancing as must
from equipoise.data.lobby import Id
from equipoise.data.matchmaking import (
    MILLISECOND_FIELDS,
    Alliance,
    AllianceFlexing,
    Flexing,
    MatchingRule,
    MatchOption,
    MatchRuleset,
    balancing_rules,
)
from equipoise.data.rebalancing import (
    Fault,
    MatchedParty,
    MatchedPlayer,
    RebalanceRequest,
    Rule,
    Ruleset,
    attribute_faults,
    is_number,
    name_faults,
    refuse,
    shown,
)
from equipoise.errors import InvalidDataError, require
from equipoise.formats.table import SURROGATE

Made = TypeVar("Made", bound=Rule | Ruleset)
_REQUEST = ("ruleset", "session", "parties", "default_attributes")
_RULESET = ("rebalance_enable", "auto_backfill", "alliance", "matching_rule", "rebalance_version")
_ALLIANCE = ("min_number", "max_number", "player_min_number", "player_max_number")
_RULE = ("attribute", "criteria", "reference", "max", "normalizationMax", "isForBalancing")
#: Fields of rules and rulesets that decide who is matched, as `MatchRuleset` has them.
_QUEUE_RULE = ("weight", "max_spread")
_QUEUE_FLAGS = ("rebalance_enable", "auto_backfill", "match_options_referred_for_backfill")
_QUEUE_VALUES = (
    *MILLISECOND_FIELDS,
    "blocked_player_option",
    "region_latency_rule_weight",
    "distance_scope",
)
_QUEUE_LISTS = ("alliance", "alliance_flexing_rule", "flexing_rule", "match_options")
#: Fields that change nothing in the queue, and those of older services, which are not supported.
_NOTED = ("batch_size", "extra_attributes", "max_delay_ms", "name", "ticket_observability_enable")
_REFUSED = (
    "bucket_mmr_rule",
    "sort_ticket",
    "sort_tickets",
    "sub_game_modes",
    "sub_gamemode_selection",
    "ticket_flexing_selection",
    "ticket_flexing_selections",
    "use_newest_ticket_for_flexing",
    "use_sub_gamemode",
)
_IN_QUEUE = (*_QUEUE_FLAGS, *_QUEUE_VALUES, *_QUEUE_LISTS, *_NOTED)
#: Fields of rulesets that decide who is matched, which has happened before teams are made.
_WITHOUT_EFFECT: dict[str, tuple[str, ...]] = {
    "ruleset": tuple(name for name in sorted({*_IN_QUEUE, *_REFUSED}) if name not in _RULESET),
    "alliance": ("combination",),
    "matching_rule": ("weight", "max_spread", "useLatestTicketData"),
}
_NOT_SUPPORTED = "is not supported in the queue: leave it out"
_ONE_MAXIMUM = "must be the same as normalizationMax"
_ONE_OR_TWO = "must be 1 or 2"


#: Attributes by the id of the player, as text, and by name.
Attributes: TypeAlias = Mapping[str, Mapping[str, float]]


@checks_arguments("attributes")
def read_rebalance_request(
    source: object, *, attributes: Attributes | None = None
) -> RebalanceRequest:
    """Return the request of a source.

    source : path of a JSON file, "-" for standard input, a stream, JSON as bytes, or a parsed
      mapping
    attributes : of players from elsewhere, such as ratings; they replace those of the request
    Raises : InvalidDataError        there are problems; lists all of them, each with its path
    Raises : InvalidParameterError   the source is none of these

    Examples
    --------
    >>> request = eq.read_rebalance_request("examples/rebalance.json")
    >>> request.players
    5
    """
    return open_rebalance_request(source).read(attributes or {})


class OpenRequest(NamedTuple):
    """A request that has been parsed, and not yet checked; name : of its file."""

    document: object
    name: str

    def players(self) -> list[Id]:
        """Return the ids of all players, in the order of the request, as far as they are sound."""
        return [matched.player for matched in self._matched()]

    def rule_attributes(self) -> list[str]:
        """Return the names of the attributes that the ruleset uses, as far as it is sound."""
        ruleset = _read(self.document, {}).ruleset
        return [rule.attribute for rule in ruleset.rules] if ruleset else []

    def given(self, names: Iterable[str]) -> dict[str, int]:
        """Return how many players of the request have these attributes."""
        players = self._matched()
        return {name: sum(name in matched.attributes for matched in players) for name in names}

    def read(self, attributes: Attributes) -> RebalanceRequest:
        """Return the request. Raises : InvalidDataError."""
        return _request(self.document, self.name, attributes)

    def _matched(self) -> list[MatchedPlayer]:
        everyone = _read(self.document, {}).reader.everyone
        return [matched for _, party in everyone for matched in party.players]


def open_rebalance_request(source: object) -> OpenRequest:
    """Return the parsed request of a source. Raises : InvalidDataError, InvalidParameterError."""
    if isinstance(source, Mapping):
        return OpenRequest(source, "")
    data, name = _bytes_of(source)
    return OpenRequest(_document(data, name), name)


def _bytes_of(source: object) -> tuple[bytes, str]:
    """Return the content of a source, and its name."""
    if isinstance(source, bytes | bytearray):
        return bytes(source), ""
    most = must.MOST_MEGABYTES * 1_000_000
    if isinstance(source, str | os.PathLike) and str(source) != "-":
        try:
            with Path(source).open("rb") as file:
                return file.read(most + 1), str(source)
        except OSError as error:
            reason = error.strerror or type(error).__name__
            refuse([Fault("", "must be a readable file", reason)], str(source), str(source))
    stream: Any = sys.stdin.buffer if source == "-" else source
    require(hasattr(stream, "read"), "source", "a path, a stream or a mapping", type(source))
    data = stream.read(most + 1)
    standard = stream is getattr(sys.stdin, "buffer", None)
    data = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else bytes(data)
    return data, "standard input" if standard else ""


class _Pairs(dict[str, Any]):
    """A JSON object that records which keys occur twice."""

    twice: tuple[str, ...] = ()


def _pairs(pairs: list[tuple[str, Any]]) -> _Pairs:
    avoided = _Pairs(pairs)
    if len(avoided) < len(pairs):
        times = Counter(key for key, _ in pairs)
        avoided.twice = tuple(key for key, number in times.items() if number > 1)
    return avoided


def _document(data: bytes, name: str) -> Any:
    """Return the parsed JSON; NaN is kept and reported later."""
    where = name or "the request"
    if len(data) > must.MOST_MEGABYTES * 1_000_000:
        refuse([Fault("", must.SIZE, "more")], where, name)
    try:
        document = json.loads(data.decode("utf-8-sig"), object_pairs_hook=_pairs)
        if SURROGATE.search(data):
            json.dumps(document, ensure_ascii=False, default=str).encode()
        return document
    except UnicodeEncodeError:
        refuse([Fault("", must.JSON, "text with a lone surrogate")], where, name)
    except UnicodeDecodeError as error:
        got = f"the byte 0x{error.object[error.start]:02x}"
        refuse([Fault("", "must be text in UTF-8", got)], where, name)
    except RecursionError:
        refuse([Fault("", must.DEPTH, "brackets nested too deeply")], where, name)
    except ValueError as error:
        refuse([Fault("", must.JSON, str(error))], where, name)


class _Parts(NamedTuple):
    """The parts of a document, as far as they are sound."""

    reader: RequestReader
    ruleset: Ruleset | None
    parties: list[MatchedParty]
    session: list[list[MatchedParty]]
    defaults: dict[str, Any]


def _read(document: object, attributes: Attributes) -> _Parts:
    """Return the parts of a document; the reader has the faults."""
    reader = RequestReader(attributes)
    fields = reader.fields(document, "", _REQUEST)
    ruleset = reader.ruleset(fields.get("ruleset"), "ruleset" in fields)
    defaults = dict(reader.fields(fields.get("default_attributes", {}), "default_attributes"))
    session = [
        [party for _, party in reader.parties(team, f"session.teams[{at}]")]
        for at, team in enumerate(reader.session(fields.get("session")))
    ]
    reader.check(bool(fields.get("parties")), "parties", must.SOME_PARTIES, "none")
    parties = [party for _, party in reader.parties(fields.get("parties") or [], "parties")]
    return _Parts(reader, ruleset, parties, session, defaults)


def _request(document: object, name: str, attributes: Attributes) -> RebalanceRequest:
    """Return the request of a document, or raise with every problem."""
    reader, ruleset, parties, session, defaults = _read(document, attributes)
    faults = reader.faults
    if not faults and ruleset is not None:
        try:
            return RebalanceRequest(
                ruleset=ruleset,
                parties=tuple(parties),
                session=tuple(tuple(team) for team in session),
                default_attributes=defaults,
                notes=reader.notes("on teams"),
            )
        except InvalidDataError as error:
            faults = [Fault(problem.field, problem.rule, problem.got) for problem in error.problems]
    else:
        faults = [*faults, *name_faults(reader.everyone)]
        names = [rule.attribute for rule in ruleset.rules] if ruleset else []
        faults += attribute_faults(names, defaults, reader.everyone)
    refuse(faults, name or "the request", name)
    raise AssertionError("a valid request was refused")


class _Named(NamedTuple):
    """A party and its path."""

    path: str
    party: MatchedParty


class RequestReader:
    """Parses a document, and collects its faults."""

    def __init__(self, attributes: Attributes) -> None:
        self.faults: list[Fault] = []
        self._attributes = attributes
        self.everyone: list[_Named] = []
        self._without_effect: dict[str, None] = {}

    def notes(self, where: str) -> tuple[str, ...]:
        """Return the note on fields of a ruleset that change nothing `where`: on teams."""
        listed = ", ".join(self._without_effect)
        return (f"no effect {where}: {listed}",) if listed else ()

    def check(self, holds: bool, path: str, rule: str, got: object) -> bool:
        """Record a fault unless a rule holds; return whether it does."""
        if not holds and len(self.faults) <= must.MOST_PROBLEMS:
            self.faults.append(Fault(path, rule, got if isinstance(got, str) else shown(got)))
        return holds

    def fields(
        self, value: object, path: str, known: tuple[str, ...] | None = None
    ) -> Mapping[str, Any]:
        """Return the fields of an object, {} if it is none; with None all fields are known."""
        if not isinstance(value, Mapping):
            self.check(False, path, must.OBJECT, shown(value))
            return {}
        for key in getattr(value, "twice", ()):
            self.check(False, _path(path, key), must.GIVEN_ONCE, "two")
        if known is not None:
            kind = path.rpartition(".")[2].partition("[")[0]
            for key in value:
                if key in _WITHOUT_EFFECT.get(kind, ()):
                    self._without_effect[_path(path.partition("[")[0], str(key))] = None
                elif key not in known:
                    got = f"not one of {', '.join(known)}"
                    self.check(False, _path(path, str(key)[:60]), must.KNOWN, got)
        return value

    def items(
        self, value: object, path: str, most: int = must.MOST_PLAYERS
    ) -> Iterator[tuple[str, Any]]:
        """Yield the items of a list, with their paths."""
        if self.check(isinstance(value, list | tuple), path, must.LIST, shown(value)):
            assert isinstance(value, list | tuple)
            # No list of a request is longer than its number of players.
            rule = must.AT_MOST.replace("10000", str(most))
            if not self.check(len(value) <= most, path, rule, str(len(value))):
                return
            for at, item in enumerate(value):
                yield f"{path}[{at}]", item

    def ruleset(self, value: object, is_given: bool) -> Ruleset | None:
        """Return the ruleset; None if it has faults."""
        if not self.check(is_given, "ruleset", must.GIVEN, "nothing"):
            return None
        before = len(self.faults)
        fields = self.fields(value, "ruleset", _RULESET)
        rules = [
            self._rule(item, path)
            for path, item in self.items(fields.get("matching_rule", []), "ruleset.matching_rule")
        ]
        flags = self._flags(fields, ("rebalance_enable", "auto_backfill"))
        self._check_version(fields)
        numbers = self._alliance(fields, before)
        if numbers is None:
            return None
        sound = balancing_rules(tuple(rule for rule in rules if rule is not None))
        plain = tuple(
            Rule(
                attribute=rule.attribute,
                criteria=rule.criteria,
                reference=rule.reference,
                max=rule.max or None,
            )
            for rule in sound
        )
        return self._made(Ruleset, "ruleset", rules=plain, **numbers, **flags)

    def queue_ruleset(self, value: object, is_given: bool) -> MatchRuleset | None:
        """Return the ruleset of a queue; None if it has faults."""
        if not self.check(is_given, "ruleset", must.GIVEN, "nothing"):
            return None
        before = len(self.faults)
        fields = self.fields(
            value,
            "ruleset",
            (*_IN_QUEUE, *_REFUSED, *_RULESET),
        )
        self._without_effect.clear()
        for key in _REFUSED:
            self.check(key not in fields, f"ruleset.{key}", _NOT_SUPPORTED, "it")
        self._without_effect |= {f"ruleset.{key}": None for key in _NOTED if key in fields}
        self._check_version(fields)
        rules = []
        for path, item in self.items(fields.get("matching_rule", []), "ruleset.matching_rule"):
            rule = self._rule(item, path, queue=True)
            rules += [rule] if rule else []
        for key in _QUEUE_RULE:
            self._without_effect.pop(f"ruleset.matching_rule.{key}", None)
        listed = self._listed
        alliances = [
            AllianceFlexing(step["duration"], Alliance(*(step[key] for key in _ALLIANCE)))
            for _, step in listed(fields, "alliance_flexing_rule", ("duration", *_ALLIANCE))
        ]
        names = ("attribute", "criteria", "duration", "reference")
        flexing = []
        for where, item in listed(fields, "flexing_rule", names):
            criteria = item["criteria"]
            self.check(criteria == "distance", f"{where}.criteria", must.DISTANCE, shown(criteria))
            flexing.append(Flexing(item["attribute"], item["duration"], item["reference"]))
        match_options = self.fields(
            fields.get("match_options") or {}, "ruleset.match_options", ("options",)
        )
        options = [
            MatchOption(option["name"], option["type"])
            for _, option in listed(match_options, "match_options.options", ("name", "type"))
        ]
        flags = self._flags(fields, _QUEUE_FLAGS)
        numbers_of = self._alliance(fields, before, queue=True)
        if numbers_of is None:
            return None
        return self._made(
            MatchRuleset,
            "ruleset",
            rules=tuple(rules),
            alliance_flexing_rule=tuple(alliances),
            flexing_rule=tuple(flexing),
            match_options=tuple(options),
            **{key: fields[key] for key in _QUEUE_VALUES if key in fields},
            **numbers_of,
            **flags,
        )

    def _flags(self, fields: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, bool]:
        """Return the fields that are true or false."""
        flags = {}
        for key in names:
            if key in fields:
                good = isinstance(fields[key], bool)
                if self.check(good, f"ruleset.{key}", must.TRUE_OR_FALSE, shown(fields[key])):
                    flags[key] = fields[key]
        return flags

    def _check_version(self, fields: Mapping[str, Any]) -> None:
        version = fields.get("rebalance_version", 2)
        sound = version in (1, 2) and not isinstance(version, bool)
        self.check(sound, "ruleset.rebalance_version", _ONE_OR_TWO, shown(version))

    def _listed(
        self, fields: Mapping[str, Any], path: str, names: tuple[str, ...]
    ) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Yield the objects of a list that have all of these fields, with their paths."""
        key = path.rpartition(".")[2]
        for where, value in self.items(fields.get(key, []), f"ruleset.{path}"):
            item = self.fields(value, where, names)
            if self.has(item, where, names):
                yield where, item

    def has(self, fields: Mapping[str, Any], path: str, names: tuple[str, ...]) -> bool:
        """Return whether all fields are given; record those that are not."""
        for key in names if fields else ():
            self.check(key in fields, f"{path}.{key}", must.GIVEN, "nothing")
        return all(key in fields for key in names)

    def _alliance(
        self, fields: Mapping[str, Any], before: int, *, queue: bool = False
    ) -> dict[str, Any] | None:
        """Return the numbers of the alliance, None without one.

        before : number of faults before the ruleset
        """
        alliance: Mapping[str, Any] = {}
        if self.check("alliance" in fields, "ruleset.alliance", must.GIVEN, "nothing"):
            alliance = self.fields(fields["alliance"], "ruleset.alliance", _ALLIANCE)
            if queue and "combination" in alliance:
                path = "ruleset.alliance.combination"
                self._without_effect.pop(path, None)
                self.check(False, path, _NOT_SUPPORTED, "roles")
        for key in _ALLIANCE if alliance else ():
            self.check(key in alliance, f"ruleset.alliance.{key}", must.GIVEN, "nothing")
        if not all(key in alliance for key in _ALLIANCE):
            # An object without fields is reported here.
            self.check(len(self.faults) > before, "ruleset.alliance", must.GIVEN, "nothing in it")
            return None
        return {key: alliance[key] for key in _ALLIANCE}

    def _rule(self, value: object, path: str, *, queue: bool = False) -> MatchingRule | None:
        fields = self.fields(value, path, (*_RULE, *_QUEUE_RULE, "useLatestTicketData"))
        if not fields:
            return None
        for key in ("attribute", "criteria"):
            if not self.check(key in fields, f"{path}.{key}", must.GIVEN, "nothing"):
                return None
        names = ("attribute", "criteria", "reference", *(_QUEUE_RULE if queue else ()))
        values = {key: fields[key] for key in names if key in fields}
        highest = fields.get("max")
        if "normalizationMax" in fields:
            highest_given = fields["normalizationMax"]
            same = highest is None or highest == highest_given
            self.check(same, f"{path}.max", _ONE_MAXIMUM, shown(highest))
            sound = is_number(highest_given, lambda x: x >= 0)
            if not self.check(
                sound, f"{path}.normalizationMax", must.REFERENCE, shown(highest_given)
            ):
                return None
            # Without a positive one, the greatest reference counts.
            highest = highest_given or None
        mark = fields.get("isForBalancing")
        sound = mark is None or isinstance(mark, bool)
        if not self.check(sound, f"{path}.isForBalancing", must.TRUE_OR_FALSE, shown(mark)):
            return None
        return self._made(MatchingRule, path, max=highest, for_balancing=mark, **values)

    def _made(self, kind: type[Made], path: str, **values: Any) -> Made | None:
        """Return a value that checks itself; None if it has faults."""
        try:
            return kind(**values)
        except InvalidDataError as error:
            for problem in error.problems:
                self.check(False, f"{path}.{problem.field}", problem.rule, problem.got)
            return None

    def session(self, value: object) -> list[Any]:
        """Return the teams of a session, in their order."""
        if value is None:
            return []
        fields = self.fields(value, "session", ("teams",))
        return [team for _, team in self.items(fields.get("teams", []), "session.teams")]

    def parties(self, value: object, path: str) -> Iterator[_Named]:
        """Yield the parties of a list."""
        for where, item in self.items(value, path):
            if len(self.faults) > must.MOST_PROBLEMS:
                return
            fields = self.fields(item, where, ("party", "players"))
            name = fields.get("party")
            if name is not None and not self._is_id(name, f"{where}.party"):
                name = None
            players: list[MatchedPlayer] = []
            if fields and self.check(
                "players" in fields, f"{where}.players", must.GIVEN, "nothing"
            ):
                for at, player in self.items(fields["players"], f"{where}.players"):
                    players += self._player(player, at)
            party = _Named(where, MatchedParty(players=tuple(players), party=name))
            self.everyone.append(party)
            yield party

    def _player(self, value: object, path: str) -> Iterator[MatchedPlayer]:
        """Yield a player, if it is valid."""
        fields = self.fields(value, path, ("player", "attributes"))
        if not fields or not self._is_id(fields.get("player"), f"{path}.player"):
            return
        attributes = self.fields(fields.get("attributes", {}), f"{path}.attributes")
        known = self._attributes.get(str(fields["player"]), {})
        yield MatchedPlayer(player=fields["player"], attributes={**attributes, **known})

    def _is_id(self, value: object, path: str) -> bool:
        whole = isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63
        text = isinstance(value, str) and value != ""
        return self.check(whole or text, path, must.ID, shown(value))


def _path(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key

"""Rule sets of Amazon GameLift FlexMatch as rulesets of the queue.

Source: the FlexMatch guide. Where a rule has no equivalent it is left out, and everything left out
or changed is listed with its path in the source. Teams of different sizes are refused, because
without teams there is no ruleset.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from equipoise.data import rebalancing as must
from equipoise.data.rebalancing import is_number, is_whole, refuse, shown
from equipoise.formats.rebalance_request import RequestReader, open_rebalance_request

_FLAT = re.compile(r"flatten\(\s*teams\[\*\]\.players\.attributes\[(\w+)\]\s*\)")
_BY_TEAM = re.compile(r"avg\(\s*teams\[\*\]\.players\.attributes\[(\w+)\]\s*\)")
_MEAN = re.compile(r"avg\(\s*flatten\(\s*teams\[\*\]\.players\.attributes\[(\w+)\]\s*\)\s*\)")
_ALL = re.compile(r"(?:flatten\(\s*)?(?:set_\w+\(\s*)?teams\[\*\]\.players\.attributes\[(\w+)\]")
_BLOCKS = re.compile(r"flatten\(\s*teams\[\*\]\.players\[playerId\]\s*\)|playerId")
_RULE_TARGET = re.compile(r"rules\[([^\]]+)\]\.(\w+)")
_TEAM_TARGET = re.compile(r"teams\[([^\]]+)\]\.(minPlayers|maxPlayers)")
NO_EQUIVALENT = "no equivalent"
_KNOWN = frozenset(
    (
        *("name", "ruleLanguageVersion", "playerAttributes", "algorithm", "teams", "rules"),
        *("expansions", "acceptanceRequired", "acceptanceTimeoutSeconds"),
    )
)
TEAMS = "must be teams of the same size, because a ruleset has one size for all"


@dataclass(frozen=True, slots=True)
class Change:
    """A part that was left out, changed, or deserves a look; path : in the source."""

    path: str
    kind: Literal["left out", "changed", "note"]
    text: str


@dataclass(slots=True)
class Imported:
    """A ruleset as JSON has it; default_attributes belong into requests."""

    ruleset: dict[str, Any] = field(default_factory=dict)
    default_attributes: dict[str, float] = field(default_factory=dict)
    changes: list[Change] = field(default_factory=list)


def import_flexmatch(source: object) -> Imported:
    """Return the ruleset of a FlexMatch rule set.

    source : as `read_rebalance_request` takes it
    Raises : InvalidDataError for a file that is no rule set, or has teams of different sizes
    """
    opened = open_rebalance_request(source)
    reader = RequestReader({})
    importing = _Import(reader, reader.fields(opened.document, ""))
    if not reader.faults:
        importing.run()
    refuse(reader.faults, opened.name or "the rule set", opened.name)
    checked = RequestReader({})
    checked.queue_ruleset(importing.result.ruleset, True)
    refuse(checked.faults, opened.name or "the rule set", opened.name)
    return importing.result


class _Import:
    """The state of an import."""

    def __init__(self, reader: RequestReader, document: Mapping[str, Any]) -> None:
        self.reader, self.document = reader, document
        self.result = Imported()
        self.rules: dict[str, str] = {}
        self.sizes: dict[str, Any] = {}
        self.teams: list[str] = []

    def change(self, path: str, kind: Literal["left out", "changed", "note"], text: str) -> None:
        """Record a change."""
        self.result.changes.append(Change(path, kind, text))

    def run(self) -> None:
        """Convert all parts."""
        ruleset, document = self.result.ruleset, self.document
        if isinstance(document.get("name"), str):
            ruleset["name"] = document["name"]
        self._teams()
        self._attributes()
        for path, rule in self.reader.items(document.get("rules", []), "rules"):
            if isinstance(rule, Mapping):
                self._rule(path, rule)
            else:
                self.reader.check(False, path, must.OBJECT, shown(rule))
        for path, expansion in self.reader.items(document.get("expansions", []), "expansions"):
            self._expansion(path, self.reader.fields(expansion, path))
        algorithm = self.reader.fields(document.get("algorithm", {}), "algorithm")
        for name, value in algorithm.items():
            self._algorithm(f"algorithm.{name}", name, value)
        if document.get("expansions") and "expansionAgeSelection" not in algorithm:
            self._algorithm("expansions", "expansionAgeSelection", "newest")
        if document.get("acceptanceRequired") or document.get("acceptanceTimeoutSeconds"):
            self.change("acceptanceRequired", "left out", "players accept in another service")
        for name in document:
            if name not in _KNOWN:
                self.change(str(name)[:60], "left out", NO_EQUIVALENT)

    def _teams(self) -> None:
        sizes, number = [], 0
        check = self.reader.check
        for path, team in self.reader.items(self.document.get("teams", []), "teams"):
            fields = self.reader.fields(team, path)
            pair = (fields.get("minPlayers"), fields.get("maxPlayers"))
            for name, size in zip(("minPlayers", "maxPlayers"), pair, strict=True):
                check(is_whole(size), f"{path}.{name}", must.PLAYERS, shown(size))
            quantity = fields.get("quantity", 1)
            if check(is_whole(quantity), f"{path}.quantity", must.TEAMS, shown(quantity)):
                number += quantity
            sizes.append(pair)
            self.teams.append(str(fields.get("name")))
        if any(pair != sizes[0] for pair in sizes):
            check(False, "teams", TEAMS, f"{', '.join(self.teams)} of {sizes}")
        elif check(bool(sizes), "teams", must.GIVEN, "nothing"):
            least, most = sizes[0]
            self.sizes = {
                "min_number": number,
                "max_number": number,
                "player_min_number": least,
                "player_max_number": most,
            }
            self.result.ruleset["alliance"] = dict(self.sizes)

    def _attributes(self) -> None:
        listed = self.document.get("playerAttributes", [])
        for path, attribute in self.reader.items(listed, "playerAttributes"):
            fields = self.reader.fields(attribute, path)
            name, kind, default = (fields.get(key) for key in ("name", "type", "default"))
            if kind == "number":
                if is_number(default, must.in_range):
                    self.result.default_attributes[str(name)] = float(default or 0)
                elif default is not None:
                    self.change(f"{path}.default", "left out", f"not a number: {shown(default)}")
            elif kind in ("string", "string_list"):
                text = f"{name} becomes an attribute of the ticket: its players must agree on it"
                self.change(path, "changed", text)
                if default is not None:
                    self.change(f"{path}.default", "left out", "ticket attributes have no default")
            else:
                self.change(path, "left out", f"type {shown(kind)} has {NO_EQUIVALENT}")

    def _rule(self, path: str, rule: Mapping[str, Any]) -> None:
        kind = str(rule.get("type"))
        convert = {
            "distance": self._distance,
            "batchDistance": self._batch_distance,
            "comparison": self._comparison,
            "collection": self._collection,
            "latency": self._latency,
        }.get(kind)
        if kind in ("absoluteSort", "distanceSort"):
            self.change(path, "note", f"{kind} is left out: candidates are ordered by their cost")
        elif convert is None:
            self.change(path, "left out", f"a rule of type {shown(rule.get('type'))}")
        elif reason := convert(path, rule):
            self.change(path, "left out", reason)

    # Each of these converts a rule, or returns why it is left out.

    def _near(self, path: str, rule: Mapping[str, Any], name: str) -> str:
        reference = rule.get("maxDistance")
        if not is_number(reference, lambda x: x >= 0):
            return "a rule without maxDistance"
        for key in ("minDistance", "partyAggregation"):
            if rule.get(key) not in (None, 0, "avg"):
                self.change(f"{path}.{key}", "left out", "a party counts with its mean")
        rules = self.result.ruleset.setdefault("matching_rule", [])
        if any(rule["attribute"] == name for rule in rules):
            return f"a second rule for {name}"
        rules.append({"attribute": name, "criteria": "distance", "reference": reference})
        self.rules[str(rule.get("name"))] = name
        return ""

    def _distance(self, path: str, rule: Mapping[str, Any]) -> str:
        measurement = _only_text(rule.get("measurements"))
        flat, mean = _FLAT.fullmatch(measurement), _MEAN.fullmatch(str(rule.get("referenceValue")))
        if flat and mean and flat[1] == mean[1]:
            reason = self._near(path, rule, flat[1])
            if not reason:
                text = f"{flat[1]} is compared with the pivot, instead of the mean of the match"
                self.change(path, "changed", text)
            return reason
        if _BY_TEAM.fullmatch(measurement):
            return "a distance of teams: teams are evened out, or use the objective fair"
        return "a distance of other measurements"

    def _batch_distance(self, path: str, rule: Mapping[str, Any]) -> str:
        name = str(rule.get("batchAttribute"))
        if rule.get("maxDistance") is None:
            return self._option(name, "all")
        reason = self._near(path, rule, name)
        self.result.ruleset["distance_scope"] = "pair"
        return reason

    def _option(self, name: str, kind: str) -> str:
        options = self.result.ruleset.setdefault("match_options", {}).setdefault("options", [])
        if any(option["name"] == name for option in options):
            return f"a second rule for {name}"
        options.append({"name": name, "type": kind})
        return ""

    def _comparison(self, path: str, rule: Mapping[str, Any]) -> str:
        attribute = _ALL.match(_only_text(rule.get("measurements")))
        if rule.get("referenceValue") is not None:
            return "a comparison with a value: apply it before tickets enter the queue"
        if attribute and rule.get("operation") in ("=", "!="):
            return self._option(attribute[1], "all" if rule["operation"] == "=" else "unique")
        return f"a comparison {shown(rule.get('operation'))}"

    def _collection(self, path: str, rule: Mapping[str, Any]) -> str:
        operation, attribute = (
            rule.get("operation"),
            _ALL.search(_only_text(rule.get("measurements"))),
        )
        if operation == "intersection" and attribute and rule.get("minCount") == 1:
            return self._option(attribute[1], "any")
        blocks = _BLOCKS.search(str(rule.get("referenceValue"))) and rule.get("maxCount") == 0
        if operation == "reference_intersection_count" and attribute and blocks:
            text = f"give {attribute[1]} as the ticket attribute blocked_players"
            self.change(path, "changed", text)
            self.result.ruleset["blocked_player_option"] = "blockedPlayerCannotMatch"
            return ""
        return f"a collection {shown(operation)} with these numbers"

    def _latency(self, path: str, rule: Mapping[str, Any]) -> str:
        most = rule.get("maxLatency")
        if rule.get("maxDistance") is not None:
            self.change(f"{path}.maxDistance", "left out", "a distance of latencies")
        if not is_whole(most):
            return "a latency without maxLatency"
        self.result.ruleset["region_latency_max_ms"] = most
        self.result.ruleset["region_latency_initial_range_ms"] = most
        return ""

    def _expansion(self, path: str, expansion: Mapping[str, Any]) -> None:
        target = str(expansion.get("target"))
        of_rule, of_team = _RULE_TARGET.fullmatch(target), _TEAM_TARGET.fullmatch(target)
        steps = [
            (at, self.reader.fields(step, at))
            for at, step in self.reader.items(expansion.get("steps", []), f"{path}.steps")
        ]
        if of_rule and of_rule[2] == "maxDistance" and of_rule[1] in self.rules:
            flexing = self.result.ruleset.setdefault("flexing_rule", [])
            for _, step in steps:
                flexing.append(
                    {
                        "attribute": self.rules[of_rule[1]],
                        "criteria": "distance",
                        "duration": step.get("waitTimeSeconds"),
                        "reference": step.get("value"),
                    }
                )
        elif of_team and self.sizes:
            if len(self.teams) > 1:
                text = f"counts for all of {', '.join(self.teams)}, not for {of_team[1]} alone"
                self.change(path, "changed", text)
            name = "player_min_number" if of_team[2] == "minPlayers" else "player_max_number"
            for _, step in steps:
                self._flex_alliance(step.get("waitTimeSeconds"), name, step.get("value"))
        else:
            self.change(path, "left out", f"an expansion of {shown(target)}")

    def _flex_alliance(self, duration: Any, name: str, value: Any) -> None:
        """Add a step of the team sizes; those of equal duration are one."""
        flexing = self.result.ruleset.setdefault("alliance_flexing_rule", [])
        for step in flexing:
            if step["duration"] == duration:
                step[name] = value
                return
        before = [step for step in flexing if _number(step["duration"]) < _number(duration)]
        sizes = max(before, key=lambda step: _number(step["duration"])) if before else self.sizes
        flexing.append({**sizes, "duration": duration, name: value})
        for step in flexing:
            if _number(step["duration"]) > _number(duration):
                step[name] = value if step[name] == self.sizes[name] else step[name]

    def _algorithm(self, path: str, name: str, value: Any) -> None:
        if (name, value) == ("strategy", "balanced"):
            self.change(path, "left out", "the strategy for large matches")
            return
        text = f"{shown(value)} changes nothing here"
        if name == "expansionAgeSelection":
            text = (
                "tolerances flex by the wait of both tickets, team sizes by that of the pivot, "
                f"instead of the {value} ticket"
            )
        elif (name, value) == ("backfillPriority", "high"):
            text = "sessions are filled first, as here"
        elif name == "strategy":
            text = "matches are made around the oldest ticket"
        self.change(path, "note", text)


def _only_text(value: object) -> str:
    """Return a text, or the only one of a list; "" for a list of several."""
    texts = value if isinstance(value, list) else [value]
    return str(texts[0]) if len(texts) == 1 else ""


def _number(value: object) -> float:
    return float(value) if is_number(value, lambda x: True) else 0.0  # type: ignore[arg-type]

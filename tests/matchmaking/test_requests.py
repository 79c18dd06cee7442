"""Requests for a tick from files, the command, and imported rule sets."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import equipoise as eq
from equipoise.cli import run
from equipoise.matchmaking.flexmatch import import_flexmatch
from equipoise.matchmaking.request import read_queue_ruleset, read_tick_request

pytestmark = pytest.mark.no_kernel
EXAMPLE = Path(__file__).parents[2] / "examples" / "queue.json"
ALLIANCE = {"min_number": 2, "max_number": 2, "player_min_number": 1, "player_max_number": 1}


def request(**ruleset: Any) -> dict[str, Any]:
    return {"now": 0, "ruleset": {"alliance": ALLIANCE, **ruleset}, "tickets": []}


def problems(document: Any) -> list[tuple[str, str]]:
    with pytest.raises(eq.InvalidDataError) as caught:
        read_tick_request(document)
    return [(one.field, one.got) for one in caught.value.problems]


RULE = {"attribute": "mmr", "criteria": "distance", "reference": 100}
#: A ruleset with every list, whose values are replaced one at a time.
FULL: dict[str, Any] = {
    "alliance": ALLIANCE,
    "alliance_flexing_rule": [{**ALLIANCE, "duration": 5}],
    "matching_rule": [{**RULE, "max": 400, "normalizationMax": 400}],
    "flexing_rule": [{**RULE, "duration": 5}],
    "match_options": {"options": [{"name": "x", "type": "any"}, {"name": "y", "type": "all"}]},
    "region_latency_max_ms": 100,
}


@pytest.mark.parametrize(
    ("path", "value", "got"),
    [
        ("alliance.player_min_number", 0, "0"),
        ("alliance.min_number", 3, "3, while"),
        ("alliance.combination", {}, "roles"),
        ("alliance_flexing_rule[0].duration", -1, "-1"),
        ("matching_rule[0].criteria", "average", "'average'"),
        ("matching_rule[0].attribute", "", "''"),
        ("matching_rule[0].reference", -1, "-1"),
        ("matching_rule[0].weight", 1001, "1001"),
        ("matching_rule[0].max_spread", -1, "-1"),
        ("matching_rule[0].max", 300, "300"),
        ("matching_rule[0].isForBalancing", 1, "1"),
        ("flexing_rule[0].reference", -1, "-1"),
        ("flexing_rule[0].weight", 2, "not one of"),
        ("flexing_rule[0].attribute", "skill", "'skill'"),
        ("flexing_rule[0].attribute", [], "a list"),
        ("match_options.options[0].type", "some", "'some'"),
        ("match_options.options[1].name", "x", "'x'"),
        ("blocked_player_option", "never", "'never'"),
        ("distance_scope", "team", "'team'"),
        ("region_expansion_rate_ms", -1, "-1"),
        ("region_latency_initial_range_ms", 200, "200"),
        ("region_latency_rule_weight", "x", "'x'"),
        ("rebalance_version", 3, "3"),
        ("auto_backfill", "yes", "'yes'"),
        ("sub_game_modes", {}, "it"),
        ("bucket_mmr_rule", {}, "it"),
        ("flexing_rules", [], "not one of"),
    ],
)
def test_bad_rulesets_are_refused_with_path_and_value(path: str, value: Any, got: str) -> None:
    ruleset = json.loads(json.dumps(FULL))
    if path.startswith("matching_rule"):
        # It needs the rule.
        del ruleset["flexing_rule"]
    place = ruleset
    *steps, last = re.findall(r"\w+", path)
    for step in steps:
        place = place[int(step) if step.isdigit() else step]
    place[last] = value
    (problem,) = problems(request(**ruleset))
    assert problem[0] == f"ruleset.{path}"
    assert problem[1].startswith(got)


def test_a_divisor_below_the_greatest_reference_is_refused() -> None:
    rules = {"matching_rule": [{**RULE, "normalizationMax": 50}]}
    assert problems(request(**rules)) == [("ruleset.matching_rule[0].normalizationMax", "50")]


@pytest.mark.parametrize(
    ("name", "value", "got"),
    [
        ("now", "x", "'x'"),
        ("objective", [], "a list"),
        ("waiting_price", 0, "0"),
        ("expires_after", -1, "-1"),
        ("node_limit", 10**9 + 1, "1000000001"),
        ("pool", "", "''"),
    ],
)
def test_bad_values_of_a_request_are_refused(name: str, value: Any, got: str) -> None:
    assert problems(request() | {name: value}) == [(name, got)]


@pytest.mark.parametrize("name", ["now", "ruleset", "tickets"])
def test_a_request_needs_its_three_fields(name: str) -> None:
    whole = request()
    del whole[name]
    assert problems(whole) == [(name, "nothing")]


def test_one_ruleset_serves_the_queue_and_the_rebalance() -> None:
    document = json.loads(EXAMPLE.read_text())
    ruleset, notes = read_queue_ruleset(document["ruleset"])
    assert notes == ()
    parties = [{"players": one["players"]} for one in document["tickets"][:3]]
    request = {"ruleset": document["ruleset"], "parties": parties}
    assert eq.read_rebalance_request(request).ruleset.places == ruleset.places


def test_rules_not_for_balancing_do_not_even_out_teams() -> None:
    rules = [{**RULE, "isForBalancing": False}, {**RULE, "attribute": "skill"}]
    parties = [{"players": [{"player": name, "attributes": {}}]} for name in ("a", "b")]
    document = {"ruleset": {"alliance": ALLIANCE, "matching_rule": rules[:1]}, "parties": parties}
    assert eq.read_rebalance_request(document).ruleset.rules == ()


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        '{"now": NaN, "ruleset": {}, "tickets": []}',
        '{"now": 1e999, "ruleset": {}, "tickets": [1, null]}',
        '{"now": 0, "now": 1, "ruleset": [], "tickets": {}}',
        '{"now": 0, "ruleset": {"alliance": {"min_number": 1e30}}, "tickets": [{"ticket": []}]}',
        "\ud800",
    ],
)
def test_hostile_requests_are_refused(text: str) -> None:
    with pytest.raises(eq.InvalidDataError):
        read_tick_request(text.encode("utf-8", "surrogatepass"))


@pytest.mark.parametrize("levels", [17, 60, 300])
def test_deep_attributes_are_refused(levels: int) -> None:
    """Keys of nested objects must not double with each level."""
    for inner in ([], {}):
        value: Any = inner
        for _ in range(levels - 1):
            value = [value] if isinstance(inner, list) else {"x": value}
        ticket = {"ticket": "a", "created_at": 0, "players": [{"player": "ann"}]}
        tickets = [{**ticket, "attributes": {"map": value}}]
        read = read_tick_request(json.dumps({**request(), "tickets": tickets}).encode())
        with pytest.raises(eq.InvalidDataError, match=r"tickets\[0\].attributes.map"):
            read.tick()


def test_bad_tickets_are_refused_with_their_paths() -> None:
    document = request(matching_rule=[RULE])
    document["tickets"] = [
        {"ticket": True, "created_at": "x", "players": []},
        {
            "ticket": "b",
            "created_at": 0,
            "players": [{"player": "p", "attributes": {"mmr": 1}}, {"player": "p"}],
            "latencies": {"eu": float("inf")},
            "priority": 0.5,
        },
    ]
    read = read_tick_request(document)
    with pytest.raises(eq.InvalidDataError) as caught:
        read.tick()
    assert [one.field for one in caught.value.problems] == [
        "tickets[0].ticket",
        "tickets[0].created_at",
        "tickets[0].players",
        "tickets[1].priority",
        "tickets[1].players",
        "tickets[1].latencies.eu",
        "tickets[1].players[1].attributes.mmr",
    ]


def test_the_command_prints_matches_and_reasons(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["matchmaking", "tick", str(EXAMPLE)]) == 0
    out = capsys.readouterr().out
    assert "t2, t3 / t1" in out
    assert "region_latency_max_ms" in out
    assert run(["matchmaking", "tick", str(EXAMPLE), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert list(answer) == ["matches", "backfills", "waiting", "expired", "notes"]
    assert answer["matches"][0] == {
        "tickets": ["t1", "t2", "t3"],
        "teams": [["t2", "t3"], ["t1"]],
        "region": "eu",
        "attributes": {"map": ["mill"]},
        "backfill": False,
        "cost": 0.5,
        "proved": True,
    }


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"ruleset": {"alliance": ALLIANCE, "blocked_player_option": 1}}, "blocked_player_option"),
        ({"tickets": [{"ticket": "a", "created_at": 0, "players": []}]}, "tickets[0].players"),
    ],
)
def test_the_command_refuses_a_request_with_its_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], change: dict[str, Any], message: str
) -> None:
    """Faults that the reader finds, and those that the tick finds."""
    file = tmp_path / "bad.json"
    file.write_text(json.dumps(request() | change))
    assert run(["matchmaking", "tick", str(file)]) == 1
    error = capsys.readouterr().err
    assert f"{file}, " in error
    assert message in error


FLEXMATCH: dict[str, Any] = {
    "name": "duos",
    "ruleLanguageVersion": "1.0",
    "playerAttributes": [
        {"name": "skill", "type": "number", "default": 10},
        {"name": "mode", "type": "string"},
        {"name": "power", "type": "string_number_map"},
    ],
    "teams": [
        {"name": "red", "minPlayers": 1, "maxPlayers": 2},
        {"name": "blue", "minPlayers": 1, "maxPlayers": 2},
    ],
    "rules": [
        {
            "name": "Fair",
            "type": "distance",
            "measurements": ["flatten(teams[*].players.attributes[skill])"],
            "referenceValue": "avg(flatten(teams[*].players.attributes[skill]))",
            "maxDistance": 10,
        },
        {
            "name": "Modes",
            "type": "collection",
            "operation": "intersection",
            "measurements": ["flatten(teams[*].players.attributes[mode])"],
            "minCount": 1,
        },
        {"name": "Fast", "type": "latency", "maxLatency": 150},
        {"name": "Any", "type": "compound", "statement": "or(a, b)"},
    ],
    "expansions": [
        {
            "target": "rules[Fair].maxDistance",
            "steps": [{"waitTimeSeconds": 5, "value": 50}, {"waitTimeSeconds": 15, "value": 100}],
        },
        {"target": "teams[red].minPlayers", "steps": [{"waitTimeSeconds": 20, "value": 2}]},
        {"target": "algorithm.strategy", "steps": []},
    ],
}


def test_a_flexmatch_rule_set_becomes_a_ruleset(tmp_path: Path) -> None:
    found = import_flexmatch(FLEXMATCH)
    ruleset, _ = read_queue_ruleset(found.ruleset)
    assert (ruleset.alliance.places, ruleset.match_options) == (4, (("mode", "any"),))
    assert [one.reference for one in ruleset.flexing_rule] == [50, 100]
    assert ruleset.alliance_flexing_rule[0].alliance.player_min_number == 2
    assert ruleset.region_latency_max_ms == 150
    assert found.default_attributes == {"skill": 10.0}
    assert [(one.path, one.kind) for one in found.changes] == [
        ("playerAttributes[1]", "changed"),
        ("playerAttributes[2]", "left out"),
        ("rules[0]", "changed"),
        ("rules[3]", "left out"),
        ("expansions[1]", "changed"),
        ("expansions[2]", "left out"),
        ("expansions", "note"),
    ]


@pytest.mark.parametrize(("operation", "kind"), [("=", "all"), ("!=", "unique")])
def test_a_flexmatch_comparison_of_players_becomes_an_option(operation: str, kind: str) -> None:
    rule = {"type": "comparison", "operation": operation}
    rule["measurements"] = ["flatten(teams[*].players.attributes[mode])"]
    ruleset, _ = read_queue_ruleset(import_flexmatch({**FLEXMATCH, "rules": [rule]}).ruleset)
    assert ruleset.match_options == (("mode", kind),)


def test_a_flexmatch_rule_that_is_left_out_is_not_listed_as_changed() -> None:
    """A second distance rule for an attribute, and a comparison with a value."""
    again = {**FLEXMATCH["rules"][0], "name": "Fair2"}
    value = {"type": "comparison", "operation": "=", "measurements": again["measurements"]}
    rules = [FLEXMATCH["rules"][0], again, {**value, "referenceValue": 5}]
    found = import_flexmatch({**FLEXMATCH, "rules": rules, "expansions": []})
    changes = [(one.path, one.kind) for one in found.changes if one.path.startswith("rules")]
    assert changes == [("rules[0]", "changed"), ("rules[1]", "left out"), ("rules[2]", "left out")]
    assert len(found.ruleset["matching_rule"]) == 1


def test_flexmatch_values_that_are_no_numbers_or_objects_are_refused() -> None:
    document = json.loads(json.dumps(FLEXMATCH)) | {"algorithm": 5}
    document["teams"][1]["minPlayers"] = []
    with pytest.raises(eq.InvalidDataError, match=r"teams\[1\].minPlayers") as caught:
        import_flexmatch(document)
    assert "algorithm" in [one.field for one in caught.value.problems]


def test_flexmatch_teams_of_different_sizes_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    uneven = json.loads(json.dumps(FLEXMATCH))
    uneven["teams"][1]["maxPlayers"] = 4
    file = tmp_path / "uneven.json"
    file.write_text(json.dumps(uneven))
    assert run(["matchmaking", "import", str(file)]) == 1
    assert "red, blue" in capsys.readouterr().err
    file.write_text(json.dumps(FLEXMATCH))
    assert run(["matchmaking", "import", str(file)]) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)["name"] == "duos"
    assert "left out: rules[3]" in printed.err

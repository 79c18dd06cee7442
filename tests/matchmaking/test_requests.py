"""Requests for a tick from files, the command, and imported rule sets."""

from __future__ import annotations

import json
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


@pytest.mark.parametrize(
    ("ruleset", "path", "got"),
    [
        ({"alliance": {**ALLIANCE, "player_min_number": 0}}, "alliance.player_min_number", "0"),
        ({"alliance": {**ALLIANCE, "min_number": 3}}, "alliance.min_number", "3, while"),
        ({"alliance": {**ALLIANCE, "combination": {}}}, "alliance.combination", "roles"),
        (
            {"alliance_flexing_rule": [{**ALLIANCE, "duration": -1}]},
            "alliance_flexing_rule[0].duration",
            "-1",
        ),
        ({"matching_rule": [{**RULE, "criteria": "average"}]}, "matching_rule[0].criteria", "'av"),
        ({"matching_rule": [{**RULE, "attribute": ""}]}, "matching_rule[0].attribute", "''"),
        ({"matching_rule": [{**RULE, "reference": -1}]}, "matching_rule[0].reference", "-1"),
        ({"matching_rule": [{**RULE, "weight": 1001}]}, "matching_rule[0].weight", "1001"),
        (
            {"matching_rule": [{**RULE, "normalizationMax": 50}]},
            "matching_rule[0].normalizationMax",
            "50",
        ),
        (
            {"matching_rule": [{**RULE, "normalizationMax": 500, "max": 400}]},
            "matching_rule[0].max",
            "400",
        ),
        (
            {"matching_rule": [{**RULE, "isForBalancing": 1}]},
            "matching_rule[0].isForBalancing",
            "1",
        ),
        (
            {"matching_rule": [RULE], "flexing_rule": [{**RULE, "duration": 1, "weight": 2}]},
            "flexing_rule[0].weight",
            "not one of",
        ),
        ({"flexing_rule": [{**RULE, "duration": 1}]}, "flexing_rule[0].attribute", "'mmr'"),
        (
            {"matching_rule": [RULE], "flexing_rule": [{**RULE, "duration": 1, "attribute": []}]},
            "flexing_rule[0].attribute",
            "a list",
        ),
        (
            {"match_options": {"options": [{"name": "x", "type": "some"}]}},
            "match_options.options[0].type",
            "'some'",
        ),
        (
            {"match_options": {"options": [{"name": "x", "type": "any"}] * 2}},
            "match_options.options[1].name",
            "'x'",
        ),
        ({"blocked_player_option": "never"}, "blocked_player_option", "'never'"),
        ({"region_expansion_rate_ms": -1}, "region_expansion_rate_ms", "-1"),
        (
            {"region_latency_initial_range_ms": 200, "region_latency_max_ms": 100},
            "region_latency_initial_range_ms",
            "200",
        ),
        ({"region_latency_rule_weight": "x"}, "region_latency_rule_weight", "'x'"),
        ({"rebalance_version": 3}, "rebalance_version", "3"),
        ({"auto_backfill": "yes"}, "auto_backfill", "'yes'"),
        ({"sub_game_modes": {}}, "sub_game_modes", "it"),
        ({"bucket_mmr_rule": {}}, "bucket_mmr_rule", "it"),
        ({"flexing_rules": []}, "flexing_rules", "not one of"),
    ],
)
def test_bad_rulesets_are_refused_with_path_and_value(
    ruleset: dict[str, Any], path: str, got: str
) -> None:
    found = problems(request(**ruleset))
    assert [one[0] for one in found] == [f"ruleset.{path}"]
    assert found[0][1].startswith(got)


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
    found = eq.read_rebalance_request(
        {"ruleset": {"alliance": ALLIANCE, "matching_rule": rules[:1]}, "parties": parties}
    )
    assert found.ruleset.rules == ()


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
    document = request()
    document["tickets"] = [
        {"ticket": True, "created_at": "x", "players": []},
        {
            "ticket": "b",
            "created_at": 0,
            "players": [{"player": "p"}, {"player": "p"}],
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


def test_the_command_refuses_a_bad_ruleset(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "bad.json"
    file.write_text(json.dumps(request(blocked_player_option="never")))
    assert run(["matchmaking", "tick", str(file)]) == 1
    assert "ruleset.blocked_player_option" in capsys.readouterr().err


def test_what_the_tick_refuses_is_told_with_the_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "again.json"
    ticket = {"ticket": "a", "created_at": 0, "players": [{"player": "ann", "attributes": {}}]}
    content = {**request(), "tickets": [ticket, {**ticket, "players": [{"player": "ben"}]}]}
    file.write_text(json.dumps(content))
    assert run(["matchmaking", "tick", str(file)]) == 1
    assert f"{file}, tickets[1].ticket: must be named once" in capsys.readouterr().err


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

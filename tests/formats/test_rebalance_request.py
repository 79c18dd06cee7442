"""Requests to rebalance: what is read, and that every problem is named with its path."""

from __future__ import annotations

import copy
import io
import json
import re
import sys
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from equipoise.data import rebalancing as must
from equipoise.data.rebalancing import RebalanceRequest, Rule, Ruleset
from equipoise.errors import EquipoiseError, InvalidDataError, InvalidParameterError
from equipoise.formats.rebalance_request import read_rebalance_request
from equipoise.teams.rebalance import rebalance
from trials.pace import stopwatch

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "rebalance.json"
DOCUMENT: dict[str, Any] = json.loads(EXAMPLE.read_text())
GONE = object()


def changed(dotted: str, to: Any) -> dict[str, Any]:
    """Return the example with one thing changed, or gone."""
    path = [
        int(number) if number else key for key, number in re.findall(r"(\w+)|\[(\d+)\]", dotted)
    ]
    document = copy.deepcopy(DOCUMENT)
    place: Any = document
    for key in path[:-1]:
        place = place[key]
    if to is GONE:
        del place[path[-1]]
    else:
        place[path[-1]] = to
    return document


def problems(source: object) -> list[tuple[str, str, str]]:
    with pytest.raises(InvalidDataError) as caught:
        read_rebalance_request(source)
    return [(one.field, one.rule, one.got) for one in caught.value.problems]


def test_every_source_gives_the_documents_own_example(monkeypatch: pytest.MonkeyPatch) -> None:
    request = read_rebalance_request(EXAMPLE)
    assert request.ruleset == Ruleset(
        min_number=1,
        max_number=2,
        player_min_number=1,
        player_max_number=3,
        rules=(Rule(attribute="mmr", reference=100, max=3000),),
        auto_backfill=True,
    )
    assert [one.ids for one in request.parties] == [("B",), ("C",), ("D", "E")]
    assert [[one.ids for one in team] for team in request.session] == [[("A",)], []]
    assert request.backfill
    assert request.notes == ()
    data = EXAMPLE.read_bytes()
    expected = read_rebalance_request(str(EXAMPLE))
    sources: list[object] = [EXAMPLE, data, DOCUMENT, io.BytesIO(data), io.StringIO(data.decode())]
    sources.append(b"\xef\xbb\xbf" + data)
    for source in sources:
        assert read_rebalance_request(source) == expected
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    assert read_rebalance_request("-") == expected
    with pytest.raises(InvalidParameterError, match="source must be a path"):
        read_rebalance_request(7)


@pytest.mark.parametrize(
    ("path", "to", "field", "rule"),
    [
        ("ruleset", GONE, "", must.GIVEN),
        ("ruleset", [], "", must.OBJECT),
        ("ruleset.allience", 1, "", must.KNOWN),
        ("ruleset.auto_backfill", 1, "", must.TRUE_OR_FALSE),
        ("ruleset.auto_backfill", False, "", must.BACKFILL),
        ("ruleset.rebalance_enable", "no", "", must.TRUE_OR_FALSE),
        ("ruleset.rebalance_version", 3, "", "must be 1 or 2"),
        ("ruleset.rebalance_version", True, "", "must be 1 or 2"),
        ("ruleset.alliance", GONE, "", must.GIVEN),
        ("ruleset.alliance", 5, "", must.OBJECT),
        ("ruleset.alliance.max_number", GONE, "", must.GIVEN),
        ("ruleset.alliance.max_number", -2, "", must.TEAMS),
        ("ruleset.alliance.max_number", 1.5, "", must.TEAMS),
        ("ruleset.alliance.max_number", True, "", must.TEAMS),
        ("ruleset.alliance.max_number", 10**400, "", must.TEAMS),
        ("ruleset.alliance.min_number", 3, "", must.NOT_ABOVE),
        ("ruleset.alliance.player_min_number", -1, "", must.NO_PLAYERS),
        ("ruleset.alliance.player_max_number", 0, "", must.PLAYERS),
        ("ruleset.matching_rule", {}, "", must.LIST),
        ("ruleset.matching_rule[0]", "mmr", "", must.OBJECT),
        ("ruleset.matching_rule[0].criteria", "average", "", must.DISTANCE),
        ("ruleset.matching_rule[0].criteria", GONE, "", must.GIVEN),
        ("ruleset.matching_rule[0].attribute", "", "", must.NAMED),
        ("ruleset.matching_rule[0].max", 0, "", must.MAXIMUM),
        ("ruleset.matching_rule[0].reference", -1, "", must.REFERENCE),
        (
            "ruleset.matching_rule",
            DOCUMENT["ruleset"]["matching_rule"] * 2,
            "ruleset.matching_rule[1].attribute",
            must.NAMED_ONCE,
        ),
        ("session", [], "", must.OBJECT),
        ("session.team", [], "", must.KNOWN),
        ("session.teams", {}, "", must.LIST),
        ("session.teams[1]", "x", "", must.LIST),
        ("session.teams", [[], [], []], "", must.SESSION_TEAMS),
        ("parties", GONE, "", must.SOME_PARTIES),
        ("parties", {}, "", must.SOME_PARTIES),
        ("parties", {"a": 1}, "", must.LIST),
        ("parties[0]", None, "", must.OBJECT),
        ("parties[0].players", [], "", must.SOME_PLAYERS),
        ("parties[0].players", GONE, "", must.GIVEN),
        ("parties[0].party", 1.5, "", must.ID),
        ("parties[0].party", "Party 1", "", must.NAMED_ONCE),
        ("parties[0].players[0].player", None, "", must.ID),
        ("parties[0].players[0].player", 2**70, "", must.ID),
        ("parties[0].players[0].player", "A", "", must.NAMED_ONCE),
        ("parties[0].players[0].attributes", 7, "", must.OBJECT),
        (
            "parties[0].players[0].attributes",
            {},
            "parties[0].players[0].attributes.mmr",
            must.HAS_ATTRIBUTE,
        ),
        ("parties[0].players[0].attributes.mmr", "60", "", must.ATTRIBUTE),
        ("parties[0].players[0].attributes.mmr", float("nan"), "", must.ATTRIBUTE),
        ("parties[0].players[0].attributes.mmr", 1e308, "", must.ATTRIBUTE),
        ("parties[0].players[0].attributes.mmr", 10**4000, "", must.ATTRIBUTE),
        ("default_attributes", {"mmr": "high"}, "default_attributes.mmr", must.ATTRIBUTE),
        ("default_attributes", [], "", must.OBJECT),
        ("ruleset.alliance.player_max_number", 1, "parties[2].players", must.FITS),
        ("more", 1, "", must.KNOWN),
    ],
)
def test_every_problem_has_its_path_and_rule(path: str, to: Any, field: str, rule: str) -> None:
    found = problems(changed(path, to))
    assert (field or path, rule) in [one[:2] for one in found]
    assert all(len(got) < 200 for _, _, got in found)


def test_all_problems_are_listed_at_once() -> None:
    document = changed("ruleset.alliance.max_number", "two")
    document["parties"][0]["players"][0]["player"] = "A"
    document["parties"][1]["players"][0]["attributes"] = {"mmr": float("inf")}
    document["extra"] = 1
    assert [one[0] for one in problems(document)] == [
        "extra",
        "ruleset.alliance.max_number",
        "parties[0].players[0].player",
    ]
    document["ruleset"]["alliance"]["max_number"] = 2
    assert [one[0] for one in problems(document)] == [
        "extra",
        "parties[0].players[0].player",
        "parties[1].players[0].attributes.mmr",
    ]


def test_fields_without_effect_are_listed_and_numbers_of_players_checked() -> None:
    document = changed("ruleset.match_options", {"options": []})
    document["ruleset"]["alliance"]["combination"] = {"has_combination": False}
    document["ruleset"]["matching_rule"][0]["weight"] = 2
    request = read_rebalance_request(document)
    assert request.notes == (
        "no effect on teams: ruleset.match_options, ruleset.matching_rule.weight, "
        "ruleset.alliance.combination",
    )
    assert request.notes[0] in rebalance(request).notes
    many = changed("ruleset.alliance.player_max_number", 2)
    many["ruleset"]["alliance"]["max_number"] = 2
    assert ("parties", must.ALL_FIT, "5 players for 2 x 2 places") in problems(many)
    few = changed("session", GONE)
    few["ruleset"]["alliance"].update(min_number=2, player_min_number=3)
    assert problems(few) == [("parties", must.ENOUGH, "4 players for 2 x 3 places")]


@pytest.mark.parametrize(
    ("text", "rule", "got"),
    [
        (b"", must.JSON, "Expecting value"),
        (b"{", must.JSON, "Expecting property name"),
        (b"[]", must.OBJECT, "a list"),
        (b"null", must.OBJECT, "nothing"),
        (b'"\xff"', "must be text in UTF-8", "the byte 0xff"),
        (b'{"ruleset": {}, "ruleset": {}}', must.GIVEN_ONCE, "two"),
        (b"[" * 100_000, must.DEPTH, "nested too deeply"),
        (b'{"a":' * 100_000, must.DEPTH, "nested too deeply"),
        (b"9" * 100_000, must.JSON, "integer string conversion"),
        (b" " * 32_000_001, must.SIZE, "more"),
    ],
)  # fmt: skip
def test_what_is_no_request_at_all_is_told(text: bytes, rule: str, got: str) -> None:
    found = problems(text)
    assert found[0][1] == rule
    assert got in found[0][2]


def test_missing_files_wrong_values_and_many_problems_are_told(tmp_path: Path) -> None:
    [(_, rule, got)] = problems(str(tmp_path / "nowhere.json"))
    assert rule == "must be a readable file"
    assert got == "No such file or directory"
    [(_, rule, _)] = problems(tmp_path)
    assert rule == "must be a readable file"
    with pytest.raises(InvalidDataError, match="must be distance"):
        Rule(attribute="mmr", criteria="average")
    with pytest.raises(InvalidDataError, match=r"alliance\.max_number"):
        Ruleset(min_number=1, max_number=0, player_min_number=1, player_max_number=1)
    rules = Ruleset(min_number=1, max_number=1, player_min_number=1, player_max_number=1)
    with pytest.raises(InvalidDataError, match="must have at least one party"):
        RebalanceRequest(ruleset=rules, parties=())
    with pytest.raises(InvalidDataError, match="more than 1000 problems") as caught:
        read_rebalance_request({**many_parties(0), "parties": [7] * 5_000})
    assert len(caught.value.problems) == 1000


def many_parties(count: int) -> dict[str, Any]:
    document = changed("session", GONE)
    document["ruleset"]["alliance"].update(max_number=1000, player_max_number=10_000)
    document["parties"] = [
        {"party": at, "players": [{"player": at, "attributes": {"mmr": at % 3000}}]}
        for at in range(count)
    ]
    return document


@pytest.mark.slow
@pytest.mark.parametrize(
    "make",
    [
        lambda: many_parties(30_000),
        lambda: many_parties(10_000),
        lambda: {**many_parties(0), "parties": [{}] * 10_000},
        lambda: {**many_parties(1), "unknown" * 1000: 1} | {str(at): 1 for at in range(30_000)},
    ],
    ids=["parties", "limit", "empty", "fields"],
)
def test_hostile_requests_end_in_bounded_time_and_memory(make: Callable[[], Any]) -> None:
    data = json.dumps(make()).encode()
    tracemalloc.start()
    with stopwatch(time.process_time) as watch:
        try:
            outcome = f"{len(rebalance(read_rebalance_request(data)).teams)} teams"
        except EquipoiseError as error:
            outcome = str(error)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert 0 < len(outcome) < 10_000
    # Traced allocation is several times slower than without.
    assert watch.seconds < 20
    assert peak < 500e6


def test_every_rule_is_explained_on_the_page() -> None:
    page = (ROOT / "docs" / "reference" / "messages.md").read_text()
    rules = [value for value in vars(must).values() if str(value).startswith("must ")]
    assert len(rules) > 20
    assert [rule for rule in rules if f"`{rule}`" not in page] == []

"""The OpenAPI document and the pages about the API say what the service does."""

from __future__ import annotations

import hashlib
import json
import re
from base64 import b64encode
from typing import Any
from xml.etree import ElementTree

import msgspec
import pytest

from equipoise.web.api import ENDPOINTS
from equipoise.web.http.endpoints import decode_body
from equipoise.web.http.errors import HTTP_STATUS
from equipoise.web.openapi import (
    _RULES,
    ERRORS,
    described,
    docs_page,
    error_statuses,
    openapi_document,
)

DOCUMENT: dict[str, Any] = json.loads(msgspec.json.encode(described(ENDPOINTS)))


def operations() -> list[tuple[str, str, dict[str, Any]]]:
    return [
        (path, method, operation)
        for path, methods in DOCUMENT["paths"].items()
        for method, operation in methods.items()
    ]


def test_every_endpoint_is_described() -> None:
    found = {(method.upper(), path) for path, method, _ in operations()}
    assert found == {(endpoint.method, endpoint.path) for endpoint in ENDPOINTS}


def test_every_variable_part_of_a_path_is_described() -> None:
    for path, _, operation in operations():
        named = {one["name"] for one in operation["parameters"] if one["in"] == "path"}
        assert named == set(re.findall(r"\{(\w+)\}", path))


def test_errors_are_described_by_their_status() -> None:
    """Every status that an error has, but those of faults of ours and of paths we do not have."""
    assert set(HTTP_STATUS.values()) - {500, 405} == set(ERRORS)


@pytest.mark.parametrize(
    "endpoint", [one for one in ENDPOINTS if one.body and one.body.shape], ids=lambda one: one.name
)
def test_examples_are_what_they_are_examples_of(endpoint: Any) -> None:
    assert decode_body(endpoint.body, msgspec.json.encode(endpoint.body.example)) is not None


def test_parameters_of_queries_have_their_limits() -> None:
    parameters = DOCUMENT["paths"]["/v1/pools/{pool}/leaderboard"]["get"]["parameters"]
    limit = next(one for one in parameters if one["name"] == "limit")
    assert limit["schema"] == {"type": "integer", "minimum": 1, "maximum": 1000, "default": 50}
    cursor = next(one for one in parameters if one["name"] == "cursor")
    assert cursor["schema"]["type"] == "string"
    assert not cursor["required"]


def test_ids_have_their_rules_also_in_bodies() -> None:
    match = DOCUMENT["components"]["schemas"]["MatchRequest"]["properties"]["match"]
    text = next(one for one in match["anyOf"] if one["type"] == "string")
    assert (text["minLength"], text["maxLength"]) == (1, 200)
    times = DOCUMENT["components"]["schemas"]["MatchRequest"]["properties"]["time"]
    assert all("maxLength" not in one for one in times["anyOf"])


def test_it_is_valid_by_the_rules_of_openapi() -> None:
    """As far as a reader of such documents can tell, which then can make up requests."""
    schemathesis = pytest.importorskip("schemathesis")
    schema = schemathesis.openapi.from_dict(DOCUMENT)
    assert len([found.ok() for found in schema.get_all_operations()]) == len(ENDPOINTS)


@pytest.mark.parametrize(("shape", "field"), list(_RULES), ids=".".join)
def test_rules_are_about_fields_that_there_are(shape: str, field: str) -> None:
    kind, rules = _RULES[shape, field]
    found = DOCUMENT["components"]["schemas"][shape]["properties"][field]
    choices = [one for one in (found, *found.get("anyOf", ())) if one.get("type") == kind]
    assert any(rules.items() <= one.items() for one in choices)


def test_a_team_has_a_rank_or_a_score() -> None:
    team = DOCUMENT["components"]["schemas"]["TeamRequest"]
    assert team["required"] == ["players"]
    assert team["oneOf"] == [{"required": ["rank"]}, {"required": ["score"]}]
    assert {"type": "number"} in team["properties"]["score"]["anyOf"]


def test_a_player_who_is_not_in_the_games_is_described() -> None:
    """Performance names players in its query, so it can answer 404."""
    performance = next(one for one in ENDPOINTS if one.name == "performance")
    assert 404 in error_statuses(performance)


PAGE, POLICY = docs_page(openapi_document(ENDPOINTS))


def test_it_is_well_formed_and_every_link_within_it_leads_somewhere() -> None:
    root = ElementTree.fromstring(PAGE.partition("\n")[2])
    names = [one.get("id") for one in root.iter() if one.get("id")]
    assert len(set(names)) == len(names)
    inner = {
        one.get("href", "")[1:] for one in root.iter("a") if one.get("href", "").startswith("#")
    }
    assert inner <= set(names)


def test_every_endpoint_is_on_it() -> None:
    for endpoint in ENDPOINTS:
        assert f'id="{endpoint.name}"' in PAGE
        assert f"{endpoint.method} {endpoint.path}" in PAGE


def test_it_runs_nothing_and_fetches_nothing() -> None:
    """No script, no address elsewhere, and a policy that allows its own style alone."""
    assert "<script" not in PAGE
    assert not re.search(r"(src|href)=\"(?!#|/openapi\.json)", PAGE)
    assert "url(" not in PAGE
    (style,) = re.findall(r"<style>(.*?)</style>", PAGE, re.DOTALL)
    digest = b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert f"style-src 'sha256-{digest}'" in POLICY
    assert "unsafe" not in POLICY
    assert " style=" not in PAGE

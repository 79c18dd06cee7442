"""Paths, queries and bodies are checked against their endpoints; errors have one shape."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
import pytest
from msgspec import Meta

from equipoise import errors
from equipoise.errors import EquipoiseError, InvalidDataError, NotFoundError, Problem
from equipoise.messages.conversion import ErrorMessage
from equipoise.messages.matches import MatchRequest, ReasonRequest
from equipoise.web.api import ENDPOINTS
from equipoise.web.api.administration import health
from equipoise.web.application import PathTable, sent_path
from equipoise.web.http import errors as web_errors
from equipoise.web.http.endpoints import (
    ApiRequest,
    Body,
    Endpoint,
    PageQuery,
    decode_body,
    read_query,
    refused_json,
    time_of,
)
from equipoise.web.http.errors import HTTP_STATUS, MalformedError, error_response, http_status
from trials.calls import EVERYTHING


class Query(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A query with one of each."""

    flag: bool = False
    names: Annotated[tuple[str, ...], Meta(max_length=9)] = ()
    limit: int = 5


def test_a_query_is_read_as_its_shape() -> None:
    found = read_query(Query, b"flag=true&names=a&names=b%2Cc&limit=7")
    assert found == Query(flag=True, names=("a", "b,c"), limit=7)
    assert read_query(Query, b"") == Query()


@pytest.mark.parametrize(
    ("query", "field"),
    [
        (b"limt=5", "limt"),
        (b"limit=5&limit=6", "limit"),
        (b"limit=0", "limit"),
        (b"limit=1001", "limit"),
        (b"limit=x", "limit"),
        (b"cursor=", "cursor"),
    ],
)
def test_a_query_that_breaks_a_rule_is_refused_by_name(query: bytes, field: str) -> None:
    with pytest.raises(InvalidDataError) as error:
        read_query(PageQuery, query)
    assert [found.field for found in error.value.problems] == [field]


@pytest.mark.parametrize("query", [b"limit=%ff", b"a=1&" * 2000, b"\xff"])
def test_what_is_no_query_is_malformed(query: bytes) -> None:
    with pytest.raises(MalformedError):
        read_query(PageQuery, query)


def test_an_endpoint_without_a_query_takes_none() -> None:
    with pytest.raises(InvalidDataError):
        read_query(None, b"x=1")


def test_an_empty_body_is_an_empty_object_where_it_may_be() -> None:
    optional = Body(shape=ReasonRequest, required=False)
    assert decode_body(optional, b" ") == ReasonRequest()
    with pytest.raises(MalformedError):
        decode_body(Body(shape=ReasonRequest), b"")


def test_times_in_a_query_are_numbers_where_they_are_digits() -> None:
    assert time_of("12") == 12
    assert time_of("-12") == -12
    assert time_of("2025-01-01") == "2025-01-01"
    assert time_of("9" * 30) == "9" * 30
    assert time_of(None) is None


def test_a_number_in_a_path_counts_from_1() -> None:
    nothing: Any = None
    endpoint = Endpoint(route="POST /v1/keys/{key}/revoke", handler=health)

    def number(text: str) -> int:
        return ApiRequest(nothing, endpoint, {}, nothing, nothing, {"key": text}).number("key")

    assert [number(text) for text in ("1", "20", str(2**31 - 1))] == [1, 20, 2**31 - 1]
    for text in ("0", str(2**31), "-1", "1.0", "²"):
        with pytest.raises(NotFoundError, match=f"no key '{text}'"):
            number(text)


class Part(msgspec.Struct, forbid_unknown_fields=True):
    """A part of a shape."""

    rank: int | None = None
    late: Literal["reject", "append"] = "reject"


class Whole(msgspec.Struct, forbid_unknown_fields=True):
    """A shape with a rule of each kind."""

    id: int | str
    number: Annotated[int, Meta(ge=1, le=9)] = 1
    text: Annotated[str, Meta(min_length=2, pattern="^a")] = "aa"
    weight: float = 1.0
    parts: list[Part] = []
    part: Part | None = None
    events: list[Literal["rated", "ended"]] = []


def refused(shape: Any, content: bytes, line: int | None = None) -> Exception:
    try:
        msgspec.json.decode(content, type=shape)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        return refused_json(error, shape, line)
    raise AssertionError("it was taken")


@pytest.mark.parametrize(
    ("content", "field", "rule", "got"),
    [
        ("{}", "id", "must be given", "nothing"),
        ("[]", "", "must be an object", "an array"),
        ('{"id":1,"x":2}', "x", "unknown field", "x"),
        ('{"id":1.5}', "id", "must be a whole number or text", "a number"),
        ('{"id":1,"number":0}', "number", "must be at least 1", "another value"),
        (
            '{"id":1,"text":"a"}',
            "text",
            "must have at least 2 characters or items",
            "another value",
        ),
        ('{"id":1,"text":"bb"}', "text", "must match ^a", "another value"),
        ('{"id":1,"weight":1e999}', "weight", "must be a smaller number", "a larger one"),
        (
            '{"id":1,"parts":[{"rank":"a"}]}',
            "parts[0].rank",
            "must be a whole number or null",
            "text",
        ),
        ('{"id":1,"part":{"late":"no"}}', "part.late", "must be one of reject, append", "no"),
        ('{"id":1,"events":["rated","x"]}', "events[1]", "must be one of rated, ended", "x"),
    ],
)
def test_names_field_rule_and_value(content: str, field: str, rule: str, got: str) -> None:
    error = refused(Whole, content.encode(), 7)
    assert isinstance(error, InvalidDataError)
    (found,) = error.problems
    assert (found.line, found.field, found.rule, found.got) == (7, field, rule, got)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"{", "the body must be JSON: it ends too early"),
        (b'{"match":1,"teams":[]} x', "the body must be JSON: trailing characters"),
        (b'{"match":"\xff"}', "the body must be UTF-8"),
    ],
)
def test_what_is_no_json_is_malformed(content: bytes, words: str) -> None:
    error = refused(MatchRequest, content)
    assert isinstance(error, MalformedError)
    assert words in str(error)


def test_nesting_beyond_what_can_be_read_is_malformed() -> None:
    assert "nested too deeply" in str(refused_json(RecursionError(), MatchRequest))


def kinds(base: type[EquipoiseError] = EquipoiseError) -> set[type[EquipoiseError]]:
    """Return all errors there are."""
    return {base}.union(*(kinds(one) for one in base.__subclasses__()))


def test_every_error_of_the_service_has_a_status() -> None:
    ours = {
        kind
        for kind in kinds()
        if kind.__module__ == web_errors.__name__ and not kind.__name__.startswith("_")
    }
    assert ours <= set(HTTP_STATUS)
    assert len({kind.code for kind in ours}) == len(ours)


@pytest.mark.parametrize(
    ("error", "status", "header"),
    [
        (errors.NotFoundError("x"), 404, None),
        (errors.NoEquilibriumError([]), 422, None),
        (web_errors.UnauthorisedError("x"), 401, ("www-authenticate", "Bearer")),
        (web_errors.MethodError("PUT", ("GET",)), 405, ("allow", "GET")),
        (web_errors.TooManyRequestsError("x", 2.2), 429, ("retry-after", "3")),
        (web_errors.OverloadedError("x"), 503, ("retry-after", "2")),
    ],
)
def test_errors_have_their_status_and_headers(
    error: EquipoiseError, status: int, header: tuple[str, str] | None
) -> None:
    assert http_status(error) == status
    answer = error_response(error)
    assert answer.status_code == status
    assert answer.headers["cache-control"] == "no-store"
    if header is not None:
        assert answer.headers[header[0]] == header[1]


def test_all_problems_are_told() -> None:
    """However many there are, in the shape that the command line uses too."""
    problems = [Problem("", line, "f", "must hold", "x") for line in range(100)]
    answer = error_response(InvalidDataError(problems))
    told = msgspec.json.decode(answer.body, type=ErrorMessage).error
    assert told.code == "invalid-data"
    assert len(told.problems) == 100


TABLE = PathTable(ENDPOINTS)


@pytest.mark.parametrize(
    ("path", "name", "values"),
    [
        (b"/v1/pools", "listPools", {}),
        (b"/v1/pools/x", "showPool", {"pool": "x"}),
        (b"/v1/pools/x/players/a%2Fb", "showPlayer", {"pool": "x", "player": "a/b"}),
        (b"/v1/pools/x/players/history", "showPlayer", {"pool": "x", "player": "history"}),
        (b"/v1/pools/x/players/%2e%2e/history", "showPlayerHistory", {"pool": "x", "player": ".."}),
        (b"/v1/pools/x/players/%25", "showPlayer", {"pool": "x", "player": "%"}),
        (b"/v1/pools/x/players/%C3%A9", "showPlayer", {"pool": "x", "player": "é"}),
        ("/v1/pools/x/players/é".encode(), "showPlayer", {"pool": "x", "player": "é"}),
    ],
)
def test_paths_lead_to_endpoints_and_ids(path: bytes, name: str, values: dict[str, str]) -> None:
    found = TABLE.find(path)
    assert found is not None
    assert found.endpoints["GET"].name == name
    assert found.decoded() == values


@pytest.mark.parametrize(
    "path", [b"/", b"", b"/v1", b"/v1/pools/", b"/v1/pools//leaderboard", b"/v1/pools/x/players/"]
)
def test_other_paths_lead_nowhere(path: bytes) -> None:
    """An empty part is no id, and a path is not another one with a slash at its end."""
    assert TABLE.find(path) is None


def test_every_endpoint_is_found_by_its_own_path() -> None:
    for endpoint in ENDPOINTS:
        path = endpoint.path.replace("{", "").replace("}", "").encode()
        found = TABLE.find(path)
        assert found is not None
        assert found.endpoints[endpoint.method] is endpoint


def test_names_of_endpoints_are_unique() -> None:
    names = [endpoint.name for endpoint in ENDPOINTS]
    assert len(set(names)) == len(names)


def test_a_server_that_keeps_no_sent_path_is_served_too() -> None:
    scope: dict[str, Any] = {"path": "/v1/pools/x y"}
    assert sent_path(scope) == b"/v1/pools/x%20y"
    assert sent_path({"path": "", "raw_path": b"/a?b"}) == b"/a"


def test_the_client_has_a_method_for_every_endpoint() -> None:
    asked = {"GET /v1/pools/{pool}/export"}  # a file, so it has no shape to be tried with
    for _, line in EVERYTHING:
        method, _, target = line.partition(" ")
        route = TABLE.find(target.partition("?")[0].encode())
        assert route is not None, line
        asked.add(f"{method} {route.endpoints[method].path}")
    # These are for machines that watch the service, and for people.
    others = {"GET /healthz", "GET /docs"}
    assert {f"{endpoint.method} {endpoint.path}" for endpoint in ENDPOINTS} - others <= asked

"""Queries and bodies are checked against the shapes of their endpoints."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
import pytest
from msgspec import Meta

from equipoise.errors import InvalidDataError, NotFoundError
from equipoise.messages.matches import ReasonRequest
from equipoise.web.api.administration import health
from equipoise.web.http.endpoints import (
    ApiRequest,
    Body,
    Endpoint,
    PageQuery,
    decode_body,
    read_query,
    time_of,
)
from equipoise.web.http.errors import MalformedError


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

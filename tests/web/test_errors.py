"""One table gives each error its status, one shape tells all of them."""

from __future__ import annotations

import msgspec
import pytest

from equipoise import errors
from equipoise.errors import EquipoiseError, InvalidDataError, Problem
from equipoise.messages.conversion import ErrorMessage
from equipoise.web.http import errors as web_errors
from equipoise.web.http.errors import HTTP_STATUS, error_response, http_status


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

"""Which HTTP status each error has, and the one shape in which all of them are answered.

What msgspec says of a body that does not fit, in our words: which field, what must hold.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple, get_args

import msgspec
from sqlalchemy.exc import OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from starlette.responses import Response

from equipoise.errors import (
    ConflictError,
    ConvergenceError,
    EquipoiseError,
    InvalidDataError,
    InvalidParameterError,
    NoEquilibriumError,
    NotFoundError,
    Problem,
)
from equipoise.messages.access import Role
from equipoise.messages.errors import error_message
from equipoise.messages.pools import LatePolicy, PoolTimes


class MalformedError(EquipoiseError):
    """A body or header that cannot be read at all: no JSON, no UTF-8."""

    code = "malformed"


class UnauthorisedError(EquipoiseError):
    """There is no key where one is needed, or one that is not, or no longer, valid."""

    code = "unauthorised"


class ForbiddenError(EquipoiseError):
    """The key is valid, but not for this."""

    code = "forbidden"


class MethodError(EquipoiseError):
    """The path exists, but not with this method; `allowed` are those that it has."""

    code = "method-not-allowed"

    def __init__(self, method: str, allowed: tuple[str, ...]) -> None:
        super().__init__(f"the method must be one of {', '.join(allowed)}; got {method}")
        self.allowed = allowed


class SlowRequestError(EquipoiseError):
    """The body did not arrive in time."""

    code = "request-timeout"


class TooLargeError(EquipoiseError):
    """A body, or a line of a stream, is larger than the service takes."""

    code = "too-large"


class MediaTypeError(EquipoiseError):
    """The body is of a kind that is not taken here."""

    code = "unsupported-media-type"


class _RetryError(EquipoiseError):
    """What may work later: `seconds` says when to try again."""

    def __init__(self, message: str, seconds: float = 1.0) -> None:
        super().__init__(message)
        self.seconds = seconds


class TooManyRequestsError(_RetryError):
    """A key or an address asked for more than its rate."""

    code = "too-many-requests"


class OverloadedError(_RetryError):
    """More is under way than the service takes on."""

    code = "overloaded"


class TimedOutError(_RetryError):
    """The answer took longer than a request may; what was asked may have been done all the same.

    Answered with 504, as 503 says that nothing was done.
    """

    code = "timed-out"


class UnavailableError(_RetryError):
    """The database does not answer."""

    code = "unavailable"


class InternalError(EquipoiseError):
    """A fault of the service itself; what happened is in its log under the request's id."""

    code = "internal"


#: HTTP status of each kind of error; the most specific class decides.
HTTP_STATUS: dict[type[EquipoiseError], int] = {
    EquipoiseError: 422,
    MalformedError: 400,
    UnauthorisedError: 401,
    ForbiddenError: 403,
    NotFoundError: 404,
    MethodError: 405,
    SlowRequestError: 408,
    ConflictError: 409,
    TooLargeError: 413,
    MediaTypeError: 415,
    InvalidDataError: 422,
    InvalidParameterError: 422,
    NoEquilibriumError: 422,
    ConvergenceError: 422,
    TooManyRequestsError: 429,
    InternalError: 500,
    OverloadedError: 503,
    UnavailableError: 503,
    TimedOutError: 504,
}

#: What a database says that is not reached, or is busy for too long.
DATABASE_ERRORS = (OperationalError, PoolTimeoutError)


def http_status(error: EquipoiseError) -> int:
    """Return the HTTP status of an error."""
    return next(HTTP_STATUS[kind] for kind in type(error).__mro__ if kind in HTTP_STATUS)


def error_body(error: EquipoiseError) -> bytes:
    """Return an error as JSON, in the one shape of `equipoise.messages.errors`."""
    return msgspec.json.encode(error_message(error))


def error_response(error: EquipoiseError) -> Response:
    """Return the answer that tells an error."""
    return Response(
        error_body(error),
        http_status(error),
        headers=_headers(error),
        media_type="application/json",
    )


def _headers(error: EquipoiseError) -> Mapping[str, str]:
    headers = {"Cache-Control": "no-store"}
    if isinstance(error, UnauthorisedError):
        headers["WWW-Authenticate"] = "Bearer"
    if isinstance(error, MethodError):
        headers["Allow"] = ", ".join(error.allowed)
    if isinstance(error, _RetryError):
        headers["Retry-After"] = str(max(1, round(error.seconds + 0.5)))
    return headers


_EXPECTED = re.compile(r"Expected `(?P<kind>[^`]*)`(?: (?P<rule>.*?))?(?:, got `(?P<got>[^`]*)`)?$")
_RULES = (
    (re.compile(r"of length (\S+) (\d+)$"), "must have {} {} characters or items"),
    (re.compile(r"(>=|<=|>|<) (\S+)$"), "must be {} {}"),
    (re.compile(r"matching regex '(.*)'$"), "must match {}"),
)
_COMPARED = {">=": "at least", "<=": "at most", ">": "more than", "<": "less than"}
_FIELD = re.compile(r"Object (?P<what>missing required|contains unknown) field `(?P<name>[^`]*)`")
_CHOICE = re.compile(r"Invalid enum value '?(?P<got>.*?)'?$")
#: What a field takes that takes only certain words.
_CHOICES = {"late": get_args(LatePolicy), "times": get_args(PoolTimes), "role": get_args(Role)}
_KINDS = {
    "int": "a whole number",
    "float": "a number",
    "str": "text",
    "bool": "true or false",
    "object": "an object",
    "array": "an array",
    "null": "null",
}
_SHOWN = 200


class _Said(NamedTuple):
    field: str
    rule: str
    got: str


def refused_json(error: Exception, line: int | None = None) -> EquipoiseError:
    """Return the error to answer for JSON that msgspec refused.

    line : of a stream, where the JSON is one of its lines
    """
    if isinstance(error, msgspec.ValidationError):
        return InvalidDataError([problem(error, line)])
    where = "the body" if line is None else f"line {line}"
    if isinstance(error, RecursionError):
        return MalformedError(f"{where} is nested too deeply")
    if isinstance(error, UnicodeDecodeError):
        return MalformedError(f"{where} must be UTF-8")
    said = str(error).removeprefix("JSON is malformed: ")
    if said.startswith("Input data was truncated"):
        said = "it ends too early"
    return MalformedError(f"{where} must be JSON: {said}")


def problem(error: msgspec.ValidationError, line: int | None = None) -> Problem:
    """Return what is wrong, by the path of the field: teams[0].rank."""
    text, _, path = str(error).partition(" - at ")
    said = _said(text, path.strip("`").removeprefix("$").removeprefix("."))
    return Problem("", line, said.field, said.rule, said.got[:_SHOWN])


def without_lines(error: InvalidDataError) -> InvalidDataError:
    """Return the problems of a single match, which has no number in a list."""
    return InvalidDataError([replace(found, line=None) for found in error.problems])


def _said(text: str, path: str) -> _Said:
    found = _FIELD.match(text)
    if found:
        field = f"{path}.{found['name']}" if path else found["name"]
        if found["what"] == "missing required":
            return _Said(field, "must be given", "nothing")
        return _Said(field, "unknown field", found["name"])
    found = _CHOICE.match(text)
    if found:
        choices = _CHOICES.get(path.rpartition(".")[2])
        rule = f"must be one of {', '.join(choices)}" if choices else "must be one of the choices"
        return _Said(path, rule, found["got"])
    found = _EXPECTED.match(text)
    if found:
        rule = _rule(found["kind"], found["rule"])
        got = "another value" if found["got"] is None else _kinds(found["got"])
        return _Said(path, rule, got)
    if "out of range" in text:
        return _Said(path, "must be a smaller number", "a larger one")
    return _Said(path, "must be valid", text)


def _rule(kind: str, rest: str | None) -> str:
    for pattern, words in _RULES:
        found = pattern.match(rest or "")
        if found:
            return words.format(*(_COMPARED.get(part, part) for part in found.groups()))
    return f"must be {_kinds(kind)}"


def _kinds(types: str) -> str:
    return " or ".join(_KINDS.get(one, one) for one in types.split(" | "))

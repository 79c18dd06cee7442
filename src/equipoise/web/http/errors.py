"""The errors of the service: their HTTP status, and the one shape in which they are answered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

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
)
from equipoise.messages.errors import error_message


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


def without_lines(error: InvalidDataError) -> InvalidDataError:
    """Return the problems of a single match, which has no number in a list."""
    return InvalidDataError([replace(found, line=None) for found in error.problems])

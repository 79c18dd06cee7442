"""The errors of the service: their HTTP status, and the one shape in which they are answered."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

import msgspec
from sqlalchemy.exc import OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from starlette.responses import Response

from equipoise.errors import (
    ConflictError,
    ConvergenceError,
    DamagedError,
    EquipoiseError,
    InvalidDataError,
    InvalidParameterError,
    NoEquilibriumError,
    NoStrengthsError,
    NotFoundError,
    PluginError,
    UnconfirmedError,
)
from equipoise.errors import UnavailableError as StoreUnavailableError
from equipoise.messages.conversion import error_message


class MalformedError(EquipoiseError):
    """A body or header that cannot be read at all: it is not JSON, or not UTF-8."""

    code = "malformed"


class UnauthorisedError(EquipoiseError):
    """A key is required and missing, or the key is invalid, expired or revoked."""

    code = "unauthorised"


class ForbiddenError(EquipoiseError):
    """The key is valid but does not allow this."""

    code = "forbidden"


class MethodError(EquipoiseError):
    """The path does not have this method; `allowed` are the methods that it has."""

    code = "method-not-allowed"

    def __init__(self, method: str, allowed: tuple[str, ...]) -> None:
        super().__init__(f"the method must be one of {', '.join(allowed)}; got {method}")
        self.allowed = allowed


class SlowRequestError(EquipoiseError):
    """The head or the body of a request did not arrive in time."""

    code = "request-timeout"


class TooLargeError(EquipoiseError):
    """A body, or a line of a stream, is too large."""

    code = "too-large"


class HeadTooLargeError(EquipoiseError):
    """The request line or the headers are too large."""

    code = "headers-too-large"


class MediaTypeError(EquipoiseError):
    """The media type of the body is not accepted here."""

    code = "unsupported-media-type"


class _RetryError(EquipoiseError):
    """An error that may be temporary; `seconds` : after which to try again."""

    def __init__(self, message: str, seconds: float = 1.0) -> None:
        super().__init__(message)
        self.seconds = seconds


class TooManyRequestsError(_RetryError):
    """A key or an address exceeded its rate limit."""

    code = "too-many-requests"


class OverloadedError(_RetryError):
    """The service has no capacity for more."""

    code = "overloaded"


class TimedOutError(_RetryError):
    """The request took too long. It may have been carried out all the same.

    The status is 504, because 503 says that nothing was done, except with the code `unconfirmed`.
    """

    code = "timed-out"


class CompilingError(_RetryError):
    """The kernels of a pool are being compiled. Nothing was recorded."""

    code = "compiling"


class UnavailableError(_RetryError):
    """The database does not answer."""

    code = "unavailable"


class InternalError(EquipoiseError):
    """A failure of the service; its log has the details under the id of the request."""

    code = "internal"


#: HTTP status of each class of errors; the most specific class decides.
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
    NoStrengthsError: 422,
    ConvergenceError: 422,
    TooManyRequestsError: 429,
    HeadTooLargeError: 431,
    InternalError: 500,
    DamagedError: 503,
    # The request may be right: it can be sent again once the service has the package.
    PluginError: 503,
    OverloadedError: 503,
    CompilingError: 503,
    UnavailableError: 503,
    StoreUnavailableError: 503,
    UnconfirmedError: 503,
    TimedOutError: 504,
}

#: Errors of a database that cannot be reached or is busy for too long.
DATABASE_ERRORS = (OperationalError, PoolTimeoutError)


def http_status(error: EquipoiseError) -> int:
    """Return the HTTP status of an error."""
    return next(HTTP_STATUS[kind] for kind in type(error).__mro__ if kind in HTTP_STATUS)


def error_body(error: EquipoiseError) -> bytes:
    """Return an error as JSON, in the one shape of `equipoise.messages.conversion`."""
    message = error_message(error)
    try:
        return msgspec.json.encode(message)
    except UnicodeEncodeError:
        # A name in the input has half of a surrogate pair, which is not text.
        text = json.dumps(msgspec.to_builtins(message), ensure_ascii=False)
        return text.encode("utf-8", "replace")


def error_response(error: EquipoiseError) -> Response:
    """Return the response for an error."""
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
    if isinstance(error, (UnconfirmedError, StoreUnavailableError)):
        headers["Retry-After"] = "1"
    return headers


def without_lines(error: InvalidDataError) -> InvalidDataError:
    """Return the problems of a single match, without line numbers."""
    plain = [replace(problem, line=None) for problem in error.problems]
    return InvalidDataError(plain, error.summary)

"""Why a page is not shown, beside the errors of the library."""

from __future__ import annotations

from equipoise.errors import (
    ConflictError,
    ConvergenceError,
    EquipoiseError,
    InvalidDataError,
    InvalidParameterError,
    NoEquilibriumError,
    NotFoundError,
)


class SignInNeededError(EquipoiseError):
    """Nobody has signed in, and this is not for everybody."""

    code = "sign-in-needed"


class ForbiddenError(EquipoiseError):
    """The key does not allow it, or the request came from another site."""

    code = "forbidden"


class TooLargeError(EquipoiseError):
    """More was sent than is read."""

    code = "too-large"


_STATUS: dict[type[EquipoiseError], int] = {
    EquipoiseError: 400,
    SignInNeededError: 401,
    ForbiddenError: 403,
    NotFoundError: 404,
    ConflictError: 409,
    TooLargeError: 413,
    InvalidDataError: 422,
    InvalidParameterError: 422,
    ConvergenceError: 422,
    NoEquilibriumError: 422,
}

_TITLES = {
    401: "Sign in to see this",
    403: "Not allowed",
    404: "Not found",
    405: "Not possible here",
    409: "It contradicts what is recorded",
    413: "Too large",
    422: "Something does not fit",
    429: "Too many requests",
    503: "Busy",
}


def status_of(error: EquipoiseError) -> int:
    """Return the HTTP status of an error; the most specific class decides."""
    return next(_STATUS[kind] for kind in type(error).__mro__ if kind in _STATUS)


def title_of(status: int) -> str:
    """Return the heading of an error page."""
    return _TITLES.get(status, "That did not work" if status < 500 else "Something broke")

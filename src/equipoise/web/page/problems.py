"""Texts of error pages: a heading for each status, a sentence for each problem."""

from __future__ import annotations

from equipoise.errors import EquipoiseError, InvalidDataError

#: Problems that are listed.
MOST = 50

_TITLES = {
    401: "Sign-in required",
    403: "Not allowed",
    404: "Not found",
    405: "Method not allowed",
    409: "Conflict",
    413: "Too large",
    422: "Invalid input",
    429: "Too many requests",
    503: "Service unavailable",
    504: "Timed out",
}


def title_of(status: int) -> str:
    """Return the heading of an error page."""
    return _TITLES.get(status, "Request failed" if status < 500 else "Server error")


def problems_of(error: EquipoiseError) -> list[str]:
    """Return what is wrong as sentences."""
    if isinstance(error, InvalidDataError) and error.problems:
        return [
            str(one).removeprefix("input").removeprefix(", ").removeprefix(": ")
            for one in error.problems[:MOST]
        ]
    return [str(error)]

"""What is said of errors: a heading for each status, a sentence for each problem."""

from __future__ import annotations

from equipoise.errors import EquipoiseError, InvalidDataError

#: Problems that are listed.
MOST = 50

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
    504: "It took too long",
}


def title_of(status: int) -> str:
    """Return the heading of an error page."""
    return _TITLES.get(status, "That did not work" if status < 500 else "Something broke")


def problems_of(error: EquipoiseError) -> list[str]:
    """Return what is wrong as sentences."""
    if isinstance(error, InvalidDataError) and error.problems:
        return [
            str(one).removeprefix("input").removeprefix(", ").removeprefix(": ")
            for one in error.problems[:MOST]
        ]
    return [str(error)]

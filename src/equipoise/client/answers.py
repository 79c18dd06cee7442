"""What an answer of the service says: what was asked for, or one of our errors."""

from __future__ import annotations

import re
from typing import TypeVar

import msgspec

from equipoise.client.call import Call
from equipoise.client.retries import Failure, Reply
from equipoise.errors import (
    AccessError,
    ConflictError,
    ConvergenceError,
    EquipoiseError,
    InvalidDataError,
    InvalidParameterError,
    NotFoundError,
    Problem,
    UnavailableError,
)
from equipoise.messages.errors import ErrorBody, ErrorMessage
from equipoise.messages.matches import StreamLine

T = TypeVar("T")

#: Characters of an answer that is no JSON which are shown.
_SHOWN = 200


def read_answer(call: Call[T], outcome: Reply | Failure) -> T:
    """Return what the service answered. Raises : the error that it answered with."""
    if isinstance(outcome, Failure):
        raise UnavailableError(f"{call.method} {call.path}: {outcome.reason}")
    if not 200 <= outcome.status < 300:
        raise error_of(outcome, call.lines_before)
    try:
        return call.read(outcome.content)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UnavailableError(
            f"{call.method} {call.path} was answered with what this version of the client does "
            f"not understand: {error}"
        ) from error


def error_of(reply: Reply, lines_before: int = 0) -> EquipoiseError:
    """Return the error that an answer tells of."""
    try:
        body = msgspec.json.decode(reply.content, type=ErrorMessage).error
    except (msgspec.DecodeError, UnicodeDecodeError):
        shown = reply.content[:_SHOWN].decode(errors="replace").strip()
        message = f"the service answered with status {reply.status}: {shown or 'no content'}"
        return (AccessError if reply.status in (401, 403) else UnavailableError)(message)
    return error_from(body, lines_before)


def error_from(body: ErrorBody, lines_before: int = 0) -> EquipoiseError:
    """Return an error from how it is told in JSON.

    lines_before : lines of a stream that came before those that the error counts
    """
    if body.code == InvalidDataError.code:
        error: EquipoiseError = _invalid_data(body, lines_before)
    elif body.code == ConvergenceError.code:
        error = _no_convergence(body)
    else:
        error = _KINDS.get(body.code, EquipoiseError)(body.message)
    # The class groups what is dealt with alike; the code says which it was.
    error.code = body.code
    return error


def stream_lines(
    content: bytes, lines_before: int
) -> tuple[list[StreamLine], EquipoiseError | None]:
    """Return what is recorded of a stream, and the error that ended it, if any.

    Lines are counted from the start of the whole stream, of which `lines_before` came before.
    """
    lines: list[StreamLine] = []
    for text in content.splitlines():
        line = msgspec.json.decode(text, type=_Line)
        if line.error is not None:
            return lines, error_from(line.error, lines_before)
        through = line.through + lines_before
        lines.append(StreamLine(through, line.new, line.known, line.seq, line.unused))
    return lines, None


class _Line(msgspec.Struct):
    """A line of the answer to a stream: numbers, or the error that ended it."""

    error: ErrorBody | None = None
    through: int = 0
    new: int = 0
    known: int = 0
    seq: int = 0
    unused: list[str] = []


def _invalid_data(body: ErrorBody, lines_before: int) -> EquipoiseError:
    problems = [
        Problem(
            found.file,
            None if found.line is None else found.line + lines_before,
            found.field,
            found.rule,
            found.got,
        )
        for found in body.problems
    ]
    return InvalidDataError(problems, body.message)


def _no_convergence(body: ErrorBody) -> EquipoiseError:
    told = re.fullmatch(
        r"(.*) did not converge in (\d+) iterations \(residual (\S+)\)", body.message
    )
    if told is None:
        return EquipoiseError(body.message)
    return ConvergenceError(told[1], int(told[2]), float(told[3]))


#: What is raised for each code that is told by its message alone.
_KINDS: dict[str, type[EquipoiseError]] = {
    "conflict": ConflictError,
    "forbidden": AccessError,
    "internal": UnavailableError,
    "invalid-parameter": InvalidParameterError,
    "not-found": NotFoundError,
    "overloaded": UnavailableError,
    "timed-out": UnavailableError,
    "too-many-requests": UnavailableError,
    "unauthorised": AccessError,
    "unavailable": UnavailableError,
}

"""What a call of the service is: method, path, query, body, and how its answer is read.

What an answer of the service says: what was asked for, or one of our errors.

When a call is sent again, and after how long.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from email.utils import parsedate_to_datetime
from time import time
from typing import Any, Generic, TypeAlias, TypeVar
from urllib.parse import quote

import msgspec

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
    require,
)
from equipoise.messages.errors import ErrorBody, ErrorMessage
from equipoise.messages.matches import Id, StreamLine

T = TypeVar("T")

JSON = "application/json"
NDJSON = "application/x-ndjson"

Value: TypeAlias = str | int | float | bool | None
#: Of a parameter of a query; several values are several parameters of that name.
Values: TypeAlias = Value | list[str] | tuple[str, ...]

#: What reads answers, by their shape, each made when it is first needed.
_DECODERS: dict[Any, msgspec.json.Decoder[Any]] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Call(Generic[T]):
    """One request, and how its answer is read.

    repeatable : the same request twice does what one does, so it may be sent again when no answer
        came; others are sent again only where the service cannot have seen them
    patience : seconds that the service may take on top of the timeout, as it was asked to wait
    lines_before : lines of a stream that came before the body, which errors are counted from
    """

    method: str
    path: str
    read: Callable[[bytes], T]
    query: Mapping[str, Values] = field(default_factory=dict)
    body: bytes | None = None
    content_type: str = JSON
    repeatable: bool = True
    patience: float = 0.0
    lines_before: int = 0

    @property
    def target(self) -> str:
        """Path and query as they go over the wire; what is None is left out."""
        given = [
            f"{_quoted(name)}={_quoted(_word(one))}"
            for name, value in self.query.items()
            for one in (value if isinstance(value, (list, tuple)) else [value])
            if one is not None
        ]
        return f"{self.path}?{'&'.join(given)}" if given else self.path

    def page(self, cursor: str) -> Call[T]:
        """Return the call for another page; where to start is said by the cursor alone."""
        return replace(self, query={**self.query, "around": None, "cursor": cursor})


def ask(
    method: str,
    path: str,
    answer: type[T],
    content: Any = None,
    *,
    query: Mapping[str, Values] | None = None,
    repeatable: bool = True,
) -> Call[T]:
    """Return a call with JSON in its body, if anything, and JSON in its answer."""
    return Call(
        method=method,
        path=path,
        read=json_of(answer),
        query=query or {},
        body=None if content is None else msgspec.json.encode(content),
        repeatable=repeatable,
    )


def json_of(answer: type[T]) -> Callable[[bytes], T]:
    """Return what reads an answer of this shape."""
    if answer not in _DECODERS:
        _DECODERS[answer] = msgspec.json.Decoder(answer)
    read: Callable[[bytes], T] = _DECODERS[answer].decode
    return read


def in_pool(pool: str, *parts: Id) -> str:
    """Return a path below a pool."""
    return "/".join(["/v1/pools", _segment(pool), *(_segment(part) for part in parts)])


def _segment(part: Id) -> str:
    """Return an id as one segment of a path, whatever characters it has."""
    text = str(part)
    require(bool(text), "an id", "at least one character long", text)
    # "." and ".." are taken for steps in the path where they are not encoded.
    return _quoted(text) if text.strip(".") else text.replace(".", "%2E")


def _quoted(text: str) -> str:
    try:
        return quote(text, safe="")
    except UnicodeEncodeError as error:
        raise InvalidParameterError(f"text must be valid Unicode; got {text!r}") from error


def _word(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


#: The service has not taken up the request.
_NOT_TAKEN_UP = frozenset({429})
#: The service was away, or busy; it may have taken up the request.
_AWAY = frozenset({502, 503, 504})


@dataclass(frozen=True, slots=True)
class Reply:
    """What the service answered, its content still as bytes."""

    status: int
    headers: Mapping[str, str]
    content: bytes


@dataclass(frozen=True, slots=True)
class Failure:
    """No answer came; `unseen`: the service cannot have seen the request."""

    reason: str
    unseen: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Retries:
    """How often and how fast a call is repeated that found the service away or busy.

    attempts : in all, 1 for none after the first
    first, longest : seconds before the second attempt, doubled for each after it up to `longest`;
        half of each is drawn by chance, so that many clients do not come back at once
    patience : seconds that a service may ask to wait with Retry-After; where it asks for more,
        the call fails at once
    """

    attempts: int = 6
    first: float = 0.1
    longest: float = 5.0
    patience: float = 60.0
    chance: random.Random = field(default_factory=random.Random, repr=False, compare=False)

    def __post_init__(self) -> None:
        require(self.attempts >= 1, "attempts", "at least 1", self.attempts)
        require(self.first >= 0, "first", "at least 0 seconds", self.first)
        require(self.longest >= 0, "longest", "at least 0 seconds", self.longest)
        require(self.patience >= 0, "patience", "at least 0 seconds", self.patience)

    def pause(self, call: Call[Any], attempt: int, outcome: Reply | Failure) -> float | None:
        """Return the seconds to wait before the call is sent again, None where it is not.

        attempt : how often it was sent, from 1
        """
        if attempt >= self.attempts or not _may_repeat(call, outcome):
            return None
        usual = min(self.longest, self.first * 2.0 ** (attempt - 1))
        usual *= self.chance.uniform(0.5, 1.0)
        asked = _retry_after(outcome)
        if asked is None:
            return usual
        return max(asked, usual) if asked <= self.patience else None


def _may_repeat(call: Call[Any], outcome: Reply | Failure) -> bool:
    if isinstance(outcome, Failure):
        return call.repeatable or outcome.unseen
    return outcome.status in _NOT_TAKEN_UP or (call.repeatable and outcome.status in _AWAY)


def _retry_after(outcome: Reply | Failure) -> float | None:
    """Return what the service asked for, in seconds; it may have said a number or a time."""
    if isinstance(outcome, Failure):
        return None
    said = outcome.headers.get("retry-after", "").strip()
    if said.isdecimal() and said.isascii():
        return float(said)
    try:
        return max(0.0, parsedate_to_datetime(said).timestamp() - time())
    except ValueError:
        return None


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

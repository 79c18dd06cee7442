"""One call of the service: the request, when it is sent again, and how the answer is read.

Nothing here sends anything: `Client` and `AsyncClient` do, by the same rules.
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
    PluginError,
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
#: Values of a parameter of a query; a list repeats the parameter.
Values: TypeAlias = Value | list[str] | tuple[str, ...]

#: Statuses: the service rejected the request before doing anything.
_REJECTED = frozenset({429})
#: Statuses: the service was unreachable or busy; it may have carried out the request.
_UNAVAILABLE = frozenset({502, 503, 504})
#: Characters that are shown of an answer that is not JSON.
_SHOWN = 200

#: Decoders of answers by shape, each made at its first use.
_DECODERS: dict[Any, msgspec.json.Decoder[Any]] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Call(Generic[T]):
    """A request, and how its answer is read.

    repeatable : the request has the same effect if it is sent twice, so it is sent again when no
        answer came. Others are sent again only if the service cannot have received them
    patience : seconds that the service may take beyond the timeout, for a call with `wait`
    lines_before : lines of the stream before the body; errors count lines from the first of them
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
        """Path and query as they are sent; None values are left out."""
        given = [
            f"{_quoted(name)}={_quoted(_word(one))}"
            for name, value in self.query.items()
            for one in (value if isinstance(value, (list, tuple)) else [value])
            if one is not None
        ]
        return f"{self.path}?{'&'.join(given)}" if given else self.path

    def page(self, cursor: str) -> Call[T]:
        """Return the call for the page at a cursor, which replaces `around`."""
        return replace(self, query={**self.query, "around": None, "cursor": cursor})


def json_call(
    method: str,
    path: str,
    answer: type[T],
    content: Any = None,
    *,
    query: Mapping[str, Values] | None = None,
    repeatable: bool = True,
    patience: float = 0.0,
) -> Call[T]:
    """Return a call with an answer in JSON, and a body in JSON if there is content."""
    return Call(
        method=method,
        path=path,
        read=json_of(answer),
        query=query or {},
        body=None if content is None else msgspec.json.encode(content),
        repeatable=repeatable,
        patience=patience,
    )


def json_of(answer: type[T]) -> Callable[[bytes], T]:
    """Return the function that reads an answer with this shape."""
    if answer not in _DECODERS:
        _DECODERS[answer] = msgspec.json.Decoder(answer)
    read: Callable[[bytes], T] = _DECODERS[answer].decode
    return read


def in_pool(pool: str, *parts: Id) -> str:
    """Return a path below a pool."""
    return "/".join(["/v1/pools", _segment(pool), *(_segment(part) for part in parts)])


def _segment(part: Id) -> str:
    """Return an id as one segment of a path."""
    text = str(part)
    require(bool(text), "an id", "at least one character long", text)
    # HTTP clients would resolve "." and ".." as steps in the path.
    return _quoted(text) if text.strip(".") else text.replace(".", "%2E")


def _quoted(text: str) -> str:
    try:
        return quote(text, safe="")
    except UnicodeEncodeError as error:
        raise InvalidParameterError(f"text must be valid Unicode; got {text!r}") from error


def _word(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer of the service, its content still as bytes."""

    status: int
    headers: Mapping[str, str]
    content: bytes


@dataclass(frozen=True, slots=True)
class Failure:
    """No answer came; `unseen` : the service cannot have received the request."""

    reason: str
    unseen: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Retries:
    """How often and when a call is repeated if the service is unreachable or busy.

    attempts : total number of attempts; 1 never repeats
    first, longest : seconds before the second attempt, doubled for each further one up to
        `longest`; each pause is random between half and all of it, so that many clients do not
        return at once
    patience : longest Retry-After in seconds that is waited for; with a longer one the call fails
    chance : the random generator of the pauses
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
        """Return the seconds until the call is sent again, None if it is not.

        attempt : number of times that it was sent
        """
        if attempt >= self.attempts or not _may_repeat(call, outcome):
            return None
        usual = min(self.longest, self.first * 2.0 ** (attempt - 1))
        usual *= self.chance.uniform(0.5, 1.0)
        wanted = _retry_after(outcome)
        if wanted is None:
            return usual
        return max(wanted, usual) if wanted <= self.patience else None


def _may_repeat(call: Call[Any], outcome: Reply | Failure) -> bool:
    if isinstance(outcome, Failure):
        return call.repeatable or outcome.unseen
    return outcome.status in _REJECTED or (call.repeatable and outcome.status in _UNAVAILABLE)


def _retry_after(outcome: Reply | Failure) -> float | None:
    """Return Retry-After in seconds, which may be a number or a time; None if there is none."""
    if isinstance(outcome, Failure):
        return None
    text = outcome.headers.get("retry-after", "").strip()
    if text.isdecimal() and text.isascii():
        return float(text)
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - time())
    except ValueError:
        return None


def read_answer(call: Call[T], outcome: Reply | Failure) -> T:
    """Return the answer to a call. Raises : the error that the service answered with."""
    if isinstance(outcome, Failure):
        raise UnavailableError(f"{call.method} {call.path}: {outcome.reason}")
    if not 200 <= outcome.status < 300:
        raise error_of(outcome, call.lines_before)
    try:
        return call.read(outcome.content)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UnavailableError(
            f"{call.method} {call.path}: this version of the client does not understand the "
            f"answer: {error}"
        ) from error


def error_of(reply: Reply, lines_before: int = 0) -> EquipoiseError:
    """Return the error in an answer."""
    try:
        body = msgspec.json.decode(reply.content, type=ErrorMessage).error
    except (msgspec.DecodeError, UnicodeDecodeError):
        shown = reply.content[:_SHOWN].decode(errors="replace").strip()
        message = f"the service answered with status {reply.status}: {shown or 'no content'}"
        return (AccessError if reply.status in (401, 403) else UnavailableError)(message)
    return error_from(body, lines_before)


def error_from(body: ErrorBody, lines_before: int = 0) -> EquipoiseError:
    """Return the error of a message.

    lines_before : lines of the stream before those that the error counts
    """
    if body.code == InvalidDataError.code:
        error: EquipoiseError = _invalid_data(body, lines_before)
    elif body.code == ConvergenceError.code:
        error = _no_convergence(body)
    else:
        error = _KINDS.get(body.code, EquipoiseError)(body.message)
    # One class may have several codes; the code names the error.
    error.code = body.code
    return error


def stream_lines(
    content: bytes, lines_before: int
) -> tuple[list[StreamLine], EquipoiseError | None]:
    """Return the answer to a batch of a stream, and the error that ended it, if any.

    Lines are counted from the start of the stream, which has `lines_before` lines before the batch.
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
    found = re.fullmatch(
        r"(.*) did not converge in (\d+) iterations \(residual (\S+)\)", body.message
    )
    if found is None:
        return EquipoiseError(body.message)
    return ConvergenceError(found[1], int(found[2]), float(found[3]))


#: Classes of the errors that consist of a code and a message.
_KINDS: dict[str, type[EquipoiseError]] = {
    "conflict": ConflictError,
    "forbidden": AccessError,
    "internal": UnavailableError,
    "invalid-parameter": InvalidParameterError,
    "not-found": NotFoundError,
    "overloaded": UnavailableError,
    "plugin": PluginError,
    "timed-out": UnavailableError,
    "too-many-requests": UnavailableError,
    "unauthorised": AccessError,
    "unavailable": UnavailableError,
    "unconfirmed": UnavailableError,
}

"""What a call of the service is: method, path, query, body, and how its answer is read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeAlias, TypeVar
from urllib.parse import quote

import msgspec

from equipoise.errors import InvalidParameterError, require
from equipoise.messages.matches import Id

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

"""The description of an endpoint of the API, and the input of its requests.

The last part turns messages of msgspec into ours: the field, and the rule that it breaks.
"""

from __future__ import annotations

import asyncio
import hashlib
import math
import re
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from types import SimpleNamespace
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Concatenate,
    Literal,
    ParamSpec,
    TypeAlias,
    TypeVar,
    get_args,
    get_origin,
    get_type_hints,
)
from urllib.parse import parse_qsl

import msgspec
from msgspec import Meta
from starlette.requests import ClientDisconnect
from starlette.types import Receive

from equipoise.errors import EquipoiseError, InvalidDataError, NotFoundError, Problem
from equipoise.messages.histories import PerformanceMessage
from equipoise.messages.pools import PoolMessage
from equipoise.messages.upkeep import Role
from equipoise.pools.records import renames_rated
from equipoise.store.pools import get_pool
from equipoise.store.schema import now
from equipoise.web.http.errors import MalformedError, MediaTypeError, TooLargeError

if TYPE_CHECKING:
    from starlette.types import Scope, Send

    from equipoise.store.connection import Store
    from equipoise.store.keys import KeyRecord
    from equipoise.web.service import Service


P = ParamSpec("P")
T = TypeVar("T")
S = TypeVar("S", bound=msgspec.Struct)
#: A function that gets the store and the name of a pool first.
PoolUseCase: TypeAlias = "Callable[Concatenate[Store, str, P], T]"

#: Headings of the documentation, in their order; pages are not in it.
Group: TypeAlias = Literal[
    "Pools",
    "Matches",
    "Players",
    "Questions",
    "Amendments",
    "Seasons",
    "Webhooks",
    "Calculations",
    "Keys",
    "Operation",
    "Pages",
]

JSON = "application/json"
NDJSON = "application/x-ndjson"


@dataclass(frozen=True, slots=True, kw_only=True)
class Body:
    """The body of a request to an endpoint.

    shape : the type of the JSON; bytes: the endpoint gets the body as it was sent
    documented : shape in the documentation, where `shape` is bytes; None: any JSON object
    raw : whether the endpoint reads the body itself
    most : bytes that it may have at most, if these are fewer than those in the settings
    example : value shown in the documentation
    required : whether it must be given; otherwise an empty body is read as an empty object
    media : accepted media types; the first is that of the example
    lines : those among them that are streams, which have no time limit
    """

    shape: Any = bytes
    documented: Any = None
    raw: bool = False
    most: int | None = None
    example: Any = None
    required: bool = True
    media: tuple[str, ...] = (JSON,)
    lines: tuple[str, ...] = ()
    description: str = ""

    @property
    def described(self) -> Any:
        """Return the shape in the documentation; None: any JSON object."""
        return self.documented if self.shape is bytes else self.shape


@dataclass(slots=True)
class ApiRequest:
    """A request to an endpoint of the API: route, key, parsed query and body.

    path : variable parts of the path by name, decoded; key : None without one
    query, body : as the endpoint declares them
    reading : whether the body is arriving
    known_pool : the pool as it was at most `key_seconds` ago; None without one
    """

    service: Service
    endpoint: Endpoint
    scope: Scope
    receive: Receive
    send: Send
    path: Mapping[str, str]
    key: KeyRecord | None = None
    query: Any = None
    body: Any = None
    reading: bool = False
    known_pool: PoolMessage | None = None

    async def read(self, use_case: PoolUseCase[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Return what a use case reads from the pool."""
        return await self.service.read_for(self.key, use_case, *self._of_pool, *args, **kwargs)

    async def calculate(
        self, use_case: PoolUseCase[P, T], /, *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Return what a slow use case reads from the pool, unless the client goes away."""
        return await self.while_connected(
            self.service.calculate_from_store(use_case, *self._of_pool, *args, **kwargs)
        )

    async def while_connected(self, work: Coroutine[Any, Any, T]) -> T:
        """Return the result of some work. Cancel the work if the client goes away.

        The body must have been read. Raises : ClientDisconnect, and what the work raises
        """
        working = asyncio.create_task(work)
        watching = asyncio.create_task(disconnected(self.receive))
        try:
            await asyncio.wait((working, watching), return_when=asyncio.FIRST_COMPLETED)
            if not working.done():
                raise ClientDisconnect
            return working.result()
        finally:
            for task in (working, watching):
                task.cancel()
            await asyncio.gather(working, watching, return_exceptions=True)

    async def change(self, use_case: Callable[..., T], /, *args: object, **kwargs: object) -> T:
        """Return the result of a use case that changes the pool; it gets the key and the time."""
        return await self.service.change(
            use_case, *self._of_pool, *args, key=self.key_number, now=now(), **kwargs
        )

    async def present_ids(self, players: Iterable[str]) -> dict[str, str]:
        """Return the present ids of renamed or merged players, by the earlier ids among these."""

        def find(store: Store, pool: str) -> dict[str, str]:
            with store.read() as connection:
                renames = renames_rated(connection, get_pool(connection, pool))
            return {player: renames[player] for player in players if player in renames}

        return await self.read(find)

    @property
    def pool_name(self) -> str:
        """Return the name of the pool."""
        return self.path["pool"]

    @property
    def _of_pool(self) -> tuple[Any, ...]:
        """Return the name of the pool, the first argument of its use cases; nothing without one."""
        return (self.pool_name,) if self.endpoint.of_pool else ()

    def number(self, name: str) -> int:
        """Return a part of the path that is a number. Raises : NotFoundError if it is not."""
        text, most = self.path[name], LARGEST[name]
        number = whole_number(text, len(str(most)))
        if number is None or not 0 < number <= most:
            where = f" in pool {self.pool_name!r}" if self.endpoint.of_pool else ""
            raise NotFoundError(f"no {_COUNTED.get(name, name)} {text!r}{where}")
        return number

    def subject(self) -> list[Any]:
        """Return what in the pool a request is about: parts of its path, and the body if any."""
        parts = [part for part in self.path if part != "pool"]
        named = [self.number(part) if part in LARGEST else self.path[part] for part in parts]
        return named if self.endpoint.body is None else [*named, self.body]

    def parameters(self) -> dict[str, Any]:
        """Return the parameters of the query by name."""
        return msgspec.structs.asdict(self.query)

    @property
    def key_number(self) -> int | None:
        """Return the number of the key, None without one."""
        return None if self.key is None else self.key.id

    def header(self, name: bytes) -> str | None:
        """Return a header by its name in lower case, None if it is missing."""
        for key, value in self.scope["headers"]:
            if key == name:
                return str(value, "latin-1")
        return None


#: Largest numbers of records, webhooks and keys, which are parts of paths.
LARGEST = {"seq": 2**63 - 1, "webhook": 2**31 - 1, "key": 2**31 - 1}
_COUNTED = {"seq": "amendment"}

#: Returns a message to be encoded, a Response, or None if it has sent the answer itself. It gets
#: an ApiRequest, or the PageContext of a page.
Handler: TypeAlias = Callable[[Any], Awaitable[Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """One method of one path.

    route : the method and the path, with its variable parts in braces; the rest of a path may be
        one that ends with `:path`
    name : unique, for the documentation
    right : required role; None: no key
    all_pools : whether the key must be for all pools
    new_pool : whether the pool may be one that does not exist yet
    shapes : types of the messages that it answers with, those that its handler returns
    media : media types of the answer
    tagged : whether the answer has an ETag if it is a message that readers of a pool get
    timed : whether the time limit of requests applies
    page : whether it is a page: its key is that of a session, and its errors are pages
    errors : error statuses beyond those that follow from the other fields
    """

    route: str
    name: str = ""
    group: Group = "Pages"
    summary: str = ""
    handler: Handler
    description: str = ""
    right: Role | None = "reader"
    all_pools: bool = False
    new_pool: bool = False
    query: type[msgspec.Struct] | None = None
    body: Body | None = None
    media: tuple[str, ...] = (JSON,)
    tagged: bool = True
    timed: bool = True
    page: bool = False
    errors: tuple[int, ...] = ()
    method: str = field(init=False)
    path: str = field(init=False)
    parts: tuple[str, ...] = field(init=False)
    shapes: tuple[Any, ...] = field(init=False)

    def __post_init__(self) -> None:
        method, path = self.route.split()
        object.__setattr__(self, "method", method)
        object.__setattr__(self, "path", path.replace(":path}", "}"))
        object.__setattr__(self, "parts", tuple(path.strip("/").split("/")))
        object.__setattr__(self, "shapes", _shapes_of(self.handler))
        by_readers = method == "GET" and self.of_pool and self.right == "reader"
        object.__setattr__(self, "tagged", self.tagged and by_readers and bool(self.shapes))

    @property
    def of_pool(self) -> bool:
        """Return whether it is about one pool."""
        return "{pool}" in self.parts

    @property
    def is_open(self) -> bool:
        """Return whether nobody is asked who they are: for monitoring, and files of pages."""
        return self.group == "Operation" and self.right is None


def _shapes_of(handler: Handler) -> tuple[Any, ...]:
    """Return the messages in the annotation of what a handler, or its use case, returns."""
    function: Any = handler
    while isinstance(function, partial):
        function = function.args[0] if callable(function.args[0]) else function.func
    annotated = SimpleNamespace(__annotations__={"return": function.__annotations__["return"]})
    answer = get_type_hints(annotated, function.__globals__)["return"]
    return tuple(shape for shape in _parts(answer) if hasattr(shape, "__struct_fields__"))


def reads(use_case: Callable[..., Any]) -> Handler:
    """Return the handler that answers with what a use case reads.

    The use case gets the pool, the other variable parts of the path, and the query as named
    arguments.
    """
    return partial(_read, use_case)


async def _read(use_case: Callable[..., Any], request: ApiRequest) -> Any:
    return await request.read(use_case, *request.subject(), **request.parameters())


def changes(use_case: Callable[..., Any]) -> Handler:
    """Return the handler that answers with the result of a use case that writes.

    The use case gets the pool, the other variable parts of the path, the body, and the query as
    named arguments. With `preview=true` in the query it is calculated, and nothing is written.
    """
    return partial(_change, use_case)


async def _change(use_case: Callable[..., Any], request: ApiRequest) -> Any:
    subject, parameters = request.subject(), request.parameters()
    if parameters.get("preview"):
        parameters |= {"key": request.key_number, "now": now()}
        return await request.calculate(use_case, *subject, **parameters)
    return await request.change(use_case, *subject, **parameters)


def calculates(use_case: Callable[..., Any]) -> Handler:
    """Return the handler that answers with the result of a use case that takes long."""
    return partial(_calculate, use_case)


async def _calculate(use_case: Callable[..., Any], request: ApiRequest) -> Any:
    return await request.calculate(use_case, *request.subject())


#: An id or a name in a query.
IdText: TypeAlias = Annotated[str, Meta(min_length=1, max_length=200)]

Cursor: TypeAlias = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=2000,
        description="`next` or `previous` of another page.",
    ),
]
Limit: TypeAlias = Annotated[
    int, Meta(ge=1, le=1000, description="Maximum number of entries on the page.")
]
TimeText: TypeAlias = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=64,
        description="A time: seconds since 1970, or ISO 8601 (without a zone: UTC).",
    ),
]


class PageQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Which page of a list."""

    cursor: Cursor | None = None
    limit: Limit = 50


class PreviewQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Whether a change is only previewed."""

    preview: Annotated[
        bool, Meta(description="Only return what would change; nothing is changed.")
    ] = False


def time_of(text: str | None) -> str | int | None:
    """Return a time of a query as a body has it: a number if it has only digits."""
    if text is not None and text.removeprefix("-").isascii():
        digits = text.removeprefix("-")
        if digits.isdecimal() and len(digits) < 19:
            return int(text)
    return text


#: Maximum number of parameters of a query.
_PARAMETERS = 1000
#: Maximum numbers of columns and cells of a table in a body or an upload.
COLUMNS, CELLS = 1_000, 2_000_000
#: Lines among which the header of a table is.
FIRST_LINES = 30
#: Maximum number of characters of the players in the sweeps of a tournament. Without a bound it
#: grows with the square of the players.
_SWEEPS = 10_000_000
#: Errors that msgspec raises for JSON that it cannot decode.
JSON_ERRORS = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)

_COMPRESSED = {
    b"\x1f\x8b": "gzip",
    b"PK": "zip",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"BZh": "bzip2",
    b"\xfd7zXZ\x00": "xz",
    b"\xd0\xcf\x11\xe0": "a workbook",
}

#: With such a frame, which holds no data, a zstd file may begin too.
_SKIPPED_FRAME = re.compile(rb"[\x50-\x5f]\x2a\x4d\x18")

_EXPECTED = re.compile(r"Expected `(?P<kind>[^`]*)`(?: (?P<rule>.*?))?(?:, got `(?P<got>[^`]*)`)?$")
_RULES = (
    (re.compile(r"of length (\S+) (\d+)$"), "must have {} {} characters or items"),
    (re.compile(r"(>=|<=|>|<) (\S+)$"), "must be {} {}"),
    (re.compile(r"matching regex '(.*)'$"), "must match {}"),
)
_COMPARED = {">=": "at least", "<=": "at most", ">": "more than", "<": "less than"}
_FIELD = re.compile(r"Object (?P<what>missing required|contains unknown) field `(?P<name>[^`]*)`")
_CHOICE = re.compile(r"Invalid enum value '?(?P<got>.*?)'?$")
_KINDS = {
    "int": "a whole number",
    "float": "a number",
    "str": "text",
    "bool": "true or false",
    "object": "an object",
    "array": "an array",
    "null": "null",
}
#: Characters of a wrong value that are shown.
_SHOWN = 200


class NoQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The query of an endpoint that takes no parameters."""


def read_query(shape: type[msgspec.Struct] | None, sent: bytes) -> Any:
    """Return the query as its shape.

    Raises : MalformedError     it is not a query
    Raises : InvalidDataError   a parameter is unknown, is given twice or breaks its rule
    """
    shape = shape or NoQuery
    if not sent:
        return _empty_query(shape)
    try:
        pairs = parse_qsl(
            sent.decode("ascii"),
            keep_blank_values=True,
            errors="strict",
            max_num_fields=_PARAMETERS,
        )
    except ValueError:
        raise MalformedError(
            f"the query must be at most {_PARAMETERS} parameters in UTF-8, written with percent "
            "signs"
        ) from None
    many = _repeatable(shape)
    values: dict[str, Any] = {}
    for name, value in pairs:
        if name in many:
            values.setdefault(name, []).append(value)
        elif name in values:
            raise InvalidDataError([Problem("", None, name, "must be given once", "it twice")])
        else:
            values[name] = value
    return converted(shape, values, "query")


@cache
def _empty_query(shape: type[S]) -> S:
    """Return an empty query as its shape, which never changes. Raises : InvalidDataError."""
    return converted(shape, {}, "query")


def converted(shape: type[S], values: dict[str, Any], what: str) -> S:
    """Return texts by name as a shape; what : where they come from. Raises : InvalidDataError."""
    try:
        struct = msgspec.convert(values, shape, strict=False)
    except msgspec.ValidationError as error:
        wrong = problem(error, shape)
        got = str(values.get(wrong.field, wrong.got))[:200] or "nothing"
        shown = Problem("", None, wrong.field, wrong.rule.removesuffix(" or null"), got)
        raise InvalidDataError([shown], f"the {what} breaks a rule") from None
    for name, value in msgspec.structs.asdict(struct).items():
        if isinstance(value, float) and not math.isfinite(value):
            shown = Problem("", None, name, "must be a number", str(values[name])[:200])
            raise InvalidDataError([shown], f"the {what} breaks a rule")
    return struct


@cache
def _repeatable(shape: type[msgspec.Struct]) -> frozenset[str]:
    return frozenset(
        field.encode_name
        for field in msgspec.structs.fields(shape)
        if get_origin(_bare(field.type)) is tuple
    )


@cache
def _types(shape: type[msgspec.Struct]) -> dict[str, Any]:
    return {field.encode_name: field.type for field in msgspec.structs.fields(shape)}


def _bare(shape: Any) -> Any:
    """Return a type without its annotations."""
    return get_args(shape)[0] if get_origin(shape) is Annotated else shape


def tag_of(content: bytes) -> str:
    """Return the ETag of an answer."""
    return f'W/"{hashlib.blake2b(content, digest_size=12).hexdigest()}"'


def matches_tag(header: str | None, tag: str) -> bool:
    """Return whether If-None-Match names this ETag."""
    if header is None:
        return False
    bare = tag.removeprefix("W/")
    return any(sent.strip().removeprefix("W/") in (bare, "*") for sent in header.split(","))


def whole_number(text: str, digits: int) -> int | None:
    """Return a number with at most `digits` decimal digits, None for any other text."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= digits else None


def compression_of(content: bytes) -> str | None:
    """Return the name of the format in which bytes are compressed, None for plain content."""
    if _SKIPPED_FRAME.match(content):
        return "zstd"
    return next((name for magic, name in _COMPRESSED.items() if content.startswith(magic)), None)


def check_table(content: bytes, format: str) -> None:
    """Check the columns and cells of a table as text. Raises : TooLargeError."""
    if format in ("pgn", "trf"):
        return
    separators = (b",", b";", b"\t", b"|")
    if max(map(content.count, separators)) > CELLS:
        raise TooLargeError(f"a table must have at most {CELLS:,} cells here")
    # The header may be below lines with a title, and no row is wider than it.
    lines = content.lstrip().split(b"\n", FIRST_LINES)[:FIRST_LINES]
    widest = max(line.count(mark) for line in lines for mark in separators)
    if format not in ("json", "jsonl") and widest >= COLUMNS:
        raise TooLargeError(f"a table must have at most {COLUMNS:,} columns here")


async def read_body(request: ApiRequest, most: int) -> bytes:
    """Return the complete body.

    Raises : MediaTypeError, TooLargeError, ClientDisconnect
    """
    check_media(request)
    return await receive_body(request, most)


async def receive_body(request: ApiRequest, most: int, limit: str = "") -> bytes:
    """Return the complete body, of whatever media type.

    limit : the sentence for a body of more than `most` bytes, if it is not the usual one
    Raises : TooLargeError, ClientDisconnect
    """
    request.reading = True
    limit = limit or f"the body must have at most {most} bytes"
    length = request.header(b"content-length")
    if length is not None and length.isdecimal() and int(length[:20]) > most:
        raise TooLargeError(f"{limit}; got {length[:20]}")
    chunks: list[bytes] = []
    size = 0
    while True:
        message = await request.receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        chunk = message.get("body", b"")
        size += len(chunk)
        if size > most:
            raise TooLargeError(f"{limit}; got more")
        chunks.append(chunk)
        if not message.get("more_body", False):
            request.reading = False
            return chunks[0] if len(chunks) == 1 else b"".join(chunks)


async def disconnected(receive: Receive) -> None:
    """Return when the client has closed the connection."""
    while (await receive())["type"] != "http.disconnect":
        pass


def check_sweeps(message: PerformanceMessage) -> PerformanceMessage:
    """Return a performance table if its sweeps are not too large. Raises : TooLargeError."""
    size = 0
    for sweep in message.sweeps:
        size += sum(len(str(name)) for name in (*sweep.winners, *sweep.losers))
        if size > _SWEEPS:
            raise TooLargeError(
                "the games fall apart into too many groups for an answer here: use `equipoise "
                "performance`"
            )
    return message


def check_media(request: ApiRequest) -> str:
    """Return the media type of the body, "" if there is none. Raises : MediaTypeError."""
    encoding = request.header(b"content-encoding")
    if encoding is not None and encoding.strip().lower() != "identity":
        raise MediaTypeError(f"the body must not be compressed; got {encoding[:50]}")
    media = media_of(request)
    taken = request.endpoint.body.media if request.endpoint.body else ()
    if media and taken and media not in taken and "*/*" not in taken:
        raise MediaTypeError(f"the body must be {' or '.join(taken)}; got {media[:100]}")
    return media


def media_of(request: ApiRequest) -> str:
    """Return the media type in the header of a request, "" if there is none."""
    header = request.header(b"content-type") or ""
    return header.partition(";")[0].strip().lower()


def decode_body(declared: Body, content: bytes) -> Any:
    """Return a body as its shape.

    Raises : MalformedError     it is not JSON
    Raises : InvalidDataError   it has another shape
    """
    if declared.shape is bytes:
        return content
    if not content.strip():
        if declared.required:
            raise MalformedError("the body must be JSON; got nothing")
        content = b"{}"
    try:
        return decoder(declared.shape).decode(content)
    except JSON_ERRORS as error:
        raise refused_json(error, declared.shape) from None


@cache
def decoder(shape: Any) -> msgspec.json.Decoder[Any]:
    """Return the decoder of a shape."""
    return msgspec.json.Decoder(shape)


def refused_json(error: Exception, shape: Any, line: int | None = None) -> EquipoiseError:
    """Return our error for JSON that msgspec refused.

    shape : what it should have been
    line : number of the line, if the JSON is a line of a stream
    """
    if isinstance(error, msgspec.ValidationError):
        return InvalidDataError([problem(error, shape, line)])
    where = "the body" if line is None else f"line {line}"
    if isinstance(error, RecursionError):
        return MalformedError(f"{where} is nested too deeply")
    if isinstance(error, UnicodeDecodeError):
        return MalformedError(f"{where} must be UTF-8")
    reason = str(error).removeprefix("JSON is malformed: ")
    if reason.startswith("Input data was truncated"):
        reason = "it ends too early"
    return MalformedError(f"{where} must be JSON: {reason}")


def problem(error: msgspec.ValidationError, shape: Any, line: int | None = None) -> Problem:
    """Return what is wrong with which field, by its path: teams[0].rank."""
    text, _, path = str(error).partition(" - at ")
    field, rule, got = _complaint(text, path.strip("`").removeprefix("$").removeprefix("."), shape)
    return Problem("", line, field, rule, got[:_SHOWN])


def _complaint(text: str, path: str, shape: Any) -> tuple[str, str, str]:
    """Return the field, the rule and the value that break in an error of msgspec."""
    field_match = _FIELD.match(text)
    if field_match:
        field = f"{path}.{field_match['name']}" if path else field_match["name"]
        if field_match["what"] == "missing required":
            return field, "must be given", "nothing"
        return field, "unknown field", field_match["name"]
    field_match = _CHOICE.match(text)
    if field_match:
        choices = ", ".join(map(str, _choices(shape, path)))
        return path, f"must be one of {choices}", field_match["got"]
    field_match = _EXPECTED.match(text)
    if field_match:
        rule = _rule(field_match["kind"], field_match["rule"])
        got = "another value" if field_match["got"] is None else _kinds(field_match["got"])
        return path, rule, got
    if "out of range" in text:
        return path, "must be a smaller number", "a larger one"
    return path, "must be valid", text


def _choices(shape: Any, path: str) -> list[Any]:
    """Return the values that the field of a path accepts."""
    shapes = [shape]
    for name in path.split("."):
        structs = [
            shape
            for part in shapes
            for shape in _parts(part)
            if hasattr(shape, "__struct_fields__")
        ]
        field = name.partition("[")[0]
        shapes = [_types(struct)[field] for struct in structs if field in _types(struct)]
    literals = [shape for part in shapes for shape in _parts(part) if get_origin(shape) is Literal]
    return list(dict.fromkeys(choice for literal in literals for choice in get_args(literal)))


def _parts(shape: Any) -> Iterator[Any]:
    """Give a type, and all types that it is made of."""
    yield shape
    if get_origin(shape) is not Literal:
        for part in get_args(shape):
            yield from _parts(part)


def _rule(kind: str, rest: str | None) -> str:
    for pattern, words in _RULES:
        parts = pattern.match(rest or "")
        if parts:
            return words.format(*(_COMPARED.get(part, part) for part in parts.groups()))
    return f"must be {_kinds(kind)}"


def _kinds(types: str) -> str:
    return " or ".join(_KINDS.get(kind, kind) for kind in types.split(" | "))

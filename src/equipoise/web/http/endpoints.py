"""Declarations of endpoints: used by the dispatcher, the checks and the OpenAPI document alike.

Also here are the request that an endpoint gets, and the parameters that several queries share.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Concatenate,
    Literal,
    ParamSpec,
    TypeAlias,
    TypeVar,
)

import msgspec
from msgspec import Meta

from equipoise.messages.access import Role

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

    from equipoise.store.connection import Store
    from equipoise.store.keys import KeyRecord
    from equipoise.web.service import Service

P = ParamSpec("P")
T = TypeVar("T")

Method: TypeAlias = Literal["GET", "PUT", "PATCH", "POST", "DELETE"]
#: Headings of the documentation, in their order.
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
]

JSON = "application/json"
NDJSON = "application/x-ndjson"


@dataclass(frozen=True, slots=True, kw_only=True)
class Body:
    """The body of a request to an endpoint.

    shape : the type of the JSON; None: not JSON, or any JSON object
    raw : whether the endpoint reads the body itself
    example : value shown in the documentation
    required : whether it must be given; otherwise an empty body is read as an empty object
    media : accepted media types; the first is that of the example
    lines : those among them that are streams, which have no time limit
    """

    shape: Any = None
    raw: bool = False
    example: Any = None
    required: bool = True
    media: tuple[str, ...] = (JSON,)
    lines: tuple[str, ...] = ()
    description: str = ""


@dataclass(slots=True)
class ApiRequest:
    """A request to an endpoint of the API: route, key, parsed query and body.

    path : variable parts of the path by name, decoded; key : None without one
    query, body : as the endpoint declares them
    lists_all : whether no player becomes inactive in the pool
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
    lists_all: bool = False

    async def read(
        self, function: Callable[Concatenate[Store, P], T], /, *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run a use case that only reads."""
        return await self.service.read_for(self.key, function, *args, **kwargs)

    @property
    def pool(self) -> str:
        """Return the name of the pool."""
        return self.path["pool"]

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


#: Returns a message to be encoded, a Response, or None if it has sent the answer itself.
Handler: TypeAlias = Callable[[ApiRequest], Awaitable[Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """One method of one path.

    path : with its variable parts in braces
    name : unique, for the documentation and the metrics
    right : required role; None: no key
    all_pools : whether the key must be for all pools
    new_pool : whether the pool may be one that does not exist yet
    shape : type of the answer, or a tuple of possible ones; None: it has none
    media : media types of the answer
    tagged : whether the answer has an ETag
    timed : whether the time limit of requests applies
    errors : error statuses beyond those that follow from the other fields
    """

    method: Method
    path: str
    name: str
    group: Group
    summary: str
    handler: Handler
    description: str = ""
    right: Role | None = "reader"
    all_pools: bool = False
    new_pool: bool = False
    query: type[msgspec.Struct] | None = None
    body: Body | None = None
    shape: Any = None
    media: tuple[str, ...] = (JSON,)
    example: Any = None
    tagged: bool = False
    timed: bool = True
    errors: tuple[int, ...] = ()
    parts: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", tuple(self.path.strip("/").split("/")))

    @property
    def of_pool(self) -> bool:
        """Return whether it is about one pool."""
        return "{pool}" in self.parts


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


def time_of(text: str | None) -> str | int | None:
    """Return a time of a query as a body has it: a number if it has only digits."""
    if text is not None and text.removeprefix("-").isascii():
        digits = text.removeprefix("-")
        if digits.isdecimal() and len(digits) < 19:
            return int(text)
    return text

"""Parameters of queries: their types, limits and words, for the checks and the documentation."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import msgspec
from msgspec import Meta

#: An id or a name in a query.
IdText: TypeAlias = Annotated[str, Meta(min_length=1, max_length=200)]

Cursor: TypeAlias = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=2000,
        description="Where the page begins: `next` or `previous` of another page.",
    ),
]
Limit: TypeAlias = Annotated[int, Meta(ge=1, le=1000, description="Entries of a page at most.")]
MomentText: TypeAlias = Annotated[
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


def moment(text: str | None) -> str | int | None:
    """Return a time of a query as a body would have it: digits alone are a number."""
    if text is not None and text.removeprefix("-").isascii():
        digits = text.removeprefix("-")
        if digits.isdecimal() and len(digits) < 19:
            return int(text)
    return text

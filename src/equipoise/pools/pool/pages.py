"""Pages of long lists: the most rows, and cursors.

A cursor is the position of a row, made of numbers and text, as JSON in Base64. Programs send it
back unread.
"""

from __future__ import annotations

import base64
import binascii
from typing import TypeVar

import msgspec

from equipoise.errors import InvalidParameterError, require
from equipoise.store.schema import is_name

#: Maximum number of rows of a page.
MOST_ROWS = 1000

#: The largest number of a cursor. A database can add to it within 64 bits.
_LARGEST = 2**62

_Position = TypeVar("_Position")


def check_limit(limit: int) -> None:
    """Check the number of rows of a page. Raises : InvalidParameterError."""
    require(1 <= limit <= MOST_ROWS, "limit", f"from 1 to {MOST_ROWS}", limit)


def encode_cursor(position: object) -> str:
    """Return a position, a number or a tuple of numbers and text, as a cursor."""
    return base64.urlsafe_b64encode(msgspec.json.encode(position)).rstrip(b"=").decode()


def decode_cursor(cursor: str | None, shape: type[_Position]) -> _Position | None:
    """Return the position of a cursor, None for no cursor. Raises : InvalidParameterError."""
    if cursor is None:
        return None
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        position = msgspec.json.decode(base64.b64decode(padded, b"-_", validate=True), type=shape)
        _check(position)
    except (binascii.Error, ValueError, msgspec.MsgspecError, RecursionError) as error:
        raise InvalidParameterError(
            "cursor must come from `next` or `previous` of an earlier answer"
        ) from error
    return position


def _check(position: object) -> None:
    """Check that a database accepts the values of a position. Raises : ValueError."""
    for value in position if isinstance(position, tuple) else (position,):
        if isinstance(value, int) and not -_LARGEST <= value <= _LARGEST:
            raise ValueError(value)
        if isinstance(value, str) and not is_name(value):
            raise ValueError(value)

"""Cursors: where a page ends, as text that says nothing to anybody else."""

from __future__ import annotations

import base64
import binascii
from typing import TypeVar

import msgspec

from equipoise.errors import InvalidParameterError
from equipoise.store.schema import is_name

_Shape = TypeVar("_Shape")

#: Numbers in cursors are at most so large: they fit 64 bits, and so does what is added to them.
_MOST = 2**62


def cursor_out(place: object) -> str:
    """Return a place, made of numbers and text, as a cursor."""
    return base64.urlsafe_b64encode(msgspec.json.encode(place)).rstrip(b"=").decode()


def cursor_in(cursor: str | None, shape: type[_Shape]) -> _Shape | None:
    """Return the place of a cursor, None without one. Raises : InvalidParameterError."""
    if cursor is None:
        return None
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        place = msgspec.json.decode(base64.b64decode(padded, b"-_", validate=True), type=shape)
        _check(place)
    except (binascii.Error, ValueError, msgspec.MsgspecError, RecursionError) as error:
        raise InvalidParameterError(
            "cursor must come from `next` or `previous` of an earlier answer"
        ) from error
    return place


def _check(place: object) -> None:
    """Refuse what no database can be asked for. Raises : ValueError."""
    for value in place if isinstance(place, tuple) else (place,):
        if isinstance(value, int) and not -_MOST <= value <= _MOST:
            raise ValueError(value)
        if isinstance(value, str) and not is_name(value):
            raise ValueError(value)

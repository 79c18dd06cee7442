"""Cursors: where a page ends, as text that says nothing to anybody else."""

from __future__ import annotations

import base64
import binascii
from typing import TypeVar

import msgspec

from equipoise.errors import InvalidParameterError

_Shape = TypeVar("_Shape")


def cursor_out(place: object) -> str:
    """Return a place, made of numbers and text, as a cursor."""
    return base64.urlsafe_b64encode(msgspec.json.encode(place)).rstrip(b"=").decode()


def cursor_in(cursor: str | None, shape: type[_Shape]) -> _Shape | None:
    """Return the place of a cursor, None without one. Raises : InvalidParameterError."""
    if cursor is None:
        return None
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        return msgspec.json.decode(base64.b64decode(padded, b"-_", validate=True), type=shape)
    except (binascii.Error, ValueError, msgspec.MsgspecError, RecursionError) as error:
        raise InvalidParameterError("cursor must be one that an answer gave") from error

"""What a request says: its query and its body, checked against the shapes of its endpoint."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Annotated, Any, get_args, get_origin
from urllib.parse import parse_qsl

import msgspec
from starlette.requests import ClientDisconnect

from equipoise.errors import InvalidDataError, Problem
from equipoise.web.http.endpoints import ApiRequest, Body
from equipoise.web.http.errors import (
    MalformedError,
    MediaTypeError,
    TooLargeError,
    problem,
    refused_json,
)

#: Parameters that a query may have.
_PARAMETERS = 1000
#: What msgspec raises for what it cannot decode.
JSON_ERRORS = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)

_COMPRESSED = {b"\x1f\x8b": "gzip", b"PK": "zip", b"\x28\xb5\x2f\xfd": "zstd", b"BZh": "bzip2"}


class NoQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The query of an endpoint that has none."""


def read_query(shape: type[msgspec.Struct] | None, sent: bytes) -> Any:
    """Return the query as its shape.

    Raises : MalformedError     it is no query at all
    Raises : InvalidDataError   a parameter is unknown, is given twice or breaks its rule
    """
    shape = shape or NoQuery
    if not sent:
        return _converted(shape, {})
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
    return _converted(shape, values)


def _converted(shape: type[msgspec.Struct], values: dict[str, Any]) -> Any:
    try:
        return msgspec.convert(values, shape, strict=False)
    except msgspec.ValidationError as error:
        found = problem(error)
        choices = get_args(_bare(_types(shape).get(found.field)))
        if found.rule == "must be one of the choices" and choices:
            found = replace(found, rule=f"must be one of {', '.join(map(str, choices))}")
        got = values.get(found.field, found.got)
        shown = Problem("", None, found.field, found.rule, str(got)[:200])
        raise InvalidDataError([shown], "the query breaks a rule") from None


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
    """Return a type without what is said of it."""
    return get_args(shape)[0] if get_origin(shape) is Annotated else shape


def whole_number(text: str, digits: int) -> int | None:
    """Return a number written in at most so many decimal digits, None for any other text."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= digits else None


def compression_of(content: bytes) -> str | None:
    """Return the name of the format in which bytes are compressed, None for plain content."""
    return next((name for magic, name in _COMPRESSED.items() if content.startswith(magic)), None)


async def read_body(request: ApiRequest, most: int) -> bytes:
    """Return the whole body.

    Raises : MediaTypeError, TooLargeError, ClientDisconnect
    """
    check_media(request)
    length = request.header(b"content-length")
    if length is not None and length.isdecimal() and int(length[:20]) > most:
        raise TooLargeError(f"the body must have at most {most} bytes; got {length[:20]}")
    chunks: list[bytes] = []
    size = 0
    while True:
        message = await request.receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        chunk = message.get("body", b"")
        size += len(chunk)
        if size > most:
            raise TooLargeError(f"the body must have at most {most} bytes; got more")
        chunks.append(chunk)
        if not message.get("more_body", False):
            return chunks[0] if len(chunks) == 1 else b"".join(chunks)


def check_media(request: ApiRequest) -> str:
    """Return the media type of the body, "" where none is said. Raises : MediaTypeError."""
    encoding = request.header(b"content-encoding")
    if encoding is not None and encoding.strip().lower() != "identity":
        raise MediaTypeError(f"the body must not be compressed; got {encoding[:50]}")
    media = media_of(request)
    taken = request.endpoint.body.media if request.endpoint.body else ()
    if media and taken and media not in taken and "*/*" not in taken:
        raise MediaTypeError(f"the body must be {' or '.join(taken)}; got {media[:100]}")
    return media


def media_of(request: ApiRequest) -> str:
    """Return the media type that a request says its body has, "" where it says none."""
    said = request.header(b"content-type") or ""
    return said.partition(";")[0].strip().lower()


def decode_body(declared: Body, content: bytes) -> Any:
    """Return a body as its shape.

    Raises : MalformedError     it is no JSON
    Raises : InvalidDataError   it has another shape
    """
    if not content.strip():
        if declared.required:
            raise MalformedError("the body must be JSON; got nothing")
        content = b"{}"
    try:
        return decoder(declared.shape).decode(content)
    except JSON_ERRORS as error:
        raise refused_json(error) from None


@cache
def decoder(shape: Any) -> msgspec.json.Decoder[Any]:
    """Return the decoder of a shape, which is made once."""
    return msgspec.json.Decoder(shape)

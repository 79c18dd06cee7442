"""Forms: reading a posted form, its fields as values, and errors as sentences for the page."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from email.parser import BytesParser
from email.policy import HTTP
from typing import TypeVar
from urllib.parse import parse_qsl

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from equipoise.errors import EquipoiseError, InvalidDataError, Problem
from equipoise.web.http.errors import TooLargeError
from equipoise.web.http.reading import whole_number

#: Maximum number of fields of a form, and of problems that a page lists.
MOST_FIELDS, MOST_PROBLEMS = 5_000, 50

Choice = TypeVar("Choice", bound=str)


def wrong(field: str, rule: str, got: str) -> InvalidDataError:
    """Return the error for one field of a form."""
    return InvalidDataError([Problem("", None, field, rule, got)])


@dataclass(frozen=True, slots=True)
class Upload:
    """An uploaded file."""

    name: str
    content: bytes


@dataclass(frozen=True, slots=True)
class Form:
    """The fields and files of a form by name, in the order in which they were sent."""

    fields: dict[str, list[str]] = field(default_factory=dict)
    files: dict[str, Upload] = field(default_factory=dict)

    def text(self, name: str, otherwise: str = "") -> str:
        """Return a field without blanks at its ends."""
        return self.fields.get(name, [otherwise])[0].strip()

    def texts(self, name: str) -> list[str]:
        """Return all fields of that name."""
        return [one.strip() for one in self.fields.get(name, [])]

    def choice(self, name: str, choices: Sequence[Choice], otherwise: str = "") -> Choice:
        """Return a field that must be one of some texts. Raises : InvalidDataError."""
        text = self.text(name, otherwise)
        for one in choices:
            if one == text:
                return one
        raise wrong(name, f"must be one of {', '.join(choices)}", text[:50])

    def number(self, name: str, low: float, high: float) -> float | None:
        """Return a field as a number, None for an empty one. Raises : InvalidDataError."""
        text = self.text(name)
        if not text:
            return None
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not low <= value <= high:
            raise wrong(name, f"must be a number from {low:g} to {high:g}", text[:50])
        return value

    def whole(self, name: str) -> int:
        """Return a field as a whole number. Raises : InvalidDataError."""
        text = self.text(name)
        number = whole_number(text, 9)
        if number is None:
            raise wrong(name, "must be a number", text[:50])
        return number

    def time(self, name: str) -> int | str | None:
        """Return a field as a time: seconds since 1970, or text in ISO 8601; None if empty."""
        text = self.text(name)
        number = whole_number(text, 15)
        return (text or None) if number is None else number

    def flag(self, name: str) -> bool:
        """Return whether a checkbox is ticked."""
        return bool(self.text(name))


async def read_form(request: Request, limit: int) -> Form:
    """Return a posted form. Raises : TooLargeError, InvalidDataError."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > limit:
            raise TooLargeError(f"the form must have at most {limit:,} bytes")
    kind = request.headers.get("content-type", "")
    if kind.partition(";")[0].strip().lower() == "multipart/form-data":
        # Parsing a large upload would block the event loop.
        return await run_in_threadpool(_multipart, kind, bytes(body))
    return _encoded(bytes(body))


def _encoded(body: bytes) -> Form:
    fields: dict[str, list[str]] = {}
    try:
        pairs = parse_qsl(
            body.decode("utf-8"),
            keep_blank_values=True,
            errors="strict",
            max_num_fields=MOST_FIELDS,
        )
    except ValueError as error:
        raise _bad("must be a form in UTF-8", str(error)) from None
    for name, value in pairs:
        fields.setdefault(name, []).append(value)
    return Form(fields)


def _multipart(kind: str, body: bytes) -> Form:
    head = f"Content-Type: {kind}\r\n\r\n".encode("latin-1", "replace")
    message = BytesParser(policy=HTTP).parsebytes(head + body)
    if not message.is_multipart():
        raise _bad("must be multipart/form-data", kind)
    form = Form()
    for part in message.iter_parts():
        name = part.get_param("name", header="content-disposition")
        content = part.get_payload(decode=True)
        if not isinstance(name, str) or not isinstance(content, bytes):
            continue
        file = part.get_filename()
        if file is not None:
            form.files[name] = Upload(file, content)
            continue
        try:
            form.fields.setdefault(name, []).append(content.decode("utf-8"))
        except UnicodeDecodeError as error:
            raise _bad("must be a form in UTF-8", str(error)) from None
    return form


def _bad(rule: str, got: str) -> InvalidDataError:
    return InvalidDataError([Problem("", None, "", rule, got[:200])], "the form cannot be read")


def problems_of(error: EquipoiseError) -> list[str]:
    """Return what is wrong as sentences."""
    if isinstance(error, InvalidDataError) and error.problems:
        return [
            str(one).removeprefix("input").removeprefix(", ").removeprefix(": ")
            for one in error.problems[:MOST_PROBLEMS]
        ]
    return [str(error)]


def digest(*what: object) -> str:
    """Return a hash of a request.

    The button of a preview sends it back, so that only what the preview showed is carried out.
    """
    return hashlib.sha256(msgspec.json.encode(what)).hexdigest()

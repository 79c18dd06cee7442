"""Forms as they are posted: fields by name, files with their names. Only the standard library.

Texts of error pages: a heading for each status, a sentence for each problem.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from email.parser import BytesParser
from email.policy import HTTP
from typing import TypeVar
from urllib.parse import parse_qsl

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from equipoise.errors import EquipoiseError, InvalidDataError, Problem
from equipoise.web.http.errors import TooLargeError

#: Fields of one form.
MOST_FIELDS = 5_000


Choice = TypeVar("Choice", bound=str)


def wrong(field: str, rule: str, got: str) -> InvalidDataError:
    """Return the error for one field of a form."""
    return InvalidDataError([Problem("", None, field, rule, got)])


@dataclass(frozen=True, slots=True)
class Upload:
    """A file that was chosen."""

    name: str
    content: bytes


@dataclass(frozen=True, slots=True)
class Form:
    """Fields of a form, in the order they were sent."""

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
        """Return a field as the number of something. Raises : InvalidDataError."""
        text = self.text(name)
        if not (text.isascii() and text.isdecimal() and len(text) < 10):
            raise wrong(name, "must be a number", text[:50])
        return int(text)

    def flag(self, name: str) -> bool:
        """Return whether a box is ticked."""
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
        # Large uploads are taken apart without holding up others.
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


#: Problems that are listed.
MOST = 50

_TITLES = {
    401: "Sign-in required",
    403: "Not allowed",
    404: "Not found",
    405: "Method not allowed",
    409: "Conflict",
    413: "Too large",
    422: "Invalid input",
    429: "Too many requests",
    503: "Service unavailable",
    504: "Timed out",
}


def title_of(status: int) -> str:
    """Return the heading of an error page."""
    return _TITLES.get(status, "Request failed" if status < 500 else "Server error")


def problems_of(error: EquipoiseError) -> list[str]:
    """Return what is wrong as sentences."""
    if isinstance(error, InvalidDataError) and error.problems:
        return [
            str(one).removeprefix("input").removeprefix(", ").removeprefix(": ")
            for one in error.problems[:MOST]
        ]
    return [str(error)]

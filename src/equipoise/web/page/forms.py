"""Forms: reading a posted form, its fields as values, and errors as sentences for the page."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar
from urllib.parse import unquote_to_bytes

import msgspec
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, QuerystringParser, parse_options_header
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from equipoise.errors import EquipoiseError, InvalidDataError, Problem
from equipoise.web.http.errors import MediaTypeError, TooLargeError
from equipoise.web.http.reading import whole_number
from equipoise.web.settings import ServiceSettings
from equipoise.wording import counted

#: Maximum number of fields of a form, and of problems that a page lists.
MOST_FIELDS, MOST_PROBLEMS = 5_000, 50
#: Maximum length of a Content-Type that is read, and of the boundary in it.
_LONGEST_HEADER, _LONGEST_BOUNDARY = 1_000, 200

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


@dataclass(frozen=True, slots=True)
class FormLimits:
    """What a form may have. Beyond one of these limits it is refused.

    content_bytes : bytes of names, values and files together
    fields : number of fields and files
    files : number of files
    """

    content_bytes: int
    fields: int
    files: int = 0

    def body_bytes(self, kind: str) -> int:
        """Return the largest body of this media type that can have such content."""
        if kind == _MULTIPART:
            return self.content_bytes + _FRAME * self.fields
        return _PERCENT * min(self.content_bytes, FORM.content_bytes)


#: Bytes of the headers of a part, and of one byte of content with percent signs.
_FRAME, _PERCENT = 200, 3
_MULTIPART, _ENCODED = "multipart/form-data", "application/x-www-form-urlencoded"

#: The form with which anybody signs in.
SIGN_IN = FormLimits(4_000, 10)
#: A form of fields. The largest that our pages send is a lobby of 300 players.
FORM = FormLimits(256_000, MOST_FIELDS)
#: Content of the fields beside an uploaded file.
_BESIDE = 4_000


def upload_limits(settings: ServiceSettings) -> FormLimits:
    """Return the limits of a form with a file, or with a document in a field instead of one."""
    return FormLimits(settings.body_bytes + _BESIDE, 100, files=1)


def match_limits(settings: ServiceSettings) -> FormLimits:
    """Return the limits of a form with a match as JSON and the places of its teams."""
    return FormLimits(settings.body_bytes + FORM.content_bytes, MOST_FIELDS)


async def read_form(request: Request, limits: FormLimits) -> Form:
    """Return a posted form.

    Raises : MediaTypeError     it is no form
    Raises : TooLargeError      it exceeds a limit
    Raises : InvalidDataError   it cannot be read
    """
    header = request.headers.get("content-type", "")[:_LONGEST_HEADER]
    kind = header.partition(";")[0].strip().lower() or _ENCODED
    if kind not in (_MULTIPART, _ENCODED):
        raise MediaTypeError(f"the form must be {_ENCODED} or {_MULTIPART}; got {kind[:100]}")
    most = limits.body_bytes(kind)
    length = whole_number(request.headers.get("content-length", ""), 18) or 0
    body = bytearray()
    if length <= most:
        async for chunk in request.stream():
            body += chunk
            length = max(length, len(body))
            if length > most:
                break
    if length > most:
        raise TooLargeError(f"the form must have at most {limits.content_bytes:,} bytes")
    # Reading a large form would block the event loop.
    return await run_in_threadpool(parsed, header, bytes(body), limits)


def parsed(header: str, body: bytes, limits: FormLimits) -> Form:
    """Return the form in a body.

    header : the Content-Type of the body
    Raises : TooLargeError, InvalidDataError
    """
    kind, options = parse_options_header(header)
    form = _Reader(limits)
    try:
        if kind == _MULTIPART.encode():
            form.read_parts(options.get(b"boundary", b""), body)
        else:
            form.read_pairs(body)
    except (FormParserError, ValueError) as error:
        raise _bad("must be well-formed and in UTF-8", str(error)) from None
    return form.form


class _Reader:
    """Collects what python-multipart finds in a body, within limits."""

    def __init__(self, limits: FormLimits) -> None:
        self.form = Form()
        self._limits = limits
        self._size = self._fields = 0
        self._name, self._value = bytearray(), bytearray()
        # Of the current part: its header fields, name and file name.
        self._header, self._headers = bytearray(), dict[bytes, bytes]()
        self._file: bytes | None = None
        self._ended = False

    def read_pairs(self, body: bytes) -> None:
        """Read a form that is written like a query. Raises : FormParserError, ValueError."""
        parser = QuerystringParser(
            callbacks={
                "on_field_start": self._begin,
                "on_field_name": self._collect(self._name),
                "on_field_data": self._collect(self._value),
                "on_field_end": self._end_pair,
            }
        )
        parser.write(body)
        parser.finalize()

    def read_parts(self, boundary: bytes, body: bytes) -> None:
        """Read a form of parts. Raises : FormParserError, ValueError."""
        if not 1 <= len(boundary) <= _LONGEST_BOUNDARY:
            raise ValueError(f"a boundary must have 1 to {_LONGEST_BOUNDARY} characters")
        # No content may have the boundary at the beginning of a line. The parser would look at each
        # of millions.
        if body.count(b"\r\n--" + boundary) > self._limits.fields:
            raise self._too_many()
        parser = MultipartParser(
            boundary,
            callbacks={
                "on_part_begin": self._begin,
                "on_header_field": self._collect(self._header),
                "on_header_value": self._collect(self._value),
                "on_header_end": self._end_header,
                "on_headers_finished": self._begin_content,
                "on_part_data": self._collect(self._value),
                "on_part_end": self._end_part,
                "on_end": self._end,
            },
        )
        parser.write(body)
        if not self._ended:
            raise ValueError("the last boundary is missing")

    def _begin(self) -> None:
        self._fields += 1
        if self._fields > self._limits.fields:
            raise self._too_many()
        self._name.clear()
        self._value.clear()
        self._headers.clear()

    def _too_many(self) -> TooLargeError:
        return TooLargeError(f"the form must have at most {self._limits.fields:,} fields")

    def _collect(self, into: bytearray) -> Callable[[bytes, int, int], None]:
        """Return what adds a slice of the body to a text."""

        def add(data: bytes, start: int, end: int) -> None:
            into.extend(memoryview(data)[start:end])

        return add

    def _end_pair(self) -> None:
        name, value = (_unquoted(one) for one in (self._name, self._value))
        self._add_field(name, value)
        self._name.clear()
        self._value.clear()

    def _end_header(self) -> None:
        self._headers[bytes(self._header).lower()] = bytes(self._value)
        self._header.clear()
        self._value.clear()

    def _begin_content(self) -> None:
        _, options = parse_options_header(self._headers.get(b"content-disposition"))
        self._name[:] = options.get(b"name", b"")
        self._file = options.get(b"filename")

    def _end_part(self) -> None:
        if not self._name:
            return
        if self._file is None:
            self._add_field(bytes(self._name), bytes(self._value))
            return
        self._count(len(self._name) + len(self._value))
        if len(self.form.files) >= self._limits.files:
            files = counted(self._limits.files, "file", "files")
            raise TooLargeError(f"the form must have at most {files}")
        upload = Upload(self._file.decode("utf-8", "replace"), bytes(self._value))
        self.form.files[self._name.decode("utf-8")] = upload

    def _end(self) -> None:
        self._ended = True

    def _add_field(self, name: bytes, value: bytes) -> None:
        self._count(len(name) + len(value))
        self.form.fields.setdefault(name.decode("utf-8"), []).append(value.decode("utf-8"))

    def _count(self, size: int) -> None:
        self._size += size
        if self._size > self._limits.content_bytes:
            most = self._limits.content_bytes
            raise TooLargeError(f"the form must have at most {most:,} bytes of names and values")


def _unquoted(text: bytearray) -> bytes:
    """Return text without its percent-encoding."""
    return unquote_to_bytes(bytes(text).replace(b"+", b" "))


def _bad(rule: str, got: str) -> InvalidDataError:
    return InvalidDataError([Problem("", None, "form", rule, got[:200])], "the form cannot be read")


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

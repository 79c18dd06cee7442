"""Reads files from addresses: https:// anywhere, http:// on this machine, s3:// and gs://.

Only the command line and the library give sources as text. Requests of the service have content.
"""

from __future__ import annotations

import http.client
import ipaddress
import socket
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from email.message import Message
from functools import partial
from glob import has_magic
from pathlib import PurePosixPath
from types import TracebackType
from typing import IO, Any, NamedTuple, NoReturn
from urllib.parse import quote, urljoin, urlsplit

import polars as pl

from equipoise.errors import InvalidDataError
from equipoise.formats.opening.kinds import PACKED_SUFFIXES, format_of
from equipoise.formats.table import Table, refuse
from equipoise.wording import counted

#: Maximum number of bytes that are downloaded.
MOST_DOWNLOADED = 2 * 2**30
#: Seconds without an answer, and for all of a download.
TIMEOUT = 30
LONGEST = 900
#: Minimum number of bytes a second, after `TIMEOUT`.
LEAST_PACE = 1_000
_REDIRECTS = 5
_BLOCK = 2**20
_WEB = ("https", "http")
_CLOUDS = ("s3", "gs")
#: Characters of an address that stay as they are.
_SAFE = "/%:=&?~#+!$,;'@()*[]"

READABLE = "must be an address that can be read"
SECURE = "must begin with https:// (http:// only for this machine)"
NO_PASSWORD = "must be an address without a user and password"
DOWNLOADED = (
    f"must have at most {MOST_DOWNLOADED // 2**30} GB: download it another way, and read the file"
)
ANSWER = f"must answer within {TIMEOUT} seconds: download it another way"
IN_TIME = f"must be downloaded within {LONGEST // 60} minutes: download it another way"
PACE = f"must answer with at least {LEAST_PACE:,} bytes a second: download it another way"
ONE_OBJECT = "must name one object: give several addresses one by one"
OBJECT = (
    "must be uncompressed Parquet, Arrow, CSV, TSV or JSON Lines: download it another way, and "
    "read the file"
)


class Download(NamedTuple):
    """What an address has. name : for problems, without what may be secret in the address."""

    name: str
    data: bytes | Table
    notes: tuple[str, ...] = ()


def is_address(text: str) -> bool:
    """Return whether a text is an address and not a path."""
    scheme, mark, _ = text.partition("://")
    return bool(mark) and scheme.lower() in (*_WEB, *_CLOUDS)


def download(address: str, format: str | None) -> Download:
    """Return what an address has.

    Raises : InvalidDataError   it is refused, does not answer, or has too much
    """
    parts = urlsplit(address)
    name = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
    if "@" in parts.netloc:
        refuse(name, NO_PASSWORD, "one with both")
    if parts.scheme.lower() in _CLOUDS:
        return _from_cloud(address, name, format)
    if not _is_allowed(address, on_this_machine=True):
        refuse(name, SECURE, f"{parts.scheme}://{parts.hostname or ''}")
    data = _from_web(quote(address, safe=_SAFE), name)
    return Download(name, data, (f"{name}: {counted(len(data), 'byte')}",))


def _is_allowed(address: str, *, on_this_machine: bool) -> bool:
    """Return whether an address is encrypted, or one of this machine.

    on_this_machine : whether addresses of this machine need no encryption
    """
    parts = urlsplit(address)
    if parts.scheme.lower() == "https":
        return bool(parts.hostname)
    return parts.scheme.lower() == "http" and on_this_machine and _is_here(parts.hostname or "")


def _is_here(host: str) -> bool:
    """Return whether a host is this machine, without asking for its address."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows redirects to encrypted addresses; on this machine also to others of it."""

    max_redirections = _REDIRECTS

    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: Message,
        newurl: str,
    ) -> urllib.request.Request | None:
        """Return the next request. Raises : URLError   the address is not allowed."""
        target = urljoin(req.full_url, newurl)
        here = _is_here(urlsplit(req.full_url).hostname or "")
        if not _is_allowed(target, on_this_machine=here):
            shown = urlsplit(target)
            raise urllib.error.URLError(f"a redirect to {shown.scheme}://{shown.netloc}")
        return super().redirect_request(req, fp, code, msg, headers, newurl)  # type: ignore[arg-type]


class _Deadline:
    """Ends connections when a time has passed, however often a byte comes.

    A time limit of a socket counts from the last byte, and the head of an answer, or the length of
    a piece of it, may come byte by byte for ever.

    passed : whether they were ended
    """

    def __init__(self) -> None:
        self.passed = False
        self._at = float("inf")
        self._closed = threading.Event()
        # Each is a second descriptor of a connection, as the first may be wrapped or closed.
        self._sockets: list[socket.socket] = []
        self._thread = threading.Thread(target=self._watch, name="equipoise-deadline", daemon=True)

    def connect(self, *given: Any, **named: Any) -> socket.socket:
        """Return a new connection, as `socket.create_connection`, which must answer in time."""
        made = socket.create_connection(*given, **named)
        self._sockets.append(made.dup())
        self.within(TIMEOUT)
        return made

    def within(self, seconds: float) -> None:
        """Set how much time there is from now on."""
        self._at = time.monotonic() + seconds

    def _watch(self) -> None:
        while not self._closed.wait(min(1.0, max(0.01, self._at - time.monotonic()))):
            if time.monotonic() > self._at:
                self.passed = True
                for one in tuple(self._sockets):
                    with suppress(OSError):
                        one.shutdown(socket.SHUT_RDWR)
                return

    def __enter__(self) -> _Deadline:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._closed.set()
        self._thread.join()
        for one in self._sockets:
            one.close()


def _connection(
    kind: type[http.client.HTTPConnection], deadline: _Deadline, *given: Any, **named: Any
) -> http.client.HTTPConnection:
    """Return a connection whose sockets have a deadline."""
    made = kind(*given, **named)
    made._create_connection = deadline.connect  # type: ignore[attr-defined]
    return made


class _Plain(urllib.request.HTTPHandler):
    def __init__(self, deadline: _Deadline) -> None:
        super().__init__()
        self._factory: Any = partial(_connection, http.client.HTTPConnection, deadline)

    def http_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        """Return the answer to a request."""
        return self.do_open(self._factory, req)


class _Encrypted(urllib.request.HTTPSHandler):
    def __init__(self, deadline: _Deadline) -> None:
        super().__init__()
        self._factory: Any = partial(_connection, http.client.HTTPSConnection, deadline)

    def https_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        """Return the answer to a request."""
        return self.do_open(self._factory, req)


def _from_web(address: str, name: str) -> bytes:
    """Return the body of an address that answers in time. Raises : InvalidDataError."""
    with _Deadline() as deadline:
        try:
            data = _body(address, name, deadline)
        except InvalidDataError:
            if deadline.passed:  # and the connection was ended, which looks like any other failure
                refuse(name, ANSWER, "no answer, or one that stopped")
            raise
        if deadline.passed:
            refuse(name, ANSWER, "an answer that stopped")
        return data


def _body(address: str, name: str, deadline: _Deadline) -> bytes:
    """Return the body of an address. Raises : InvalidDataError."""
    # Not `build_opener`: it also opens file:, ftp: and data:.
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler(),
        _Plain(deadline),
        _Encrypted(deadline),
        urllib.request.HTTPDefaultErrorHandler(),
        urllib.request.HTTPErrorProcessor(),
        _Redirects(),
    ):
        opener.add_handler(handler)
    request = urllib.request.Request(address, headers={"User-Agent": "equipoise"})
    try:
        with opener.open(request, timeout=TIMEOUT) as answer:
            length = answer.headers.get("Content-Length", "")
            if length.isdecimal() and int(length[:20]) > MOST_DOWNLOADED:
                refuse(name, DOWNLOADED, counted(int(length[:20]), "byte"))
            data = b"".join(_blocks(answer, name, deadline))
            if length.isdecimal() and len(data) < int(length):
                refuse(name, READABLE, f"only {len(data):,} of {int(length):,} bytes")
            return data
    except InvalidDataError:
        raise
    except urllib.error.HTTPError as error:
        with error:
            refuse(name, READABLE, f"the answer {error.code} {error.reason}")
    except (OSError, http.client.HTTPException, ValueError) as error:
        _refuse_failed(name, error)


def _blocks(answer: http.client.HTTPResponse, name: str, deadline: _Deadline) -> Iterator[bytes]:
    """Yield an answer in blocks. Raises : InvalidDataError   it is too much, or takes too long."""
    total, begin = 0, time.monotonic()
    deadline.within(TIMEOUT)
    # Not `read`, which waits for a whole block however slowly bytes come.
    while block := answer.read1(_BLOCK):
        total += len(block)
        passed = time.monotonic() - begin
        if total > MOST_DOWNLOADED:
            refuse(name, DOWNLOADED, "more")
        if passed > LONGEST:
            refuse(name, IN_TIME, counted(total, "byte"))
        if passed > TIMEOUT and total < LEAST_PACE * passed:
            refuse(name, PACE, f"{counted(total, 'byte')} in {passed:.0f} seconds")
        yield block
        deadline.within(TIMEOUT)


def _refuse_failed(name: str, error: Exception) -> NoReturn:
    reason = getattr(error, "reason", None) or error
    refuse(name, READABLE, str(reason) or type(error).__name__)


def _from_cloud(address: str, name: str, format: str | None) -> Download:
    """Return an object of a cloud, as Polars reads it. Raises : InvalidDataError."""
    path = PurePosixPath(urlsplit(address).path)
    if has_magic(address):
        refuse(name, ONE_OBJECT, "a pattern")
    if path.suffix.lower() in PACKED_SUFFIXES or path.suffix.lower() == ".zip":
        refuse(name, OBJECT, f"a {path.suffix.lower()} file")
    stored = format or format_of(path)
    try:
        if stored == "parquet":
            frame = _collected(pl.scan_parquet(address, glob=False), name)
            return Download(name, Table(frame=frame, name=name, format="parquet"))
        if stored == "arrow":
            frame = _collected(pl.scan_ipc(address, glob=False), name)
            return Download(name, Table(frame=frame, name=name, format="arrow"))
        if stored in ("csv", "tsv", "jsonl"):
            # As lines, so that the same reader as for files checks every row.
            lines = _collected(pl.scan_lines(address, glob=False), name).to_series()
            return Download(name, "\n".join(lines.fill_null("").to_list()).encode())
    except (pl.exceptions.PolarsError, OSError) as error:
        reason = str(error).strip().splitlines() or [type(error).__name__]
        refuse(name, READABLE, reason[0])
    refuse(name, OBJECT, f"the format {stored}" if stored else "a name without a known suffix")


def _collected(frame: pl.LazyFrame, name: str) -> pl.DataFrame:
    """Return a table that is read in batches. Raises : InvalidDataError   it is too much."""
    batches: list[pl.DataFrame] = []
    total = 0.0
    for batch in frame.collect_batches():
        total += int(batch.estimated_size())
        if total > MOST_DOWNLOADED:
            refuse(name, DOWNLOADED, "more")
        batches.append(batch)
    return pl.concat(batches) if batches else frame.clear().collect()

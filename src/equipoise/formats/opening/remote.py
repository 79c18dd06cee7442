"""Reads files from addresses: https:// anywhere, http:// on this machine, s3:// and gs://.

Only the command line and the library give sources as text. Requests of the service have content.
"""

from __future__ import annotations

import ipaddress
import time
from collections.abc import Iterator
from glob import has_magic
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import quote, urlsplit

import polars as pl

from equipoise.errors import EquipoiseError, InvalidDataError
from equipoise.formats.opening.kinds import PACKED_SUFFIXES, format_of
from equipoise.formats.table import Content, Table, refuse
from equipoise.wording import counted, how_to_install

#: Maximum number of bytes that are downloaded.
MOST_DOWNLOADED = 2 * 2**30
#: Seconds without an answer, and for the body of an answer.
TIMEOUT = 30
LONGEST = 900
_REDIRECTS = 5
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
ONE_OBJECT = "must name one object: give several addresses one by one"
OBJECT = (
    "must be uncompressed Parquet, Arrow, CSV, TSV or JSON Lines: download it another way, and "
    "read the file"
)


def download(address: str, format: str | None) -> Content:
    """Return the file at an address; its format is "" if only the content can tell it.

    Its name, for problems, has nothing that may be secret in the address.

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
    return Content(name, "", data, (f"{name}: {counted(len(data), 'byte')}",))


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


def _from_web(address: str, name: str) -> bytes:
    """Return the body of an address. Raises : InvalidDataError."""
    httpx = _library()
    here = _is_here(urlsplit(address).hostname or "")

    def check(request: Any) -> None:
        """Refuse a request, after a redirect, to an address that is not allowed."""
        if not _is_allowed(str(request.url), on_this_machine=here):
            refuse(name, SECURE, f"a redirect to {request.url.scheme}://{request.url.host}")

    settings = {
        "follow_redirects": True,
        "max_redirects": _REDIRECTS,
        "timeout": TIMEOUT,
        # The file as it is stored, though it may be compressed.
        "headers": {"User-Agent": "equipoise", "Accept-Encoding": "identity"},
        "event_hooks": {"request": [check]},
    }
    try:
        with httpx.Client(**settings) as client, client.stream("GET", address) as answer:
            if answer.status_code != httpx.codes.OK:
                refuse(name, READABLE, f"the answer {answer.status_code} {answer.reason_phrase}")
            length = answer.headers.get("Content-Length", "")
            if length.isdecimal() and int(length[:20]) > MOST_DOWNLOADED:
                refuse(name, DOWNLOADED, counted(int(length[:20]), "byte"))
            return b"".join(_blocks(answer.iter_raw(), name))
    except httpx.TimeoutException:
        refuse(name, ANSWER, "no answer, or one that stopped")
    except InvalidDataError:
        raise
    except (httpx.HTTPError, httpx.InvalidURL, ImportError, ValueError, OSError) as error:
        # A proxy or certificates of the environment may be wrong, too.
        refuse(name, READABLE, str(error) or type(error).__name__)


def _library() -> Any:
    """Return the library that makes requests. Raises : EquipoiseError."""
    try:
        import httpx
    except ImportError as error:
        raise EquipoiseError(
            "reading files of the web needs httpx, which is not installed: "
            f"{how_to_install('client')}; or download the file, and read that"
        ) from error
    return httpx


def _blocks(body: Iterator[bytes], name: str) -> Iterator[bytes]:
    """Yield a body in blocks. Raises : InvalidDataError   it is too much, or takes too long."""
    total, begin = 0, time.monotonic()
    for block in body:
        total += len(block)
        if total > MOST_DOWNLOADED:
            refuse(name, DOWNLOADED, "more")
        if time.monotonic() - begin > LONGEST:
            refuse(name, IN_TIME, counted(total, "byte"))
        yield block


def _from_cloud(address: str, name: str, format: str | None) -> Content:
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
            return Content(name, stored, Table(frame=frame, name=name, format=stored))
        if stored == "arrow":
            frame = _collected(pl.scan_ipc(address, glob=False), name)
            return Content(name, stored, Table(frame=frame, name=name, format=stored))
        if stored in ("csv", "tsv", "jsonl"):
            # As lines, so that the same reader as for files checks every row.
            lines = _collected(pl.scan_lines(address, glob=False), name).to_series()
            return Content(name, "", "\n".join(lines.fill_null("").to_list()).encode())
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

"""What both clients share around httpx: its settings, requests, answers, downloads."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from equipoise.client.call import Call, Failure, Reply
from equipoise.errors import EquipoiseError, InvalidParameterError, require
from equipoise.messages.matches import MatchRequest
from equipoise.wording import how_to_install

if TYPE_CHECKING:
    import httpx

#: Seconds that an idle connection is kept. Servers keep theirs longer (uvicorn: 5), so that no
#: request is sent on a connection that the server is closing.
_KEPT_IDLE = 4.0


def load_httpx() -> Any:
    """Return httpx. Raises : EquipoiseError if it is not installed."""
    try:
        import httpx
    except ImportError as error:
        raise EquipoiseError(
            f"the client needs httpx, which is not installed: {how_to_install('client')}"
        ) from error
    return httpx


def settings(url: str, key: str | None, timeout: float, transport: Any) -> dict[str, Any]:
    """Return the arguments of a client of httpx."""
    require(url.startswith(("http://", "https://")), "url", "http://... or https://...", url)
    require(timeout > 0, "timeout", "more than 0 seconds", timeout)
    headers = {"Accept": "application/json, application/x-ndjson;q=0.9, */*;q=0.1"}
    if key is not None:
        fits = key.isascii() and key.isprintable() and " " not in key and key != ""
        # The message must not contain the key: it may be almost the secret.
        require(fits, "key", "the secret of a key, without spaces or line ends", "something else")
        headers["Authorization"] = f"Bearer {key}"
    httpx = load_httpx()
    limits = httpx.Limits(
        max_connections=None, max_keepalive_connections=None, keepalive_expiry=_KEPT_IDLE
    )
    try:
        base = httpx.URL(url.rstrip("/"))
    except httpx.InvalidURL as error:
        raise InvalidParameterError(f"url must be an address; got {url!r}: {error}") from error
    return {
        "base_url": base,
        "headers": headers,
        "timeout": timeout,
        "limits": limits,
        "transport": transport,
    }


def request_of(client: Any, call: Call[Any], timeout: float) -> httpx.Request:
    """Return the request of httpx for a call."""
    headers = {} if call.body is None else {"Content-Type": call.content_type}
    request: httpx.Request = client.build_request(
        call.method,
        call.target,
        content=call.body,
        headers=headers,
        timeout=timeout + call.patience,
    )
    return request


def reply_of(response: httpx.Response) -> Reply:
    """Return the reply in an answer that was read to its end."""
    return Reply(response.status_code, response.headers, response.content)


def failure_of(error: httpx.RequestError) -> Failure:
    """Return the failure for an error of httpx."""
    httpx = load_httpx()
    unseen = isinstance(error, (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout))
    reason = str(error) or type(error).__name__
    return Failure(f"no {'connection' if unseen else 'answer'} ({reason})", unseen)


def batches(
    matches: Iterable[MatchRequest], batch: int
) -> Iterator[tuple[int, Sequence[MatchRequest]]]:
    """Yield matches in batches, each with the number of matches before it."""
    require(batch >= 1, "batch", "at least 1", batch)
    waiting = iter(matches)
    before = 0
    while part := list(islice(waiting, batch)):
        yield before, part
        before += len(part)


class Download:
    """A file that is written under another name until it is complete."""

    def __init__(self, path: Path | str) -> None:
        self._path = Path(path)
        self._part = self._path.with_name(f"{self._path.name}.part")

    def __enter__(self) -> Any:
        self._file = self._part.open("wb")
        return self._file

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._file.close()
        if kind is None:
            os.replace(self._part, self._path)
        else:
            with suppress(OSError):
                self._part.unlink()

"""`Client` and `AsyncClient`: the endpoints of the service as methods."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import (
    AsyncIterator,
    Callable,
    Coroutine,
    Iterable,
    Iterator,
    Sequence,
)
from contextlib import suppress
from functools import wraps
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, Protocol, TypeVar, overload

from equipoise.client import calls
from equipoise.client.calls import (
    Call,
    Failure,
    Format,
    Reply,
    Retries,
    What,
    export,
    read_answer,
    stream_batch,
)
from equipoise.errors import EquipoiseError, InvalidParameterError, require
from equipoise.messages.matches import MatchRequest, StreamLine
from equipoise.wording import how_to_install

if TYPE_CHECKING:
    import httpx


P = ParamSpec("P")
T = TypeVar("T")
Item = TypeVar("Item")


class _Page(Protocol):
    """An answer that is a page, with a cursor of the next one."""

    @property
    def next(self) -> str | None: ...


Page = TypeVar("Page", bound=_Page)


class Endpoint(Generic[P, T]):
    """A method that sends a call: returns the answer in `Client`, awaits it in `AsyncClient`."""

    def __init__(self, describe: Callable[P, Call[T]]) -> None:
        self._describe = describe
        self.__doc__ = describe.__doc__

    @overload
    def __get__(self, client: Client, owner: type[Any]) -> Callable[P, T]: ...
    @overload
    def __get__(
        self, client: AsyncClient, owner: type[Any]
    ) -> Callable[P, Coroutine[Any, Any, T]]: ...
    @overload
    def __get__(self, client: None, owner: type[Any]) -> Callable[P, Call[T]]: ...
    def __get__(self, client: Client | AsyncClient | None, owner: type[Any]) -> Callable[P, Any]:
        describe = self._describe
        if client is None:
            return describe

        @wraps(describe)
        def method(*args: P.args, **kwargs: P.kwargs) -> Any:
            return client.send(describe(*args, **kwargs))

        return method


class Listing(Generic[P, Page, Item]):
    """A method that yields the items of a page and of all pages after it."""

    def __init__(
        self, describe: Callable[P, Call[Page]], items: Callable[[Page], Sequence[Item]]
    ) -> None:
        self._describe = describe
        self._items = items
        self.__doc__ = (
            f"{describe.__doc__}\n\nYields the items of this page and of all pages after it."
        )

    @overload
    def __get__(self, client: Client, owner: type[Any]) -> Callable[P, Iterator[Item]]: ...
    @overload
    def __get__(
        self, client: AsyncClient, owner: type[Any]
    ) -> Callable[P, AsyncIterator[Item]]: ...
    @overload
    def __get__(self, client: None, owner: type[Any]) -> Callable[P, Call[Page]]: ...
    def __get__(self, client: Client | AsyncClient | None, owner: type[Any]) -> Callable[P, Any]:
        describe, items = self._describe, self._items
        if client is None:
            return describe

        @wraps(describe)
        def method(*args: P.args, **kwargs: P.kwargs) -> Any:
            call = describe(*args, **kwargs)
            if isinstance(client, Client):
                return _each(client, call, items)
            return _each_awaited(client, call, items)

        return method


class Endpoints:
    """The methods of both clients, with the parameters of the calls of the same name."""

    #: Name of the class of httpx that sends requests.
    _sender = "Client"

    def __init__(
        self,
        url: str,
        key: str | None = None,
        *,
        timeout: float = 30.0,
        retries: Retries | None = None,
        transport: httpx.BaseTransport | httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._httpx = load_httpx()
        sender = getattr(self._httpx, self._sender)
        self._client = sender(**settings(url, key, timeout, transport))
        self._timeout = timeout
        self._retries = retries or Retries()

    create_pool = Endpoint(calls.create_pool)
    pool = Endpoint(calls.pool)
    change_pool = Endpoint(calls.change_pool)
    preview_change = Endpoint(calls.preview_change)
    set_initial_ratings = Endpoint(calls.set_initial_ratings)
    initial_ratings = Endpoint(calls.initial_ratings)
    set_profiles = Endpoint(calls.set_profiles)
    each_initial_rating = Listing(calls.initial_ratings, lambda page: page.ratings)
    delete_pool = Endpoint(calls.delete_pool)
    pools = Endpoint(calls.pools)
    post_match = Endpoint(calls.post_match)
    post_matches = Endpoint(calls.post_matches)
    match = Endpoint(calls.match)
    matches = Endpoint(calls.matches)
    each_team = Listing(calls.match, lambda match: match.teams)
    each_match = Listing(calls.matches, lambda page: page.matches)
    correct_match = Endpoint(calls.correct_match)
    void_match = Endpoint(calls.void_match)
    restore_match = Endpoint(calls.restore_match)
    disqualify = Endpoint(calls.disqualify)
    reinstate = Endpoint(calls.reinstate)
    rename_player = Endpoint(calls.rename_player)
    erase_player = Endpoint(calls.erase_player)
    amendment = Endpoint(calls.amendment)
    amendments = Endpoint(calls.amendments)
    each_amendment = Listing(calls.amendments, lambda page: page.amendments)
    replay = Endpoint(calls.replay)

    leaderboard = Endpoint(calls.leaderboard)
    each_on_leaderboard = Listing(calls.leaderboard, lambda page: page.players)
    player = Endpoint(calls.player)
    player_history = Endpoint(calls.player_history)
    each_in_history = Listing(calls.player_history, lambda page: page.matches)
    player_summary = Endpoint(calls.player_summary)
    overview = Endpoint(calls.overview)
    against = Endpoint(calls.against)
    explain = Endpoint(calls.explain)
    predict = Endpoint(calls.predict)
    balance = Endpoint(calls.balance)

    end_season = Endpoint(calls.end_season)
    preview_season = Endpoint(calls.preview_season)
    seasons = Endpoint(calls.seasons)
    webhooks = Endpoint(calls.webhooks)
    create_webhook = Endpoint(calls.create_webhook)
    disable_webhook = Endpoint(calls.disable_webhook)
    enable_webhook = Endpoint(calls.enable_webhook)
    delete_webhook = Endpoint(calls.delete_webhook)
    test_webhook = Endpoint(calls.test_webhook)
    audit = Endpoint(calls.audit)
    each_in_audit = Listing(calls.audit, lambda page: page.entries)

    rebalance = Endpoint(calls.rebalance)
    matchmaking_tick = Endpoint(calls.matchmaking_tick)
    performance = Endpoint(calls.performance)
    strengths = Endpoint(calls.strengths)
    keys = Endpoint(calls.keys)
    create_key = Endpoint(calls.create_key)
    rotate_key = Endpoint(calls.rotate_key)
    revoke_key = Endpoint(calls.revoke_key)
    ready = Endpoint(calls.ready)
    metrics = Endpoint(calls.metrics)
    openapi = Endpoint(calls.openapi)


def _each(
    client: Client, call: Call[Page], items: Callable[[Page], Sequence[Item]]
) -> Iterator[Item]:
    page = client.send(call)
    yield from items(page)
    while page.next is not None:
        page = client.send(call.page(page.next))
        yield from items(page)


async def _each_awaited(
    client: AsyncClient, call: Call[Page], items: Callable[[Page], Sequence[Item]]
) -> AsyncIterator[Item]:
    page = await client.send(call)
    for item in items(page):
        yield item
    while page.next is not None:
        page = await client.send(call.page(page.next))
        for item in items(page):
            yield item


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


class Client(Endpoints):
    """A client of the service; threads may share it.

    url : address of the service, with the path below which it is served, if any
    key : secret of a key; None reads public pools only
    timeout : seconds without data from the service after which a call fails
    retries : when a call is sent again
    transport : transport of httpx to use instead of the network
    """

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def send(self, call: Call[T], download: Download | None = None) -> T:
        """Return the answer to a call. Raises : the error that the service answered with.

        download : the file that the content of the answer is written to, instead
        """
        outcome, attempt = self._once(call, download), 1
        while (pause := self._retries.pause(call, attempt, outcome)) is not None:
            time.sleep(pause)
            outcome, attempt = self._once(call, download), attempt + 1
        return read_answer(call, outcome)

    def stream_matches(
        self, pool: str, matches: Iterable[MatchRequest], *, batch: int = 5000
    ) -> Iterator[StreamLine]:
        """Post matches as they come. Each line that is yielded confirms all matches up to it.

        Lines are counted over the whole stream, from 1. A batch is sent when the one before it is
        answered. Confirmed matches stay recorded, and posting all again records none twice.
        Raises : InvalidDataError for the first bad lines, with their numbers
        """
        for before, part in batches(matches, batch):
            lines, error = self.send(stream_batch(pool, part, before))
            yield from lines
            if error is not None:
                raise error

    def export(
        self, pool: str, path: Path | str, what: What, format: Format, *, raw: bool = False
    ) -> None:
        """Write the log, the ratings or the changes of a pool to a file.

        The file appears when it is complete, never in part.

        raw : whether text that spreadsheets run is left as it is in CSV
        """
        self.send(export(pool, what, format, raw), Download(path))

    def _once(self, call: Call[Any], download: Download | None) -> Reply | Failure:
        try:
            request = request_of(self._client, call, self._timeout)
            response = self._client.send(request, stream=True)
            try:
                if download is None or not response.is_success:
                    response.read()
                    return Reply(response.status_code, response.headers, response.content)
                with download as file:
                    for piece in response.iter_bytes():
                        file.write(piece)
                return Reply(response.status_code, response.headers, b"")
            finally:
                response.close()
        except self._httpx.RequestError as error:
            return failure_of(error)


class AsyncClient(Endpoints):
    """A client of the service for asyncio; tasks may share it.

    url : address of the service, with the path below which it is served, if any
    key : secret of a key; None reads public pools only
    timeout : seconds without data from the service after which a call fails
    retries : when a call is sent again
    transport : transport of httpx to use instead of the network
    """

    _sender = "AsyncClient"

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def send(self, call: Call[T], download: Download | None = None) -> T:
        """Return the answer to a call. Raises : the error that the service answered with.

        download : the file that the content of the answer is written to, instead
        """
        outcome, attempt = await self._once(call, download), 1
        while (pause := self._retries.pause(call, attempt, outcome)) is not None:
            await asyncio.sleep(pause)
            outcome, attempt = await self._once(call, download), attempt + 1
        return read_answer(call, outcome)

    async def stream_matches(
        self, pool: str, matches: Iterable[MatchRequest], *, batch: int = 5000
    ) -> AsyncIterator[StreamLine]:
        """Post matches as they come. Each line that is yielded confirms all matches up to it.

        Lines are counted over the whole stream, from 1. A batch is sent when the one before it is
        answered. Confirmed matches stay recorded, and posting all again records none twice.
        Raises : InvalidDataError for the first bad lines, with their numbers
        """
        for before, part in batches(matches, batch):
            lines, error = await self.send(stream_batch(pool, part, before))
            for line in lines:
                yield line
            if error is not None:
                raise error

    async def export(
        self, pool: str, path: Path | str, what: What, format: Format, *, raw: bool = False
    ) -> None:
        """Write the log, the ratings or the changes of a pool to a file.

        The file appears when it is complete, never in part.

        raw : whether text that spreadsheets run is left as it is in CSV
        """
        await self.send(export(pool, what, format, raw), Download(path))

    async def _once(self, call: Call[Any], download: Download | None) -> Reply | Failure:
        try:
            request = request_of(self._client, call, self._timeout)
            response = await self._client.send(request, stream=True)
            try:
                if download is None or not response.is_success:
                    await response.aread()
                    return Reply(response.status_code, response.headers, response.content)
                with download as file:
                    async for piece in response.aiter_bytes():
                        file.write(piece)
                return Reply(response.status_code, response.headers, b"")
            finally:
                await response.aclose()
        except self._httpx.RequestError as error:
            return failure_of(error)

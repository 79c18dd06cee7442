"""The methods of both clients: each makes a call and sends it, or awaits the answer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from functools import wraps
from typing import Any, Generic, ParamSpec, Protocol, TypeVar, overload

from equipoise.client import calls
from equipoise.client.call import Call

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
    def __get__(self, client: Sender, owner: type[Any]) -> Callable[P, T]: ...
    @overload
    def __get__(
        self, client: AsyncSender, owner: type[Any]
    ) -> Callable[P, Coroutine[Any, Any, T]]: ...
    @overload
    def __get__(self, client: None, owner: type[Any]) -> Callable[P, Call[T]]: ...
    def __get__(self, client: Sender | AsyncSender | None, owner: type[Any]) -> Callable[P, Any]:
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
    def __get__(self, client: Sender, owner: type[Any]) -> Callable[P, Iterator[Item]]: ...
    @overload
    def __get__(
        self, client: AsyncSender, owner: type[Any]
    ) -> Callable[P, AsyncIterator[Item]]: ...
    @overload
    def __get__(self, client: None, owner: type[Any]) -> Callable[P, Call[Page]]: ...
    def __get__(self, client: Sender | AsyncSender | None, owner: type[Any]) -> Callable[P, Any]:
        describe, items = self._describe, self._items
        if client is None:
            return describe

        @wraps(describe)
        def method(*args: P.args, **kwargs: P.kwargs) -> Any:
            call = describe(*args, **kwargs)
            if isinstance(client, Sender):
                return _each(client, call, items)
            return _each_awaited(client, call, items)

        return method


class Endpoints:
    """The methods of both clients, with the parameters of the calls of the same name."""

    create_pool = Endpoint(calls.create_pool)
    pool = Endpoint(calls.pool)
    change_pool = Endpoint(calls.change_pool)
    preview_change = Endpoint(calls.preview_change)
    set_initial_ratings = Endpoint(calls.set_initial_ratings)
    initial_ratings = Endpoint(calls.initial_ratings)
    each_initial_rating = Listing(calls.initial_ratings, lambda page: page.ratings)
    delete_pool = Endpoint(calls.delete_pool)
    pools = Endpoint(calls.pools)
    post_match = Endpoint(calls.post_match)
    post_matches = Endpoint(calls.post_matches)
    match = Endpoint(calls.match)
    matches = Endpoint(calls.matches)
    each_team = Listing(calls.match, lambda found: found.teams)
    each_match = Listing(calls.matches, lambda page: page.matches)
    correct_match = Endpoint(calls.correct_match)
    void_match = Endpoint(calls.void_match)
    restore_match = Endpoint(calls.restore_match)
    disqualify = Endpoint(calls.disqualify)
    reinstate = Endpoint(calls.reinstate)
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
    performance = Endpoint(calls.performance)
    strengths = Endpoint(calls.strengths)
    keys = Endpoint(calls.keys)
    create_key = Endpoint(calls.create_key)
    rotate_key = Endpoint(calls.rotate_key)
    revoke_key = Endpoint(calls.revoke_key)
    ready = Endpoint(calls.ready)
    metrics = Endpoint(calls.metrics)
    openapi = Endpoint(calls.openapi)


class Sender(Endpoints, ABC):
    """A client that waits for each answer."""

    @abstractmethod
    def send(self, call: Call[T]) -> T:
        """Return the answer to a call."""


class AsyncSender(Endpoints, ABC):
    """A client whose answers are awaited."""

    @abstractmethod
    async def send(self, call: Call[T]) -> T:
        """Return the answer to a call."""


def _each(
    client: Sender, call: Call[Page], items: Callable[[Page], Sequence[Item]]
) -> Iterator[Item]:
    page = client.send(call)
    yield from items(page)
    while page.next is not None:
        page = client.send(call.page(page.next))
        yield from items(page)


async def _each_awaited(
    client: AsyncSender, call: Call[Page], items: Callable[[Page], Sequence[Item]]
) -> AsyncIterator[Item]:
    page = await client.send(call)
    for item in items(page):
        yield item
    while page.next is not None:
        page = await client.send(call.page(page.next))
        for item in items(page):
            yield item

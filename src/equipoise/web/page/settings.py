"""What the application tells the page."""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from equipoise.messages.webhooks import WebhookTestMessage
from equipoise.web.limits import RateLimiter
from equipoise.web.page.backend import Backend
from equipoise.web.page.later import Later

_Answer = TypeVar("_Answer")

#: Players' pages that are kept, under way or ready: one may hold thousands of matches.
_VIEWS = 50


class Run(Protocol):
    """Runs a function that may take its time, outside the event loop."""

    def __call__(self, call: Callable[[], _Answer], /) -> Awaitable[_Answer]:
        """Return what the function returns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageSettings:
    """The page's side of the application; stands in `app.state.page`.

    try_webhook : sends the webhook of a pool a test message
    read, write, compute : run what reads the store, writes it, or takes long
    body_limit : bytes of a form; seconds : that a page may take
    open_calculations : whether tournament and rebalance are for everybody, or need a key
    rate_limit, rate_burst : pages a second of one key or address, 0 for no limit, and at once
    """

    backend: Backend
    try_webhook: Callable[[str, int], Awaitable[WebhookTestMessage]]
    read: Run = run_in_threadpool
    write: Run = run_in_threadpool
    compute: Run = run_in_threadpool
    body_limit: int = 10_000_000
    seconds: float = 30.0
    open_calculations: bool = False
    rate_limit: float = 0.0
    rate_burst: float = 100


@dataclass(frozen=True, slots=True)
class PageState:
    """The settings, who asked how often, and players' pages with their explanations."""

    settings: PageSettings
    rates: RateLimiter
    views: Later[Any] = field(default_factory=lambda: Later(_VIEWS))


def state_of(request: Request) -> PageState:
    """Return what the application told the page; without it, the service that it runs."""
    state = request.app.state
    found = getattr(state, "page", None)
    if isinstance(found, PageState):
        return found
    if found is None:
        from equipoise.web.page.service_backend import page_settings

        found = page_settings(state.service)
    state.page = PageState(found, RateLimiter(found.rate_limit, found.rate_burst))
    return state_of(request)


def bound(call: Callable[..., Any], *given: Any, **named: Any) -> Callable[[], Any]:
    """Return a call with its arguments, to be run elsewhere."""
    return functools.partial(call, *given, **named)

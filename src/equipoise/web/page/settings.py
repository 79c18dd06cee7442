"""What the application tells the page."""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from equipoise.web.page.backend import Backend

_Answer = TypeVar("_Answer")


class Run(Protocol):
    """Runs a function that may take its time, outside the event loop."""

    def __call__(self, call: Callable[[], _Answer], /) -> Awaitable[_Answer]:
        """Return what the function returns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageSettings:
    """The page's side of the application; stands in `app.state.page`.

    read, write, compute : run what reads the store, writes it, or solves without it
    body_limit : bytes of a form
    open_calculations : whether tournament and rebalance are for everybody, or need a key
    """

    backend: Backend
    read: Run = run_in_threadpool
    write: Run = run_in_threadpool
    compute: Run = run_in_threadpool
    body_limit: int = 32 * 2**20
    open_calculations: bool = False


def settings_of(request: Request) -> PageSettings:
    """Return what the application told the page."""
    found: PageSettings = request.app.state.page
    return found


def bound(call: Callable[..., Any], *given: Any, **named: Any) -> Callable[[], Any]:
    """Return a call with its arguments, to be run elsewhere."""
    return functools.partial(call, *given, **named)

"""An application in a thread of the test process, and requests to it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from types import TracebackType
from typing import Any, TypeVar

import httpx

T = TypeVar("T")

#: Seconds that the start may take; the first one compiles kernels.
_STARTING = 120.0
_ANSWERING = 300.0


class Running:
    """An ASGI application between the start and the end of its lifespan."""

    def __init__(self, app: Any) -> None:
        self._app = app
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="application")
        self._to_app: asyncio.Queue[dict[str, str]] = asyncio.Queue()
        self._from_app: asyncio.Queue[dict[str, str]] = asyncio.Queue()

    def __enter__(self) -> Running:
        self._thread.start()
        self.wait(self._open(), _STARTING)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: object, trace: TracebackType | None
    ) -> None:
        self.wait(self._close(), _STARTING)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def wait(self, work: Coroutine[Any, Any, T], seconds: float = _ANSWERING) -> T:
        """Return what comes of work in the loop of the application."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(seconds)

    def request(self, method: str, path: str, **more: Any) -> httpx.Response:
        """Return the answer to a request."""
        return self.wait(self._client.request(method, path, **more))

    def start(self, method: str, path: str, key: str, **more: Any) -> Future[httpx.Response]:
        """Return the answer to come to a request that is sent now."""
        headers = {"authorization": f"Bearer {key}", **more.pop("headers", {})}
        work = self._client.request(method, path, headers=headers, **more)
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    async def _open(self) -> None:
        scope = {"type": "lifespan", "asgi": {"version": "3.0"}, "state": {}}
        self._life = asyncio.create_task(
            self._app(scope, self._to_app.get, self._from_app.put), name="lifespan"
        )
        transport = httpx.ASGITransport(self._app, raise_app_exceptions=False)
        self._client = httpx.AsyncClient(
            transport=transport, base_url="http://service", timeout=None
        )
        await self._say("lifespan.startup")

    async def _close(self) -> None:
        await self._client.aclose()
        await self._say("lifespan.shutdown")
        await self._life

    async def _say(self, word: str) -> None:
        await self._to_app.put({"type": word})
        answer = await self._from_app.get()
        if answer["type"] != f"{word}.complete":
            raise RuntimeError(answer)

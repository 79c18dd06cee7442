"""The service with invented pools, in a thread of this process, and who may do what there."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import httpx
import msgspec
import uvicorn

from equipoise.messages.matches import MatchRequest, PostedMessage
from equipoise.messages.pools import PoolRequest
from equipoise.pools.pool.pools import create_pool
from equipoise.pools.posting.posting import Post, post_matches
from equipoise.pools.replay.replaying import keep_checkpoints
from equipoise.store.connection import open_store
from equipoise.store.keys import create_key
from equipoise.web.application import create_application
from equipoise.web.settings import ServiceSettings
from web.page import invented

#: Seconds that anything may take. The service gives up compiling kernels after as many.
LONGEST = 900.0


@dataclass(frozen=True)
class Site:
    """Where the pages are, and keys: of an admin of all, of a writer and of readers of pools."""

    url: str
    keys: dict[str, str]
    _numbers: Iterator[int] = field(default_factory=lambda: count(1))

    def ask(
        self, method: str, path: str, content: object = None, key: str = "admin"
    ) -> httpx.Response:
        """Return what the interface for programs answers."""
        headers = {"authorization": f"Bearer {self.keys[key]}"}
        return httpx.request(
            method, f"{self.url}/v1{path}", json=content, headers=headers, timeout=LONGEST
        )

    def new_pool(
        self, pool: str, request: PoolRequest, matches: Sequence[MatchRequest] = ()
    ) -> str:
        """Make a pool that a test may change, and an admin's, a writer's and a reader's key of it.

        Its name gets a number, because other tests in the process may use the same name. The keys
        are called POOL admin, POOL writer and POOL reader.
        """
        pool = f"{pool}-{next(self._numbers)}"
        self.perform("PUT", f"/pools/{pool}", msgspec.to_builtins(request))
        # On a machine that has no kernels yet, they are compiled.
        self.wait_until(pool, lambda told: told["kernels"] != "compiling")
        if matches:
            self.perform("POST", f"/pools/{pool}/matches", msgspec.to_builtins(matches))
        for role in ("admin", "writer", "reader"):
            made = self.perform("POST", "/keys", {"name": f"{pool}'s", "role": role, "pool": pool})
            self.keys[f"{pool} {role}"] = made["secret"]
        return pool

    def perform(self, method: str, path: str, content: object = None) -> Any:
        """Return the message of an answer that must be a success."""
        answer = self.ask(method, path, content)
        assert answer.is_success, answer.text
        return answer.json()

    def wait_until(self, pool: str, holds: Callable[[Any], bool]) -> Any:
        """Return the message of a pool once something holds for it."""
        begun = time.monotonic()
        while not holds(told := self.perform("GET", f"/pools/{pool}")):
            assert time.monotonic() - begun < LONGEST, told
            time.sleep(0.05)
        return told

    def replayed(self, pool: str) -> Any:
        """Return the message of a pool once its replay is done."""
        return self.wait_until(pool, lambda told: not told["pending"])

    @contextmanager
    def visitor(self, key: str | None = None) -> Iterator[httpx.Client]:
        """Give a browser without scripts that has signed in with one of the keys."""
        headers = {"origin": self.url}
        with httpx.Client(base_url=self.url, headers=headers, timeout=LONGEST) as client:
            if key is not None:
                answer = client.post("/sign-in", data={"key": self.keys[key], "next": "/"})
                assert answer.status_code == 303, answer.text
            yield client


def fill(database: str, pools: Sequence[tuple[str, PoolRequest, Sequence[MatchRequest]]]) -> None:
    """Make pools and rate their matches."""
    store = open_store(database)
    now = time.time_ns() // 1000
    try:
        for name, request, matches in pools:
            create_pool(store, name, request, now)
            posts = [Post(matches, detailed=False)]
            (answer,) = post_matches(store, name, posts, now, future_seconds=None)
            assert isinstance(answer, PostedMessage), answer
            keep_checkpoints(store, name)
    finally:
        store.close()


def make_keys(database: str) -> dict[str, str]:
    """Return secrets of new keys, by what they are for."""
    store = open_store(database)
    now = time.time_ns() // 1000
    wanted = {
        "admin": ("admin", None),
        "writer": ("writer", "arena"),
        "club": ("reader", "club"),
        "judge": ("admin", "arena"),
    }
    try:
        return {
            name: create_key(store, f"the {name}", role, pool, None, now)[1]
            for name, (role, pool) in wanted.items()
        }
    finally:
        store.close()


@contextmanager
def running_site(folder: Path, **settings: object) -> Iterator[Site]:
    """Give a service that runs, with the invented pools."""
    database = f"sqlite:///{folder / 'site.db'}"
    fill(
        database,
        [
            ("arena", invented.ARENA, invented.arena()),
            ("club", invented.CLUB, invented.club()),
            ("hostile", invented.HOSTILE_POOL, invented.hostile()),
        ],
    )
    keys = make_keys(database)
    with served(database, **settings) as url:
        yield Site(url, keys)


@contextmanager
def served(database: str, **settings: object) -> Iterator[str]:
    """Give the address of a service on a database, in a thread."""
    # A quick machine asks more than a person may, and a slow one takes longer to answer.
    limits = {"failed_keys": 0, "address_rate": 0, "request_seconds": LONGEST}
    chosen = {"database": database, "calculations": "open", **limits, **settings}
    app = create_application(ServiceSettings(**chosen))  # type: ignore[arg-type]
    config = uvicorn.Config(app, log_level="error", ws="none", lifespan="on")
    server = uvicorn.Server(config)
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port = listening.getsockname()[1]
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        begun = time.monotonic()
        while not server.started:
            assert thread.is_alive()
            assert time.monotonic() - begun < LONGEST, "the service did not start"
            time.sleep(0.01)
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            server.should_exit = True
            thread.join()

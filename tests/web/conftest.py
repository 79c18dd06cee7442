"""A service within the test process, on SQLite, and clients with each kind of key."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette")
pytest.importorskip("httpx")

from starlette.applications import Starlette

from equipoise.store.connection import Store, open_store
from equipoise.store.keys import create_key
from equipoise.web.application import create_application
from equipoise.web.settings import ServiceSettings
from trials.compiled import compile_kernels
from web.asking import Running


@pytest.fixture(scope="session", autouse=True)
def _kernels() -> None:
    """Compile the kernels of all systems first, so that new pools take posts at once."""
    compile_kernels()


def duel(match: str, first: str = "a", second: str = "b", **more: Any) -> dict[str, Any]:
    """Return a match that the first player wins."""
    teams = [{"players": [first], "rank": 1}, {"players": [second], "rank": 2}]
    return {"match": match, "teams": teams, **more}


def lines(*matches: object) -> bytes:
    """Return matches as lines of a stream."""
    return b"".join(json.dumps(match).encode() + b"\n" for match in matches)


@dataclass
class Served:
    """A running application, and what tests need to ask it things."""

    app: Starlette
    running: Running
    store: Store
    admin: str
    _names: Iterator[int] = field(default_factory=lambda: count(1))

    def key(self, role: str, pool: str | None = None, expires: int | None = None) -> str:
        """Return the secret of a new key."""
        now = time.time_ns() // 1000
        return create_key(self.store, role, role, pool, expires, now)[1]

    def pool(self, **settings: Any) -> str:
        """Return the name of a new pool, whose leaderboard lists everybody by default."""
        name = f"pool{next(self._names)}"
        settings = {"system": "elo", "placement_matches": 0, **settings}
        answer = self.put(f"/v1/pools/{name}", settings)
        assert answer.status_code == 200, answer.text
        return name

    def ask(self, method: str, path: str, key: str | None = "admin", **more: Any) -> Any:
        """Return the answer to a request with a key: "admin" for the one that may do all."""
        secret = self.admin if key == "admin" else key
        headers = dict(more.pop("headers", {}))
        if secret is not None:
            headers["Authorization"] = f"Bearer {secret}"
        return self.running.request(method, path, headers=headers, **more)

    def get(self, path: str, key: str | None = "admin", **more: Any) -> Any:
        return self.ask("GET", path, key, **more)

    def put(self, path: str, content: Any, key: str | None = "admin", **more: Any) -> Any:
        """Put something. Wait until a new pool takes posts: its kernels may be compiled first."""
        answer = self.ask("PUT", path, key, json=content, **more)
        compiling = answer.json().get("kernels") == "compiling"
        while compiling:
            time.sleep(0.1)
            compiling = self.get(path).json()["kernels"] == "compiling"
        return answer

    def post(self, path: str, content: Any = None, key: str | None = "admin", **more: Any) -> Any:
        given = {} if content is None else {"json": content}
        return self.ask("POST", path, key, **given, **more)

    def stream(self, pool: str, content: bytes, **more: Any) -> Any:
        headers = {"Content-Type": "application/x-ndjson"}
        path = f"/v1/pools/{pool}/matches"
        return self.ask("POST", path, content=content, headers=headers, **more)


Serve = Callable[..., Served]


def _served(folder: Path, **settings: Any) -> Iterator[Served]:
    url = settings.pop("database", f"sqlite:///{folder / 'service.db'}")
    app = create_application(ServiceSettings(database=url, **{"page": False, **settings}))
    store = open_store(url)
    secret = create_key(store, "admin", "admin", None, None, 0)[1]
    try:
        with Running(app) as running:
            yield Served(app, running, store, secret)
    finally:
        store.close()


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Give a service as it is set by default, shared by all tests; each makes its own pools."""
    yield from _served(
        tmp_path_factory.mktemp("web"), failed_keys=0, address_rate=0, request_seconds=300.0
    )


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    """Give a function that starts a service with other settings."""
    running: list[Iterator[Served]] = []

    def start(**settings: Any) -> Served:
        folder = tmp_path / str(len(running))
        folder.mkdir()
        running.append(_served(folder, **settings))
        return next(running[-1])

    yield start
    for one in running:
        for _ in one:
            pass

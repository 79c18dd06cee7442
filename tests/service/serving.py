"""A service for tests: it runs, and pools and keys are made in it by a word."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count

from equipoise.client import Client, Retries
from equipoise.messages.pools import PoolRequest
from trials.server import Server, make_key

#: A test wants to see what a request is answered, not what its third repetition is.
ONCE = Retries(attempts=1)


@dataclass
class Service:
    """A running service, and what a test makes in it."""

    server: Server
    key: str
    admin: Client
    _names: Iterator[int] = field(default_factory=lambda: count(1))

    def new_pool(self, **settings: object) -> str:
        """Return the name of a new pool, whose leaderboard lists everybody by default."""
        name = f"pool{next(self._names)}"
        settings = {"placement_matches": 0, **settings}
        self.admin.create_pool(name, PoolRequest(**settings))  # type: ignore[arg-type]
        return name

    def client(self, role: str | None, pool: str | None = None, **expires: int) -> Client:
        """Return a client with a new key, or without one where there is no role."""
        key = None if role is None else self.new_key(role, pool, **expires)
        return self.server.client(key, ONCE)

    def new_key(self, role: str, pool: str | None = None, **expires: int) -> str:
        """Return the secret of a new key."""
        return make_key(self.server.database, role, pool, **expires)


def served_by(server: Server) -> Iterator[Service]:
    key = make_key(server.database, "admin")
    with server.client(key, ONCE) as admin:
        yield Service(server, key, admin)

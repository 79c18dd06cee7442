"""From a path to its endpoint: by the parts of the path as it was sent, before it is decoded.

An id may hold any sign, a slash among them, if it is written with percent signs: `/players/a%2Fb`
is the player `a/b`. So the path is split first and decoded part by part. A table of parts also
finds its endpoint in the same time however many there are.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple
from urllib.parse import quote, unquote_to_bytes

from starlette.types import Scope

from equipoise.web.endpoints import Endpoint


@dataclass(slots=True)
class _Node:
    """A place in the tree of paths: fixed parts that may follow, or a variable one."""

    fixed: dict[bytes, _Node] = field(default_factory=dict)
    name: str = ""
    variable: _Node | None = None
    endpoints: dict[str, Endpoint] = field(default_factory=dict)


class Found(NamedTuple):
    """The endpoints of a path by method, and its variable parts as they were sent."""

    endpoints: dict[str, Endpoint]
    names: tuple[str, ...]
    parts: tuple[bytes, ...]

    def decoded(self) -> dict[str, str]:
        """Return the variable parts by name. Raises : UnicodeDecodeError."""
        return {
            name: (unquote_to_bytes(part) if b"%" in part else part).decode("utf-8")
            for name, part in zip(self.names, self.parts, strict=True)
        }


class PathTable:
    """All paths of the service."""

    def __init__(self, endpoints: Iterable[Endpoint]) -> None:
        self._root = _Node()
        for endpoint in endpoints:
            self._add(endpoint)

    def _add(self, endpoint: Endpoint) -> None:
        node = self._root
        for part in endpoint.parts:
            if part.startswith("{"):
                node.name = part.strip("{}")
                node.variable = node.variable or _Node()
                node = node.variable
            else:
                node = node.fixed.setdefault(part.encode(), _Node())
        node.endpoints[endpoint.method] = endpoint

    def find(self, path: bytes) -> Found | None:
        """Return what a path as it was sent leads to, None for nothing."""
        node = self._root
        names: list[str] = []
        parts: list[bytes] = []
        for part in path.split(b"/")[1:]:
            following = node.fixed.get(part)
            if following is None and node.variable is not None and part:
                names.append(node.name)
                parts.append(part)
                following = node.variable
            if following is None:
                return None
            node = following
        return Found(node.endpoints, tuple(names), tuple(parts)) if node.endpoints else None


def sent_path(scope: Scope) -> bytes:
    """Return the path as it was sent, without the query."""
    raw: bytes | None = scope.get("raw_path")
    return quote(scope["path"]).encode() if raw is None else raw.partition(b"?")[0]

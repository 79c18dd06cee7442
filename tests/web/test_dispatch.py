"""From a path that was found to an answer: tags, methods, limits of size and time."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy.exc import OperationalError

from equipoise.pools.reading import players
from trials.pace import allow
from web.conftest import Serve, Served, duel


def test_an_answer_has_a_tag_and_is_not_sent_twice(served: Served) -> None:
    """The tag changes with the answer; a weak comparison is enough, and a star means any."""
    pool = served.pool()
    path = f"/v1/pools/{pool}/leaderboard"
    first = served.get(path)
    tag = first.headers["etag"]
    for given in (tag, f'"x", {tag}', tag.removeprefix("W/"), "*"):
        again = served.get(path, headers={"If-None-Match": given})
        assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag)
    served.post(f"/v1/pools/{pool}/matches", duel("1"))
    after = served.get(path, headers={"If-None-Match": tag})
    assert after.status_code == 200
    assert after.headers["etag"] != tag
    assert first.headers["cache-control"] == "no-cache"
    assert first.headers["vary"] == "Authorization"


def test_a_method_that_is_not_there_is_refused_with_those_that_are(served: Served) -> None:
    assert served.ask("HEAD", "/v1/pools").status_code == 200
    answer = served.ask("POST", "/v1/pools/x")
    assert answer.status_code == 405
    assert answer.headers["allow"] == "PUT, GET, PATCH, DELETE, HEAD"
    assert answer.json()["error"]["code"] == "method-not-allowed"


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        ("/v1/pools/a/b/c/d", 404, "not-found"),
        ("/v1/pools/%ff", 400, "malformed"),
        ("/v1/pools/{pool}/players/" + "x" * 201, 422, "invalid-data"),
        ("/v1/pools/{pool}/players/a%00b", 422, "invalid-data"),
        ("/v1/pools/{pool}/players/%C2%85", 422, "invalid-data"),
    ],
)
def test_rejects_unknown_and_bad_paths(served: Served, path: str, status: int, code: str) -> None:
    answer = served.get(path.format(pool=served.pool()))
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)


def test_a_body_is_bounded(serve: Serve) -> None:
    served = serve(body_bytes=100)
    pool = served.pool()
    path = f"/v1/pools/{pool}/matches"
    headers = {"Content-Type": "application/json"}
    whole = served.ask("POST", path, content=b"x" * 101, headers=headers)
    assert (whole.status_code, whole.json()["error"]["code"]) == (413, "too-large")

    async def parts() -> AsyncIterator[bytes]:
        for _ in range(3):
            yield b"x" * 40

    assert served.ask("POST", path, content=parts(), headers=headers).status_code == 413


@pytest.mark.parametrize(
    "headers",
    [
        {"Content-Type": "text/plain"},
        {"Content-Type": "application/x-www-form-urlencoded"},
        {"Content-Type": "application/json", "Content-Encoding": "gzip"},
    ],
)
def test_other_kinds_of_bodies_are_not_taken(served: Served, headers: dict[str, str]) -> None:
    pool = served.pool()
    answer = served.ask("POST", f"/v1/pools/{pool}/matches", content=b"{}", headers=headers)
    assert (answer.status_code, answer.json()["error"]["code"]) == (415, "unsupported-media-type")


def served_with_a_pool(serve: Serve, folder: Path, **settings: Any) -> tuple[Served, str]:
    """Return a service with these settings, and a pool made before they held."""
    database = f"sqlite:///{folder / 'pools.db'}"
    pool = serve(database=database).pool()
    return serve(database=database, **settings), pool


@pytest.mark.slow
def test_a_body_that_does_not_come_is_given_up(serve: Serve, tmp_path: Path) -> None:
    served, pool = served_with_a_pool(serve, tmp_path, request_seconds=allow(1.0))

    async def slow() -> AsyncIterator[bytes]:
        import asyncio

        yield b"{"
        await asyncio.sleep(3600)

    headers = {"Content-Type": "application/json"}
    answer = served.ask("POST", f"/v1/pools/{pool}/matches", content=slow(), headers=headers)
    assert (answer.status_code, answer.json()["error"]["code"]) == (408, "request-timeout")


@pytest.mark.slow
def test_answers_504_in_time(serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With 504, as it may have been done all the same."""
    served, pool = served_with_a_pool(serve, tmp_path, request_seconds=allow(1.0))
    given_up = threading.Event()
    monkeypatch.setattr(players, "player", lambda *_, **__: given_up.wait(120))
    answer = served.get(f"/v1/pools/{pool}/players/1")
    given_up.set()
    assert (answer.status_code, answer.json()["error"]["code"]) == (504, "timed-out")


def test_a_database_that_is_away_is_told(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    pool = served.pool()

    def away(*given: Any, **named: Any) -> None:
        raise OperationalError("SELECT secret", {}, Exception("gone"))

    monkeypatch.setattr(players, "player", away)
    answer = served.get(f"/v1/pools/{pool}/players/1")
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "unavailable")
    assert "retry-after" in answer.headers
    assert "secret" not in answer.text

"""How much processor time does a request cost, beside bare Starlette?

One route, `GET /v1/pools/{pool}/players/{player}?at=...`, of a public pool, with the same answer
everywhere: 300 bytes of JSON, made by msgspec. Applications are called in this process, without
sockets. Ours does all that a request goes through (path, rights, query, time limit, errors), and
the middleware adds ids, headers, metrics and a log line, which is formatted and written to the
null device. Starlette and FastAPI have this one route, read both parts of the path and the query,
and do nothing else. The event loop is uvloop, as in the service. All take turns of 2,000 requests;
the ratios are medians over the turns of processor time beside that of Starlette in the same turn.
"""

from __future__ import annotations

import asyncio
import gc
import os
import statistics
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from importlib.metadata import version
from typing import TypeAlias

import msgspec
import uvloop
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Scope

from equipoise.messages.pools import PoolRequest
from equipoise.pools.pool.pools import create_pool
from equipoise.store.schema import now
from equipoise.web.api import ENDPOINTS
from equipoise.web.application import Dispatcher, create_application
from equipoise.web.http.endpoints import ApiRequest
from equipoise.web.monitoring import configure_logs
from equipoise.web.settings import ServiceSettings
from report import report

REQUESTS, AT_ONCE, TURNS = 2_000, 50, 31
POOL, PATH = "league", "/v1/pools/{pool}/players/{player}"

Applications: TypeAlias = dict[str, ASGIApp]
_encoder = msgspec.json.Encoder()


class Answer(msgspec.Struct):
    """What is answered: as much as a player's page of numbers."""

    pool: str
    player: str
    at: str
    numbers: tuple[float, ...] = tuple(1500.0 + number / 7 for number in range(12))


async def ours(asked: ApiRequest) -> Answer:
    """Answer as an endpoint of the service."""
    return Answer(asked.pool_name, asked.path["player"], asked.query.at)


def plain_answer(pool: str, player: str, at: str) -> Response:
    """Return the same answer for the frameworks."""
    content = _encoder.encode(Answer(pool, player, at))
    return Response(content, headers={"Cache-Control": "no-store"}, media_type="application/json")


async def plain(request: Request) -> Response:
    """Answer as an endpoint of Starlette."""
    path = request.path_params
    return plain_answer(path["pool"], path["player"], request.query_params["at"])


async def annotated(pool: str, player: str, at: str) -> Response:
    """Answer as an endpoint of FastAPI."""
    return plain_answer(pool, player, at)


def frameworks() -> Applications:
    """Return the applications to compare with, Starlette first."""
    found: Applications = {"Starlette": Starlette(routes=[Route(PATH, plain)])}
    try:
        from fastapi import FastAPI
    except ImportError:
        return found
    application = FastAPI(openapi_url=None)
    application.add_api_route(PATH, annotated)
    return {**found, "FastAPI": application}


@asynccontextmanager
async def service(folder: str) -> AsyncIterator[Applications]:
    """Give our application, without its middleware and whole, with a public pool."""
    settings = ServiceSettings(
        # Whether the pool is public is read once and then remembered: no database is measured.
        database=f"sqlite:///{folder}/cost.db",
        key_seconds=3600.0,
        # Requests without a key are counted by their address, and all are let through.
        address_rate=1e9,
        address_burst=1_000_000_000,
    )
    endpoints = tuple(
        replace(one, handler=ours) if (one.method, one.path) == ("GET", PATH) else one
        for one in ENDPOINTS
    )
    application = create_application(settings, endpoints)
    async with application.router.lifespan_context(application):
        create_pool(application.state.service.store, POOL, PoolRequest("elo", public=True), now())
        yield {
            "Equipoise without middleware": Dispatcher(application.state.service, endpoints),
            "Equipoise": application,
        }


def scope() -> Scope:
    """Return a request as uvicorn hands it over, from a client like curl."""
    path = PATH.format(pool=POOL, player="jade-kite")
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "server": ("127.0.0.1", 8000),
        "client": ("127.0.0.1", 50000),
        "scheme": "http",
        "method": "GET",
        "root_path": "",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"at=2025-01-01T00:00:00Z",
        "headers": [
            (b"host", b"127.0.0.1:8000"),
            (b"user-agent", b"curl/8.5.0"),
            (b"accept", b"*/*"),
        ],
        "state": {},
    }


async def receive() -> Message:
    """Give the body of a request: none."""
    return {"type": "http.request", "body": b"", "more_body": False}


async def microseconds(application: ASGIApp, bodies: set[bytes]) -> float:
    """Return the processor time of one request, the mean over a turn."""
    statuses: list[int] = []

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])
        else:
            bodies.add(message["body"])

    spent = 0.0
    gc.collect()
    for _ in range(REQUESTS // AT_ONCE):
        requests = [scope() for _ in range(AT_ONCE)]
        started = time.process_time()
        for request in requests:
            await application(request, receive, send)
        await asyncio.sleep(0)  # the loop forgets the time limits of requests that are done
        spent += time.process_time() - started
    if statuses != REQUESTS * [200]:
        raise SystemExit(f"answered with {set(statuses)}")
    return 1e6 * spent / REQUESTS


async def measure() -> dict[str, list[float]]:
    """Return the processor time of a request, in each turn of each application."""
    with tempfile.TemporaryDirectory() as folder:
        async with service(folder) as own:
            applications = {**frameworks(), **own}
            bodies: set[bytes] = set()
            spent: dict[str, list[float]] = {name: [] for name in applications}
            for turn in range(TURNS + 1):
                for name, application in applications.items():
                    cost = await microseconds(application, bodies)
                    if turn:  # the first is for warming up
                        spent[name].append(cost)
    if len(bodies) != 1:
        raise SystemExit(f"the answers differ: {bodies}")
    return spent


def main() -> None:
    """Measure and report."""
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        configure_logs("info", nowhere)
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            spent = runner.run(measure())
    rows = []
    for name, costs in spent.items():
        ratios = [cost / other for cost, other in zip(costs, spent["Starlette"], strict=True)]
        low, middle, high = statistics.quantiles(ratios, n=4)
        wide = f"{middle:.2f} ({low:.2f} to {high:.2f})"
        rows.append((name, f"{statistics.median(costs):.1f}", wide))
    found = f"starlette {version('starlette')}"
    if "FastAPI" in spent:
        found += f", fastapi {version('fastapi')}"
    columns = ("application", "microseconds a request", "times Starlette (quartiles)")
    report("request_cost", f"{(__doc__ or '').strip()} Measured with {found}.", columns, rows)


if __name__ == "__main__":
    main()

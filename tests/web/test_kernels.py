"""Kernels are loaded, or compiled in a process of their own, and pools say so."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("prometheus_client")
pytest.importorskip("httpx")

import httpx

from equipoise.messages.pools import PoolMessage, PoolRequest
from equipoise.pools.pool.pools import create_pool, pool_message
from equipoise.store.connection import Store, open_store
from equipoise.web import kernels
from equipoise.web.http.errors import CompilingError
from equipoise.web.kernels import Kernels, is_cached, precompile, request_of
from trials.pace import allow, stopwatch
from trials.server import make_key, running
from web.conftest import Served, duel
from web.inbox import eventually

ELO = PoolRequest(system="elo")


def test_a_system_is_compiled_with_the_parameters_of_a_pool(served: Served) -> None:
    """As they are stored with the pool, from which they are known after a restart."""
    pool = served.pool(parameters={"k": 20.0}, late="replay")
    request = request_of(pool_message(served.app.state.service.store, pool))
    assert request.parameters["k"] == 20.0
    assert precompile(request)
    assert is_cached(request)


def test_what_cannot_be_precompiled_does_no_harm() -> None:
    assert not precompile(PoolRequest(system="nothing"))
    assert is_cached(PoolRequest(system="nothing"))


class Compiler:
    """Takes the place of the disk and of the process that compiles.

    cached : systems on disk; failing : whether the process fails
    """

    def __init__(self) -> None:
        self.cached: set[str] = set()
        self.failing = False
        self.go_on = threading.Event()
        self.runs: list[str] = []

    def is_cached(self, request: PoolRequest) -> bool:
        return request.system in self.cached

    def run(self, request: PoolRequest) -> None:
        self.runs.append(request.system)
        assert self.go_on.wait(120)
        if self.failing:
            raise kernels.CompileProcessError("the disk is full")
        self.cached.add(request.system)


@pytest.fixture
def compiler(monkeypatch: pytest.MonkeyPatch) -> Compiler:
    found = Compiler()
    monkeypatch.setattr(kernels, "is_cached", found.is_cached)
    monkeypatch.setattr(kernels, "keeps_kernels", lambda: True)
    monkeypatch.setattr(Kernels, "_run_process", found.run)
    monkeypatch.setattr(kernels, "_LONGEST_PAUSE", 0.2)
    return found


@pytest.fixture
def store(sqlite_url: str) -> Iterator[Store]:
    opened = open_store(sqlite_url)
    yield opened
    opened.close()


@pytest.fixture
def start(store: Store, compiler: Compiler) -> Iterator[Callable[[], Kernels]]:
    started: list[Kernels] = []

    def begin() -> Kernels:
        started.append(Kernels(store))
        started[-1].start()
        return started[-1]

    yield begin
    compiler.go_on.set()
    for one in started:
        one.stop()


def check(one: Kernels, system: str = "elo") -> str:
    """Return why posts to a pool are refused, "" if they are not."""
    try:
        asyncio.run(one.check(PoolRequest(system=system)))
    except CompilingError as error:
        return str(error)
    return ""


def described(one: Kernels, store: Store, pool: str) -> PoolMessage:
    return asyncio.run(one.described(pool_message(store, pool)))


def test_ready_with_kernels(store: Store, start: Callable[[], Kernels], compiler: Compiler) -> None:
    create_pool(store, "p", ELO, 0)
    one = start()
    eventually(lambda: compiler.runs == ["elo"])
    assert not one.ready
    assert described(one, store, "p").kernels == "compiling"
    compiler.go_on.set()
    eventually(lambda: one.ready)
    assert described(one, store, "p").kernels == "ready"
    assert compiler.runs == ["elo"]


def test_new_pools_wait(store: Store, start: Callable[[], Kernels], compiler: Compiler) -> None:
    """The service stays ready. Pools with kernels on disk take posts at once."""
    compiler.cached.add("glicko2")
    one = start()
    eventually(lambda: one.ready)
    assert "are being compiled" in check(one)
    assert one.ready
    assert check(one, "glicko2") == ""
    eventually(lambda: compiler.runs == ["elo"])
    compiler.go_on.set()
    eventually(lambda: check(one) == "")


def test_retries_compiling(store: Store, start: Callable[[], Kernels], compiler: Compiler) -> None:
    compiler.failing = True
    compiler.go_on.set()
    create_pool(store, "p", ELO, 0)
    one = start()
    eventually(lambda: one.ready)
    eventually(lambda: described(one, store, "p").kernels_failure == "the disk is full")
    eventually(lambda: len(compiler.runs) >= 3)
    compiler.failing = False
    eventually(lambda: described(one, store, "p").kernels == "ready")


def test_kernels_that_cannot_be_kept_are_compiled_here(
    store: Store,
    start: Callable[[], Kernels],
    compiler: Compiler,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compiled: list[str] = []
    monkeypatch.setattr(kernels, "keeps_kernels", lambda: False)
    monkeypatch.setattr(kernels, "precompile", lambda one: compiled.append(one.system))
    one = start()
    one.want(ELO)
    eventually(lambda: check(one) == "")
    assert (compiled, compiler.runs) == (["elo"], [])


def test_ends_of_processes_are_described() -> None:
    assert kernels._end_of(-9, b"") == "the compiling process was ended by signal SIGKILL"
    said = b"Traceback\nOSError: the disk is full\n\n"
    assert kernels._end_of(1, said).endswith("status 1: OSError: the disk is full")
    assert kernels._end_of(1, b"\xff").endswith("status 1: \ufffd")


def in_empty_cache(tmp_path: Path, program: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "NUMBA_DISABLE_JIT": "0"}
    return subprocess.run(
        [sys.executable, "-c", program],
        env=environment,
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )


@pytest.mark.recompiles
@pytest.mark.slow
def test_nothing_is_compiled_where_only_the_disk_counts(tmp_path: Path) -> None:
    answer = in_empty_cache(
        tmp_path,
        """
import subprocess, sys, msgspec
from equipoise._jit import watch_compilation
from equipoise.messages.pools import PoolRequest
from equipoise.web.kernels import is_cached
request = PoolRequest(system="elo")
with watch_compilation() as seen:
    assert not is_cached(request)
    subprocess.run(
        [sys.executable, "-m", "equipoise.web.kernels"],
        input=msgspec.json.encode(request), check=True,
    )
    assert is_cached(request)
assert seen.kernels == 0, seen
""",
    )
    assert answer.returncode == 0, answer.stderr


@pytest.mark.recompiles
@pytest.mark.slow
@pytest.mark.alone
def test_rejects_posts_until_kernels_are_compiled(sqlite_url: str, tmp_path: Path) -> None:
    """The first post answered 504. Now it answers 503 at once, until the kernels are compiled.

    The compiling process is killed once on the way: the pool says so, and it is tried again. After
    a restart with an empty cache the service is ready only once the pool takes posts.
    """
    key = make_key(sqlite_url, "admin")
    settings = {
        "NUMBA_CACHE_DIR": str(tmp_path / "kernels"),
        "NUMBA_DISABLE_JIT": "0",
        "EQUIPOISE_REQUEST_SECONDS": str(allow(8.0)),
    }
    allowed = {"Authorization": f"Bearer {key}"}
    match = duel("1", time=1)
    with running(sqlite_url, tmp_path / "log", settings=settings) as server:
        longest = 0.0
        with httpx.Client(base_url=server.url, headers=allowed) as http:

            def ask(method: str, path: str, content: Any = None) -> Any:
                nonlocal longest
                began = time.monotonic()
                answer = http.request(method, path, json=content, timeout=300)
                longest = max(longest, time.monotonic() - began)
                return answer

            made = ask("PUT", "/v1/pools/p", {"system": "elo"})
            assert made.status_code == 200
            assert made.json()["kernels"] == "compiling"
            refused = ask("POST", "/v1/pools/p/matches", match)
            assert refused.status_code == 503
            assert refused.json()["error"]["code"] == "compiling"
            assert int(refused.headers["Retry-After"]) >= 1
            assert ask("GET", "/readyz").status_code == 200
            os.kill(_compiling(server.pid), signal.SIGKILL)
            eventually(lambda: ask("GET", "/v1/pools/p").json()["kernels"] == "failed", 300.0)
            pool = ask("GET", "/v1/pools/p").json()
            assert "SIGKILL" in pool["kernels_failure"]
            assert "SIGKILL" in ask("POST", "/v1/pools/p/matches", match).text
            eventually(lambda: ask("GET", "/v1/pools/p").json()["kernels"] == "ready", 900.0)
            assert ask("POST", "/v1/pools/p/matches", match).status_code == 200
            assert longest < allow(5.0)
    settings["NUMBA_CACHE_DIR"] = str(tmp_path / "others")
    with (
        running(sqlite_url, tmp_path / "log", settings=settings) as server,
        httpx.Client(base_url=server.url, headers=allowed) as http,
    ):
        with stopwatch() as watch:
            answer = http.post("/v1/pools/p/matches", json=duel("2", time=2), timeout=300)
        assert answer.status_code == 200, answer.text
        assert watch.seconds < 5.0


@pytest.mark.recompiles
@pytest.mark.nightly
def test_a_service_that_stops_ends_the_compiling_process(sqlite_url: str, tmp_path: Path) -> None:
    key = make_key(sqlite_url, "admin")
    settings = {"NUMBA_CACHE_DIR": str(tmp_path / "kernels"), "NUMBA_DISABLE_JIT": "0"}
    with running(sqlite_url, tmp_path / "log", settings=settings) as server:
        path, allowed = f"{server.url}/v1/pools/p", {"Authorization": f"Bearer {key}"}
        assert httpx.put(path, json={"system": "elo-mmr"}, headers=allowed, timeout=60).is_success
        compiling = _compiling(server.pid)
        with stopwatch() as watch:
            assert server.stop() == 0
        assert watch.seconds < 15.0
    # It was killed; whoever adopts it may take a moment to remove it.
    eventually(lambda: not _compiles(compiling))


def _compiling(parent: int) -> int:
    """Return the process that compiles, once it runs."""
    end = time.monotonic() + 120
    while time.monotonic() < end:
        children = Path(f"/proc/{parent}/task").glob("*/children")
        found = [int(one) for file in children for one in file.read_text().split()]
        for one in filter(_compiles, found):
            return one
        time.sleep(0.05)
    raise AssertionError("no process compiles")


def _compiles(pid: int) -> bool:
    """Return whether a process runs and is one that compiles kernels."""
    try:
        return b"equipoise.web.kernels" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return False

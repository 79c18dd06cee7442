"""Calculations in processes: the same results, ended at the time limit or with their caller."""

from __future__ import annotations

import asyncio
import io
import os
import signal
import time
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import httpx
import msgspec
import pytest

from equipoise.analysis.performance import Anchors, PerformanceRequest
from equipoise.analysis.performance.computation import message_of, rate_performance
from equipoise.errors import ConvergenceError, InvalidDataError, Problem
from equipoise.store.connection import Store, open_store
from equipoise.web.api import players as api
from equipoise.web.http.errors import OverloadedError, TimedOutError, TooLargeError
from equipoise.web.monitoring import Metrics
from equipoise.web.page import players as pages
from equipoise.web.processes import MOST_PROBLEMS, CalculationProcesses, Work
from equipoise.web.settings import ServiceSettings
from trials.pace import allow
from web.conftest import Serve, Served
from web.page.site import Site, running_site

#: It starts processes, and waits for their ends.
pytestmark = pytest.mark.slow

T = TypeVar("T")

#: Seconds for a process to end or to start on a busy machine.
_SOON = 120.0


def fail(kind: str) -> None:
    """Raise an error whose class has arguments of its own, or one that is not ours."""
    if kind == "problems":
        raise InvalidDataError([Problem("f", 1, "a", "must be b", "c")], "summary")
    if kind == "convergence":
        raise ConvergenceError("x = 1", 7, 0.5)
    raise ZeroDivisionError(kind)


def name_of(store: Store) -> str:
    """Return the name of the database."""
    return str(store.is_sqlite)


def fill(megabytes: int) -> int:
    """Use memory."""
    return len(bytearray(megabytes * 1_000_000))


def run(
    tmp_path: Path, trial: Callable[[CalculationProcesses], Awaitable[T]], **settings: Any
) -> T:
    """Return the result of a trial with processes."""
    chosen = ServiceSettings(database=f"sqlite:///{tmp_path / 'a.db'}", **settings)
    open_store(chosen.database).close()

    async def tried() -> T:
        processes = CalculationProcesses(chosen, Metrics())
        processes.open()
        try:
            return await trial(processes)
        finally:
            pids = processes.pids
            await processes.close()
            assert not any(map(exists, pids))

    return asyncio.run(tried())


def exists(pid: int) -> bool:
    """Return whether a process runs."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def work(function: Callable[..., Any], *args: Any, with_store: bool = False) -> Work:
    return Work(function, args, {}, with_store)


async def until(holds: Callable[[], bool]) -> None:
    """Wait until something holds."""
    ends = time.monotonic() + _SOON
    while not holds():
        assert time.monotonic() < ends
        await asyncio.sleep(0.01)


def test_results_and_errors_come_back(tmp_path: Path) -> None:
    """From another process, with the store if wanted; it is the same process each time."""

    async def trial(processes: CalculationProcesses) -> None:
        first = await processes.run(work(os.getpid))
        assert first != os.getpid()
        assert await processes.run(work(os.getpid)) == first
        assert await processes.run(work(name_of, with_store=True)) == "True"
        with pytest.raises(InvalidDataError, match="summary") as found:
            await processes.run(work(fail, "problems"))
        assert found.value.problems == (Problem("f", 1, "a", "must be b", "c"),)
        with pytest.raises(ConvergenceError) as other:
            await processes.run(work(fail, "convergence"))
        assert (other.value.what, other.value.iterations) == ("x = 1", 7)
        with pytest.raises(ZeroDivisionError) as ours:
            await processes.run(work(fail, "division"))
        assert "in fail" in "".join(ours.value.__notes__)

    run(tmp_path, trial, calculators=1)


def test_a_calculation_ends_at_the_time_limit(tmp_path: Path) -> None:
    """Its process is gone, another takes its place, and its place in the queue is free."""

    async def trial(processes: CalculationProcesses) -> None:
        pid = await processes.run(work(os.getpid))
        with pytest.raises(TimedOutError):
            await processes.run(work(time.sleep, 3600))
        await until(lambda: not exists(pid))
        await until(lambda: len(processes.pids) == 1 and pid not in processes.pids)

    run(tmp_path, trial, calculators=1, queued_calculations=1, request_seconds=allow(3.0))


def test_a_calculation_ends_with_its_caller(tmp_path: Path) -> None:
    """Cancelled while it waits or while it runs; the next is answered by a new process."""

    async def trial(processes: CalculationProcesses) -> None:
        pid = await processes.run(work(os.getpid))
        sleeping = asyncio.create_task(processes.run(work(time.sleep, 3600)))
        waiting = asyncio.create_task(processes.run(work(time.sleep, 3600)))
        await asyncio.sleep(0.2)
        with pytest.raises(OverloadedError):
            await processes.run(work(os.getpid))
        waiting.cancel()
        await asyncio.sleep(0.1)
        assert exists(pid)
        sleeping.cancel()
        await until(lambda: not exists(pid))
        assert await processes.run(work(os.getpid)) != pid

    run(tmp_path, trial, calculators=1, queued_calculations=1, request_seconds=_SOON)


def test_processes_that_were_ended_leave_no_open_files(tmp_path: Path) -> None:

    async def trial(processes: CalculationProcesses) -> None:
        await processes.run(work(os.getpid))
        before = len(os.listdir("/proc/self/fd"))
        for _ in range(5):
            sleeping = asyncio.create_task(processes.run(work(time.sleep, 3600)))
            await asyncio.sleep(0.05)
            sleeping.cancel()
            await processes.run(work(os.getpid))
        await until(lambda: len(os.listdir("/proc/self/fd")) <= before + 1)

    run(tmp_path, trial, calculators=1, request_seconds=_SOON)


def test_a_process_that_dies_is_replaced(tmp_path: Path) -> None:
    """Idle: nobody notices. At work: as if it had needed too much memory, or with its status."""

    async def trial(processes: CalculationProcesses) -> None:
        pid = await processes.run(work(os.getpid))
        os.kill(pid, signal.SIGKILL)
        await until(lambda: not exists(pid))
        assert await processes.run(work(os.getpid)) != pid
        with pytest.raises(TooLargeError, match="2,000 MB"):
            await processes.run(work(os.abort))
        with pytest.raises(RuntimeError, match="status 3"):
            await processes.run(work(os._exit, 3))
        assert await processes.run(work(os.getpid)) != pid

    run(tmp_path, trial, calculators=1, request_seconds=_SOON)


def test_memory_is_bounded(tmp_path: Path) -> None:

    async def trial(processes: CalculationProcesses) -> None:
        assert await processes.run(work(fill, 50)) == 50_000_000
        with pytest.raises(TooLargeError, match="more than 200 MB"):
            await processes.run(work(fill, 300))

    run(tmp_path, trial, calculators=1, calculation_bytes=200_000_000)


def test_signals_to_all_processes_end_no_calculation(tmp_path: Path) -> None:
    """The service decides: a supervisor may signal all processes at once."""

    async def trial(processes: CalculationProcesses) -> None:
        pid = await processes.run(work(os.getpid))
        sleeping = asyncio.create_task(processes.run(work(time.sleep, 0.5)))
        await asyncio.sleep(0.1)
        os.kill(pid, signal.SIGTERM)
        os.kill(pid, signal.SIGINT)
        await sleeping
        assert await processes.run(work(os.getpid)) == pid

    run(tmp_path, trial, calculators=1)


GAMES = "white,black,result\n" + "".join(
    f"p{one},p{other},{'1-0' if (one * other + one) % 3 else '1/2-1/2'}\n"
    for one in range(12)
    for other in range(12)
    if one != other
)


def test_the_numbers_are_those_of_this_process(served: Served) -> None:
    content = GAMES.encode()
    path = "/v1/performance?format=csv&superiority=true&anchor=1500&also=linear&also=recursive"
    answer = served.ask("POST", path, content=content)
    assert answer.status_code == 200, answer.text
    request = PerformanceRequest(
        games=io.BytesIO(content),
        format="csv",
        anchor=Anchors(1500.0),
        superiority=True,
        also=("linear", "recursive"),
    )
    assert answer.content == msgspec.json.encode(message_of(rate_performance(request)))


def long_games() -> bytes:
    """Return games that take several seconds to read and rate."""
    return b"".join(
        b'[White "p%d"]\n[Black "p%d"]\n[Result "1-0"]\n\n1-0\n\n' % (n % 9_000, 9_000 + n % 8_999)
        for n in range(170_000)
    )


def test_answers_of_tournaments_are_bounded(served: Served) -> None:
    """Sweeps grow with the square of the players; a file may have many problems."""
    most = 2_500
    circle = b"".join(b"p%d,p%d,1-0\n" % (n, (n + 1) % most) for n in range(most))
    # Each of the others lost to one of the circle: its sweep names all of the circle.
    others = b"".join(b"p%d,q%d,1-0\n" % (n, n) for n in range(most))
    games = b"white,black,result\n" + circle + others
    answer = served.ask("POST", "/v1/performance?format=csv", content=games)
    assert answer.status_code == 413, len(answer.content)
    lines = b"white,black,result\n" + b"a,b,maybe\n" * 5_000
    answer = served.ask("POST", "/v1/performance?format=csv", content=lines)
    assert answer.status_code == 422
    assert len(answer.json()["error"]["problems"]) <= MOST_PROBLEMS


def test_listed_sequences_are_bounded(served: Served) -> None:
    """Ten thousand sequences of 40 parties would be an answer of many megabytes."""
    alliance = {"min_number": 2, "max_number": 2, "player_min_number": 1, "player_max_number": 20}
    rule = {"attribute": "mmr", "criteria": "distance", "reference": 100, "max": 50}
    parties = [
        {"party": f"p{n}", "players": [{"player": f"x{n}", "attributes": {"mmr": 7 * n}}]}
        for n in range(40)
    ]
    body = {"ruleset": {"alliance": alliance, "matching_rule": [rule]}, "parties": parties}
    path = "/v1/rebalance?method=permutation&all=true&max_sequences=10000"
    answer = served.ask("POST", path, content=msgspec.json.encode(body))
    assert answer.status_code == 200, answer.text[:300]
    assert answer.json()["truncated"]
    assert len(answer.json()["candidates"]) == 2_500


def test_ends_the_process_of_a_late_request(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit is that of the calculation alone: its process has started, the games are read."""
    served = serve(request_seconds=_SOON, calculators=1)
    processes = served.app.state.service._calculators
    games = long_games()
    served.ask("POST", "/v1/performance?format=csv", content=GAMES.encode())
    before = processes.pids
    short = msgspec.structs.replace(processes._settings, request_seconds=0.5)
    monkeypatch.setattr(processes, "_settings", short)
    answer = served.ask("POST", "/v1/performance?format=pgn&superiority=true", content=games)
    assert answer.status_code == 504, answer.text[:300]
    ends = time.monotonic() + _SOON
    while any(map(exists, before)):
        assert time.monotonic() < ends
        time.sleep(0.01)


def forever(*given: object, **more: object) -> None:
    """Take longer than this test; a process calls it."""
    time.sleep(3600.0)


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    pytest.importorskip("uvicorn")
    with running_site(tmp_path) as found:
        yield found


def test_explanations_leave_processes_free(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Anonymous visitors open many players' pages at once, and every explanation takes forever."""
    board = site.ask("GET", "/pools/arena/leaderboard?limit=20").json()["players"]
    names = [row["player"] for row in board]
    monkeypatch.setattr(pages, "explained", forever)
    monkeypatch.setattr(api.questions, "explain_player", forever)

    def visit(name: str) -> int:
        return httpx.get(f"{site.url}/pools/arena/players/{name}", timeout=300.0).status_code

    with ThreadPoolExecutor(20) as visitors:
        # The pages come without the explanation.
        assert set(visitors.map(visit, names)) == {200}
        split = {"players": names[:4], "teams": 2}
        predict = {"teams": [[names[0]], [names[1]]]}
        for question, body in (("balance", split), ("predict", predict)):
            answer = site.ask("POST", f"/pools/arena/{question}", body)
            assert answer.status_code == 200, answer.text
            assert answer.elapsed.total_seconds() < allow(20.0)

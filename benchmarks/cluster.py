"""What does it cost to hand independent pools to a cluster instead of processes of this machine?

Each of 200 pools is 10,000 duels between 1,000 players (20,000 participations), made and rated with
glicko2 where the task runs; its result is a hash of the ratings. Every engine has two workers. They
run, have imported everything and have loaded the compiled kernels before a clock starts. The
scheduler of Dask is a program of its own.

The engines take turns, and a ratio is the median of the ratios within each round, because other
programs disturb all engines alike. Seconds of the processor are those of all processes of an
engine and of this one; on a machine that others use, only they can be compared. The processes of
all engines keep memory that was freed. In the rounds with a death, the task of one pool kills its
worker the first time, with SIGKILL; the clock then includes the start of another worker.

What it costs to hand out a task is measured with tasks that do nothing: 4,000 for processes, 500
for the other engines, three times.

    python benchmarks/cluster.py --rounds 7
"""

from __future__ import annotations

import argparse
import hashlib
import os
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import psutil

import equipoise as eq
from equipoise.errors import UnavailableError
from equipoise.parallel.cluster import connect
from equipoise.parallel.tasks import Processes, run_tasks
from equipoise.wording import counted
from report import ROOT, Part, report_parts

_POOLS, _DUELS, _PLAYERS = 200, 10_000, 1_000
_WORKERS = 2
#: Tasks that do nothing, for processes of this machine and for the other engines.
_EMPTY_HERE, _EMPTY_THERE, _EMPTY_ROUNDS = 4_000, 500, 3
#: Environment of the processes of all engines: up to 128 MB that were freed are kept. Otherwise
#: arrays of a pool cost page faults each time.
_KEEP_MEMORY = {"MALLOC_TRIM_THRESHOLD_": "134217728", "MALLOC_MMAP_THRESHOLD_": "134217728"}
_LONGEST = 120.0  # seconds until a scheduler with its workers must be there


def rate_pool(deadly: str, number: int) -> str:
    """Return a hash of the ratings of a pool.

    deadly : file that pool 77 makes before it kills this process, once; "" for no death
    """
    if deadly and number == 77 and not Path(deadly).exists():
        Path(deadly).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    rng = np.random.default_rng(number)
    first = rng.integers(0, _PLAYERS, _DUELS)
    second = (first + rng.integers(1, _PLAYERS, _DUELS)) % _PLAYERS
    players = np.column_stack((first, second)).ravel()
    wins = rng.integers(0, 2, _DUELS)
    history = eq.read_history(
        {
            "match": np.repeat(np.arange(_DUELS), 2),
            "player": players,
            "rank": np.column_stack((wins, 1 - wins)).ravel() + 1,
        }
    )
    ratings = eq.replay(eq.Glicko2(), history).ratings
    return hashlib.sha256(ratings.rating.tobytes() + ratings.deviation.tobytes()).hexdigest()


def nothing(_: None, number: int) -> int:
    """Return a number: a task that takes no time where it runs."""
    return number


def processor_seconds() -> float:
    """Return the seconds of this process and of all that it has started and that still run."""
    total = 0.0
    here = psutil.Process()
    for one in (here, *here.children(recursive=True)):
        with suppress(psutil.NoSuchProcess):
            times = one.cpu_times()
            total += times.user + times.system
    return total


def ready(seconds: float) -> int:
    """Rate a pool and wait, so that every worker gets one such task."""
    rate_pool("", 0)
    time.sleep(seconds)
    return os.getpid()


@dataclass(frozen=True, slots=True)
class Engine:
    """An executor under a name."""

    name: str
    executor: Executor
    starting: float

    def run(self, deadly: str = "") -> tuple[float, float, str]:
        """Return seconds of the clock and of the processor, and a hash of all results in order."""
        started, busy = time.perf_counter(), processor_seconds()
        found = list(run_tasks(rate_pool, deadly, range(_POOLS), executor=self.executor))
        seconds, spent = time.perf_counter() - started, processor_seconds() - busy
        return seconds, spent, hashlib.sha256("".join(found).encode()).hexdigest()[:12]

    def empty(self) -> tuple[float, float]:
        """Return milliseconds of the clock and of the processor for a task that does nothing."""
        count = _EMPTY_HERE if isinstance(self.executor, Processes) else _EMPTY_THERE
        started, busy = time.perf_counter(), processor_seconds()
        found = list(run_tasks(nothing, None, range(count), executor=self.executor))
        seconds, spent = time.perf_counter() - started, processor_seconds() - busy
        if found != list(range(count)):
            raise SystemExit(f"{self.name} lost tasks, or their order")
        return 1000 * seconds / count, 1000 * spent / count


@contextmanager
def dask() -> Iterator[Executor]:
    """Yield the workers of a scheduler that is started and ended here."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
    address = f"tcp://127.0.0.1:{port}"
    program = [sys.executable, "-m"]
    scheduler = ["distributed.cli.dask_scheduler", "--host", "tcp://127.0.0.1", "--port", str(port)]
    workers = ["distributed.cli.dask_worker", address, "--nworkers", str(_WORKERS)]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path]),
        # As docs/guides/cluster.md says: otherwise all processes look at themselves all the time.
        "DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "False",
        "DASK_DISTRIBUTED__WORKER__MEMORY__MONITOR_INTERVAL": "1s",
        "DASK_DISTRIBUTED__ADMIN__TICK__INTERVAL": "1s",
        "DASK_DISTRIBUTED__ADMIN__TICK__CYCLE": "5s",
        # Dask otherwise has its workers give back memory at once.
        **_KEEP_MEMORY,
    }
    with ExitStack() as stack, tempfile.TemporaryDirectory() as folder:
        for command in (scheduler, [*workers, "--nthreads", "1"]):
            started = subprocess.Popen(
                [*program, *command, "--no-dashboard"],
                cwd=folder,
                env=environment,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            stack.callback(started.wait)
            stack.callback(started.terminate)
        deadline = time.monotonic() + _LONGEST
        while True:
            try:
                with connect(address) as executor:
                    yield executor
                    return
            except UnavailableError:
                if time.monotonic() > deadline:
                    raise
            time.sleep(0.2)


@contextmanager
def ray() -> Iterator[Executor]:
    """Yield the workers of Ray: the adapter of docs/guides/cluster.md."""
    import ray

    here = {"PYTHONPATH": str(Path(__file__).parent)}
    ray.init(
        num_cpus=_WORKERS,
        include_dashboard=False,
        log_to_driver=False,
        runtime_env={"env_vars": here},
    )

    @ray.remote(max_retries=3)  # type: ignore[untyped-decorator]
    def call(function: Callable[..., Any], given: Any, named: Any) -> Any:
        return function(*given, **named)

    class RayExecutor(Executor):
        def submit(self, fn: Any, /, *given: Any, **named: Any) -> Future[Any]:
            future: Future[Any] = call.remote(fn, given, named).future()
            return future

    yield RayExecutor()
    ray.shutdown()


def started(stack: ExitStack, make: Callable[[], Any]) -> tuple[Executor, float]:
    """Return an executor whose workers have rated a pool, and the seconds that this took."""
    begin = time.perf_counter()
    executor = stack.enter_context(make())
    pids: set[int] = set()
    while len(pids) < _WORKERS:
        both = [executor.submit(ready, 0.3) for _ in range(_WORKERS)]
        pids.update(one.result() for one in both)
    return executor, time.perf_counter() - begin


def measured(
    engines: Sequence[Engine], rounds: int, deadly: bool
) -> tuple[list[list[float]], list[list[float]]]:
    """Return seconds of clock and of processor, of every engine in every round.

    Ends the program if results differ.
    """
    clock: list[list[float]] = [[] for _ in engines]
    processor: list[list[float]] = [[] for _ in engines]
    seen: set[str] = set()
    for _ in range(rounds):
        for number, engine in enumerate(engines):
            with tempfile.TemporaryDirectory() as folder:
                took, spent, digest = engine.run(str(Path(folder, "killed")) if deadly else "")
                if deadly and not Path(folder, "killed").exists():
                    raise SystemExit("no worker was killed: nothing measured")
            clock[number].append(took)
            processor[number].append(spent)
            seen.add(digest)
            print(f"{engine.name}: {took:.2f} s ({spent:.2f}), {digest}", flush=True)
    if len(seen) > 1:
        raise SystemExit(f"the engines differ: {seen}")
    return clock, processor


def table(
    engines: Sequence[Engine],
    clock: Sequence[Sequence[float]],
    processor: Sequence[Sequence[float]],
) -> list[list[str]]:
    """Return a row for each engine: seconds, and their ratio to the first engine."""
    rows = []
    for engine, own, spent in zip(engines, clock, processor, strict=True):
        rows.append(
            [
                engine.name,
                f"{min(own):.2f}",
                f"{statistics.median(own):.2f}",
                f"{min(own) / min(clock[0]):.2f}",
                f"{_median_ratio(own, clock[0]):.2f}",
                f"{statistics.median(spent):.2f}",
                f"{_median_ratio(spent, processor[0]):.2f}",
                f"{engine.starting:.1f}",
            ]
        )
    return rows


def empty_table(engines: Sequence[Engine]) -> list[list[str]]:
    """Return a row for each engine: milliseconds for a task that does nothing."""
    rows = []
    for engine in engines:
        each = [engine.empty() for _ in range(_EMPTY_ROUNDS)]
        clock, processor = (statistics.median(one) for one in zip(*each, strict=True))
        rows.append([engine.name, f"{clock:.2f}", f"{processor:.2f}"])
        print(*rows[-1], flush=True)
    return rows


def _median_ratio(own: Sequence[float], base: Sequence[float]) -> float:
    return statistics.median(one / other for one, other in zip(own, base, strict=True))


def main() -> None:
    """Measure, and write results/cluster.md."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--deaths", type=int, default=2, help="rounds in which a worker is killed")
    parser.add_argument("--without-ray", action="store_true")
    given = parser.parse_args()
    os.environ.update(_KEEP_MEMORY)
    columns = [
        *("engine", "s, least", "s, median", "ratio of the least"),
        *("median ratio", "processor, s", "its ratio", "start, s"),
    ]
    with ExitStack() as stack:
        engines: list[Engine] = []
        makers: list[tuple[str, Callable[[], Any]]] = [
            ("process pool", lambda: Processes(_WORKERS)),
            (f"Dask {version('distributed')}", dask),
        ]
        if find_spec("ray") is not None and not given.without_ray:
            makers.append((f"Ray {version('ray')}", ray))
        for name, make in makers:
            executor, starting = started(stack, make)
            engines.append(Engine(name, executor, starting))
        quiet = measured(engines, given.rounds, deadly=False)
        empty = empty_table(engines)
        deaths = measured(engines, given.deaths, deadly=True)
    parts = [
        Part("", columns, table(engines, *quiet), f"{given.rounds} rounds, the same hash of all.")
    ]
    columns_of_empty = ["engine", "clock, ms a task"]
    parts.append(Part("Tasks that do nothing", [*columns_of_empty, "processor, ms a task"], empty))
    if given.deaths:
        # The processor time of a worker that was killed is not known.
        rows = [[*row[:5], row[-1]] for row in table(engines, *deaths)]
        note = f"{counted(given.deaths, 'round')}, the same hash of all."
        parts.append(Part("With a worker killed", [*columns[:5], columns[-1]], rows, note))
    report_parts("cluster", f"{__doc__}".strip(), parts)


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT / "benchmarks"))
    # Tasks name this module, which is called `cluster` in other processes.
    import cluster

    cluster.main()

"""A plugin of pytest that writes what each test costs: processor time, and memory after it.

    PYTHONPATH=tests COSTS=costs.jsonl python -m pytest -p trials.cost tests/rating
    python tests/trials/cost.py costs.jsonl

The second command prints the sums, by file.

Processor time is that of the process and of all processes that it started and that have ended, so
other work on the machine hardly changes it. Each line of the file is a test: `seconds`, the part of
them in which this process compiled kernels (`compiling`), the resident memory after it in MB, and
the largest so far. With NUMBA_DISABLE_JIT=1 it also has `kernels`, the calls of kernels. The line
without a test is the rest of the process: imports, collection, fixtures of the session, and servers
that ended with it.
`docs/decisions/0004-tests.md` says what the figures are for.
"""

from __future__ import annotations

import functools
import json
import os
import re
import resource
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

#: Where the lines are appended.
COSTS = "COSTS"
#: Stop after so many seconds of wall time; the tests that were not run have no line.
STOP_AFTER = "COSTS_STOP_AFTER"


def spent() -> float:
    """Return the processor seconds of this process and of its ended children."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def resident() -> float:
    """Return the resident memory of this process in MB; where /proc is absent, the largest."""
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        return largest()
    found = re.search(r"VmRSS:\s+(\d+) kB", status)
    return int(found[1]) / 1024 if found else largest()


def largest() -> float:
    """Return the largest resident memory of this process so far in MB (on Linux)."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


class _Calls:
    """Counts the calls of kernels, which are plain Python without JIT."""

    def __init__(self) -> None:
        self.count = 0
        if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):
            from equipoise import _jit

            _jit._compiled = lambda function, **_: self._counted(function)

    def _counted(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def counted(*args: Any) -> Any:
            self.count += 1
            return function(*args)

        return counted


class _Compiling:
    """Measures the processor time of compiling kernels, with those that they call."""

    def __init__(self) -> None:
        from numba.core import event

        self.seconds = self._since = 0.0
        self._depth = 0
        outer = self

        class Listener(event.Listener):
            def on_start(self, event: object) -> None:
                if not outer._depth:
                    outer._since = time.process_time()
                outer._depth += 1

            def on_end(self, event: object) -> None:
                outer._depth -= 1
                if not outer._depth:
                    outer.seconds += time.process_time() - outer._since

        event.register("numba:compile", Listener())


class _Costs:
    def __init__(self, path: Path, seconds: float) -> None:
        self._calls = _Calls()
        self._compiling = _Compiling()
        self._path = path
        self._deadline = time.monotonic() + seconds
        self._of_tests = 0.0

    def _write(self, **line: object) -> None:
        with self._path.open("a") as file:
            file.write(json.dumps(line) + "\n")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        before, start, calls = spent(), time.monotonic(), self._calls.count
        compiling = self._compiling.seconds
        result = yield
        seconds = spent() - before
        self._of_tests += seconds
        self._write(
            test=item.nodeid,
            worker=os.environ.get("PYTEST_XDIST_WORKER", ""),
            seconds=round(seconds, 3),
            wall=round(time.monotonic() - start, 3),
            compiling=round(self._compiling.seconds - compiling, 3),
            kernels=self._calls.count - calls,
            resident=round(resident()),
            largest=round(largest()),
        )
        if time.monotonic() > self._deadline:
            item.session.shouldstop = "time is up"
        return result

    def pytest_unconfigure(self) -> None:
        self._write(
            test="",
            worker=os.environ.get("PYTEST_XDIST_WORKER", ""),
            seconds=round(spent() - self._of_tests, 3),
            largest=round(largest()),
        )


def pytest_configure(config: pytest.Config) -> None:
    """Count, if the environment says where to."""
    if COSTS in os.environ:
        seconds = float(os.environ.get(STOP_AFTER, "inf"))
        config.pluginmanager.register(_Costs(Path(os.environ[COSTS]), seconds))


def summary(path: Path) -> Iterator[str]:
    """Return the sums of a file of costs, the dearest files first."""
    seconds: dict[str, float] = defaultdict(float)
    compiling: dict[str, float] = defaultdict(float)
    largest: dict[str, float] = defaultdict(float)
    tests: dict[str, int] = defaultdict(int)
    for line in path.read_text().splitlines():
        cost = json.loads(line)
        file = str(cost["test"]).partition("::")[0] or "(imports, collection, servers)"
        for name in (file, "(all)"):
            seconds[name] += cost["seconds"]
            compiling[name] += cost.get("compiling", 0.0)
            largest[name] = max(largest[name], cost["largest"])
            tests[name] += bool(cost["test"])
    yield f"{'processor s':>12} {'compiling':>9} {'tests':>6} {'MB':>6}  file"
    for name in sorted(seconds, key=lambda one: -seconds[one]):
        spent_on = f"{seconds[name]:12.1f} {compiling[name]:9.1f}"
        yield f"{spent_on} {tests[name]:6d} {largest[name]:6.0f}  {name}"


if __name__ == "__main__":
    print(*summary(Path(sys.argv[1])), sep="\n")  # noqa: T201

"""A process that calculates: it answers one request after another until its parent ends it.

This module is what such a process runs; `equipoise.web.processes` starts and ends them.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

from equipoise.errors import EquipoiseError, InvalidDataError
from equipoise.store.connection import Store, open_store
from equipoise.web.monitoring import configure_logs

#: What a process sends when it is ready for its first request, and when it has got a request.
READY, BEGUN = b"ready", b"begun"

#: Problems of an input that are sent to the parent; the sentence of the error has their number.
MOST_PROBLEMS = 1_000

_GAMES = b"white,black,result\nana,bo,1-0\nbo,cy,1/2-1/2\ncy,ana,1-0\n"
_RANKINGS = b"match,player,rank\n1,a,1\n1,b,2\n2,b,1\n2,a,2\n"


class Work(NamedTuple):
    """A function with its arguments; with_store : whether its first argument is the store."""

    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    with_store: bool


class Failed(NamedTuple):
    """An exception in parts: those of its classes that check their arguments cannot be pickled."""

    kind: type[BaseException]
    args: tuple[Any, ...]
    fields: dict[str, Any]

    def exception(self) -> BaseException:
        """Return the exception."""
        error = self.kind.__new__(self.kind, *self.args)
        error.args = self.args
        error.__dict__.update(self.fields)
        return error


class OutOfMemory(NamedTuple):
    """The answer of a process that needed more memory than it may have."""


def calculate(
    requests: Connection, lifeline: Connection, database: str, memory_bytes: int, level: str
) -> None:
    """Answer requests until the connection is closed.

    lifeline : is closed when the parent ends, however that happens
    memory_bytes : memory that the process may use beyond what it uses at its start
    """
    # The parent decides when a process ends. A signal to all processes of the service must not end
    # calculations that may be finished.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, args=(lifeline,), daemon=True).start()
    configure_logs(level)
    _prepare(database)
    _limit_memory(memory_bytes)
    with suppress(EOFError, OSError):
        requests.send_bytes(READY)
        while True:
            request = requests.recv_bytes()
            requests.send_bytes(BEGUN)
            requests.send_bytes(_answer_to(request, database))


def _answer_to(request: bytes, database: str) -> bytes:
    """Return the result of a function, or its exception, as bytes."""
    try:
        work: Work = pickle.loads(request)
        args = (_store(database), *work.args) if work.with_store else work.args
        return pickle.dumps(work.function(*args, **work.kwargs), pickle.HIGHEST_PROTOCOL)
    except MemoryError:
        return pickle.dumps(OutOfMemory())
    except Exception as error:  # noqa: BLE001 - it is raised again in the parent
        if isinstance(error, InvalidDataError):
            error.problems = error.problems[:MOST_PROBLEMS]
        if not isinstance(error, EquipoiseError):
            error.add_note(traceback.format_exc())
        return pickled_error(error)


def pickled_error(error: Exception) -> bytes:
    """Return an exception as bytes, in parts."""
    try:
        return pickle.dumps(Failed(type(error), error.args, error.__dict__))
    except Exception:  # noqa: BLE001 - whatever an exception holds
        return pickle.dumps(Failed(RuntimeError, (repr(error),), {}))


@cache
def _store(database: str) -> Store:
    """Return the database, which the parent has brought to the current schema."""
    return open_store(database, migrate=False)


def _end_with_parent(lifeline: Connection) -> None:
    """End the process when its parent has ended."""
    with suppress(EOFError, OSError):
        lifeline.recv_bytes()
    os._exit(1)


def _prepare(database: str) -> None:
    """Open the database and load kernels, so that the first request does not wait for them."""
    import io

    from equipoise.analysis.files.performance import rate_performance
    from equipoise.analysis.files.strengths import estimate_strengths
    from equipoise.analysis.requests.rating import StrengthsRequest
    from equipoise.analysis.requests.reading import HistoryRequest
    from equipoise.analysis.requests.tournaments import PerformanceRequest

    with suppress(EquipoiseError):
        _store(database)
    with suppress(EquipoiseError):
        rate_performance(PerformanceRequest(games=io.BytesIO(_GAMES), format="csv"))
    with suppress(EquipoiseError):
        history = HistoryRequest(source=io.BytesIO(_RANKINGS), format="csv")
        estimate_strengths(StrengthsRequest(history=history))


def _limit_memory(memory_bytes: int) -> None:
    """Limit the memory for data. Linux only: other systems do not count it."""
    if sys.platform != "linux":
        return
    import resource

    with open("/proc/self/status", encoding="ascii") as status:
        used = next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmData"))
    _, most = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (used + memory_bytes, most))

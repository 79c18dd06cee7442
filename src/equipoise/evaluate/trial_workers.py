"""Processes that carry out trials.

Each is started afresh (spawn), gets the history once, when it starts, and after that parameters
only. It ends with the process that started it, however that ends.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import replace
from multiprocessing.connection import wait
from typing import TypeAlias

from equipoise.data.tuning import Trial, Value
from equipoise.errors import ApproximationWarning, EquipoiseError
from equipoise.evaluate.objective import Objective

#: Takes a number and parameters, and returns the trial that will come of them.
Submit: TypeAlias = Callable[[int, Mapping[str, Value]], "Future[Trial]"]

#: Of a worker process: what its trials are about.
_objective: Objective | None = None


@contextmanager
def trial_workers(objective: Objective, workers: int, threads: int) -> Iterator[Submit]:
    """Give a function that carries out trials, here or in so many processes.

    threads : that trials carried out here use; others use one
    Raises : EquipoiseError   a process ended before its time
    """
    if workers == 1:
        yield lambda number, parameters: _done(objective.trial(number, parameters, threads))
        return
    pool = ProcessPoolExecutor(
        workers, multiprocessing.get_context("spawn"), initializer=_start, initargs=(objective,)
    )
    try:
        yield lambda number, parameters: pool.submit(_trial, number, dict(parameters))
    except BrokenProcessPool as error:
        raise EquipoiseError(
            "a worker process ended before its trial did; there may be too little memory for "
            f"{workers} of them"
        ) from error
    finally:
        pool.shutdown(cancel_futures=True)


def _done(trial: Trial) -> Future[Trial]:
    future: Future[Trial] = Future()
    future.set_result(trial)
    return future


def _start(objective: Objective) -> None:
    """Keep what the trials are about; in a worker process."""
    global _objective  # noqa: PLW0603  # how a process of a pool keeps what it was started with
    # What a trial tries is not what anybody has chosen; the chosen system warns where it is made.
    warnings.simplefilter("ignore", ApproximationWarning)
    # Making the history anew freezes its columns, as they are where it came from: kernels that are
    # compiled for frozen columns would be compiled again for others.
    history = replace(objective.scored.history)
    _objective = replace(objective, scored=replace(objective.scored, history=history))
    # Ctrl-C goes to all processes of a terminal; the first of them decides what becomes of these.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """End this process when the one that started it is gone, which nothing else would tell it."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


def _trial(number: int, parameters: Mapping[str, Value]) -> Trial:
    if _objective is None:
        raise RuntimeError("a worker process was not started")
    return _objective.trial(number, parameters)

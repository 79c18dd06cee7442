"""Rating a history: read, rate, and only then write."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from equipoise.data.files import check_place
from equipoise.data.history import History
from equipoise.data.reading import HistoryReading
from equipoise.errors import InvalidParameterError, require
from equipoise.formats import write_table
from equipoise.formats.times import instant
from equipoise.formats.writing import check_target
from equipoise.messages.rating import RateSummary
from equipoise.rating.pool_state import PoolState
from equipoise.rating.registry import make_system, parameters_of
from equipoise.rating.replay import Replay, days, replay
from equipoise.rating.system import RatingSystem
from equipoise.workflows.reading import HistoryRequest, check_outputs, problems_of, read
from equipoise.workflows.settings import DEFAULT_SYSTEM


@dataclass(frozen=True, slots=True, kw_only=True)
class RateRequest:
    """What to rate and what to write.

    output, trace, save : paths; nothing is written before everything is rated
    resume : path of a saved state
    at : time for which ratings are read, as text
    """

    history: HistoryRequest
    output: str | None = None
    trace: str | None = None
    save: str | None = None
    resume: str | None = None
    at: str | None = None
    threads: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class RateAnswer:
    """What came of it: how it was read, the replay, and seconds by step."""

    reading: HistoryReading
    replay: Replay
    seconds: dict[str, float]


def rate(
    system: RatingSystem | None,
    request: RateRequest,
    progress: Callable[[int, int], None] | None = None,
) -> RateAnswer:
    """Read, rate, write.

    system : None takes the one of the state to resume, or the default one
    Raises : EquipoiseError, and then nothing was written
    """
    _check_targets(request)
    before = None if request.resume is None else PoolState.load(request.resume)
    if system is None:
        system = make_system(DEFAULT_SYSTEM) if before is None else before.system
    clock = [time.perf_counter()]
    history, reading = read(request.history)
    clock.append(time.perf_counter())
    _check_usage(system, history, request)
    answer = replay(
        system,
        history,
        state=before,
        trace=request.trace is not None,
        at=None if request.at is None else days(instant(request.at, "--at")),
        threads=request.threads,
        progress=progress,
    )
    clock.append(time.perf_counter())
    if request.trace is not None and answer.trace is not None:
        write_table(answer.trace.to_polars(), request.trace)
    if request.output is not None:
        write_table(answer.ratings.to_polars(), request.output)
    if request.save is not None:
        answer.state.save(request.save)
    clock.append(time.perf_counter())
    steps = ("read", "rate", "write")
    seconds = dict(zip(steps, np.diff(clock).tolist(), strict=True))
    return RateAnswer(reading=reading, replay=answer, seconds=seconds)


def summary_of(answer: RateAnswer, kernels_compiled: int) -> RateSummary:
    """Return the summary that people and machines are shown."""
    done, reading = answer.replay, answer.reading
    return RateSummary(
        system=done.state.system.name,
        parameters={
            name: None if value is None else value if np.isfinite(value) else str(value)
            for name, value in parameters_of(done.state.system).items()
        },
        matches=done.rated_matches,
        participations=done.rated_participations,
        players=len(done.state.player_ids),
        known_matches=done.known_matches,
        skipped_all_tied=[str(match) for match in done.all_tied.tolist()],
        single=done.single,
        unrated=reading.unrated,
        filtered=reading.filtered,
        dropped_matches=list(reading.dropped_matches),
        dropped_rows=reading.dropped_rows,
        problems=problems_of(reading),
        notes=list(reading.notes),
        seconds=answer.seconds,
        kernels_compiled=kernels_compiled,
    )


def _check_targets(request: RateRequest) -> None:
    """Refuse outputs that cannot be written, before anything is read."""
    outputs = {"--output": request.output, "--trace": request.trace, "--save": request.save}
    check_outputs(request.history, outputs)
    for table in (request.output, request.trace):
        if table is not None:
            check_target(table)
    if request.save is not None:
        require(request.save.endswith(".npz"), "--save", "a file that ends in .npz", request.save)
        check_place(request.save)


def _check_usage(system: RatingSystem, history: History, request: RateRequest) -> None:
    """Refuse what makes no sense for a history without times to decay or be selected by."""
    if history.time is not None:
        return
    if request.at is not None:
        raise InvalidParameterError("--at needs a history with times; this one has no time column")
    if system.capabilities.needs_time:
        raise InvalidParameterError(
            f"{system.name} with these parameters needs times, and this history has no time "
            "column: leave out drift_per_day or period_days"
        )

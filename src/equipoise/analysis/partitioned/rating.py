"""Rates every pool of a data set alone, on any number of processes.

Each pool is read, rated and written by one task, exactly as `equipoise rate` does it with the files
of that pool. A pool that cannot be rated does not keep the others from it.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple

from equipoise.analysis.clock import working_time
from equipoise.analysis.files.rating import RateRequest, check_conservative, rate, summary_of
from equipoise.analysis.files.reading import HistoryRequest, read
from equipoise.analysis.files.systems import DEFAULT_SYSTEM, plain_parameters
from equipoise.analysis.partitioned.places import Places, places_of
from equipoise.analysis.partitioned.pools import (
    Part,
    check_columns,
    in_order,
    parts_of,
    pools_of,
    request_of,
)
from equipoise.data.files import replaced_files
from equipoise.data.history import History
from equipoise.data.reading import HistoryReading
from equipoise.errors import (
    EquipoiseError,
    InvalidDataError,
    InvalidParameterError,
    Problem,
    require,
)
from equipoise.formats import scan_history
from equipoise.messages.conversion import to_message
from equipoise.messages.errors import ProblemMessage
from equipoise.messages.histories import PoolRated, RateByMessage, RateSummary
from equipoise.parallel.tasks import run_tasks
from equipoise.rating.registry import make_system, parameters_of
from equipoise.rating.replay import replay
from equipoise.rating.system import RatingSystem

Status = Literal["rated", "failed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RateByRequest:
    """What to rate, divided by which columns, and what to write.

    rate : what to do with each pool; its outputs are a folder, or a file in it, for all pools
    workers : number of processes
    """

    rate: RateRequest
    by: tuple[str, ...]
    workers: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class RatedPool:
    """What became of one pool.

    values : by column
    summary : None if it failed
    error, problems : why it failed
    """

    values: Mapping[str, str | None]
    status: Status
    files: Mapping[str, str]
    summary: RateSummary | None = None
    error: str | None = None
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RateByAnswer:
    """What became of all pools, in natural order of their values.

    readings : how sources were read that have matches of several pools; without their histories
    """

    system: RatingSystem
    by: tuple[str, ...]
    pools: tuple[RatedPool, ...]
    readings: tuple[HistoryReading, ...]
    seconds: float

    def count(self, status: Status) -> int:
        """Return the number of pools of a status."""
        return sum(one.status == status for one in self.pools)


def rate_by(
    system: RatingSystem | None,
    request: RateByRequest,
    progress: Callable[[int, int], None] | None = None,
    *,
    executor: Executor | None = None,
) -> RateByAnswer:
    """Rate every pool of a data set and write its files.

    system : None means the default system
    progress : called with parts done and parts, and with further arguments as `rate` does it
    executor : carries out the work instead of processes of this machine; it must see the same files
    Raises : EquipoiseError   nothing can be rated. What fails in one pool only is in the answer
    """
    begin = working_time()
    system = make_system(DEFAULT_SYSTEM) if system is None else system
    _check(system, request)
    one = request.rate
    outputs = {"--output": one.output, "--trace": one.trace, "--save": one.save}
    places = places_of(outputs, one.history.source)
    parts, reading = parts_of(one.history, request.by)
    require(bool(parts), "HISTORY", "a history with matches", "none")
    threads = one.threads if request.workers == 1 and executor is None else 1
    job = _Job(
        request=replace(request, rate=replace(one, threads=threads)),
        system=system.name,
        parameters=parameters_of(system),
        places=places,
    )
    pools: list[RatedPool] = []
    readings = [] if reading is None else [reading]
    results = run_tasks(
        _rate_part,
        job,
        parts,
        executor=executor,
        workers=min(request.workers, len(parts)),
        names=_name_of_part,
        given_up=partial(_lost, job),
        prepare=_compile,
        finished=None if progress is None else lambda done: progress(done, len(parts)),
    )
    for found in results:
        pools += found.pools
        readings += [] if found.reading is None else [found.reading]
    pools.sort(key=lambda pool: in_order([pool.values[column] for column in request.by]))
    return RateByAnswer(
        system=system,
        by=request.by,
        pools=tuple(pools),
        readings=tuple(readings),
        seconds=working_time() - begin,
    )


def message_of(answer: RateByAnswer) -> RateByMessage:
    """Return the JSON message."""
    done = [one.summary for one in answer.pools if one.summary is not None]
    read: list[RateSummary | HistoryReading] = [*done, *answer.readings]
    problems = [problem for one in read for problem in one.problems]
    return RateByMessage(
        system=answer.system.name,
        parameters=plain_parameters(answer.system),
        by=list(answer.by),
        pools=[_pool_message(one) for one in answer.pools],
        rated=answer.count("rated"),
        failed=answer.count("failed"),
        matches=sum(one.matches for one in done),
        participations=sum(one.participations for one in done),
        players=sum(one.players for one in done),
        unrated=sum(one.unrated for one in read),
        filtered=sum(one.filtered for one in read),
        dropped_matches=[match for one in read for match in one.dropped_matches],
        dropped_rows=sum(one.dropped_rows for one in read),
        problems=[to_message(ProblemMessage, one) for one in problems],
        notes=_notes(read),
        seconds=answer.seconds,
    )


def _pool_message(pool: RatedPool) -> PoolRated:
    found = pool.summary
    return PoolRated(
        values=dict(pool.values),
        status=pool.status,
        matches=0 if found is None else found.matches,
        participations=0 if found is None else found.participations,
        players=0 if found is None else found.players,
        files=dict(pool.files),
        error=pool.error,
        problems=[to_message(ProblemMessage, one) for one in pool.problems],
    )


def _notes(read: Sequence[RateSummary | HistoryReading]) -> list[str]:
    """Return all notes, each once."""
    counts = Counter(note for one in read for note in one.notes)
    return [
        note if count == 1 else f"{note} ({count:,} pools)" for note, count in counts.most_common()
    ]


def _check(system: RatingSystem, request: RateByRequest) -> None:
    """Refuse options that are wrong for every pool, before anything is read."""
    check_columns(request.by)
    require(request.workers >= 1, "--workers", "at least 1", request.workers)
    for option, given in (
        ("--state", request.rate.state),
        ("--restart", request.rate.restart),
        ("--diff", request.rate.diff),
    ):
        if given:
            raise InvalidParameterError(f"{option} cannot be combined with --by")
    if request.rate.conservative:
        check_conservative(system)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Job:
    """What all tasks have in common, picklable and small."""

    request: RateByRequest
    system: str
    parameters: Mapping[str, Any]
    places: Places


def _name_of_part(part: Part) -> str:
    """Return what a task is called in errors."""
    return f"the pool {_in_words(part.values)}"


def _in_words(values: Mapping[str, str | None]) -> str:
    return ", ".join(f"{column}={value or ''}" for column, value in values.items())


def _lost(job: _Job, part: Part, error: EquipoiseError) -> _Done:
    """Return the failure of a part whose worker dies of it, so that the others go on."""
    return _Done([_failed(_all_values(job, part), {}, error)])


def _all_values(job: _Job, part: Part) -> dict[str, str | None]:
    """Return the values of a part, None for those that are not known without reading it."""
    return {column: part.values.get(column) for column in job.request.by}


class _Done(NamedTuple):
    """What became of a part; reading : as in `RateByAnswer`."""

    pools: list[RatedPool]
    reading: HistoryReading | None = None


def _rate_part(job: _Job, part: Part) -> _Done:
    """Rate the pools of a part, which are several if columns divide it further."""
    if part.given is not None:
        return _Done([_rate_history(job, part.values, part.given, _NOTHING_LEFT_OUT)])
    request = request_of(job.request.rate.history, part)
    if not part.columns:
        return _Done([_rated(job, _ordered(job, part.values), request)])
    try:
        history, reading = read(request)
        pools = list(pools_of(history, part.columns))
    except (EquipoiseError, OSError) as error:
        return _Done([_failed(_all_values(job, part), {}, error)])
    rated = [
        _rate_history(job, _ordered(job, {**part.values, **values}), found, _NOTHING_LEFT_OUT)
        for values, found in pools
    ]
    return _Done(rated, replace(reading, history=None))


#: What was left out of the source of several pools is said of the source.
_NOTHING_LEFT_OUT = HistoryReading(history=None)


def _ordered(job: _Job, values: Mapping[str, str | None]) -> dict[str, str | None]:
    return {column: values[column] for column in job.request.by}


def _rate_history(
    job: _Job, values: Mapping[str, str | None], history: History, reading: HistoryReading
) -> RatedPool:
    """Rate a pool whose matches were read."""
    # A history from another process has columns that can be written; the kernels are compiled for
    # those of a new one, which cannot.
    history = replace(history)
    return _rated(job, values, job.request.rate.history, (history, reading))


def _rated(
    job: _Job,
    values: Mapping[str, str | None],
    request: HistoryRequest,
    given: tuple[History, HistoryReading] | None = None,
) -> RatedPool:
    """Rate a pool and write its files.

    given : its matches, if they were read
    """
    paths = job.places.of(values)
    try:
        for path in paths.values():
            path.parent.mkdir(parents=True, exist_ok=True)
        with replaced_files(paths) as drafts:
            one = replace(
                job.request.rate,
                history=request,
                output=drafts.get("--output"),
                trace=drafts.get("--trace"),
                save=drafts.get("--save"),
            )
            summary = summary_of(rate(make_system(job.system, job.parameters), one, given=given), 0)
    except (EquipoiseError, OSError) as error:
        return _failed(values, paths, error)
    files = {option: str(path) for option, path in paths.items()}
    return RatedPool(values=values, status="rated", files=files, summary=summary)


def _failed(
    values: Mapping[str, str | None], paths: Mapping[str, Path], error: EquipoiseError | OSError
) -> RatedPool:
    problems: tuple[Problem, ...] = ()
    text = str(error)
    if isinstance(error, InvalidDataError):
        problems = error.problems
        text = text.partition("\n")[0].removesuffix(":")
    elif isinstance(error, OSError):
        place = "" if error.filename is None else f"{error.filename}: "
        text = f"{place}{error.strerror or error}"
    # Unlike a path's own method, this is False for names that are too long.
    there = {option: str(path) for option, path in paths.items() if os.path.exists(path)}
    return RatedPool(values=values, status="failed", files=there, error=text, problems=problems)


#: Matches that every system can rate.
_MATCHES = {
    "match": [1, 1, 2, 2],
    "time": ["2025-01-01", "2025-01-01", "2025-01-02", "2025-01-02"],
    "player": ["a", "b", "a", "b"],
    "rank": [1, 2, 1, 1],
}


def _compile(job: _Job) -> None:
    """Compile the kernels of a system, once on this machine, by rating two matches."""
    reading = scan_history(_MATCHES)
    if reading.history is None:
        raise RuntimeError("the matches that kernels are compiled for cannot be read")
    # A system that needs more columns is compiled by the first pool.
    with suppress(EquipoiseError):
        replay(make_system(job.system, job.parameters), reading.history)

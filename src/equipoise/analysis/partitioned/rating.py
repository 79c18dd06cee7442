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
from pathlib import Path
from typing import Any, NamedTuple

from equipoise.analysis.clock import working_time
from equipoise.analysis.files.rating import RateRequest, check_conservative, rate, summary_of
from equipoise.analysis.files.reading import HistoryRequest, read
from equipoise.analysis.files.systems import DEFAULT_SYSTEM, plain_parameters
from equipoise.analysis.partitioned.places import Places, paths_of, places_of
from equipoise.analysis.partitioned.pools import Part, in_order, parts_of, pools_of
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
from equipoise.formats import read_history
from equipoise.messages.conversion import to_message
from equipoise.messages.errors import ProblemMessage
from equipoise.messages.histories import PoolRated, RateByMessage, RateSummary
from equipoise.parallel.tasks import run_tasks
from equipoise.rating.registry import make_system, parameters_of
from equipoise.rating.replay import replay
from equipoise.rating.system import RatingSystem

#: Matches that every system can rate.
_MATCHES = {
    "match": [1, 1, 2, 2],
    "time": ["2025-01-01", "2025-01-01", "2025-01-02", "2025-01-02"],
    "player": ["a", "b", "a", "b"],
    "rank": [1, 2, 1, 1],
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Job:
    """What all tasks have in common, picklable and small."""

    rate: RateRequest
    by: tuple[str, ...]
    system: str
    parameters: Mapping[str, Any]
    places: Places

    def made_system(self) -> RatingSystem:
        return make_system(self.system, self.parameters)


class _Done(NamedTuple):
    """Result of a part: its pools, and how they, or their source, were read."""

    pools: list[PoolRated]
    readings: list[RateSummary | HistoryReading]


def rate_by(
    system: RatingSystem | None,
    request: RateRequest,
    by: tuple[str, ...],
    workers: int = 1,
    progress: Callable[[int, int], None] | None = None,
    *,
    executor: Executor | None = None,
) -> RateByMessage:
    """Rate every pool of a data set, write its files, and return the JSON message.

    system : None means the default system
    request : what to do with each pool; its outputs are a folder, or a file in it, for all pools
    by : the columns that divide the matches
    workers : number of processes
    progress : called with parts done and parts, and with further arguments as `rate` does it
    executor : carries out the work instead of processes of this machine; it must see the same files
    Raises : EquipoiseError   nothing can be rated. What fails in one pool only is in the message
    """
    begin = working_time()
    system = make_system(DEFAULT_SYSTEM) if system is None else system
    _check(system, request, by, workers)
    outputs = {"--output": request.output, "--trace": request.trace, "--save": request.save}
    places = places_of(outputs, request.history.source)
    parts, reading = parts_of(request.history, by)
    require(bool(parts), "HISTORY", "a history with matches", "none")
    threads = request.threads if workers == 1 and executor is None else 1
    job = _Job(
        rate=replace(request, threads=threads),
        by=by,
        system=system.name,
        parameters=parameters_of(system),
        places=places,
    )
    results = run_tasks(
        _rate_part,
        job,
        parts,
        executor=executor,
        workers=min(workers, len(parts)),
        names=lambda part: f"the pool {_in_words(part.values)}",
        given_up=lambda part, error: _failed(job, part.values, error),
        prepare=_compile,
        finished=None if progress is None else lambda done: progress(done, len(parts)),
    )
    pools: list[PoolRated] = []
    done: list[RateSummary | HistoryReading] = [] if reading is None else [reading]
    for found in results:
        pools += found.pools
        done += found.readings
    pools.sort(key=lambda pool: in_order([pool.values[column] for column in by]))
    notes = Counter(note for one in done for note in one.notes)
    return RateByMessage(
        system=system.name,
        parameters=plain_parameters(system),
        by=list(by),
        pools=pools,
        rated=sum(one.status == "rated" for one in pools),
        failed=sum(one.status == "failed" for one in pools),
        matches=sum(one.matches for one in pools),
        participations=sum(one.participations for one in pools),
        players=sum(one.players for one in pools),
        unrated=sum(one.unrated for one in done),
        filtered=sum(one.filtered for one in done),
        dropped_matches=[match for one in done for match in one.dropped_matches],
        dropped_rows=sum(one.dropped_rows for one in done),
        problems=[message for one in done for message in _messages(one.problems)],
        notes=[
            note if count == 1 else f"{note} ({count:,} pools)"
            for note, count in notes.most_common()
        ],
        seconds=working_time() - begin,
    )


def _check(system: RatingSystem, request: RateRequest, by: tuple[str, ...], workers: int) -> None:
    """Refuse options that are wrong for every pool, before anything is read."""
    for one in by:
        require(bool(one), "--by", "names of columns, separated by commas", ",".join(by))
        require(by.count(one) == 1, "--by", "different columns", ",".join(by))
    require(workers >= 1, "--workers", "at least 1", workers)
    for option, given in (
        ("--state", request.state),
        ("--restart", request.restart),
        ("--diff", request.diff),
    ):
        if given:
            raise InvalidParameterError(f"{option} cannot be combined with --by")
    if request.conservative:
        check_conservative(system)


def _in_words(values: Mapping[str, str | None]) -> str:
    return ", ".join(f"{column}={value or ''}" for column, value in values.items())


def _rate_part(job: _Job, part: Part) -> _Done:
    """Rate the pools of a part, which are several if columns divide it further."""
    # What was left out of the source of several pools is said of the source.
    nothing = HistoryReading(history=None)
    if isinstance(part.source, History):
        return _rated(job, part.values, job.rate.history, (part.source, nothing))
    if not part.columns:
        return _rated(job, part.values, part.source)
    try:
        history, reading = read(part.source)
        pools = list(pools_of(history, part.columns))
    except (EquipoiseError, OSError) as error:
        return _failed(job, part.values, error)
    done = _Done([], [replace(reading, history=None)])
    for values, found in pools:
        one = _rated(job, {**part.values, **values}, job.rate.history, (found, nothing))
        done.pools.extend(one.pools)
        done.readings.extend(one.readings)
    return done


def _rated(
    job: _Job,
    values: Mapping[str, str | None],
    request: HistoryRequest,
    given: tuple[History, HistoryReading] | None = None,
) -> _Done:
    """Rate a pool and write its files.

    given : its matches, if they were read
    """
    values = {column: values[column] for column in job.by}
    paths = paths_of(job.places, values)
    if given is not None:
        # A history from another process has columns that can be written; the kernels are compiled
        # for those of a new one, which cannot.
        given = replace(given[0]), given[1]
    try:
        for path in paths.values():
            path.parent.mkdir(parents=True, exist_ok=True)
        with replaced_files(paths) as drafts:
            one = replace(
                job.rate,
                history=request,
                output=drafts.get("--output"),
                trace=drafts.get("--trace"),
                save=drafts.get("--save"),
            )
            summary = summary_of(rate(job.made_system(), one, given=given), 0)
    except (EquipoiseError, OSError) as error:
        return _failed(job, values, error, paths)
    pool = PoolRated(
        values=values,
        status="rated",
        matches=summary.matches,
        participations=summary.participations,
        players=summary.players,
        files={option: str(path) for option, path in paths.items()},
        error=None,
        problems=[],
    )
    return _Done([pool], [summary])


def _failed(
    job: _Job,
    values: Mapping[str, str | None],
    error: EquipoiseError | OSError,
    paths: Mapping[str, Path] | None = None,
) -> _Done:
    """Return the failure of a pool; values that are not known without reading it are None."""
    problems: Sequence[Problem] = ()
    text = str(error)
    if isinstance(error, InvalidDataError):
        problems = error.problems
        text = text.partition("\n")[0].removesuffix(":")
    elif isinstance(error, OSError):
        place = "" if error.filename is None else f"{error.filename}: "
        text = f"{place}{error.strerror or error}"
    pool = PoolRated(
        values={column: values.get(column) for column in job.by},
        status="failed",
        matches=0,
        participations=0,
        players=0,
        # Unlike a path's own method, this is False for names that are too long.
        files={option: str(path) for option, path in (paths or {}).items() if os.path.exists(path)},
        error=text,
        problems=_messages(problems),
    )
    return _Done([pool], [])


def _messages(problems: Sequence[Problem | ProblemMessage]) -> list[ProblemMessage]:
    return [to_message(ProblemMessage, one) for one in problems]


def _compile(job: _Job) -> None:
    """Compile the kernels of a system, once on this machine, by rating two matches."""
    # A system that needs more columns is compiled by the first pool.
    with suppress(EquipoiseError):
        replay(job.made_system(), read_history(_MATCHES))

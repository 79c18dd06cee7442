"""Rates every pool of a data set alone, on any number of processes."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, get_args

import numpy as np
import polars as pl

from equipoise._jit import working_time
from equipoise.analysis.rate import RateRequest
from equipoise.analysis.rate.computation import (
    check_conservative,
    default_notes,
    rate,
    summary_of,
    system_and_ratings,
)
from equipoise.analysis.reading import left_out, read, values_of_matches
from equipoise.analysis.requests import HistoryRequest
from equipoise.analysis.systems import plain_parameters
from equipoise.data.files import check_distinct, replaced_files
from equipoise.data.history import History
from equipoise.errors import (
    EquipoiseError,
    InvalidDataError,
    InvalidParameterError,
    Problem,
    require,
)
from equipoise.evaluate.leaderboard_errors import some_matches
from equipoise.formats import read_history
from equipoise.formats.joining import folder_name, natural, partition_files
from equipoise.formats.table import HistoryReading
from equipoise.formats.writing import TableFormat, format_of
from equipoise.messages.conversion import ProblemMessage, to_message
from equipoise.messages.histories import PoolRated, RateByMessage, RateSummary
from equipoise.parallel.tasks import run_tasks
from equipoise.rating.registry import make_system, parameters_of
from equipoise.rating.replay import replay
from equipoise.rating.system import RatingSystem

#: More pools than this are taken for a mistake, such as a column of ids.
MOST_POOLS = 100_000
#: What `--by` may name beside columns of the history.
_FOLDERS = " or of folders such as mode=ranked"
#: Column of the numbers of matches, while they are grouped.
_MATCH = "\x00match"


class Pool(NamedTuple):
    """The values of a pool, and its matches: read, how to read them, or why that failed."""

    values: dict[str, str | None]
    source: HistoryRequest | History | EquipoiseError | OSError


def pools_of_source(
    request: HistoryRequest, by: Sequence[str]
) -> tuple[list[Pool], list[HistoryReading]]:
    """Return the pools of a data set, and how what was read here was read.

    Files of a pool in a folder of its own are not read here.
    Raises : InvalidDataError, InvalidParameterError
    """
    files = partition_files(request.source)
    in_folders = [column for column in by if any(column in file.values for file in files)]
    columns = [column for column in by if column not in in_folders]
    problems = [
        Problem(
            file.path, None, column, f"must be in a folder {column}=VALUE like the other files", ""
        )
        for file in files
        for column in in_folders
        if column not in file.values
    ]
    if problems:
        raise InvalidDataError(problems)
    if not in_folders:
        source = [file.path for file in files] or request.source
        history, reading = read(replace(request, source=source))
        return list(pools_of(history, columns)), [replace(reading, history=None)]
    # Values of folders select files; the others are selected by the reader.
    where = dict(request.where)
    wanted = {
        name: where.pop(name)
        for name in request.where
        if all(name in file.values for file in files)
    }
    grouped: dict[tuple[str | None, ...], list[str]] = {}
    for file in files:
        if all((file.values[name] or "") == value for name, value in wanted.items()):
            values = tuple(file.values[column] for column in in_folders)
            grouped.setdefault(values, []).append(file.path)
    if not grouped:
        got = ", ".join(f"{name}={value}" for name, value in wanted.items())
        raise InvalidParameterError(f"--where must name values that some folder has; got {got}")
    require(len(grouped) <= MOST_POOLS, "--by", f"of at most {MOST_POOLS:,} pools", len(grouped))
    pools: list[Pool] = []
    readings: list[HistoryReading] = []
    for values, paths in grouped.items():
        known = dict(zip(in_folders, values, strict=True))
        one = replace(request, source=paths[0] if len(paths) == 1 else paths, where=where)
        if not columns:
            pools.append(Pool(known, one))
            continue
        try:
            history, reading = read(one)
            pools += [Pool(known | pool.values, pool.source) for pool in pools_of(history, columns)]
            readings.append(replace(reading, history=None))
        except (EquipoiseError, OSError) as error:
            pools.append(Pool(known, error))
    return pools, readings


def pools_of(history: History, columns: Sequence[str]) -> Iterator[Pool]:
    """Yield the matches of each combination of values, with the players who took part in them.

    Raises : InvalidParameterError
    """
    texts = {
        column: pl.Series(values_of_matches(history, column, _FOLDERS).tolist(), dtype=pl.String)
        for column in columns
    }
    groups = pl.DataFrame(texts).with_row_index(_MATCH).group_by(columns).agg(_MATCH)
    if len(groups) > MOST_POOLS:
        raise InvalidParameterError(
            f"--by must name columns with at most {MOST_POOLS:,} combinations of values; "
            f"{','.join(columns)} has {len(groups):,}"
        )
    for row, values in enumerate(groups.select(columns).iter_rows()):
        matches = groups[_MATCH][row].to_numpy().astype(np.int64)
        part = some_matches(history, matches)
        players, player = np.unique(part.player, return_inverse=True)
        part = replace(
            part,
            match_ids=history.match_ids[matches],
            player_ids=history.player_ids[players],
            player=player.astype(np.int64),
        )
        yield Pool({name: value or None for name, value in zip(columns, values, strict=True)}, part)


#: Names of the files of a pool, if an option names a folder.
_NAMES = {"--output": "ratings.parquet", "--trace": "trace.parquet", "--save": "state.npz"}

#: The folder of all pools, and the name of the file of each, by option.
Places: TypeAlias = Mapping[str, tuple[Path, str]]


def paths_of(places: Places, values: Mapping[str, str | None]) -> dict[str, Path]:
    """Return the paths of the pool with these values, by option."""
    below = Path(*(folder_name(column, value) for column, value in values.items()))
    return {option: folder / below / name for option, (folder, name) in places.items()}


def places_of(paths: Mapping[str, str | None], source: object) -> Places:
    """Return where to write, and make the folders of the options.

    paths : path by option: a folder (an existing one, or with a slash at its end) or a file
    source : of the matches, which may not contain what is written
    Raises : InvalidParameterError
    """
    places: dict[str, tuple[Path, str]] = {}
    read = [
        Path(path)
        for path in (source if isinstance(source, list | tuple) else [source])
        if isinstance(path, str) and Path(path).is_dir()
    ]
    for option, path in paths.items():
        if path is None:
            continue
        is_folder = path.endswith(("/", os.sep)) or Path(path).is_dir()
        # A name without an ending is most likely a folder that does not exist yet.
        rule = f"a folder, with a slash at its end ({path}/), or a file with an ending"
        require(is_folder or Path(path).suffix != "", option, rule, path)
        whole = Path(path, _NAMES[option]) if is_folder else Path(path)
        if option == "--save":
            require(whole.suffix == ".npz", option, "a folder or a file that ends in .npz", path)
        else:
            format_of(Path(whole.name), get_args(TableFormat))
        for folder in read:
            if whole.parent.resolve().is_relative_to(folder.resolve()):
                raise InvalidParameterError(
                    f"{option} must be outside of the folder that is read; got {whole.parent} in "
                    f"{folder}"
                )
        places[option] = whole.parent, whole.name
    if not places:
        raise InvalidParameterError(
            "--by needs --output DIR/, in which every pool gets a folder (or --save, --trace)"
        )
    check_distinct({option: folder / name for option, (folder, name) in places.items()})
    for folder, _ in places.values():
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InvalidParameterError(
                f"cannot make the folder {folder}: {error.strerror}"
            ) from None
    return places


#: Matches that every system can rate.
MATCHES = {
    "match": [1, 1, 2, 2],
    "time": ["2025-01-01", "2025-01-01", "2025-01-02", "2025-01-02"],
    "player": ["a", "b", "a", "b"],
    "rank": [1, 2, 1, 1],
}


class _Job(NamedTuple):
    """What all tasks have in common, picklable and small."""

    rate: RateRequest
    by: tuple[str, ...]
    system: str
    parameters: Mapping[str, Any]
    places: Places


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
    progress : called with pools done and pools, and with further arguments as `rate` does it
    executor : carries out the work instead of processes of this machine; it must see the same files
    Raises : EquipoiseError   nothing can be rated. What fails in one pool only is in the message
    """
    begin = working_time()
    default = default_notes(system, None, request.initial)
    system, _ = system_and_ratings(system, None, request.initial, request.initial_mapping)
    _check(system, request, by)
    outputs = {"--output": request.output, "--trace": request.trace, "--save": request.save}
    places = places_of(outputs, request.history.source)
    pools, readings = pools_of_source(request.history, by)
    require(bool(pools), "HISTORY", "a history with matches", "none")
    pools.sort(key=lambda pool: [natural(pool.values.get(column) or "") for column in by])
    threads = request.threads if workers == 1 and executor is None else 1
    job = _Job(replace(request, threads=threads), by, system.name, parameters_of(system), places)
    results = list(
        run_tasks(
            _rated,
            job,
            pools,
            executor=executor,
            workers=min(workers, len(pools)),
            names=lambda pool: f"the pool {in_words(pool.values)}",
            given_up=lambda pool, error: _failed(job, pool.values, error),
            prepare=_compile,
            finished=None if progress is None else lambda done: progress(done, len(pools)),
        )
    )
    rated = [pool for pool, _ in results]
    done: list[HistoryReading | RateSummary] = list(readings)
    done += [summary for _, summary in results if summary is not None]
    notes = Counter(note for reading in done for note in reading.notes)
    return to_message(
        RateByMessage,
        None,
        **left_out(done),
        system=system.name,
        parameters=plain_parameters(system),
        by=by,
        pools=rated,
        rated=sum(pool.status == "rated" for pool in rated),
        failed=sum(pool.status == "failed" for pool in rated),
        matches=sum(pool.matches for pool in rated),
        participations=sum(pool.participations for pool in rated),
        players=sum(pool.players for pool in rated),
        notes=[
            *default,
            *(
                note if count == 1 else f"{note} ({count:,} pools)"
                for note, count in notes.most_common()
            ),
        ],
        seconds=working_time() - begin,
    )


def _check(system: RatingSystem, request: RateRequest, by: tuple[str, ...]) -> None:
    """Refuse options that are wrong for every pool, before anything is read."""
    for column in by:
        require(bool(column), "--by", "names of columns, separated by commas", ",".join(by))
        require(by.count(column) == 1, "--by", "different columns", ",".join(by))
    for option, value in (
        ("--state", request.state),
        ("--restart", request.restart),
        ("--diff", request.diff),
        ("--report", request.report),
    ):
        if value:
            raise InvalidParameterError(f"{option} cannot be combined with --by")
    if request.conservative:
        check_conservative(system)


def in_words(values: Mapping[str, str | None]) -> str:
    """Return the values of a pool in words."""
    return ", ".join(f"{column}={value or ''}" for column, value in values.items())


def _rated(job: _Job, pool: Pool) -> tuple[PoolRated, RateSummary | None]:
    """Rate a pool and write its files; return also how it was rated and read."""
    values = {column: pool.values.get(column) for column in job.by}
    request, matches_read = job.rate.history, None
    if isinstance(pool.source, History):
        # A history from another process has columns that can be written; the kernels are compiled
        # for those of a new one, which cannot. What was left out is said of the source of all.
        matches_read = replace(pool.source), HistoryReading(history=None)
    elif isinstance(pool.source, HistoryRequest):
        request = pool.source
    else:
        return _failed(job, values, pool.source)
    paths = paths_of(job.places, values)
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
            system = make_system(job.system, job.parameters)
            summary = summary_of(rate(system, one, matches_read=matches_read), 0)
    except (EquipoiseError, OSError) as error:
        return _failed(job, values, error, paths)
    files = {option: str(path) for option, path in paths.items()}
    rated = to_message(
        PoolRated, summary, values=values, status="rated", files=files, error=None, problems=[]
    )
    return rated, summary


def _failed(
    job: _Job,
    values: Mapping[str, str | None],
    error: EquipoiseError | OSError,
    paths: Mapping[str, Path] | None = None,
) -> tuple[PoolRated, None]:
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
        problems=[to_message(ProblemMessage, problem) for problem in problems],
    )
    return pool, None


def _compile(job: _Job) -> None:
    """Compile the kernels of a system, once on this machine, by rating two matches."""
    # A system that needs more columns is compiled by the first pool.
    with suppress(EquipoiseError):
        replay(make_system(job.system, job.parameters), read_history(MATCHES))

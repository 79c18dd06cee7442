"""Rates every pool of a data set alone, on any number of processes."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import dataclass, replace
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
from equipoise.analysis.reading import read, values_of_matches
from equipoise.analysis.requests import HistoryRequest
from equipoise.analysis.systems import plain_parameters
from equipoise.arrays import Ints
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


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Part:
    """Matches to rate, which one worker reads.

    values : by column, as far as the names of folders say them; None is a missing value
    columns : the columns that divide the matches further
    source : the matches if they were read already, else how to read them
    """

    values: dict[str, str | None]
    columns: tuple[str, ...] = ()
    source: HistoryRequest | History


def parts_of(
    request: HistoryRequest, by: Sequence[str]
) -> tuple[list[Part], HistoryReading | None]:
    """Return the parts of a data set in natural order of their values.

    Files in folders named after values are not read here. Others are read together, and how they
    were read is returned as well.
    Raises : InvalidDataError, InvalidParameterError
    """
    files = partition_files(request.source)
    in_folders = [column for column in by if any(column in file.values for file in files)]
    if not in_folders:
        if files:
            request = replace(request, source=[file.path for file in files])
        history, reading = read(request)
        parts = [Part(values=values, source=part) for values, part in pools_of(history, by)]
        return parts, replace(reading, history=None)
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
    # Values of folders select files; the others are selected by the reader.
    folders = {name for name in request.where if all(name in file.values for file in files)}
    wanted = {name: request.where[name] for name in request.where if name in folders}
    grouped: dict[tuple[str | None, ...], list[str]] = {}
    for file in files:
        if all((file.values[name] or "") == value for name, value in wanted.items()):
            grouped.setdefault(tuple(file.values[column] for column in in_folders), []).append(
                file.path
            )
    if not grouped:
        got = ", ".join(f"{name}={value}" for name, value in wanted.items())
        raise InvalidParameterError(f"--where must name values that some folder has; got {got}")
    require(len(grouped) <= MOST_POOLS, "--by", f"of at most {MOST_POOLS:,} pools", len(grouped))
    where = {name: value for name, value in request.where.items() if name not in folders}
    parts = [
        Part(
            values=dict(zip(in_folders, values, strict=True)),
            columns=tuple(column for column in by if column not in in_folders),
            source=replace(
                request,
                source=grouped[values][0] if len(grouped[values]) == 1 else grouped[values],
                where=where,
            ),
        )
        for values in sorted(grouped, key=in_order)
    ]
    return parts, None


def pools_of(
    history: History, columns: Sequence[str]
) -> Iterator[tuple[dict[str, str | None], History]]:
    """Yield the values of columns, and the matches that have them with their players alone.

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
    row_of = {
        tuple(value or None for value in values): row
        for row, values in enumerate(groups.select(columns).iter_rows())
    }
    for values in sorted(row_of, key=in_order):
        matches = groups[_MATCH][row_of[values]].to_numpy().astype(np.int64)
        yield dict(zip(columns, values, strict=True)), part_of(history, matches)


def in_order(values: Sequence[str | None]) -> tuple[object, ...]:
    """Return the key by which combinations of values are ordered."""
    return tuple(natural(value or "") for value in values)


def part_of(history: History, matches: Ints) -> History:
    """Return some matches of a history, with the players who took part in them.

    matches : rising numbers
    """
    part = some_matches(history, matches)
    players, player = np.unique(part.player, return_inverse=True)
    return replace(
        part,
        match_ids=history.match_ids[matches],
        player_ids=history.player_ids[players],
        player=player.astype(np.int64),
    )


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
        places[option] = whole.parent, whole.name
    if not places:
        raise InvalidParameterError(
            "--by needs --output DIR/, in which every pool gets a folder (or --save, --trace)"
        )
    check_distinct({option: folder / name for option, (folder, name) in places.items()})
    read = source if isinstance(source, list | tuple) else [source]
    inside = [Path(path) for path in read if isinstance(path, str) and Path(path).is_dir()]
    for option, (folder, _) in places.items():
        for folder_read in inside:
            if folder.resolve().is_relative_to(folder_read.resolve()):
                raise InvalidParameterError(
                    f"{option} must be outside of the folder that is read; got {folder} in "
                    f"{folder_read}"
                )
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
    default = default_notes(system, None, request.initial)
    system, _ = system_and_ratings(system, None, request.initial, request.initial_mapping)
    _check(system, request, by)
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
        names=lambda part: f"the pool {in_words(part.values)}",
        given_up=lambda part, error: _failed(job, part.values, error),
        prepare=_compile,
        finished=None if progress is None else lambda done: progress(done, len(parts)),
    )
    pools: list[PoolRated] = []
    done: list[RateSummary | HistoryReading] = [] if reading is None else [reading]
    for part_done in results:
        pools += part_done.pools
        done += part_done.readings
    pools.sort(key=lambda pool: in_order([pool.values[column] for column in by]))
    notes = Counter(note for reading in done for note in reading.notes)
    return RateByMessage(
        system=system.name,
        parameters=plain_parameters(system),
        by=list(by),
        pools=pools,
        rated=sum(pool.status == "rated" for pool in pools),
        failed=sum(pool.status == "failed" for pool in pools),
        matches=sum(pool.matches for pool in pools),
        participations=sum(pool.participations for pool in pools),
        players=sum(pool.players for pool in pools),
        unrated=sum(part.unrated for part in done),
        filtered=sum(part.filtered for part in done),
        dropped_matches=[match for part in done for match in part.dropped_matches],
        dropped_rows=sum(part.dropped_rows for part in done),
        problems=[
            to_message(ProblemMessage, problem) for part in done for problem in part.problems
        ],
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
    for values, part_history in pools:
        rated = _rated(job, {**part.values, **values}, job.rate.history, (part_history, nothing))
        done.pools.extend(rated.pools)
        done.readings.extend(rated.readings)
    return done


def _rated(
    job: _Job,
    values: Mapping[str, str | None],
    request: HistoryRequest,
    matches_read: tuple[History, HistoryReading] | None = None,
) -> _Done:
    """Rate a pool and write its files.

    matches_read : its matches, if they were read
    """
    values = {column: values[column] for column in job.by}
    paths = paths_of(job.places, values)
    if matches_read is not None:
        # A history from another process has columns that can be written; the kernels are compiled
        # for those of a new one, which cannot.
        matches_read = replace(matches_read[0]), matches_read[1]
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
            summary = summary_of(rate(job.made_system(), one, matches_read=matches_read), 0)
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
        problems=[to_message(ProblemMessage, problem) for problem in problems],
    )
    return _Done([pool], [])


def _compile(job: _Job) -> None:
    """Compile the kernels of a system, once on this machine, by rating two matches."""
    # A system that needs more columns is compiled by the first pool.
    with suppress(EquipoiseError):
        replay(job.made_system(), read_history(MATCHES))

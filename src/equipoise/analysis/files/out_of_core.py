"""Rating a Parquet file in blocks: when it is done, and how, in little memory.

Matches are read in order of time, block after block, and only players are kept. A file that is not
in order is sorted on disk first. The answers are those of rating it at once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

import polars as pl

from equipoise.analysis.advice import advice_on
from equipoise.analysis.clock import working_time
from equipoise.analysis.doctor.machine import available_memory
from equipoise.analysis.files.reading import (
    HistoryRequest,
    missing_notes,
    unused_at,
    unused_notes,
    unused_of,
)
from equipoise.data.history import with_performance
from equipoise.data.reading import HistoryReading
from equipoise.errors import InvalidDataError, InvalidParameterError, Problem, require
from equipoise.formats.blocks.folder import temporary_folder
from equipoise.formats.blocks.parquet import LargeTable, UnsuitedError, open_large
from equipoise.formats.blocks.repeated import RepeatedIds
from equipoise.formats.blocks.sorting import check_space, in_words, sort_on_disk
from equipoise.formats.histories import summarise
from equipoise.formats.likely_doubles import describe_spellings
from equipoise.formats.options import Options, check_options
from equipoise.formats.synonyms import read_synonyms
from equipoise.formats.tables.long_table import LEFT
from equipoise.rating.block_replay import BlockReplay
from equipoise.rating.replay import Replay
from equipoise.rating.system import RatingSystem
from equipoise.wording import counted

#: Bytes that rating a file at once takes for each of its rows, measured with four columns, and for
#: each further column. Only to choose: nothing relies on it.
_AT_ONCE, _COLUMN = 150, 16
#: Share of the available memory from which a file is rated in blocks.
_SHARE = 0.5
#: Bytes of the program with its libraries; bytes of a row of a block, while it is read and rated.
_PROGRAM, _ROW = 400_000_000, 400
#: Least and most rows of a block: larger ones are no faster.
_FEWEST, _MOST = 50_000, 2_000_000
#: Least memory that --memory-limit can name.
_LEAST = 500_000_000
#: Problems after which no more are looked for.
_PROBLEMS = 1_000
_UNITS = {"": 1, "MB": 10**6, "GB": 10**9, "TB": 10**12, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}


@dataclass(slots=True, kw_only=True)
class Rated:
    """A history that was rated, at once or in blocks.

    reading : with all notes; without the history if it was rated in blocks
    unused : columns and options that the system does not use
    seconds : of reading, which includes sorting, and of rating
    """

    reading: HistoryReading
    replay: Replay
    unused: list[str]
    seconds: tuple[float, float]


@dataclass(slots=True)
class _Account:
    """What the blocks had: the sums and lists of their readings."""

    problems: list[Problem] = field(default_factory=list)
    dropped_matches: list[str] = field(default_factory=list)
    dropped_rows: int = 0
    unrated: int = 0
    filtered: int = 0
    notes: dict[str, None] = field(default_factory=dict)

    def add(self, reading: HistoryReading) -> None:
        self.problems += reading.problems
        self.dropped_matches += reading.dropped_matches
        self.dropped_rows += reading.dropped_rows
        self.unrated += reading.unrated
        self.filtered += reading.filtered
        self.notes |= dict.fromkeys(reading.notes)

    def reading(self, table: LargeTable, notes: tuple[str, ...]) -> HistoryReading:
        return HistoryReading(
            history=None,
            problems=tuple(self.problems),
            dropped_matches=tuple(self.dropped_matches),
            dropped_rows=self.dropped_rows,
            unrated=self.unrated,
            filtered=self.filtered,
            notes=(*dict.fromkeys([*table.notes, *self.notes]), *notes),
            format="parquet",
            kind="history",
            columns=table.named,
        )


def memory_of(text: str) -> int:
    """Return a number of bytes, given as 2GB or 800MB. Raises : InvalidParameterError."""
    found = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([a-zA-Z]*)\s*", text)
    known = found is not None and found[2].upper() in _UNITS
    require(known, "--memory-limit", "a size such as 2GB or 800MB", text)
    assert found is not None
    size = int(float(found[1]) * _UNITS[found[2].upper()])
    require(size >= _LEAST, "--memory-limit", f"at least {in_words(_LEAST)}", text)
    return size


def memory_for(source: object) -> int | None:
    """Return the memory in which to rate a file because it is too large to be rated at once.

    None for all other sources, and where the memory of the machine is not known.
    """
    if isinstance(source, list | tuple) and len(source) == 1:
        source = source[0]
    if not isinstance(source, str | Path) or Path(source).suffix.lower() != ".parquet":
        return None
    free = available_memory()
    if free is None or not Path(source).is_file():
        return None
    try:
        scan = pl.scan_parquet(source)
        columns = len(scan.collect_schema())
        rows = int(scan.select(pl.len()).collect().item())
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError):
        return None  # the reader of tables reports it
    needed = rows * (_AT_ONCE + _COLUMN * max(0, columns - 4))
    return max(_LEAST, int(_SHARE * free)) if needed > _SHARE * free else None


def rate_in_blocks(
    system: RatingSystem,
    request: HistoryRequest,
    memory: int,
    *,
    at: float | None = None,
    keeps_matches: bool = False,
    threads: int = 1,
    announce: Callable[[str], None] = lambda line: None,
    progress: Callable[[int, int], None] | None = None,
) -> Rated:
    """Rate a Parquet file in blocks.

    memory : bytes that blocks and the program are chosen for; players come on top
    keeps_matches : whether the state can be saved, for 16 bytes a match
    announce : called with a line before the file is sorted on disk
    Raises : UnsuitedError if the file cannot be rated in blocks; InvalidDataError and
        InvalidParameterError as rating it at once does
    """
    table = open_large(request.source, _options(request), system.capabilities.uses)
    rows = min(_MOST, max(_FEWEST, (memory - _PROGRAM) // (2 * _ROW)))
    rating = BlockReplay(system, keeps_matches=keeps_matches, threads=threads)
    account, unused, notes = _Account(), list[str](), list[str]()
    columns: tuple[str, ...] = ()
    started, rating_time, seen = working_time(), 0.0, 0
    largest: tuple[int, tuple[str, ...]] = (0, ())
    with ExitStack() as stack:
        folder = stack.enter_context(temporary_folder())
        blocks, repeated = _in_order(table, rows, folder, announce)
        for frame in blocks:
            reading = table.read(frame)
            account.add(reading)
            seen += len(frame)
            if account.problems and request.skip_bad is None:
                if len(account.problems) >= _PROBLEMS:
                    break
                continue
            if reading.history is None:
                continue
            history = with_performance(reading.history, request.statistics)
            if not rating.players:
                _check_times(system, history.time is None, at)
                sample = table.sample or reading.history
                sample = with_performance(sample, request.statistics)
                unused = unused_of(system, sample, request)
                columns = tuple(system.capabilities.unused(sample))
                if at is not None:
                    unused += unused_at(system)
                notes = unused_notes({system.name: unused}, strict=request.strict)
                # Without matches only columns are missing: values of rows are not counted.
                notes += missing_notes(system, history.slice(0, 0), resumed=False)
            if hasattr(system, "field_notes"):
                # The note on the largest matches of all blocks.
                found = dict.fromkeys(system.field_notes(history))
                largest = max(largest, (int(history.teams().max()), tuple(found)))
            if repeated is not None:
                repeated.add(history.match_ids)
            before = working_time()
            rating.add(history, _from(seen - len(frame), table.rows, progress))
            rating_time += working_time() - before
        if repeated is not None and not (account.problems and request.skip_bad is None):
            _check_repeated(table, repeated, account)
    if account.problems and request.skip_bad is None:
        raise _refused(account.problems, request)
    if not rating.players:
        got = "no match is rated and selected"
        raise _refused([Problem(str(table.path), None, "", LEFT, got)], request)
    before = working_time()
    replayed = rating.done(at)
    rating_time += working_time() - before
    notes += largest[1]
    doubles = describe_spellings(replayed.state.player_ids)
    block = f"rated in blocks of about {counted(rows, 'participation')}"
    return Rated(
        reading=account.reading(table, (block, *doubles, *notes)),
        replay=replace(replayed, unused=columns),
        unused=unused,
        seconds=(working_time() - started - rating_time, rating_time),
    )


def _from(
    done: int, total: int, progress: Callable[[int, int], None] | None
) -> Callable[[int], None] | None:
    """Return what reports the progress of a block after `done` rows of the file."""
    if progress is None:
        return None
    return lambda rows: progress(done + rows, total)


def _options(request: HistoryRequest) -> Options:
    if request.sheet is not None or request.format not in (None, "parquet", "history"):
        raise UnsuitedError("only a Parquet file with a row for each player in a match can")
    options = check_options(
        request.columns,
        tuple(request.statistics),
        request.skip_bad,
        request.since,
        request.until,
        request.where,
        request.time_format,
        request.lower_score_is_better,
        request.unplaced,
    )
    if request.synonyms is not None:
        options = replace(options, synonyms=read_synonyms(request.synonyms))
    return options


def _in_order(
    table: LargeTable, rows: int, folder: Path, announce: Callable[[str], None]
) -> tuple[Iterator[pl.DataFrame], RepeatedIds | None]:
    """Return the blocks of a file, and what finds repeated ids, None where none can occur."""
    in_order, numbered = table.order(rows)
    if in_order:
        # Ids that never decrease cannot come back in a later block.
        return table.blocks(rows), None if numbered else RepeatedIds(folder, table.rows)
    needed = int(table.rows * table.bytes_a_row)
    free = check_space(needed + 8 * table.rows, folder)
    announce(
        f"The file is not in order of time. It is sorted on disk: about {in_words(needed)} in "
        f"{folder}, which has {in_words(free)} free."
    )
    runs = sort_on_disk(table.slices(rows), folder)
    return runs.blocks(rows), RepeatedIds(folder, table.rows)


def _check_repeated(table: LargeTable, repeated: RepeatedIds, account: _Account) -> None:
    """Refuse matches in two blocks: they have several times, or rows that are not together.

    Raises : InvalidDataError, also with --skip-bad, because the matches are rated by then
    """
    hashes = repeated.found()
    if not len(hashes):
        return
    problems = table.problems_of(hashes)
    if not problems:
        return  # two texts with one hash
    account.problems += problems
    head = f"{counted(len(problems), 'problem')} in {table.path}"
    raise InvalidDataError(problems, head, advice=advice_on(problems, skipping=False))


def _check_times(system: RatingSystem, timeless: bool, at: float | None) -> None:
    """Refuse options and parameters that need times. Raises : InvalidParameterError."""
    if not timeless:
        return
    if at is not None:
        raise InvalidParameterError("--at needs a history with times; this one has no time column")
    if system.capabilities.needs_time:
        raise InvalidParameterError(
            f"{system.name} with these parameters needs times, and this history has no time "
            "column: leave out drift_per_day or period_days"
        )


def _refused(problems: list[Problem], request: HistoryRequest) -> InvalidDataError:
    source = request.source
    return InvalidDataError(
        problems, summarise(problems, source), advice=advice_on(problems, skipping=False)
    )

"""Rating a Parquet file in blocks: when it is done, and how, in little memory.

Matches are read in order of time, block after block, and only players are kept. A file that is not
in order is sorted on disk first. The answers are those of rating it at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from equipoise._jit import working_time
from equipoise.analysis.reading import advice_on, missing_notes, unused_at, unused_notes, unused_of
from equipoise.analysis.requests import HistoryRequest
from equipoise.data.history import History, with_performance
from equipoise.errors import InvalidDataError, Problem
from equipoise.formats.histories import OPTIONS, check_options, summarise
from equipoise.formats.large_files import RepeatedIds, UnsuitedError, open_large
from equipoise.formats.long_table import LEFT
from equipoise.formats.names import describe_spellings, read_synonyms
from equipoise.formats.table import HistoryReading, Options
from equipoise.rating.replay import BlockReplay, Replay
from equipoise.rating.system import RatingSystem
from equipoise.wording import counted

#: Bytes of the program with its libraries; bytes of a row of a block, while it is read and rated.
_PROGRAM, _ROW = 400_000_000, 400
#: Least and most rows of a block: larger ones are no faster.
_FEWEST, _MOST = 50_000, 2_000_000
#: Problems after which no more are looked for.
_PROBLEMS = 1_000


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


def rate_in_blocks(
    system: RatingSystem,
    request: HistoryRequest,
    memory: int,
    *,
    at: float | None = None,
    keeps_matches: bool = False,
    threads: int = 1,
    check: Callable[[History], None] = lambda history: None,
    announce: Callable[[str], None] = lambda line: None,
    progress: Callable[[int, int], None] | None = None,
) -> Rated:
    """Rate a Parquet file in blocks.

    memory : bytes that blocks and the program are chosen for; players come on top
    keeps_matches : whether the state can be saved, for 16 bytes a match
    check : called with the first block, to refuse what the system cannot do with its columns
    announce : called with a line before the file is sorted on disk
    Raises : UnsuitedError if the file cannot be rated in blocks; InvalidDataError and
        InvalidParameterError as rating it at once does
    """
    table = open_large(request.source, _options(request), system.capabilities.uses)
    rows = min(_MOST, max(_FEWEST, (memory - _PROGRAM) // (2 * _ROW)))
    rating = BlockReplay(system, keeps_matches=keeps_matches, threads=threads)
    readings: list[HistoryReading] = []
    unused, notes, problems = list[str](), list[str](), list[Problem]()
    columns: tuple[str, ...] = ()
    started, rating_time, seen = working_time(), 0.0, 0
    largest: tuple[int, tuple[str, ...]] = (0, ())
    with TemporaryDirectory(prefix="equipoise-blocks-") as name:
        folder = Path(name)
        repeated = RepeatedIds(folder, table.rows)
        for frame in table.blocks(rows, folder, announce):
            reading = table.read(frame)
            readings.append(replace(reading, history=None))
            before, seen = seen, seen + len(frame)
            problems += () if request.skip_bad else reading.problems
            if len(problems) >= _PROBLEMS:
                break
            if problems or reading.history is None:
                continue
            history = with_performance(reading.history, request.statistics)
            if not rating.players:
                check(history)
                unused = unused_of(system, history, request)
                unused += [] if at is None else unused_at(system)
                columns = tuple(system.capabilities.unused(history))
                notes = unused_notes({system.name: unused}, strict=request.strict)
                # Without matches only columns are missing: values of rows are not counted.
                notes += missing_notes(system, history.slice(0, 0), resumed=False)
            if hasattr(system, "field_notes"):
                # The note on the largest matches of all blocks.
                misfits = tuple(dict.fromkeys(system.field_notes(history)))
                largest = max(largest, (int(history.teams().max()), misfits))
            repeated.add(history.match_ids)
            clock = working_time()
            rating.add(history, _after(before, table.rows, progress))
            rating_time += working_time() - clock
        # Also with --skip-bad, because these matches are rated by then.
        problems += [] if problems else table.problems_of_repeated(repeated)
    if not problems and not rating.players:
        problems = [Problem(str(table.path), None, "", LEFT, "no match is rated and selected")]
    if problems:
        head = summarise(problems, request.source)
        raise InvalidDataError(problems, head, advice=advice_on(problems, skipping=False))
    clock = working_time()
    replayed = rating.done(at)
    rating_time += working_time() - clock
    doubles = describe_spellings(replayed.ratings.player_ids, replayed.ratings.matches)
    block = f"rated in blocks of about {counted(rows, 'participation')}"
    notes_of_blocks = dict.fromkeys(note for block in readings for note in block.notes)
    reading = HistoryReading(
        history=None,
        problems=tuple(problem for block in readings for problem in block.problems),
        dropped_matches=tuple(match for block in readings for match in block.dropped_matches),
        dropped_rows=sum(block.dropped_rows for block in readings),
        unrated=sum(block.unrated for block in readings),
        filtered=sum(block.filtered for block in readings),
        notes=(
            *dict.fromkeys([*request.notes, *table.notes, *notes_of_blocks]),
            block,
            *doubles,
            *notes,
            *largest[1],
        ),
        format="parquet",
        kind="history",
        columns=table.named,
    )
    return Rated(
        reading=reading,
        replay=replace(replayed, unused=columns),
        unused=unused,
        seconds=(working_time() - started - rating_time, rating_time),
    )


def _after(
    done: int, total: int, progress: Callable[[int, int], None] | None
) -> Callable[[int], None] | None:
    """Return what reports the progress of a block after `done` rows of the file."""
    return None if progress is None else lambda rows: progress(done + rows, total)


def _options(request: HistoryRequest) -> Options:
    if request.sheet is not None or request.format not in (None, "parquet", "history"):
        raise UnsuitedError("only a Parquet file with a row for each player in a match can")
    options = check_options({name: getattr(request, name) for name in OPTIONS})
    if request.synonyms is not None:
        options = replace(options, synonyms=read_synonyms(request.synonyms))
    return options

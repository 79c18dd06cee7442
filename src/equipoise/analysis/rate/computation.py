"""Rating a history: read, rate from known ratings or a state if there are any, write.

The rating table can also become a page to print: one HTML file without scripts, with the style of
reports.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
from markupsafe import Markup

from equipoise._jit import working_time
from equipoise.analysis.rate import RateRequest as RateRequest
from equipoise.analysis.rate.out_of_core import Rated, UnsuitedError, in_words, rate_in_blocks
from equipoise.analysis.reading import (
    check_outputs,
    missing_notes,
    read,
    unused_at,
    unused_notes,
    unused_of,
    without_dates,
)
from equipoise.analysis.requests import suited
from equipoise.analysis.systems import DEFAULT_SYSTEM, plain_parameters
from equipoise.charts import theme
from equipoise.data.comparison import RatingComparison
from equipoise.data.files import check_place, whole_file
from equipoise.data.history import History, matches_played
from equipoise.data.ratings import MAPPING_FORM, InitialRatings, Ratings, ScaleMapping
from equipoise.errors import InvalidParameterError, require
from equipoise.evaluate.rated_players import rated_players
from equipoise.evaluate.rating_comparison import compare_players
from equipoise.formats import write_table
from equipoise.formats.names import describe_newcomers, read_synonyms
from equipoise.formats.players import read_initial_table
from equipoise.formats.sources import is_saved_state
from equipoise.formats.table import HistoryReading
from equipoise.formats.times import moment
from equipoise.markup import element, joined
from equipoise.messages.conversion import to_message
from equipoise.messages.histories import RateSummary
from equipoise.rating.base_system import advantage_notes
from equipoise.rating.match_digest import digests_of
from equipoise.rating.one_call.call import require_context
from equipoise.rating.pool_state import PoolState, scale_difference
from equipoise.rating.registry import make_system
from equipoise.rating.replay import Replay, days, ratings_of, replay
from equipoise.rating.system import RatingSystem
from equipoise.wording import counted

#: Note on a saved state without digests, or with digests of other columns.
NOT_COMPARED = (
    "the saved state is of an earlier version: its matches were not compared with this history"
)
#: Bytes that rating a file at once takes for each of its rows, measured with four columns, and for
#: each further column. Only to choose: nothing relies on it.
_AT_ONCE, _COLUMN = 150, 16
#: Share of the available memory from which a file is rated in blocks.
_SHARE = 0.5
#: Least memory that --memory-limit can name.
_LEAST = 500_000_000
_UNITS = {"": 1, "MB": 10**6, "GB": 10**9, "TB": 10**12, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}
#: Ends of sentences on rating in blocks.
IN_BLOCKS = "it is rated in blocks"
NOT_IN_BLOCKS = "this history cannot be rated in blocks"
#: Systems whose column of deviations is not how uncertain each rating is -> notes on it.
_OTHER_DEVIATIONS = {
    "codeforces": (
        "the deviation of codeforces is the same for all players, so --conservative does not "
        "change their order",
    ),
    "topcoder": (
        "the deviation of topcoder is the volatility of a player's performances, not how uncertain "
        "the rating is",
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RateAnswer:
    """Result of rating a history.

    seconds : by step, "read", "rate" and "write", without the compilation of kernels
    unused : given columns and options that the system does not use
    table : of the ratings, as files have it
    diff : the comparison with other ratings, if it was requested
    """

    reading: HistoryReading
    replay: Replay
    seconds: dict[str, float]
    notes: list[str]
    table: pl.DataFrame
    unused: tuple[str, ...] = ()
    diff: RatingComparison | None = None


def rate(
    system: RatingSystem | None,
    request: RateRequest,
    progress: Callable[[int, int], None] | None = None,
    announce: Callable[[str], None] = lambda line: None,
    matches_read: tuple[History, HistoryReading] | None = None,
) -> RateAnswer:
    """Read a history, rate it, write the files.

    system : None means the system of the state to resume, or the default system
    announce : called with a line on what will take long or much room on the disk
    matches_read : the history and how it was read, if the caller has read it
    Raises : EquipoiseError, and then nothing was written
    """
    _check_targets(request)
    if request.memory_limit is not None:
        try:
            _refuse_complete(request)
        except UnsuitedError as error:
            raise _not_in_blocks(error) from error
    before = state_to_resume(request.state, request.restart)
    default = default_notes(system, before, request.initial)
    system, known = system_and_ratings(system, before, request.initial, request.initial_mapping)
    if request.conservative:
        check_conservative(system)
    if request.context is not None:
        require_context(system, system.capabilities, request.context)
    # Read before anything is written, because --output may replace it.
    earlier = None
    if request.diff is not None:
        names = request.history.synonyms
        synonyms = {} if names is None else read_synonyms(names)
        earlier = rated_players(request.diff, request.diff, synonyms=synonyms)
    rated = None if matches_read is not None else _in_blocks(system, request, progress, announce)
    if rated is None:
        rated = _at_once(system, before, known, request, progress, matches_read)
    answer = rated.replay
    if request.context is not None:
        shown = ratings_of(answer.state, _at(request), context=request.context)
        answer = replace(answer, ratings=shown)
    clock = working_time()
    table = answer.ratings.file_table(conservative=request.conservative)
    diff = None
    if earlier is not None:
        # The new ratings were read with the synonyms already.
        now = rated_players(answer.ratings, f"the ratings by {system.name}")
        diff = compare_players(earlier, replace(now, system=system))
    if request.trace is not None and answer.trace is not None:
        write_table(answer.trace.file_table(), request.trace, raw=request.raw)
    if request.output is not None:
        write_table(table, request.output, raw=request.raw)
    if request.save is not None:
        answer.state.save(request.save)
    seconds = {"read": rated.seconds[0], "rate": rated.seconds[1], "write": working_time() - clock}
    return RateAnswer(
        reading=rated.reading,
        replay=answer,
        seconds=seconds,
        notes=[
            *default,
            *notes_on_resuming(before, answer, request.save),
            *advantage_notes(system, answer.state.state.shared),
            *_OTHER_DEVIATIONS.get(system.name if request.conservative else "", ()),
        ],
        table=table,
        unused=tuple(rated.unused),
        diff=diff,
    )


def _in_blocks(
    system: RatingSystem,
    request: RateRequest,
    progress: Callable[[int, int], None] | None,
    announce: Callable[[str], None],
) -> Rated | None:
    """Return the history rated in blocks, None if it is to be rated at once.

    Raises : InvalidParameterError if `memory_limit` is given and the history cannot be rated in
        blocks
    """
    limit = request.memory_limit
    is_given = limit is not None
    memory = memory_of(limit) if limit else memory_for(request.history.source)
    if memory is None:
        return None
    try:
        _refuse_complete(request)
        if not is_given:
            announce(f"The file is large for the memory of this machine: {IN_BLOCKS}.")
        return suited(
            request.history,
            request.history.source,
            lambda wanted, _: rate_in_blocks(
                system,
                wanted,
                memory,
                at=_at(request),
                keeps_matches=request.save is not None,
                threads=request.threads,
                check=lambda history: _check_usage(system, history, request),
                announce=announce,
                progress=progress,
            ),
        )[1]
    except UnsuitedError as error:
        if is_given:
            raise _not_in_blocks(error) from error
        announce(f"The whole file is rated in memory instead; {NOT_IN_BLOCKS}: {error}.")
        return None


def _refuse_complete(request: RateRequest) -> None:
    """Refuse options that need the complete history. Raises : UnsuitedError."""
    for name, value in (
        ("--state", request.state),
        ("--initial", request.initial),
        ("--trace", request.trace),
    ):
        if value is not None:
            raise UnsuitedError(f"{name} needs the complete history at once")


def _not_in_blocks(error: UnsuitedError) -> InvalidParameterError:
    return InvalidParameterError(f"--memory-limit: {NOT_IN_BLOCKS}: {error}")


def memory_of(text: str) -> int:
    """Return a number of bytes, given as 2GB or 800MB. Raises : InvalidParameterError."""
    match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([a-zA-Z]*)\s*", text)
    known = match is not None and match[2].upper() in _UNITS
    require(known, "--memory-limit", "a size such as 2GB or 800MB", text)
    assert match is not None
    size = int(float(match[1]) * _UNITS[match[2].upper()])
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


def available_memory() -> int | None:
    """Return the bytes that a new process may use, None where the system does not say."""
    with suppress(OSError):
        free = re.search(r"^MemAvailable:\s*(\d+)", Path("/proc/meminfo").read_text(), re.MULTILINE)
        amounts = [] if free is None else [1024 * int(free[1])]
        # The limit of a container, in the second and in the first version of control groups.
        for limit, used in (
            ("memory.max", "memory.current"),
            ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes"),
        ):
            folder = Path("/sys/fs/cgroup")
            with suppress(OSError, ValueError):
                amounts.append(int((folder / limit).read_text()) - int((folder / used).read_text()))
        return max(0, min(amounts)) if amounts else None
    return None


def _at_once(
    system: RatingSystem,
    before: PoolState | None,
    known: KnownRatings,
    request: RateRequest,
    progress: Callable[[int, int], None] | None,
    matches_read: tuple[History, HistoryReading] | None,
) -> Rated:
    """Return the history rated at once, perhaps from a state on."""
    started = working_time()
    history, reading = read(request.history) if matches_read is None else matches_read
    if before is not None and not request.restart:
        history, reading = continued(before, history, reading)
    unused = unused_of(system, history, request.history)
    if request.at is not None:
        unused += unused_at(system)
    notes = unused_notes({system.name: unused}, strict=request.history.strict)
    notes += missing_notes(system, history, resumed=before is not None)
    notes += initial_notes(known, history, {system.name: system}, strict=request.history.strict)
    clock = working_time()
    _check_usage(system, history, request)
    answer = replay(
        system,
        history,
        state=before,
        restart=request.restart,
        initial=known.ratings,
        trace=request.trace is not None,
        at=_at(request),
        threads=request.threads,
        progress=progress,
    )
    return Rated(
        reading=replace(reading, notes=(*reading.notes, *notes)),
        replay=answer,
        unused=unused,
        seconds=(clock - started, working_time() - clock),
    )


def check_conservative(system: RatingSystem) -> None:
    """Refuse a system without deviations. Raises : InvalidParameterError."""
    newcomer = system.at(system.initial(1), np.arange(1), None)
    if np.isnan(newcomer["deviation"]).all():
        raise InvalidParameterError(
            f"--conservative needs a system with deviations, and {system.name} has none; glicko2, "
            "trueskill and elo-mmr have them (--system)"
        )


def state_to_resume(path: str | None, restart: bool) -> PoolState | None:
    """Return the saved state at this path, None without one.

    Raises : InvalidParameterError for a restart without a state, InvalidDataError, NotFoundError
    """
    if path is not None:
        return PoolState.load(path)
    if restart:
        raise InvalidParameterError("--restart needs --state: without --state every match is rated")
    return None


def continued(
    before: PoolState, history: History, reading: HistoryReading
) -> tuple[History, HistoryReading]:
    """Return the history that continues a state, as `numbered_after`, and notes on new names."""
    history, reading = numbered_after(before, history, reading)
    names = describe_newcomers(before.player_ids, history.player_ids, matches_played(history))
    # The advice on names may be there.
    return history, replace(reading, notes=tuple(dict.fromkeys((*reading.notes, *names))))


def numbered_after(
    before: PoolState, history: History, reading: HistoryReading
) -> tuple[History, HistoryReading]:
    """Return new matches without ids, numbered after those of a state, and a note on them.

    Every file numbers its matches from 1. They are new if none is older than the state and none is
    equal to one of its matches; otherwise the history stays as it is.
    """
    times, last = history.time, before.last_time
    if history.order is not None and before.last_order is not None:
        # Rounds of two files are not mixed.
        times, last = history.order, before.last_order + 1
    ids = history.match_ids
    if times is None or last is None or before.rated.dtype == object or not before.comparable:
        return history, reading
    if "match" in reading.columns or not np.array_equal(ids, np.arange(1, len(ids) + 1)):
        return history, reading
    digests = digests_of(history, before.system.capabilities.uses)
    if not len(ids) or times.min() < last or np.isin(digests, before.digests).any():
        return history, reading
    highest = int(before.rated.max(initial=0))
    note = (
        f"the matches have no ids and are newer than those of the saved state: they are numbered "
        f"from {highest + 1:,}, after its matches"
    )
    return (
        replace(history, match_ids=ids + highest),
        replace(reading, notes=(*reading.notes, note)),
    )


def notes_on_resuming(before: PoolState | None, done: Replay, save: str | None) -> list[str]:
    """Return notes on how a history continued a state; save : path of the new one."""
    notes = []
    if before is not None and not before.comparable and done.unchecked_matches:
        notes.append(NOT_COMPARED)
    if done.later_matches:
        matches = "match" if done.later_matches == 1 else "matches"
        notes.append(
            f"the ratings include {done.later_matches:,} {matches} of the saved state after the "
            "end of this history"
        )
    if before is not None and save is None and done.rated_matches:
        notes.append("the saved state is not updated: --save FILE.npz writes the new one")
    return notes


def _at(request: RateRequest) -> float | None:
    """Return the time for which ratings are read, in days since 1970.

    Raises : InvalidParameterError
    """
    if request.at is None:
        return None
    return days(moment(request.at, "--at", request.history.time_format))


def summary_of(answer: RateAnswer, kernels_compiled: int) -> RateSummary:
    """Return the summary for text and JSON."""
    done, reading = answer.replay, answer.reading
    return to_message(
        RateSummary,
        reading,
        system=done.state.system.name,
        parameters=plain_parameters(done.state.system),
        matches=done.rated_matches,
        participations=done.rated_participations,
        players=len(done.state.player_ids),
        known_matches=done.known_matches,
        skipped_all_tied=[str(match) for match in done.all_tied.tolist()],
        single=done.single,
        notes=[*reading.notes, *answer.notes],
        unused=answer.unused,
        seconds=answer.seconds,
        kernels_compiled=kernels_compiled,
    )


def _check_targets(request: RateRequest) -> None:
    """Refuse outputs that cannot be written, before reading."""
    if request.output is not None and request.output.lower().endswith((".html", ".htm")):
        raise InvalidParameterError(
            f"--output writes a table, such as .csv; --report {request.output} writes a page"
        )
    check_outputs(
        request.history,
        {"--initial": request.initial, "--save": request.save, "--report": request.report},
        tables={"--output": request.output, "--trace": request.trace},
    )
    if request.save is not None:
        require(request.save.endswith(".npz"), "--save", "a file that ends in .npz", request.save)
        check_place(request.save)
    if request.report is not None:
        theme.check_page(request.report)


def _check_usage(system: RatingSystem, history: History, request: RateRequest) -> None:
    """Refuse options and parameters that need times, if the history has none."""
    if history.time is not None:
        return
    lacks = without_dates(history)
    if request.at is not None:
        raise InvalidParameterError(f"--at needs a history with times; this one {lacks}")
    if system.capabilities.needs_time:
        raise InvalidParameterError(
            f"{system.name} with these parameters needs times, and this history {lacks}: leave out "
            "drift_per_day or period_days"
        )


def default_notes(
    system: RatingSystem | None, before: PoolState | None, initial: str | None
) -> list[str]:
    """Return a note on the default system if neither the user nor a file chooses the system."""
    if system is not None or before is not None or initial is not None:
        return []
    return [f"rated by {DEFAULT_SYSTEM}, the default system; --system chooses another system"]


class KnownRatings(NamedTuple):
    """Ratings with which players begin, None without any, and notes on them."""

    ratings: InitialRatings | Ratings | None = None
    notes: tuple[str, ...] = ()


def system_and_ratings(
    chosen: RatingSystem | None, before: PoolState | None, path: str | None, mapping: str | None
) -> tuple[RatingSystem, KnownRatings]:
    """Return the system that rates, and the known ratings of a file on its scale.

    chosen : None means the system of the state; without one, that of known ratings which are a
        saved state; or else the default system
    path, mapping : of `known_ratings`
    Raises : InvalidParameterError   a table shows that another than the default system made it
    """
    system = chosen if before is None else chosen or before.system
    if system is not None:
        return system, known_ratings(path, mapping, system)
    if path is not None and mapping is None and is_saved_state(path):
        state = PoolState.load(path)
        note = f"{state.system.name} is the system of {path}; --system chooses another system"
        return state.system, KnownRatings(ratings_of(state), (note,))
    system = make_system(DEFAULT_SYSTEM)
    known = known_ratings(path, mapping, system, named=False)
    if path is not None:
        note = (
            f"{path} does not name the system of its ratings: {DEFAULT_SYSTEM}, the default "
            "system, starts from them; --system chooses another system"
        )
        known = known._replace(notes=(*known.notes, note))
    return system, known


def known_ratings(
    path: str | None, mapping: str | None, *systems: RatingSystem, named: bool = True
) -> KnownRatings:
    """Return the ratings of a file on the scale of these systems.

    path : a table, or a state that `--save` wrote, which knows its system
    mapping : as `ScaleMapping.read` takes it; None keeps the ratings as they are
    named : whether the user chose the systems; otherwise a table of another one is refused
    Raises : InvalidDataError, NotFoundError; InvalidParameterError, also for a saved state of
        another scale without a mapping
    """
    line = None if mapping is None else ScaleMapping.read(mapping, "--initial-mapping")
    if path is None:
        if line is not None:
            raise InvalidParameterError("--initial-mapping needs --initial")
        return KnownRatings()
    table: InitialRatings | Ratings
    if is_saved_state(path):
        state = PoolState.load(path)
        for system in systems:
            differs = scale_difference(state.system, system)
            if line is None and differs is not None:
                raise InvalidParameterError(
                    f"{path} has {differs}. Convert them with --initial-mapping {MAPPING_FORM}"
                )
        table = ratings_of(state)
    else:
        table, columns = read_initial_table(path)
        if "volatility" in columns and line is None and not named:
            raise InvalidParameterError(
                f"{path} has the column volatility, so {DEFAULT_SYSTEM}, the default system, did "
                f"not make its ratings: add --system glicko2, or the system that made them"
            )
    notes = table.notes if isinstance(table, InitialRatings) else ()
    return KnownRatings(table if line is None else line.map(table), notes)


def initial_notes(
    known: KnownRatings,
    history: History,
    systems: Mapping[str, RatingSystem],
    *,
    strict: bool = False,
) -> list[str]:
    """Return notes on how known ratings were read, and on those that have no effect.

    systems : label -> system; one without deviations does not use those of the table
    strict : refuse what a system does not use. Raises : InvalidParameterError
    """
    initial, notes = known.ratings, list(known.notes)
    if initial is None:
        return []
    players = {str(player) for player in initial.player_ids.tolist()}
    if players.isdisjoint(str(player) for player in history.player_ids.tolist()):
        notes.append(
            f"none of the {counted(len(players), 'player')} of --initial is in the history"
        )
    if not np.isnan(initial.deviation).all():
        unused = {
            label: ["the deviations of --initial"]
            for label, system in systems.items()
            if "deviation" not in system.initial(0).initial
        }
        notes += unused_notes(unused, strict=strict)
    return notes


#: What a browser may load for a page.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def write_page(
    path: str,
    title: str,
    about: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    numbers: set[str],
) -> None:
    """Write a table as a page, completely or not at all; the same table gives the same page.

    about : a sentence below the title
    columns, rows : headings and cells as text; numbers : columns that are aligned to the right
    """
    forms = ["number" if name in numbers else None for name in columns]
    heads = [
        element("th", name, scope="col", class_=form)
        for name, form in zip(columns, forms, strict=True)
    ]
    body = [
        element(
            "tr", [element("td", cell, class_=form) for cell, form in zip(row, forms, strict=True)]
        )
        for row in rows
    ]
    style = files("equipoise.analysis.backtest").joinpath("page.css").read_text("utf-8")
    head = joined(
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", title),
        element("style", Markup(style)),
    )
    content = joined(
        element("h1", title),
        element("p", about, class_="about"),
        element(
            "div",
            element("table", element("thead", element("tr", heads)), element("tbody", body)),
            class_="scroll",
        ),
        element("footer", f"Made by Equipoise {version('equipoise')}."),
    )
    page = element("html", element("head", head), element("body", content), lang="en")
    with whole_file(path) as file:
        file.write(f"<!DOCTYPE html>\n{page}\n".encode())

"""Import of a history, or of the log of a pool, into a pool.

Matches are posted like all others: known ones are counted and not recorded again. So an interrupted
import can be run again. A log also has amendments, which are recorded at their places, each once,
and the seed of its season.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from hashlib import sha256
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from equipoise._jit import working_time
from equipoise.analysis.rate.computation import known_ratings
from equipoise.analysis.reading import (
    HistoryRequest,
    history_message,
    scanned_history,
    unused_notes,
    unused_of,
)
from equipoise.analysis.simulate.computation import SAMPLE
from equipoise.data.history import History
from equipoise.data.ratings import InitialRatings, Ratings, ScaleMapping
from equipoise.errors import (
    ConflictError,
    EquipoiseError,
    InvalidDataError,
    InvalidParameterError,
    NotFoundError,
    Problem,
)
from equipoise.formats.histories import summarise
from equipoise.formats.table import HistoryReading
from equipoise.messages.histories import HistoryMessage
from equipoise.messages.matches import (
    DisqualifyRequest,
    MatchRequest,
    PostedMessage,
    ReinstateRequest,
    RenameRequest,
)
from equipoise.messages.pools import InitialMapping, InitialRequest, PoolRequest
from equipoise.messages.upkeep import ImportMessage, LogLine
from equipoise.pools import profiles
from equipoise.pools.amending import amend
from equipoise.pools.contents import SettingsContent, content_of
from equipoise.pools.erasing import import_erasure
from equipoise.pools.exchange.histories import OwnIds, pieces_of, requests_of
from equipoise.pools.exchange.log_lines import (
    check_log,
    first_settings_of,
    is_log,
    log_records,
    read_head,
    record_of,
    seed_of,
)
from equipoise.pools.initial_ratings import content_of as known_content
from equipoise.pools.initial_ratings import keep_content
from equipoise.pools.pool.pools import (
    check_same,
    create_pool,
    pool_message,
    read_pool,
    rules_of_pool,
)
from equipoise.pools.pool.rules import PoolRules, check_settings, id_text, iso, rules_of
from equipoise.pools.pool.settings import first_settings, import_settings
from equipoise.pools.posting.posting import FUTURE_SECONDS, Clock, Post, post_matches, read_post
from equipoise.pools.posting.running import RunningPool, StateCache
from equipoise.pools.replay.replaying import maintain_pool
from equipoise.pools.replay.states import keep_checkpoints, seed_state
from equipoise.pools.seasons import write_seed_ratings
from equipoise.rating.pool_state import scale_difference
from equipoise.rating.registry import make_system
from equipoise.rating.system import RatingSystem
from equipoise.store import log, pools
from equipoise.store.bulk import without_collection
from equipoise.store.connection import Store
from equipoise.store.log import LoggedAs, LogRecord
from equipoise.store.pools import Seed, change_pool, find_pool, get_pool
from equipoise.wording import counted


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportRequest:
    """What to import, and how to create the pool.

    history : the file, and how to read it if it is a history
    create : create the pool if it does not exist
    settings : fields of PoolRequest. Other fields come from the head of a log; for a history,
        `times` comes from its times
    future_seconds : seconds that a match may be ahead of the clock; None for no limit
    initial : path of the known ratings with which players of a new pool begin, as in `rate`;
        initial_mapping : how these correspond to ratings of the pool, as text
    """

    history: HistoryRequest
    create: bool = False
    settings: Mapping[str, object] = field(default_factory=dict)
    future_seconds: float | None = FUTURE_SECONDS
    initial: str | None = None
    initial_mapping: str | None = None


@dataclass(slots=True)
class _Import:
    """A running import, with the numbers of new and known records so far.

    head : of the hash chain that the log gives, None if it gives none
    cache : player states after the last piece, so that the next one need not read them
    """

    store: Store
    pool: str
    request: ImportRequest
    now: int
    show: Callable[[int, int], None]
    matches: int = 0
    known_matches: int = 0
    amendments: int = 0
    known_amendments: int = 0
    history: HistoryMessage | None = None
    head: str | None = None
    cache: StateCache = field(default_factory=StateCache)

    def time_fault(self, time: int) -> str | None:
        """Return the rule that the time of a match breaks, or None."""
        fault = Clock(self.now, self.request.future_seconds).fault(time)
        return None if fault is None else f"{fault}; add --allow-future to record it anyway"


def import_pool(
    store: Store,
    pool: str,
    request: ImportRequest,
    now: int,
    progress: Callable[[int, int], None] | None = None,
) -> ImportMessage:
    """Import the matches of a file into a pool, and the amendments of a log, in order.

    Known records are counted only. Nothing is recorded from a damaged file. If the pool refuses a
    record, all records before it stay.

    now : microseconds since 1970
    progress : called with (matches or records done, in all)
    Raises : NotFoundError if the pool does not exist; ConflictError, InvalidDataError,
        InvalidParameterError
    """
    started = working_time()
    exists = _existing_rules(store, pool) is not None
    if not exists and not request.create:
        raise NotFoundError(f"no pool {pool!r}; add --create to create it")
    if (
        exists
        and "--system" in request.history.set_by_project
        and not request.settings["parameters"]
    ):
        # The system of the project is that of pools that are created.
        left_out = ("system", "parameters")
        kept = {name: value for name, value in request.settings.items() if name not in left_out}
        request = replace(request, settings=kept)
    done = _Import(store, pool, request, now, progress or (lambda done, total: None))
    source = request.history.source
    path = Path(source) if isinstance(source, str | os.PathLike) else None
    if path is not None and is_log(path):
        _check_no_options(request)
        _import_log(done, path)
    else:
        _import_history(done)
    if pool_message(store, pool).pending:
        maintain_pool(store, pool, owner=f"import-{os.getpid()}", stop=lambda: False)
    with store.read() as connection:
        record = get_pool(connection, pool)
    return ImportMessage(
        pool=pool,
        created=not exists,
        matches=done.matches,
        known_matches=done.known_matches,
        amendments=done.amendments,
        known_amendments=done.known_amendments,
        last_seq=record.last_seq,
        pending=record.dirty is not None,
        history=done.history,
        seconds=working_time() - started,
        head=record.head.hex(),
        same_head=None if done.head is None else record.head.hex() == done.head,
        known_ratings=record.known_ratings,
        system=rules_of(record.settings).settings.system,
    )


def _existing_rules(store: Store, pool: str) -> PoolRules | None:
    """Return the rules of a pool, None if it does not exist."""
    with store.read() as connection:
        pool_record = find_pool(connection, pool)
    return None if pool_record is None else rules_of(pool_record.settings)


def _pool_rules(
    done: _Import, rules: PoolRules | None, settings: PoolRequest, *, first: str | None = None
) -> PoolRules:
    """Return the rules of the pool, after creating it if it does not exist.

    settings : for fields that the request leaves out
    first : `settings` as a log has them; they are compared with the first ones of an existing pool
    Raises : InvalidDataError; ConflictError if the pool exists with different settings
    """
    request = done.request.settings
    if rules is None or request:
        values = {**msgspec.to_builtins(settings), **request}
        try:
            wanted = msgspec.convert(values, PoolRequest)
        except msgspec.ValidationError as error:
            raise InvalidParameterError(f"the pool could not be created: {error}") from error
        if rules is not None and first is not None:
            check_settings(done.pool, wanted, "The log could not be imported")
            with read_pool(done.store, done.pool) as (_, record, _):
                check_same(done.pool, PoolRules(first_settings(record)), PoolRules(wanted))
        else:
            # With other settings the pool has another hash chain.
            kept = first if wanted == settings else None
            create_pool(done.store, done.pool, wanted, done.now, first_settings=kept)
    return rules_of_pool(done.store, done.pool)


def _post(done: _Import, post: Post, located: Callable[[Problem], Problem]) -> None:
    """Post matches, and store a checkpoint if one is due.

    Raises : ConflictError, InvalidDataError if the pool refuses them
    """
    (answer,) = post_matches(
        done.store, done.pool, [post], done.now, done.cache, future_seconds=None
    )
    if isinstance(answer, InvalidDataError):
        raise InvalidDataError(
            [located(problem) for problem in answer.problems],
            f"pool {done.pool!r} rejected the next matches after "
            f"{counted(done.matches, 'match', 'matches')}: "
            f"{counted(len(answer.problems), 'problem')}",
        )
    if isinstance(answer, EquipoiseError):
        raise answer
    if isinstance(answer, PostedMessage):
        done.matches += answer.new
        done.known_matches += answer.known
    keep_checkpoints(done.store, done.pool)


def _import_history(done: _Import) -> None:
    """Read a history completely, then post it piece by piece."""
    rules = _existing_rules(done.store, done.pool)
    request = done.request.settings.get("statistics", {})
    weights = rules.settings.statistics if rules is not None else request
    system = _wanted_system(done, PoolRequest()) if rules is None else rules.system
    known = known_ratings(done.request.initial, done.request.initial_mapping, system).ratings
    reading = _reading(done, system, list(weights) if isinstance(weights, Mapping) else [])
    history = reading.history
    assert history is not None
    kind = "none" if history.time is None else history.time_kind
    times = kind if kind in ("none", "seconds") else "datetime"
    rules = _pool_rules(done, rules, PoolRequest(times=times))
    if rules.timed != (history.time is not None):
        has = "times, and the history none" if rules.timed else "no times, and the history has"
        if history.order is not None:
            has = (
                "times, and those of the history are an order without dates; --time-format s reads "
                "them as seconds since 1970"
            )
        raise InvalidParameterError(f"the pool has {has}")
    _check_future(done, history)
    if known is not None:
        _keep_initial_ratings(done, known)
    first = requests_of(history, 0, min(history.matches, 1))
    namer = OwnIds.for_file(done.store, done.pool, reading, first)
    for start, stop in pieces_of(history, done.store.sizes.imported):
        with without_collection():
            matches = requests_of(history, start, stop)
            matches = matches if namer is None else namer.named(matches)
            _post(
                done,
                Post(matches, detailed=False, first_line=start + 1),
                _by_match(done, matches, start),
            )
        done.show(stop, history.matches)


def _keep_initial_ratings(done: _Import, known: InitialRatings | Ratings) -> None:
    """Set the known ratings of the pool, before its matches. Raises : ConflictError."""
    text = done.request.initial_mapping
    line = None if text is None else ScaleMapping.read(text, "--initial-mapping")
    mapping = None if line is None else InitialMapping(line.there, line.here)
    content = known_content(known, InitialRequest(mapping=mapping))
    keep_content(done.store, done.pool, content, key=None, now=done.now)


def _wanted_system(done: _Import, first: PoolRequest) -> RatingSystem:
    """Return the system of a pool that is to be created; first : what the request leaves out.

    Raises : InvalidParameterError, NotFoundError
    """
    request = done.request.settings
    parameters = request.get("parameters", first.parameters if "system" not in request else {})
    name = str(request.get("system", first.system))
    return make_system(name, parameters if isinstance(parameters, Mapping) else {})


def _reading(done: _Import, system: RatingSystem, statistics: Sequence[str]) -> HistoryReading:
    """Return the file with its history. Raises : InvalidDataError, InvalidParameterError."""
    request = done.request.history
    wanted = replace(request, statistics=dict.fromkeys(statistics, 1.0))
    reading = scanned_history(wanted, request.source)
    if reading.history is None:
        raise InvalidDataError(reading.problems, summarise(reading.problems, request.source))
    history = reading.history
    unused = unused_of(system, history, request)
    weighed = request.statistics or done.request.settings.get("statistics")
    if weighed and "performance" not in system.capabilities.uses and "--stat" not in unused:
        unused.append("--stat")
    notes = unused_notes({system.name: unused}, strict=request.strict)
    reading = replace(reading, notes=(*reading.notes, *notes))
    done.history = history_message(history, reading)
    return reading


def _check_future(done: _Import, history: History) -> None:
    """Check that no match is too far ahead of the clock. Raises : InvalidDataError."""
    if history.time is None or history.matches == 0:
        return
    latest = int(history.time.argmax())
    fault = done.time_fault(int(history.time[latest]))
    if fault is not None:
        problem = Problem("", 1, "time", fault, iso(int(history.time[latest])))
        located = _by_match(done, requests_of(history, latest, latest + 1), 0)
        raise InvalidDataError([located(problem)])


def _by_match(
    done: _Import, matches: Sequence[MatchRequest], start: int
) -> Callable[[Problem], Problem]:
    """Return a function that adds file and match to a problem; a history has no line numbers."""
    source = done.request.history.source
    name = str(source) if isinstance(source, str | os.PathLike) else ""

    def located(problem: Problem) -> Problem:
        if problem.line is None:
            return replace(problem, file=name)
        match = matches[problem.line - start - 1].match
        return replace(problem, file=name, line=None, field=f"match {match}, {problem.field}")

    return located


def _import_log(done: _Import, path: Path) -> None:
    """Check a log completely, then record it in order."""
    head = read_head(path)
    known_ratings = check_log(path, head, done.time_fault)
    done.head = head.head
    first = first_settings_of(head)
    if known_ratings:
        differs = scale_difference(PoolRules(first).system, _wanted_system(done, first))
        if differs is not None:
            raise InvalidParameterError(
                f"the log has known {differs}: import it with its own settings"
            )
    existing = _existing_rules(done.store, done.pool)
    _pool_rules(done, existing, first, first=bytes(head.settings).decode())
    _write_seed(done.store, done.pool, head.seed)
    known = _known_amendments(done.store, done.pool)
    count = 0
    pieces = _pieces(done, path)
    # While SQLite writes one piece, the next is read.
    with ThreadPoolExecutor(1, "equipoise-import") as reader:
        coming = reader.submit(next, pieces, None)
        while True:
            with without_collection():
                piece = coming.result()
                if piece is None:
                    return
                coming = reader.submit(next, pieces, None)
                if isinstance(piece, Post):
                    _post(done, piece, lambda problem: replace(problem, file=str(path)))
                    count += len(piece.matches)
                else:
                    for number, line, logged in piece:
                        _amend(done, path, known, number, line, logged)
                    count += len(piece)
            done.show(count, head.entries)


def _check_no_options(wanted: ImportRequest) -> None:
    """Check that no options of histories are given for a log, which is imported unchanged."""
    request = wanted.history
    options = {
        "--initial": wanted.initial,
        "--initial-mapping": wanted.initial_mapping,
        "--column": request.columns,
        "--skip-bad": request.skip_bad,
        "--from": request.since,
        "--until": request.until,
        "--where": request.where,
        "--synonyms": request.synonyms,
        "--time-format": request.time_format,
        "--lower-score-is-better": request.lower_score_is_better,
        "--unplaced": request.unplaced,
        "--strict": request.strict,
    }
    named = [
        name for name, value in options.items() if value and name not in request.set_by_project
    ]
    if named:
        raise InvalidParameterError(
            f"leave out {', '.join(named)}: a log of `equipoise db export` is imported unchanged"
        )


#: A line of a log, its number before it, and what it has beside what was posted.
_Numbered: TypeAlias = tuple[int, LogLine, LoggedAs]


def _pieces(done: _Import, path: Path) -> Iterator[Post | list[_Numbered]]:
    """Give the matches of a log as posts, checked by the rules of the pool, and its amendments."""
    sizes = done.store.sizes
    held: list[_Numbered] = []
    size = 0
    for record in log_records(path):
        line = record[1]
        changes_kind = held and (held[0][1].kind == "match") != (line.kind == "match")
        if changes_kind or len(held) >= sizes.imported or size >= sizes.characters:
            yield _piece(done, held)
            held, size = [], 0
        held.append(record)
        size += len(memoryview(line.content))
    if held:
        yield _piece(done, held)


def _piece(done: _Import, lines: list[_Numbered]) -> Post | list[_Numbered]:
    """Return matches as a post, and amendments as they are."""
    if lines[0][1].kind != "match":
        return lines
    post = Post(
        [
            msgspec.structs.replace(content_of("match", line.content), time=line.time)
            for _, line, _ in lines
        ],
        detailed=False,
        first_line=lines[0][0],
        logged=[logged for _, _, logged in lines],
    )
    return read_post(done.store, done.pool, post)


def _known_amendments(store: Store, pool: str) -> set[tuple[Any, ...]]:
    """Return what `_identity` gives for the amendments in the log of a pool."""
    with store.read() as connection:
        number = get_pool(connection, pool).id
        records = [*log.amendments(connection, number), *log.long_records(connection, number)]
    return {_identity(record) for record in records}


def _amend(
    done: _Import,
    path: Path,
    known: set[tuple[Any, ...]],
    number: int,
    line: LogLine,
    logged: LoggedAs,
) -> None:
    """Record an amendment, unless it is known. Raises : ConflictError if the pool refuses it."""
    try:
        if _identity(record_of(line, logged)) in known:
            done.known_amendments += 1
        else:
            _record(done.store, done.pool, line, logged)
            done.amendments += 1
    except EquipoiseError as error:
        raise ConflictError(f"{path}, line {number}: {error}") from error


def _record(store: Store, pool: str, line: LogLine, logged: LoggedAs) -> None:
    """Record an amendment of a log. Raises : EquipoiseError if the pool refuses it."""
    content: Any = content_of(line.kind, line.content)
    if line.kind == "settings":
        import_settings(store, pool, content, logged)
    elif line.kind == "initial":
        keep_content(store, pool, content, key=None, now=logged.received, logged=logged)
    elif line.kind == "profiles":
        profiles.import_profiles(store, pool, content, logged)
    elif line.kind == "erase":
        import_erasure(store, pool, line.player or "", logged)
    else:
        request = content
        if line.kind == "correct":
            request = msgspec.structs.replace(content, time=line.time)
        elif line.kind == "disqualify":
            request = DisqualifyRequest(line.time, content.reason, line.match, content.effect)
        elif line.kind == "reinstate":
            request = ReinstateRequest(line.time, content.reason, line.match)
        elif line.kind == "rename":
            request = RenameRequest(content.to, content.reason)
        amend(
            line.kind,
            store,
            pool,
            line.player or line.match or "",
            request,
            key=None,
            now=logged.received,
            future_seconds=None,
            logged=logged,
        )


def _identity(record: LogRecord) -> tuple[Any, ...]:
    """Return a value that is equal for equal amendments. Contents may be very long."""
    content = content_of(record.kind, record.content)
    if isinstance(content, MatchRequest):
        content = msgspec.structs.replace(content, match=id_text(content.match), time=None)
    elif isinstance(content, SettingsContent):
        content = msgspec.structs.replace(content, before={})
    digest = sha256(msgspec.json.encode(content, order="deterministic")).digest()
    return record.kind, record.match, record.player, digest, record.posted_time, record.received


#: The number of the archive of an imported seed: no pool has it.
_NO_ARCHIVE = 0


def _write_seed(store: Store, pool: str, content: bytes | None) -> None:
    """Write the seed of a log into an empty pool, unless it has the same seed.

    Raises : InvalidDataError; ConflictError if the pool has another seed, or has records
    """
    with store.write() as connection:
        record = get_pool(connection, pool, lock=True)
        if seed_of(connection, record) == content:
            return
        if content is None or record.last_seq or record.follows is not None:
            raise ConflictError(
                f"pool {pool!r} started with other ratings than the pool of the log"
            )
        rules = rules_of(record.settings)
        state = seed_state(rules.system, content, "the seed of the log")
        running = RunningPool.of_state(rules, state)
        players = write_seed_ratings(connection, record.id, record.generation, running)
        pools.add_seed(connection, record.id, Seed(_NO_ARCHIVE, "{}", None, players), content)
        shared = state.state.shared
        change_pool(connection, record.id, players=players, follows=_NO_ARCHIVE, shared=shared)


#: Name of the pool with the sample season.
DEMO = "demo"
_SETTINGS: dict[str, object] = {"public": True, "placement_matches": 5, "late": "replay"}


def fill_demo(store: Store, now: int) -> ImportMessage:
    """Create a public pool with the sample season, once.

    now : microseconds since 1970
    Raises : ConflictError if another pool has its name
    """
    with as_file(files("equipoise") / "sample" / SAMPLE) as path:
        request = ImportRequest(
            history=HistoryRequest(source=str(path)), create=True, settings=_SETTINGS
        )
        return import_pool(store, DEMO, request, now)

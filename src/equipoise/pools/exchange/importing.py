"""Importing."""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

import msgspec

from equipoise.analysis.clock import working_time
from equipoise.analysis.files.demo import SAMPLE
from equipoise.analysis.files.reading import (
    HistoryRequest,
    history_message,
    unused_notes,
    unused_of,
)
from equipoise.data.history import History
from equipoise.errors import (
    ConflictError,
    EquipoiseError,
    InvalidDataError,
    InvalidParameterError,
    NotFoundError,
    Problem,
)
from equipoise.formats import scan_history
from equipoise.formats.histories import summarise
from equipoise.messages.exchange import (
    ImportMessage,
    LogLine,
)
from equipoise.messages.histories import HistoryMessage
from equipoise.messages.matches import (
    DisqualifyRequest,
    MatchRequest,
    PostedMessage,
    ReasonRequest,
)
from equipoise.messages.pools import PoolRequest
from equipoise.pools.amending import correct_match, disqualify, reinstate, restore_match, void_match
from equipoise.pools.exchange.history_requests import pieces_of, requests_of
from equipoise.pools.exchange.log_lines import (
    check_log,
    is_log,
    log_records,
    match_of,
    read_head,
    reason_of,
    seed_of,
)
from equipoise.pools.pool.checks import check_same, check_settings
from equipoise.pools.pool.pools import create_pool
from equipoise.pools.pool.rules import PoolRules, id_text, moment, rules_of
from equipoise.pools.pool.settings import (
    SettingsContent,
    content_of,
    import_settings,
    settings_at_first,
)
from equipoise.pools.posting.planning import Post
from equipoise.pools.posting.posting import post_matches
from equipoise.pools.replay.checkpointing import keep_checkpoints
from equipoise.pools.replay.replaying import maintain_pool
from equipoise.pools.seasons import write_seed_ratings
from equipoise.rating.pool_state import PoolState
from equipoise.rating.registry import make_system
from equipoise.rating.system import RatingSystem
from equipoise.store import log, pools
from equipoise.store.connection import Store
from equipoise.store.log import LogRecord
from equipoise.store.pools import Seed, change_pool, find_pool, get_pool
from equipoise.wording import counted


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportRequest:
    """What to import, and how to make the pool if it is to be made.

    history : the file, and how to read it where it is none of a pool's log
    create : the pool may be new
    settings : fields of PoolRequest that are set on purpose; what they leave open a log says, and
        of a history its times
    """

    history: HistoryRequest
    create: bool = False
    settings: Mapping[str, object] = field(default_factory=dict)


@dataclass(slots=True)
class _Import:
    """An import under way: what was recorded, and what was there."""

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


def import_pool(
    store: Store,
    pool: str,
    request: ImportRequest,
    now: int,
    progress: Callable[[int, int], None] | None = None,
) -> ImportMessage:
    """Bring the matches of a file into a pool, and the amendments of a log, in their order.

    What is recorded already is counted and left alone. Of a file that is damaged nothing is
    recorded; where the pool refuses something, all before it is.

    now : microseconds since 1970
    progress : called with (matches or records done, in all)
    Raises : NotFoundError for a pool that is not there, ConflictError, InvalidDataError,
        InvalidParameterError
    """
    started = working_time()
    there = _rules(store, pool) is not None
    if not there and not request.create:
        raise NotFoundError(f"no pool {pool!r}; add --create to create it")
    done = _Import(store, pool, request, now, progress or (lambda done, total: None))
    source = request.history.source
    path = Path(source) if isinstance(source, str | os.PathLike) else None
    if path is not None and is_log(path):
        _refuse_choices(request.history)
        _import_log(done, path)
    else:
        _import_history(done)
    with store.read() as connection:
        waits = get_pool(connection, pool).dirty is not None
    if waits:
        maintain_pool(store, pool, owner=f"import-{os.getpid()}", stop=lambda: False)
    with store.read() as connection:
        record = get_pool(connection, pool)
    return ImportMessage(
        pool=pool,
        created=not there,
        matches=done.matches,
        known_matches=done.known_matches,
        amendments=done.amendments,
        known_amendments=done.known_amendments,
        last_seq=record.last_seq,
        pending=record.dirty is not None,
        history=done.history,
        seconds=working_time() - started,
    )


def _import_history(done: _Import) -> None:
    """Read all of a history, then post it piece by piece."""
    rules = _rules(done.store, done.pool)
    asked = done.request.settings.get("statistics", {})
    weights = rules.settings.statistics if rules is not None else asked
    system = _system(done, rules)
    history = _history(done, system, list(weights) if isinstance(weights, Mapping) else [])
    kind = "none" if history.time is None else history.time_kind
    times = kind if kind in ("none", "seconds") else "datetime"
    rules = _made(done, rules, PoolRequest(times=times))
    if rules.timed != (history.time is not None):
        has = "times, and the history none" if rules.timed else "no times, and the history has"
        if history.order is not None:
            has = (
                "times, and those of the history are an order without dates; --time-format s reads "
                "them as seconds since 1970"
            )
        raise InvalidParameterError(f"the pool has {has}")
    for start, stop in pieces_of(history, done.store.sizes.imported):
        matches = requests_of(history, start, stop)
        _post(
            done,
            Post(matches, detailed=False, first_line=start + 1),
            _by_match(done, matches, start),
        )
        done.show(stop, history.matches)


def _system(done: _Import, rules: PoolRules | None) -> RatingSystem:
    """Return the system of the pool, also of one that is to be made.

    Raises : InvalidParameterError, NotFoundError
    """
    if rules is not None:
        return rules.system
    asked = done.request.settings
    parameters = asked.get("parameters", {})
    name = str(asked.get("system", PoolRequest().system))
    return make_system(name, parameters if isinstance(parameters, Mapping) else {})


def _history(done: _Import, system: RatingSystem, statistics: Sequence[str]) -> History:
    """Return the history of the file. Raises : InvalidDataError, InvalidParameterError."""
    asked = done.request.history
    reading = scan_history(
        asked.source,
        format=asked.format,
        columns=asked.columns,
        statistics=statistics,
        skip_bad=asked.skip_bad,
        since=asked.since,
        until=asked.until,
        time_format=asked.time_format,
        where=asked.where,
        lower_score_is_better=asked.lower_score_is_better,
        synonyms=asked.synonyms,
    )
    if reading.history is None:
        raise InvalidDataError(reading.problems, summarise(reading.problems, asked.source))
    history = reading.history
    unused = unused_of(system, history, asked)
    weighed = asked.statistics or done.request.settings.get("statistics")
    if weighed and "performance" not in system.capabilities.uses and "--stat" not in unused:
        unused.append("--stat")
    notes = unused_notes({system.name: unused}, strict=asked.strict)
    reading = replace(reading, notes=(*reading.notes, *notes))
    done.history = history_message(history, reading)
    return history


def _refuse_choices(asked: HistoryRequest) -> None:
    """Refuse options of histories for a log, which is taken whole and as it is."""
    given = {
        "--column": asked.columns,
        "--skip-bad": asked.skip_bad,
        "--from": asked.since,
        "--until": asked.until,
        "--where": asked.where,
        "--synonyms": asked.synonyms,
        "--time-format": asked.time_format,
        "--lower-score-is-better": asked.lower_score_is_better,
        "--strict": asked.strict,
    }
    named = [name for name, value in given.items() if value]
    if named:
        raise InvalidParameterError(
            f"leave out {', '.join(named)}: a log of `equipoise export` is imported unchanged"
        )


def _import_log(done: _Import, path: Path) -> None:
    """Check a whole log, then write its records in order."""
    head = read_head(path)
    check_log(path, head)
    _made(done, _rules(done.store, done.pool), head.settings, at_first=True)
    plant_seed(done.store, done.pool, head.seed)
    amendments = LoggedAmendments(done.store, done.pool)
    count = 0
    for kind, piece in _runs(path, done.store.sizes.imported):
        if kind == "match":
            _post_lines(done, path, piece)
        else:
            for number, line in piece:
                _amend(done, path, amendments, number, line)
        count += len(piece)
        done.show(count, head.entries)


def _runs(path: Path, most: int) -> Iterator[tuple[str, list[tuple[int, LogLine]]]]:
    """Give lines that follow one another, up to `most` matches or up to `most` amendments."""
    held: list[tuple[int, LogLine]] = []
    for number, line in log_records(path):
        is_match = line.kind == "match"
        if held and ((held[0][1].kind == "match") != is_match or len(held) >= most):
            yield held[0][1].kind, held
            held = []
        held.append((number, line))
    if held:
        yield held[0][1].kind, held


def _post_lines(done: _Import, path: Path, lines: Sequence[tuple[int, LogLine]]) -> None:
    post = Post(
        [match_of(line) for _, line in lines],
        detailed=False,
        first_line=lines[0][0],
        received=[moment(line.received, "received") for _, line in lines],
    )
    _post(done, post, lambda problem: replace(problem, file=str(path)))


def _by_match(
    done: _Import, matches: Sequence[MatchRequest], start: int
) -> Callable[[Problem], Problem]:
    """Return what names the match of a problem: that of a history has no line of its own."""
    source = done.request.history.source
    name = str(source) if isinstance(source, str | os.PathLike) else ""

    def located(problem: Problem) -> Problem:
        if problem.line is None:
            return replace(problem, file=name)
        match = matches[problem.line - start - 1].match
        return replace(problem, file=name, line=None, field=f"match {match}, {problem.field}")

    return located


def _post(done: _Import, post: Post, located: Callable[[Problem], Problem]) -> None:
    """Post some matches, and keep a checkpoint if one is due.

    Raises : ConflictError, InvalidDataError where the pool refuses them
    """
    (answer,) = post_matches(done.store, done.pool, [post], done.now)
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


def _amend(
    done: _Import, path: Path, amendments: LoggedAmendments, number: int, line: LogLine
) -> None:
    """Record an amendment once. Raises : ConflictError where it contradicts what is recorded."""
    try:
        new = amendments.record(line)
    except EquipoiseError as error:
        raise ConflictError(f"{path}, line {number}: {error}") from error
    done.amendments += new
    done.known_amendments += not new


def _rules(store: Store, pool: str) -> PoolRules | None:
    """Return the rules of a pool, None where there is none of the name."""
    with store.read() as connection:
        found = find_pool(connection, pool)
    return None if found is None else rules_of(found.settings)


def _made(
    done: _Import, rules: PoolRules | None, settings: PoolRequest, *, at_first: bool = False
) -> PoolRules:
    """Return the rules of the pool, which is made with these settings if it is not there.

    at_first : the settings are those that the pool of a log began with
    Raises : InvalidDataError, ConflictError where it is there, and not as it is asked to be
    """
    asked = done.request.settings
    if rules is None or asked:
        values = {**msgspec.to_builtins(settings), **asked}
        try:
            wanted = msgspec.convert(values, PoolRequest)
        except msgspec.ValidationError as error:
            raise InvalidParameterError(f"the pool could not be created: {error}") from error
        if rules is not None and at_first:
            with done.store.read() as connection:
                there = settings_at_first(connection, get_pool(connection, done.pool))
            check_settings(done.pool, wanted, "The log could not be imported")
            check_same(done.pool, PoolRules(there), PoolRules(wanted))
        else:
            create_pool(done.store, done.pool, wanted, done.now)
    with done.store.read() as connection:
        return rules_of(get_pool(connection, done.pool).settings)


class LoggedAmendments:
    """The amendments that a pool has, and those of a log that join them."""

    def __init__(self, store: Store, pool: str) -> None:
        self._store, self._pool = store, pool
        with store.read() as connection:
            log_records = log.amendments(connection, get_pool(connection, pool).id)
        self._known = {_identity(log_record) for log_record in log_records}

    def record(self, line: LogLine) -> bool:
        """Record an amendment; return False for one that is there already.

        Raises : EquipoiseError where the pool refuses it
        """
        received = moment(line.received, "received")
        since = None if line.time is None else moment(line.time)
        is_correction = line.kind == "correct"
        is_change = line.kind == "settings"
        if is_correction:
            says = _same(match_of(line))
        else:
            says = _same_settings(content_of(line.content)) if is_change else reason_of(line)
        if (line.kind, line.match, line.player, says, since, received) in self._known:
            return False
        own: dict[str, Any] = {"key": None, "now": received}
        match, player = line.match or "", line.player or ""
        if is_correction:
            correct_match(self._store, self._pool, match, match_of(line), **own)
        elif is_change:
            import_settings(self._store, self._pool, content_of(line.content), received)
        elif line.kind in ("void", "restore"):
            amend = void_match if line.kind == "void" else restore_match
            amend(self._store, self._pool, match, ReasonRequest(reason_of(line)), **own)
        else:
            amend_player = disqualify if line.kind == "disqualify" else reinstate
            request = DisqualifyRequest(since=line.time, reason=reason_of(line), match=line.match)
            amend_player(self._store, self._pool, player, request, **own)
        return True


def _identity(log_record: LogRecord) -> tuple[Any, ...]:
    """Return what makes an amendment the same as another."""
    if log_record.kind == "correct":
        says = _same(msgspec.json.decode(log_record.content, type=MatchRequest))
    elif log_record.kind == "settings":
        says = _same_settings(content_of(log_record.content))
    else:
        says = msgspec.json.decode(log_record.content, type=ReasonRequest).reason
    return (
        log_record.kind,
        log_record.match,
        log_record.player,
        says,
        log_record.posted_time,
        log_record.received,
    )


def _same_settings(content: SettingsContent) -> str:
    """Return what a change of settings says, in one way of writing it."""
    plain = [content.settings, content.reason]
    return msgspec.json.encode(plain, order="deterministic").decode()


def _same(request: MatchRequest) -> str:
    """Return what a match says but its time, in one way of writing it."""
    plain = msgspec.structs.replace(request, match=id_text(request.match), time=None)
    return msgspec.json.encode(plain, order="deterministic").decode()


#: Number of the archive of a season that came from elsewhere: no pool has it.
_ELSEWHERE = 0


def plant_seed(store: Store, pool: str, content: bytes | None) -> None:
    """Let a pool begin with the state of a log, as it does already or as it is still empty.

    Raises : ConflictError where it began with another; InvalidDataError
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
        state = _state(content, rules)
        players = write_seed_ratings(connection, record.id, record.generation, rules, state)
        pools.add_seed(connection, record.id, Seed(_ELSEWHERE, "{}", None, players), content)
        change_pool(connection, record.id, players=players, follows=_ELSEWHERE)


def _state(content: bytes, rules: PoolRules) -> PoolState:
    """Return the state that is packed. Raises : InvalidDataError."""
    try:
        found = PoolState.from_bytes(zlib.decompress(content), "the seed of the log")
    except zlib.error as error:
        raise InvalidDataError([], f"the seed of the log is damaged: {error}") from error
    if found.system != rules.system:
        raise InvalidDataError([], "the seed of the log is of another system than the pool's")
    return found


#: Name of the pool.
DEMO = "demo"
_SETTINGS: dict[str, object] = {"public": True, "placement_matches": 5, "late": "replay"}


def fill_demo(store: Store, now: int) -> ImportMessage:
    """Make the pool, which anybody may read, and bring the sample into it; once.

    now : microseconds since 1970
    Raises : ConflictError where there is another pool of its name
    """
    with as_file(files("equipoise") / "sample" / SAMPLE) as path:
        request = ImportRequest(
            history=HistoryRequest(source=str(path)), create=True, settings=_SETTINGS
        )
        return import_pool(store, DEMO, request, now)

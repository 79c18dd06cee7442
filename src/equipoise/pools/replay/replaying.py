"""Rating a pool again beside its readers, and removing what that leaves.

They are deleted in small steps, so that no writer waits long.

A replay rates the log from the first position that changed, and writes ratings and changes of a new
generation in small transactions. Readers see the old generation, and writers post, until the swap:
one transaction that rates the few matches left and makes the new generation the current one. One
process replays a pool at a time, by a lease. A replay that is stopped or fails leaves the ratings
of the pool unchanged, and the next process begins again.

After a correction, a restored match or a late match it may be impossible to rate a log to its end:
a solver does not converge, or a player is left without a rating. Every replay would fail in the
same way, and no later amendment would count. So the match at fault is voided in the log, with the
reason. This is an amendment like any other: an administrator can correct the match and restore it.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec
import numpy as np
from sqlalchemy import Connection, Table

from equipoise.arrays import Ints
from equipoise.errors import ConflictError, ConvergenceError, EquipoiseError, InvalidDataError
from equipoise.messages.matches import DifferenceMessage, PlayerDifference, ReasonRequest
from equipoise.pools.amending import void_match
from equipoise.pools.pool.pools import code_version
from equipoise.pools.pool.rules import rules_of
from equipoise.pools.pool.settings import rules_through, update_leaderboard, with_parameters
from equipoise.pools.posting.rating import LoggedMatch
from equipoise.pools.posting.running import RunningPool, partial_states
from equipoise.pools.records import (
    Amendments,
    Eligibility,
    Piece,
    amendments_of,
    counted_matches,
    counted_piece,
    latest_of,
    waiting_from,
)
from equipoise.pools.replay.states import (
    Numbers,
    PoolPast,
    difference,
    differences,
    keep_checkpoints,
    position_before,
    running_from_start,
    running_numbers,
    stored_numbers,
)
from equipoise.store import (
    changes,
    checkpoints,
    log,
    pools,
    ratings,
    webhooks,
)
from equipoise.store.bulk import sizes_of, without_collection
from equipoise.store.checkpoints import Checkpoint, PartialEnd
from equipoise.store.connection import Store
from equipoise.store.keys import add_audit_row
from equipoise.store.pools import (
    START,
    PoolRecord,
    Position,
    ReplayRecord,
    add_replay,
    change_pool,
    get_pool,
    last_through,
    pools_with_work,
)
from equipoise.store.schema import now

logger = logging.getLogger(__name__)


def acquire_lease(store: Store, pool: str, owner: str) -> PoolRecord | None:
    """Lease the replay of a pool; None if it needs none, or another process has the lease."""
    with store.write() as connection:
        record = get_pool(connection, pool, lock=True)
        if record.dirty is None:
            return None
        if record.replay_until is not None and record.replay_until >= now():
            return None
        # A replay that was given up has left rows of its generation.
        given_up = record.replay_generation
        change_pool(
            connection,
            record.id,
            replay_generation=max(record.generation, given_up or 0) + 1,
            replay_owner=owner,
            replay_until=now() + store.sizes.lease,
            garbage=record.garbage or given_up is not None,
        )
        return get_pool(connection, record.name)


def _leased_pool(connection: Connection, leased: PoolRecord) -> PoolRecord:
    """Return a leased pool, locked, after renewing its lease.

    Raises : ConflictError if another process has taken the replay over
    """
    record = get_pool(connection, leased.name, lock=True)
    mine = leased.replay_owner, leased.replay_generation
    if (record.replay_owner, record.replay_generation) != mine:
        raise ConflictError(f"the replay of pool {record.name} was taken over")
    change_pool(connection, record.id, replay_until=now() + sizes_of(connection).lease)
    return record


def renew_lease(store: Store, leased: PoolRecord) -> None:
    """Renew a lease. Raises : ConflictError if another process took the replay over."""
    with store.write() as connection:
        _leased_pool(connection, leased)


def release_lease(store: Store, leased: PoolRecord) -> None:
    """Give up a lease. Raises : ConflictError if another process took the replay over."""
    with store.write() as connection:
        _leased_pool(connection, leased)
        change_pool(connection, leased.id, replay_owner=None, replay_until=None)


def collect_garbage(store: Store, pool: str, *, stop: Callable[[], bool] = lambda: False) -> bool:
    """Delete the rows of older generations, unless a replay runs; return whether all are gone."""
    with store.read() as connection:
        record = get_pool(connection, pool)
    if not record.garbage:
        return True
    if record.replay_until is not None and record.replay_until >= now():
        return False
    return clear(store, pool, stop)


def clear(
    store: Store, pool: str, stop: Callable[[], bool], leased: PoolRecord | None = None
) -> bool:
    """Delete rows that no reader sees and no replay writes; return whether all are gone.

    leased : the pool with the lease of the replay that does this; the lease is renewed
    """
    after: tuple[Any, ...] | None = None
    seen: tuple[int, int | None] | None = None
    tables: list[Table] = []
    while not stop():
        # After a crash the same rows are deleted once more.
        with store.write(durable=False) as connection:
            if leased is None:
                record = get_pool(connection, pool, lock=True)
            else:
                record = _leased_pool(connection, leased)
            if not record.garbage:
                return True
            # After a swap, or a replay given up, rows may be garbage that were not before.
            if seen != (record.generation, record.replay_generation):
                after, seen = None, (record.generation, record.replay_generation)
                tables = list(pools.VERSIONED)
            table, sizes = tables[0], store.sizes
            limit = sizes.partial_rows if "content" in table.c else sizes.rows
            condition = pools.unseen(table, record)
            after = pools.forget_piece(connection, table, record.id, after, limit, condition)
            if after is None:
                del tables[0]
            if not tables:
                change_pool(connection, record.id, garbage=False)
                return True
        time.sleep(0.001)
    return False


#: Bytes of checkpoints that are kept in memory until the swap, at most.
_CHECKPOINT_BYTES = 256 * 2**20


def pending_pools(store: Store) -> list[str]:
    """Return the pools with background work that no process does yet."""
    with store.read() as connection:
        return [pool.name for pool in pools_with_work(connection, now())]


def maintain_pool(
    store: Store, pool: str, *, owner: str, stop: Callable[[], bool]
) -> DifferenceMessage | None:
    """Do the background work of a pool: replay, deletion of old rows, checkpoints, leaderboard.

    owner : unique name of the process
    stop : called often; True leaves the rest for later
    Returns : what a replay changed that was swapped in, None without one
    """
    swapped = replay_pool(store, pool, owner=owner, stop=stop)
    collect_garbage(store, pool, stop=stop)
    keep_checkpoints(store, pool)
    update_leaderboard(store, pool, stop=stop)
    return swapped


def rerate(store: Store, pool: str, *, key: int | None = None) -> None:
    """Request a replay of the whole log of a pool, as after an upgrade of the code.

    key : number of the key of the request
    """
    with store.write() as connection:
        record = get_pool(connection, pool, lock=True)
        change_pool(connection, record.id, dirty=START)
        add_audit_row(connection, "pool.rerate", now=now(), key=key, pool=pool)


@dataclass(slots=True, eq=False)
class _Replay:
    """A running replay.

    pool : as it was when the replay began, with its lease
    begin : position from which changes are written again
    through : the last log record that it takes into account
    after : position up to which the log was read
    interval : participations between two checkpoints
    partial_end : where the last partial checkpoint ends; partial_at : participations up to it
    renames : earlier ids of players -> present ones
    held : checkpoints so far; held_at : participations up to the last of them
    listed : what it has changed, apart from the players in the rows `late`, who were rated since
    """

    store: Store
    pool: PoolRecord
    stop: Callable[[], bool]
    generation: int
    begin: Position
    through: int
    running: RunningPool
    after: Position
    started: int
    interval: int
    partial_end: Position
    partial_at: int
    renames: Mapping[str, str]
    held: list[Checkpoint] = field(default_factory=list)
    held_at: int = 0
    listed: list[PlayerDifference] = field(default_factory=list)
    late: list[Ints] = field(default_factory=list)


def replay_pool(
    store: Store, pool: str, *, owner: str, stop: Callable[[], bool] = lambda: False
) -> DifferenceMessage | None:
    """Replay a pool from the first position that changed, if any, and swap the result in.

    A match that cannot be rated is voided in the log, so that the next replay gets further.
    Returns : what changed, None if nothing was swapped in
    Raises : ConvergenceError, InvalidDataError if the log cannot be rated and no match is at fault
    """
    leased = acquire_lease(store, pool, owner)
    if leased is None:
        return None
    try:
        return _replay_leased(store, leased, stop)
    except (ConvergenceError, InvalidDataError):
        if not _void_unratable(store, pool, lambda: renew_lease(store, leased)):
            raise
    release_lease(store, leased)
    return None


def _replay_leased(
    store: Store, leased: PoolRecord, stop: Callable[[], bool]
) -> DifferenceMessage | None:
    """Replay a leased pool and swap the result in; return what changed, None if it was stopped."""
    if not clear(store, leased.name, stop, leased):
        release_lease(store, leased)
        return None
    replay = _begin(store, leased, stop)
    if not _catch_up(replay):
        return None
    running, size = replay.running, store.sizes.rows
    everyone = np.arange(len(running.players))
    for low in range(0, len(everyone), size):
        rows = running.ratings(everyone[low : low + size])
        if not _step(replay, _put_ratings, rows):
            return None
    # Comparing all players takes longer than writers should wait.
    with store.read() as connection, without_collection():
        before = stored_numbers(connection, leased)
        replay.listed = differences(before, running_numbers(running, everyone))
    replay.late = []
    if not _catch_up(replay, with_ratings=True):
        return None
    changed = _swap(replay)
    _store_checkpoints(replay)
    return changed


def _begin(store: Store, pool: PoolRecord, stop: Callable[[], bool]) -> _Replay:
    """Return the replay at the position from which it writes."""
    begin = START if pool.dirty is None else pool.dirty
    with store.read() as connection:
        amendments = amendments_of(connection, pool)
        rules = rules_through(connection, pool, amendments.through)
        past = PoolPast(connection, pool, rules, amendments)
        running = past.running_before(begin, lambda: renew_lease(store, pool))
        known = checkpoints.last_partial_before(connection, pool, begin)
    running.matches, running.board_day = 0, pool.board_day
    return _Replay(
        store=store,
        pool=pool,
        stop=stop,
        generation=pool.replay_generation or 0,
        begin=begin,
        through=amendments.through,
        running=running,
        after=max(position_before(begin), running.position),
        started=now(),
        interval=pool.checkpoint_every(store.sizes),
        partial_end=START if known is None else known.position,
        partial_at=running.participations,
        renames=amendments.renames,
        held_at=running.participations,
    )


def _next_piece(connection: Connection, replay: _Replay) -> Piece:
    """Return the next matches to rate.

    Eligibility is read again each time: a disqualification during the replay holds for the matches
    that are posted after it. The log is read up to the last match that is rated, so that matches
    posted after this come after what was read: void matches may be at any later time.
    """
    record = get_pool(connection, replay.pool.name)
    amendments = amendments_of(connection, record, replay.through)
    until = START[0] if record.rated_to is None else record.rated_to
    return counted_piece(connection, record, amendments, replay.after, until)


def _catch_up(replay: _Replay, with_ratings: bool = False) -> bool:
    """Rate matches until few are left; return False if the replay was stopped."""
    while True:
        with replay.store.read() as connection, without_collection():
            piece = _next_piece(connection, replay)
        teams = (team for match in piece.matches for team in match.request.teams)
        players = sum(len(team.players) for team in teams)
        if piece.last and players <= replay.store.sizes.players_left:
            return True
        if not _rate_piece(replay, piece, with_ratings):
            return False


def _rate_piece(replay: _Replay, piece: Piece, with_ratings: bool) -> bool:
    """Rate a piece and write the result in small steps; return False if it was stopped."""
    before = replay.running.participations
    with without_collection():
        rows, touched = replay.running.rate(piece.matches)
        touched = np.unique(touched)
    replay.late.append(touched)
    size = replay.store.sizes.rows
    for low in range(0, len(rows["player"]), size):
        part = {name: values[low : low + size] for name, values in rows.items()}
        if not _step(replay, _put_changes, part):
            return False
    for low in range(0, len(touched) if with_ratings else 0, size):
        found = replay.running.ratings(touched[low : low + size])
        if not _step(replay, _put_ratings, found):
            return False
    replay.after = piece.end
    _make_checkpoint(replay)
    _make_partial_checkpoint(replay, before)
    return True


def _put_changes(
    connection: Connection, pool: PoolRecord, replay: _Replay, rows: dict[str, Sequence[Any]]
) -> None:
    changes.put(connection, pool.id, replay.generation, rows)


def _put_ratings(
    connection: Connection, pool: PoolRecord, replay: _Replay, rows: dict[str, Sequence[Any]]
) -> None:
    """Write ratings, marked by who is disqualified now; `pool` is locked."""
    eligible = Eligibility.of_players(connection, pool, rows["player"], replay.renames)
    marked = {**rows, "disqualified": eligible.flags(rows["player"])}
    ratings.put(connection, pool.id, replay.generation, marked)


def _step(
    replay: _Replay,
    put: Callable[[Connection, PoolRecord, _Replay, dict[str, Sequence[Any]]], None],
    rows: dict[str, Sequence[Any]],
) -> bool:
    """Write rows and renew the lease; return False if the replay was stopped.

    The swap makes the rows durable. After a crash before it the replay begins again.
    """
    if replay.stop():
        release_lease(replay.store, replay.pool)
        return False
    with replay.store.write(durable=False) as connection:
        put(connection, _leased_pool(connection, replay.pool), replay, rows)
    # Neither SQLite nor locks are fair: without a pause a waiting writer may starve.
    time.sleep(0.001)
    return True


def _make_checkpoint(replay: _Replay) -> None:
    """Make a checkpoint if one is due. Checkpoints are stored after the swap."""
    running = replay.running
    if running.participations - replay.held_at < replay.interval:
        return
    replay.held_at = running.participations
    replay.held.append(running.checkpoint())
    while len(replay.held) > replay.store.sizes.checkpoints or (
        len(replay.held) > 1
        and sum(len(checkpoint.content) for checkpoint in replay.held) > _CHECKPOINT_BYTES
    ):
        del replay.held[-2::-2]
        replay.interval *= 2


def _make_partial_checkpoint(replay: _Replay, before: int) -> None:
    """Store a partial checkpoint of the new generation if one is due.

    before : participations before the last piece
    """
    running, end = replay.running, replay.partial_end
    states = partial_states(
        replay.store.sizes,
        before - replay.partial_at,
        running.participations - replay.partial_at,
        lambda: running.packed_after(end),
    )
    if states is None:
        return
    with replay.store.write() as connection:
        record = _leased_pool(connection, replay.pool)
        made = PartialEnd(running.position, replay.generation, end)
        checkpoints.put_partial(connection, record.id, made, states, running.state.shared)
    replay.partial_end, replay.partial_at = running.position, running.participations


def _swap(replay: _Replay) -> DifferenceMessage:
    """Rate the matches left and let readers see the new generation, in one transaction.

    Return what changed.
    """
    running = replay.running
    code = code_version(running.rules.settings.system)
    with replay.store.write() as connection:
        record = _leased_pool(connection, replay.pool)
        last = False
        while not last:
            piece = _next_piece(connection, replay)
            last, replay.after = piece.last, piece.end
            if not piece.matches:
                continue
            rows, touched = running.rate(piece.matches)
            touched = np.unique(touched)
            changes.put(connection, record.id, replay.generation, rows)
            _put_ratings(connection, record, replay, running.ratings(touched))
            replay.late.append(touched)
        found = _difference(connection, record, replay)
        checkpoints.forget_from(connection, record.id, replay.begin)
        outbox_last = _append_events(connection, record, replay)
        # If the settings or the day changed during the replay, some ratings were written with the
        # old ones.
        changed = (record.settings, record.board_day) != (
            replay.pool.settings,
            replay.pool.board_day,
        )
        add_replay(
            connection,
            record.id,
            ReplayRecord(
                generation=replay.generation,
                through_seq=replay.through,
                begins=replay.begin,
                started=replay.started,
                finished=now(),
                difference=msgspec.json.encode(found).decode(),
            ),
        )
        change_pool(
            connection,
            record.id,
            generation=replay.generation,
            begins=replay.begin,
            dirty=_next_replay_from(connection, record, replay),
            garbage=True,
            replay_generation=None,
            replay_owner=None,
            replay_until=None,
            players=len(running.players),
            shared=running.state.shared,
            settings=with_parameters(record, running.rules),
            # Amendments during the replay may have moved the last match back.
            rated_to=latest_of(record.last_time, running.last_time),
            code=code if replay.begin == START else record.code,
            checkpoint_due=running.participations - replay.held_at,
            partial_due=max(running.participations - replay.partial_at, 1),
            partial_end=replay.partial_end,
            # The leaderboard has the order of when the replay began; `maintain_pool` updates it.
            board_day=record.board_day if changed else running.board_day,
            board_from="" if changed else None,
            outbox_last=outbox_last,
        )
    return found


def _difference(connection: Connection, pool: PoolRecord, replay: _Replay) -> DifferenceMessage:
    """Return what a replay that has rated all matches changes; pool : as readers see it."""
    running, none = replay.running, np.zeros(0, np.int64)
    rows = np.unique(np.concatenate([none, *replay.late]))
    names = [running.players[row] for row in rows.tolist()]
    shown = ratings.ratings_of(connection, pool.id, pool.generation, names)
    before = {name: Numbers(rating.rating, rating.deviation) for name, rating in shown.items()}
    after = running_numbers(running, rows)
    return difference(before, after, running.matches, replay.listed)


def _append_events(connection: Connection, pool: PoolRecord, replay: _Replay) -> int:
    """Write the events of the swap into the outbox; return the last number there."""
    happened: list[tuple[str, int]] = []
    if pool.webhooks & webhooks.KINDS["match.rated"]:
        before = last_through(connection, pool.id)
        late = log.waiting_matches(connection, pool.id, before, replay.through)
        happened += [("match.rated", seq) for seq in late]
    if pool.webhooks & webhooks.KINDS["ratings.corrected"]:
        happened.append(("ratings.corrected", replay.generation))
    return webhooks.append(connection, pool.id, pool.outbox_last, pool.id, happened, now())


def _next_replay_from(connection: Connection, pool: PoolRecord, replay: _Replay) -> Position | None:
    """Return the position from which the pool needs another replay after this one, or None."""
    if pool.dirty == START and replay.begin != START:
        # A complete replay was requested in the meantime. That is not in the log.
        return START
    return waiting_from(connection, pool, replay.through)


def _store_checkpoints(replay: _Replay) -> None:
    """Store the checkpoints of the replay, unless the pool was replayed again.

    Each has its own transaction, as they are large. The last one, most often needed, comes first.
    """
    for left, checkpoint in zip(range(len(replay.held))[::-1], reversed(replay.held), strict=True):
        with replay.store.write() as connection:
            record = get_pool(connection, replay.pool.name, lock=True)
            if record.id != replay.pool.id or record.generation != replay.generation:
                return
            if record.erased != replay.pool.erased:
                # The checkpoint has a name that was erased in the meantime.
                return
            checkpoints.add_checkpoint(connection, record.id, checkpoint)
            if left == 0:
                interval = max(record.checkpoint_interval, replay.interval)
                while checkpoints.thin(connection, record.id):
                    interval *= 2
                change_pool(connection, record.id, checkpoint_interval=interval)


def _void_unratable(store: Store, pool: str, beat: Callable[[], None]) -> bool:
    """Void the match because of which the log of a pool cannot be rated to its end.

    That is the match that fails, if it waits for this replay because it was corrected, restored or
    late. Otherwise it is the newest match that waits and is rated before the one that fails. If
    there is none, it is the match that fails.

    beat : called often, to renew the lease of the replay
    Returns : whether a match was voided, so that another replay gets further
    """
    with store.read() as connection:
        record = get_pool(connection, pool)
        amendments = amendments_of(connection, record)
        failure = _first_failure(connection, record, amendments, beat)
        if failure is None:
            return False
        failing, error = failure
        fails = str(failing.request.match)
        culprit = _culprit(connection, record, amendments, failing)
    system = rules_of(record.settings).settings.system
    what = "this match" if culprit == fails else f"match {fails} after this one"
    why = str(error).replace("\n", " ")
    reason = (
        f"Voided by the service: {system} cannot rate {what} ({why}). "
        "Correct this match, then restore it."
    )
    try:
        void_match(store, pool, culprit, ReasonRequest(reason[:2000]), key=None, now=now())
    except ConflictError as conflict:
        # The pool is an archive, or the match was voided in the meantime.
        logger.warning("match %s of pool %s was not voided: %s", culprit, pool, conflict)
        return False
    logger.warning("pool %s, match %s: %s", pool, culprit, reason)
    return True


def _first_failure(
    connection: Connection, pool: PoolRecord, amendments: Amendments, beat: Callable[[], None]
) -> tuple[LoggedMatch, EquipoiseError] | None:
    """Return the first match that fails in the replay that the pool waits for, and why, or None."""
    rules = rules_through(connection, pool)
    begin = START if pool.dirty is None else pool.dirty
    try:
        running = PoolPast(connection, pool, rules, amendments).running_before(begin, beat)
        after = max(position_before(begin), running.position)
    except (ConvergenceError, InvalidDataError):
        # A match before that position fails, as may happen after an upgrade of the code.
        running, after = running_from_start(connection, pool, rules, amendments.renames), START
    for matches in counted_matches(connection, pool, amendments, after):
        beat()
        before = _copy(running)
        try:
            _, rows = running.rate(matches)
            running.ratings(rows)
        except (ConvergenceError, InvalidDataError):
            failure = before.first_failure(matches)
            return None if failure is None else (matches[failure[0]], failure[1])
    return None


def _copy(running: RunningPool) -> RunningPool:
    """Return a copy of a pool, which rating does not change."""
    return replace(
        running,
        players=list(running.players),
        row_of=dict(running.row_of),
        state=running.state.copy(),
        last_changes=deepcopy(running.last_changes),
    )


def _culprit(
    connection: Connection, pool: PoolRecord, amendments: Amendments, failing: LoggedMatch
) -> str:
    """Return the id of the match to void: see `_void_unratable`."""
    done = last_through(connection, pool.id)
    waiting: dict[str, int] = {}
    for seq in log.waiting_matches(connection, pool.id, done, pool.last_seq):
        log_record = log.record_at(connection, pool.id, seq)
        if log_record is not None:
            waiting[str(log_record.match)] = seq
    for log_record in log.amendments(connection, pool.id) if pool.amendments else []:
        if (
            log_record.seq > done
            and log_record.kind in ("correct", "restore")
            and log_record.needs_replay
        ):
            waiting[str(log_record.match)] = log_record.seq
    fails = str(failing.request.match)
    if fails in waiting:
        return fails
    records = log.matches_by_id(connection, pool.id, waiting)
    earlier = [
        (seq, match)
        for match, seq in waiting.items()
        if match not in amendments.void and amendments.position(records[match]) < failing.position
    ]
    return max(earlier)[1] if earlier else fails

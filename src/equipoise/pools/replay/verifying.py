"""Verifying a pool: its stored ratings follow from its log.

Not compared are values that follow from nothing that is stored: the version of the code, what a
past replay changed and when it ran, webhooks and events that wait for delivery. Nor are those that
only say when background work is done, such as the interval between checkpoints.
"""

from __future__ import annotations

import struct
import zlib
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from operator import attrgetter, itemgetter
from typing import Any

import msgspec
import numpy as np
from sqlalchemy import Connection

from equipoise._jit import working_time
from equipoise.arrays import Floats, Ints
from equipoise.errors import EquipoiseError, InvalidDataError
from equipoise.messages.pools import PoolRequest, SeasonRequest, VerifyMessage
from equipoise.pools.contents import content_of
from equipoise.pools.pool.rules import REPLAYED, decays, rules_of
from equipoise.pools.pool.settings import first_settings, with_settings
from equipoise.pools.posting.rating import LoggedMatch, day_of
from equipoise.pools.posting.running import RunningPool
from equipoise.pools.profiles import compare_profiles
from equipoise.pools.records import (
    Piece,
    amendments_of,
    counted_piece,
    last_counting_time,
    latest_of,
    read_known,
    waiting_from,
)
from equipoise.pools.replay.chain_checks import Findings, LogWalk
from equipoise.pools.replay.states import running_from_start
from equipoise.rating.pool_state import PoolState
from equipoise.rating.state import State, pack_players
from equipoise.store import changes, checkpoints, log, pools, ratings
from equipoise.store.bulk import sizes_of, without_collection
from equipoise.store.changes import BY_POSITION
from equipoise.store.checkpoints import PartialEnd
from equipoise.store.connection import Store
from equipoise.store.pools import (
    FIRST_GENERATION,
    START,
    PoolRecord,
    Position,
    get_pool,
    pool_by_number,
    rated_through,
    replays_of,
    seed_after,
)
from equipoise.wording import counted


def compare_settings(connection: Connection, pool: PoolRecord, findings: Findings) -> None:
    """Compare the settings of a pool with its first ones and the changes in the log."""
    current, settings = rules_of(pool.settings).settings, first_settings(pool)
    through = rated_through(connection, pool)
    try:
        for record in log.amendments(connection, pool.id) if pool.amendments else []:
            if record.kind == "settings":
                changed = content_of("settings", record.content).settings
                if through is not None and record.seq > through:
                    # These wait for a replay.
                    changed = {
                        name: value for name, value in changed.items() if name not in REPLAYED
                    }
                settings = with_settings(settings, changed)
    except (EquipoiseError, msgspec.MsgspecError) as error:
        findings.add(f"a change of settings in the log cannot be read: {error}")
    if settings != current:
        names = ", ".join(
            name
            for name in PoolRequest.__struct_fields__
            if getattr(settings, name) != getattr(current, name)
        )
        findings.add(f"the settings of the pool are not those of the log: {names}")


def compare_pool(
    connection: Connection, pool: PoolRecord, players: int, written: int, findings: Findings
) -> None:
    """Compare the row of a pool with its log and with the end of a replay.

    players, written : how many players and changes the replay has
    """
    findings.check(
        pool.players == players,
        f"the pool counts {counted(pool.players, 'player')}, the log has {players:,}",
    )
    stored = changes.count_of(connection, pool)
    findings.check(
        stored == written,
        f"{counted(stored, 'change is', 'changes are')} stored, and the log gives {written:,}",
    )
    last = last_counting_time(connection, pool, amendments_of(connection, pool))
    waits = pool.dirty is not None and latest_of(last, pool.rated_to) == pool.rated_to
    findings.check(
        pool.last_time == last and (pool.rated_to == last or waits),
        "the time of the last match of the pool is not that of the log",
    )
    erasures = [0, *log.numbers_of_kind(connection, pool.id, "erase")]
    findings.check(
        pool.erased == erasures[-1], "the last erasure of a name is not the one in the log"
    )
    _compare_known_ratings(connection, pool, findings)
    compare_profiles(connection, pool, findings)
    day = pool.board_day
    findings.check(
        decays(rules_of(pool.settings).settings) == (day is not None)
        and (day is None or day == START[0] or day == day_of(day)),
        "the day to which ratings shown have decayed disagrees with the settings",
    )
    _compare_replays(connection, pool, findings)
    _compare_seasons(connection, pool, findings)


def _compare_known_ratings(connection: Connection, pool: PoolRecord, findings: Findings) -> None:
    """Compare what is said of the known ratings of a pool with its log."""
    numbers = [0, *log.numbers_of_kind(connection, pool.id, "initial")]
    findings.check(
        pool.initial == numbers[-1], "the known ratings that count are not the last ones in the log"
    )
    first = log.first_match_number(connection, pool.id)
    findings.check(
        first is None or pool.initial < first, "the known ratings came after the first match"
    )
    known = read_known(connection, pool)
    findings.check(
        pool.known_ratings == (0 if known is None else len(known.content.players)),
        "the number of players with known ratings differs",
    )


def _compare_replays(connection: Connection, pool: PoolRecord, findings: Findings) -> None:
    """Compare the generation, and what waits for a replay, with the replays and the log."""
    every = replays_of(connection, pool.id)
    last = every[-1] if every else None
    findings.check(
        pool.generation == (FIRST_GENERATION if last is None else last.generation)
        and pool.begins == (START if last is None else last.begins),
        "the generation of the ratings is not that of the last replay",
    )
    through = [0, *(replay.through_seq for replay in every)]
    findings.check(
        through == sorted(through) and through[-1] <= pool.last_seq,
        "the records that replays took into account are not in the order of the log",
    )
    # A replay of everything can be requested at any time.
    if pool.dirty != START:
        waiting = waiting_from(connection, pool, through[-1])
        findings.check(
            pool.dirty == waiting, "what waits for a replay is not what waits in the log"
        )


def _compare_seasons(connection: Connection, pool: PoolRecord, findings: Findings) -> None:
    """Compare the end of a season, and the seed of the next one, with each other."""
    after = seed_after(connection, pool.id)
    following = None if after is None else pool_by_number(connection, after[0])
    if pool.closed is not None or following is not None:
        season = None
        if after is not None:
            season = msgspec.json.decode(after[1].request, type=SeasonRequest).season
        findings.check(
            following is not None
            and following.follows == pool.id
            and pool.closed == following.created
            and pool.season == season
            and pool.name == f"{pool.archive_of}.{season}",
            "the end of its season disagrees with the season after it",
        )
    findings.check(
        pool.closed is not None or (pool.archive_of, pool.season) == (None, None),
        "its season has not ended, but it has the name of one",
    )
    _compare_seed(connection, pool, findings)


def _compare_seed(connection: Connection, pool: PoolRecord, findings: Findings) -> None:
    """Compare what is said of the seed of a pool with its content."""
    seed = pools.seed_of(connection, pool.id)
    if seed is None or pool.follows is None:
        findings.check(seed is None and pool.follows is None, "the seed of the season is missing")
        return
    findings.check(
        seed.archive == pool.follows, "the seed is of another season than the one before"
    )
    content, players = pools.content_of(connection, pool.id), 0
    if content is not None:
        try:
            players = len(PoolState.from_bytes(zlib.decompress(content), "seed").player_ids)
        except (zlib.error, EquipoiseError) as error:
            findings.add(f"the seed cannot be read: {error}")
            return
    findings.check(seed.players == players, "the number of players in the seed differs")


#: Columns of a rating, and the sentence on a stored value that is not the replayed one.
_COLUMNS = {
    "rating": "the stored rating is {!r}, not {!r}",
    "deviation": "the stored deviation is {!r}, not {!r}",
    "matches": "the stored number of matches is {!r}, not {!r}",
    "last_time": "the stored time of the last match is {!r}, not {!r}",
    "ordering": "the leaderboard shows a different rating",
    "provisional": "the mark 'provisional' disagrees with the settings",
    "state": "the stored state differs from the replayed one",
    "change_time": "the last change is not the one of the log",
    "change_seq": "the last change is not the one of the log",
    "disqualified": "the mark 'disqualified' disagrees with the log",
}
#: Columns that follow from those before them, and that a change of settings writes later.
_ON_BOARD = frozenset({"ordering", "provisional"})
_POSITION_OF = attrgetter("position")


def check_ratings(
    connection: Connection, pool: PoolRecord, running: RunningPool, findings: Findings
) -> None:
    """Compare everything that is stored of every player with the end of a replay."""
    running.board_day = pool.board_day
    through = rated_through(connection, pool)
    eligible = amendments_of(connection, pool, through).eligibility
    seen = np.zeros(len(running.players), bool)
    for rows in ratings.all_rows(connection, pool.id, pool.generation):
        for player in (row.player for row in rows if row.player not in running.row_of):
            findings.add(f"player {player}: a rating is stored that the log does not give")
        replayed = [row for row in rows if row.player in running.row_of]
        if not replayed:
            continue
        players = [row.player for row in replayed]
        at = np.array([running.row_of[player] for player in players], np.int64)
        seen[at] = True
        wrong: set[str] = set()
        last = players[-1] if pool.board_from is None else pool.board_from
        expected = {**running.ratings(at), "disqualified": eligible.flags(players)}
        for name, sentence in _COLUMNS.items():
            if list(map(attrgetter(name), replayed)) == expected[name]:
                continue
            for row, value in zip(replayed, expected[name], strict=True):
                stored = getattr(row, name)
                if stored == value:
                    continue
                if name not in _ON_BOARD:
                    wrong.add(row.player)
                elif row.player in wrong or row.player > last:
                    continue
                findings.add(f"player {row.player}: {sentence.format(stored, value)}")
    for player in sorted(running.players[row] for row in np.flatnonzero(~seen).tolist()):
        findings.add(f"player {player}: no rating is stored")
    if not _same_shared(running.state, pool.shared):
        findings.add("the state that all players share differs")


def _same_shared(state: State, shared: dict[str, Floats]) -> bool:
    """Return whether numbers of a pool are those of a state."""
    return state.shared.keys() == shared.keys() and all(
        np.array_equal(values, shared[name], equal_nan=True)
        for name, values in state.shared.items()
    )


def _same_states(stored: Mapping[str, bytes], running: RunningPool, changed: Ints) -> bool:
    """Return whether packed states are those of a replay.

    changed : rows of the players who must be there. Others of the pool may be there too: those of a
        match that changed nothing
    """
    rows = list(map(running.row_of.get, stored))
    if None in rows:
        return False
    at = np.array(rows, np.int64)
    there = np.zeros(len(running.players), bool)
    there[at] = True
    return bool(there[changed].all()) and (
        list(stored.values()) == pack_players(running.state.take(at))
    )


def _same_pool(stored: RunningPool, running: RunningPool) -> bool:
    """Return whether two pools have the same players with the same states, in any order."""
    rows = list(map(running.row_of.get, stored.players))
    if len(rows) != len(running.players) or None in rows:
        return False
    at, every = np.array(rows, np.int64), np.arange(len(rows))
    if not np.bincount(at, minlength=len(rows)).all():
        return False  # One is there twice.
    one, other = stored.state.take(every), running.state.take(at)
    last = running.last_changes.take(at)
    return (
        one.table.tobytes() == other.table.tobytes()
        and _same_runs(one, other)
        and _same_shared(one, other.shared)
        and np.array_equal(stored.last_changes.time, last.time)
        and np.array_equal(stored.last_changes.seq, last.seq)
    )


def _same_runs(one: State, other: State) -> bool:
    """Return whether the ragged columns of two states are the same."""
    if one.runs is None or other.runs is None:
        return one.runs is other.runs
    return np.array_equal(one.runs.spans[:, 3], other.runs.spans[:, 3]) and all(
        one.runs.records(field).tobytes() == other.runs.records(field).tobytes()
        for field in range(one.runs.fields)
    )


#: After all positions.
_END: Position = (2**62, 2**62)
#: In rows of `BY_POSITION`: the place of the rating, and how many columns are the key.
_RATING, _KEY = BY_POSITION.index("rating"), 3
#: Values are compared as bytes, because 0.0 is equal to -0.0.
_encoded = msgspec.msgpack.encode

#: What is raised where a stored value is not what the code has written.
_UNREADABLE = (
    EquipoiseError,
    msgspec.MsgspecError,
    ArithmeticError,
    AttributeError,
    LookupError,
    TypeError,
    ValueError,
    struct.error,
    zlib.error,
)


def verify_pool(
    store: Store,
    pool: str,
    progress: Callable[[int, int], None] | None = None,
) -> VerifyMessage:
    """Return whether a replay of the whole log gives the stored ratings and changes.

    All is read in one transaction, as of its beginning. A pool that waits for a replay is compared
    with the log as of its last replay.
    progress : called with (matches replayed, matches in the log)
    Raises : NotFoundError
    """
    started, show = working_time(), progress or (lambda done, total: None)
    findings = Findings()
    replay: _Replay | None = None
    with store.read() as connection:
        record = get_pool(connection, pool)
        with without_collection():
            LogWalk.start(record).finish(connection, record, findings)
        try:
            replay = _Replay(connection, record, findings)
            last = False
            while not last:
                with without_collection():
                    last = replay.advance()
                show(replay.running.matches, record.matches)
        except _UNREADABLE as error:
            findings.add(f"what is stored cannot be read: {type(error).__name__}: {error}")
    return VerifyMessage(
        pool=pool,
        identical=findings.count == 0,
        matches=0 if replay is None else replay.running.matches,
        players=0 if replay is None else len(replay.running.players),
        changes=0 if replay is None else replay.written,
        different=findings.count,
        differences=findings.listed,
        seconds=working_time() - started,
        head=record.head.hex(),
        local_head=record.heads.local.hex(),
        chained_from=record.chained_from,
    )


class _Replay:
    """A replay of the whole log, which is compared with what is stored as it goes on.

    running : the pool at the position `after`
    amendments : those that the ratings of the pool take into account
    written : number of changes so far
    waiting : checkpoints to be compared, each with its position, and its end if it is a partial one
    """

    def __init__(self, connection: Connection, pool: PoolRecord, findings: Findings) -> None:
        self.connection, self.pool, self.findings = connection, pool, findings
        self.amendments = amendments_of(connection, pool, rated_through(connection, pool))
        self.running: RunningPool = running_from_start(
            connection, pool, rules_of(pool.settings), self.amendments.renames
        )
        self.waiting: list[tuple[Position, PartialEnd | None]] = [
            *((position, None) for position in checkpoints.positions(connection, pool.id)),
            *((end.position, end) for end in checkpoints.partial_ends(connection, pool)),
        ]
        self.waiting.sort(key=itemgetter(0))
        self.after = START
        self.written = 0

    def advance(self) -> bool:
        """Compare the next matches, at the end everything else; return whether this is the end."""
        connection, pool, findings = self.connection, self.pool, self.findings
        batch = self._next_batch()
        end = _END if batch.last else batch.end
        stored = changes.rows_after(connection, pool, self.after, end)
        self.written += _compare_changes(self._rate(batch.matches), stored, findings)
        self.after = batch.end
        if batch.last:
            for position, partial in self.waiting:
                self._compare_checkpoint(position, partial)
            compare_settings(connection, pool, findings)
            check_ratings(connection, pool, self.running, findings)
            compare_pool(connection, pool, len(self.running.players), self.written, findings)
        return batch.last

    def _next_batch(self) -> Piece:
        """Return the next matches to rate, as many as are rated at once."""
        last, after, players = False, self.after, 0
        matches: list[LoggedMatch] = []
        while not last and players < sizes_of(self.connection).batch:
            piece = counted_piece(self.connection, self.pool, self.amendments, after)
            matches += piece.matches
            after, last = piece.end, piece.last
            players += sum([len(t.players) for match in piece.matches for t in match.request.teams])
        return Piece(matches, after, last)

    def _rate(self, matches: Sequence[LoggedMatch]) -> dict[str, Sequence[Any]]:
        """Rate matches, and compare the checkpoints between them; return their changes."""
        parts, begin = [], 0
        while self.waiting and matches:
            position, partial = self.waiting[0]
            at = bisect_right(matches, position, lo=begin, key=_POSITION_OF)
            if at == len(matches):
                break
            if at > begin:
                parts.append(self.running.rate(matches[begin:at])[0])
            begin = at
            self._compare_checkpoint(position, partial)
            del self.waiting[0]
        if begin < len(matches):
            parts.append(self.running.rate(matches[begin:])[0])
        if len(parts) < 2:
            return parts[0] if parts else {}
        return {name: list(chain(*(part[name] for part in parts))) for name in parts[0]}

    def _compare_checkpoint(self, position: Position, partial: PartialEnd | None) -> None:
        """Compare a checkpoint with the replay at its position."""
        named = f"the checkpoint after record {position[1]}"
        if partial is not None:
            named = f"the partial checkpoint after record {position[1]}"
        try:
            same = self._is_same(position) if partial is None else self._is_same_partial(partial)
        except (InvalidDataError, TypeError, ValueError) as error:
            self.findings.add(f"{named} cannot be read: {error}")
            return
        self.findings.check(same, f"{named} differs from the replayed state")

    def _is_same(self, position: Position) -> bool:
        """Return whether the checkpoint at a position is that of the replay.

        Raises : InvalidDataError if it cannot be read
        """
        after = position[0], position[1] + 1
        saved = checkpoints.last_before(self.connection, self.pool.id, after)
        return saved is None or _same_pool(
            RunningPool.resume(self.running.rules, saved), self.running
        )

    def _is_same_partial(self, end: PartialEnd) -> bool:
        """Return whether a partial checkpoint is that of the replay.

        Raises : TypeError, ValueError if it cannot be read
        """
        running = self.running
        rows = checkpoints.partial_rows(self.connection, self.pool.id, end)
        states = {player: state for row in rows for player, state in row.states.items()}
        # Readers look a player up by the first ones of the rows.
        firsts = ["", *(next(iter(row.states), "") for row in rows[1:])]
        return (
            list(states) == sorted(player for row in rows for player in row.states)
            and [row.first for row in rows] == firsts
            and _same_states(states, running, running.changed_after(end.begins))
            and all(_same_shared(running.state, row.shared) for row in rows)
        )


def _compare_changes(
    rows: dict[str, Sequence[Any]], stored: list[tuple[Any, ...]], findings: Findings
) -> int:
    """Compare the changes of rated matches with the stored ones; return their number.

    rows : the changes as columns; none without matches
    """
    replayed = sorted(zip(*(rows[name] for name in BY_POSITION if rows), strict=True))
    if _encoded(stored) != _encoded(replayed):
        _find_differences(stored, replayed, findings)
    return len(replayed)


def _find_differences(
    stored: list[tuple[Any, ...]], replayed: list[tuple[Any, ...]], findings: Findings
) -> None:
    """Add the differences between stored and replayed rows of `BY_POSITION`."""
    kept_rows = {row[:_KEY]: row for row in stored}
    for row in replayed:
        kept = kept_rows.pop(row[:_KEY], None)
        _, seq, player, *_, rating, _ = row
        if kept is None:
            findings.add(f"record {seq}, player {player}: no change is stored")
        elif _encoded(kept) != _encoded(row):
            findings.add(
                f"record {seq}, player {player}: stored rating {kept[_RATING]!r}, "
                f"replayed {rating!r}"
            )
    for _, seq, player in kept_rows:
        findings.add(
            f"record {seq}, player {player}: a change is stored that the log does not give"
        )

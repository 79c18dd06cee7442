"""What the records of a log say together, and how one more is added.

A log consists of matches and their amendments, and no record is ever removed. `Amendments` is the
sum of the amendments up to one record: which matches are void or corrected, and, as `Eligibility`,
who may be rated when. `counted_matches` reads the matches that are rated, in the order of rating,
for everything that replays a log. `waiting_from` returns the position from which a pool needs a
replay because of late matches and amendments.

Whoever changes a pool makes a `Draft`. `record_change` locks the pool, appends the record, notes
from where the pool must be rated again, and writes the audit log, all in one transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import msgspec
from sqlalchemy import Connection

from equipoise.errors import InvalidDataError
from equipoise.messages.matches import Effect, MatchRequest
from equipoise.pools.contents import DescribeContent, KnownContent, content_of, effect_of
from equipoise.pools.pool.rules import PoolRules, logged_match
from equipoise.pools.posting.rating import LoggedMatch, day_of, players_of, renamed, without
from equipoise.rating.pool_state import known_state
from equipoise.rating.state import State
from equipoise.store import log
from equipoise.store.connection import Store
from equipoise.store.keys import add_audit_row
from equipoise.store.log import Kind, LoggedAs, LogRecord
from equipoise.store.pools import START, PoolRecord, Position, change_pool, get_pool, rated_through

#: Players of all pools whose known ratings are cached; those of one pool are in any case.
_MOST_CACHED = 500_000
_cached: dict[tuple[int, int, bytes], KnownRatings] = {}


@dataclass(frozen=True)
class KnownRatings:
    """The known ratings of a pool, as a log record has them before the first match.

    The state before the first match follows from the last such record, and is stored nowhere else.
    """

    content: KnownContent

    @cached_property
    def row_of(self) -> dict[str, int]:
        """The row of each player."""
        return {player: row for row, player in enumerate(self.content.players)}

    def of(self, player: str) -> tuple[float, float | None] | None:
        """Return the known rating and deviation of a player; None for a newcomer."""
        row = self.row_of.get(player)
        return None if row is None else (self.content.rating[row], self.content.deviation[row])

    def state(self, rules: PoolRules, players: Sequence[str] | None = None) -> State:
        """Return the state of players with a known rating before the first match.

        players : in this order; None for all in the order of the record
        """
        content = self.content
        if players is not None:
            rows = [self.row_of[player] for player in players]
            rating, deviation = content.rating, content.deviation
            content = KnownContent(
                list(players), [rating[row] for row in rows], [deviation[row] for row in rows]
            )
        return known_state(rules.system, content.ratings())


def read_known(connection: Connection, pool: PoolRecord) -> KnownRatings | None:
    """Return the known ratings of a pool from its log, None for none.

    Raises : InvalidDataError if the record was changed so that it cannot be read
    """
    if not pool.initial:
        return None
    record = log.record_at(connection, pool.id, pool.initial)
    if record is None or record.kind != "initial":
        raise InvalidDataError([], f"record {pool.initial} of the log has no known ratings")
    try:
        return KnownRatings(content_of("initial", record.content))
    except msgspec.MsgspecError as error:
        named = f"the known ratings in record {pool.initial} of the log"
        raise InvalidDataError([], f"{named} cannot be read: {error}") from error


def _players_of(keys: Iterable[tuple[int, int, bytes]]) -> int:
    known = (_cached.get(key) for key in keys)
    return sum(len(one.content.players) for one in known if one is not None)


def cached_known(connection: Connection, pool: PoolRecord) -> KnownRatings | None:
    """Return what `read_known` does, for readers who need a few players of it.

    Known ratings are cached by the salt of their record, which an erasure changes.
    """
    salt = log.salt_of(connection, pool.id, pool.initial) if pool.initial else b""
    key = (pool.id, pool.initial, salt)
    known = _cached.get(key)
    if known is None:
        known = read_known(connection, pool)
        if known is not None and salt:
            _cached[key] = known
            # The oldest go first.
            while len(kept := list(_cached)) > 1 and _players_of(kept) > _MOST_CACHED:
                _cached.pop(kept[0], None)
    return known


#: After all positions.
_END: Position = (2**62, 2**62)

#: Matches that are read at once to find the last one that counts.
_MOST_READ = 64


def renames_of(records: Iterable[LogRecord], through: int) -> dict[str, str]:
    """Return the present id of every player by earlier ids, from records in the order of the log.

    through : the last record that is taken into account; those that need no replay always are
    """
    renames: dict[str, str] = {}
    for record in records:
        if record.kind == "rename" and (record.seq <= through or not record.needs_replay):
            new = content_of("rename", record.content).to
            renames = {old: new if to == record.player else to for old, to in renames.items()}
            renames[str(record.player)] = new
            renames.pop(new, None)  # who gets an earlier id back
    return renames


def renames_rated(connection: Connection, pool: PoolRecord) -> dict[str, str]:
    """Return the renames that the ratings of a pool take into account, as `renames_of`."""
    records = log.renames(connection, pool.id) if pool.amendments else []
    through = rated_through(connection, pool) if records else None
    return renames_of(records, pool.last_seq if through is None else through)


def ids_of(renames: Mapping[str, str], player: str) -> list[str]:
    """Return the present id of a player, given any id, and then the earlier ones."""
    present = renames.get(player, player)
    return [present, *(old for old, new in renames.items() if new == present)]


class EligibilityRecord(NamedTuple):
    """A log record that disqualifies or reinstates a player, from a time on or in one match.

    since : that time; None for all matches that are posted after the record, and for one match
    effect : of a disqualification, as the record has it
    """

    seq: int
    disqualifies: bool
    since: int | None
    received: int
    effect: Effect | None = None

    @classmethod
    def of(cls, record: LogRecord) -> EligibilityRecord:
        """Return what a log record says of eligibility."""
        disqualifies = record.kind == "disqualify"
        effect = effect_of(record.kind, record.content)
        return cls(record.seq, disqualifies, record.posted_time, record.received, effect)


@dataclass(frozen=True, slots=True)
class Eligibility:
    """Who may be rated when.

    A record holds from a time on, or for a single match. The two kinds do not affect each other: a
    player is disqualified in a match if the last record from a time on that covers the match
    disqualifies the player, or if the last record about that match alone does. If both do, the
    effect is that of the latter.

    players : player -> records from a time on, in the order of the log
    matches : match -> player -> the last record about that match alone
    through : records up to this one hold for all matches, later ones only for matches posted after
        them. A match keeps the eligibility with which it was posted until a replay takes later
        records into account.
    """

    players: dict[str, list[EligibilityRecord]] = field(default_factory=dict)
    matches: dict[str, dict[str, EligibilityRecord]] = field(default_factory=dict)
    through: int = 0

    @classmethod
    def of(
        cls, records: Iterable[LogRecord], through: int, renames: Mapping[str, str]
    ) -> Eligibility:
        """Return what the amendments of a log say of eligibility, by present ids of players."""
        eligibility = cls(through=through)
        for record in records:
            if record.kind not in ("disqualify", "reinstate") or record.player is None:
                continue
            player = renames.get(record.player, record.player)
            if record.match is None:
                eligibility.players.setdefault(player, []).append(EligibilityRecord.of(record))
            elif record.seq <= through:
                of_match = eligibility.matches.setdefault(record.match, {})
                of_match[player] = EligibilityRecord.of(record)
        return eligibility

    @classmethod
    def of_players(
        cls,
        connection: Connection,
        pool: PoolRecord,
        players: Iterable[str],
        renames: Mapping[str, str],
    ) -> Eligibility:
        """Return which of some players may be rated in matches posted now.

        renames : those that the ratings take into account
        """
        if not pool.amendments:
            return cls()
        names = set(players)
        names |= {old for old, new in renames.items() if new in names}
        records = log.amendments_about(connection, pool.id, "player", names)
        return cls.of(records, pool.last_seq, renames)

    def __bool__(self) -> bool:
        """Return whether there is any record about a player."""
        return bool(self.players or self.matches)

    def disqualified(self, match: LoggedMatch) -> dict[str, EligibilityRecord]:
        """Return the disqualified players of a match, and the record that disqualifies each."""
        if not self:
            return {}
        alone = self.matches.get(str(match.request.match), {})
        records = {}
        for player in players_of(match.request):
            record = alone.get(player)
            if record is None or not record.disqualifies:
                record = self._last_covering(player, match.position)
            if record is not None and record.disqualifies:
                records[player] = record
        return records

    def is_disqualified_from(self, player: str, match: str) -> bool:
        """Return whether a player is disqualified from one match alone."""
        record = self.matches.get(match, {}).get(player)
        return record is not None and record.disqualifies

    def disqualification_of(self, player: str) -> EligibilityRecord | None:
        """Return the record that disqualifies a player from matches to come, or None."""
        records = self.players.get(player)
        return records[-1] if records and records[-1].disqualifies else None

    def flags(self, players: Iterable[str]) -> list[bool]:
        """Return, for each player, whether they are disqualified from future matches."""
        return [self.disqualification_of(player) is not None for player in players]

    def rated_part(self, match: LoggedMatch) -> LoggedMatch | None:
        """Return a match as its disqualified players let it count, None if nothing is left of it.

        It has no teams if it only lists players.
        """
        if not self:  # Nearly always, and every posted match passes here.
            return match
        by = self.disqualified(match)
        removed = {player for player, record in by.items() if record.effect != "keep"}
        if not removed:
            return match
        kept = None
        if not any(record.effect == "void" for record in by.values()):
            kept = without(match.request, removed)
        listed = removed if kept is not None else by.keys()
        names = tuple(sorted(player for player in listed if by[player].effect is not None))
        if kept is None:
            if not names:
                return None
            kept = msgspec.structs.replace(match.request, teams=[])
        return match._replace(request=kept, listed=names)

    def _last_covering(self, player: str, position: Position) -> EligibilityRecord | None:
        """Return the last record from a time on that covers a position, or None."""
        time, seq = position
        last = None
        for record in self.players.get(player, ()):
            posted_after = record.seq < seq
            if record.since is None:
                covers = posted_after
            else:
                covers = record.since <= time and (posted_after or record.seq <= self.through)
            if covers:
                last = record
        return last


class PlayerAmendments(NamedTuple):
    """What the log says of the players of some posted matches.

    renames : of all players, as `renames_of`; rated : those that the ratings take into account
    eligibility : of the players
    """

    renames: Mapping[str, str]
    rated: Mapping[str, str]
    eligibility: Eligibility

    @classmethod
    def of(
        cls, connection: Connection, pool: PoolRecord, players: Iterable[str]
    ) -> PlayerAmendments:
        """Return the amendments of players; players : ids as posted."""
        if not pool.amendments:
            return cls({}, {}, Eligibility())
        records = log.renames(connection, pool.id)
        renames = rated = renames_of(records, pool.last_seq)
        through = rated_through(connection, pool) if renames else None
        if through is not None:
            rated = renames_of(records, through)
        present = {rated.get(player, player) for player in players}
        return cls(renames, rated, Eligibility.of_players(connection, pool, present, rated))


@dataclass(frozen=True, slots=True)
class Amendments:
    """The sum of a log's amendments up to one record.

    through : the last record that is taken into account
    void : matches that do not count -> the record that voided them
    corrections : match -> the last correction
    descriptions : match -> the last correction of title, link and attributes alone, if no other
        correction came later
    touched : match -> the number of its last amendment that changes ratings
    played : match -> the time in the last correction that gives one
    renames : earlier id of a player -> present id
    """

    through: int
    void: dict[str, LogRecord] = field(default_factory=dict)
    corrections: dict[str, LogRecord] = field(default_factory=dict)
    descriptions: dict[str, LogRecord] = field(default_factory=dict)
    touched: dict[str, int] = field(default_factory=dict)
    played: dict[str, int] = field(default_factory=dict)
    eligibility: Eligibility = field(default_factory=Eligibility)
    renames: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(
        cls, records: Iterable[LogRecord], through: int, renames: Mapping[str, str] | None = None
    ) -> Amendments:
        """Return the sum of some amendments, which are in the order of the log.

        Disqualifications after `through` hold for the matches that were posted after them.
        renames : those of the pool; None for those of these records
        """
        every = list(records)
        renames = renames_of(every, through) if renames is None else renames
        amendments = cls(
            through, eligibility=Eligibility.of(every, through, renames), renames=renames
        )
        for record in every:
            if record.seq <= through:
                amendments.add(record)
        return amendments

    def add(self, record: LogRecord) -> None:
        """Take another amendment of a match into account; one of a player changes nothing here."""
        if record.match is None:
            return
        if record.needs_replay:
            self.touched[record.match] = record.seq
        if record.kind == "void":
            self.void[record.match] = record
        elif record.kind == "restore":
            self.void.pop(record.match, None)
        elif record.kind == "describe":
            self.descriptions[record.match] = record
        elif record.kind == "correct":
            self.descriptions.pop(record.match, None)
            self.corrections[record.match] = record
            if record.posted_time is not None:
                self.played[record.match] = record.posted_time

    def request(self, record: LogRecord) -> MatchRequest:
        """Return the content of a match, as corrected, with the present ids of its players."""
        match = str(record.match)
        request = logged_match(self.corrections.get(match, record).content)
        request = renamed(request, self.renames)
        described = self.descriptions.get(match)
        if described is None:
            return request
        texts: DescribeContent = content_of("describe", described.content)
        return texts.applied(request)

    def latest(self, match: str) -> LogRecord | None:
        """Return the correction or description that has the title of a match; None for none."""
        return self.descriptions.get(match, self.corrections.get(match))

    def time(self, record: LogRecord) -> int:
        """Return the time at which a match counts, as corrected."""
        return self.corrections.get(str(record.match), record).time

    def position(self, record: LogRecord) -> Position:
        """Return the position at which a match counts, as corrected."""
        return self.time(record), record.seq

    def match(self, record: LogRecord) -> LoggedMatch:
        """Return a match as corrected, with all its players."""
        return LoggedMatch(record.seq, self.time(record), self.request(record))

    def time_played(self, match: str, posted: int | None) -> int | None:
        """Return the time that a correction or else the post gave for a match; None for none."""
        return self.played.get(match, posted)


def amendments_of(
    connection: Connection, pool: PoolRecord, through: int | None = None
) -> Amendments:
    """Return the amendments of a pool up to a record; None takes all."""
    last = pool.last_seq if through is None else through
    records = log.amendments(connection, pool.id) if pool.amendments else []
    return Amendments.of(records, last)


def amendments_of_matches(
    connection: Connection, pool: PoolRecord, matches: Iterable[str], through: int | None = None
) -> Amendments:
    """Return the amendments of some matches of a pool; those of players are left out.

    Players are renamed as in the ratings.
    """
    last = pool.last_seq if through is None else through
    records = log.amendments_about(connection, pool.id, "match", matches) if pool.amendments else []
    return Amendments.of(records, last, renames_rated(connection, pool))


class Piece(NamedTuple):
    """Some matches in the order of rating.

    end : every match that counts up to this position is in this piece or in an earlier one
    last : whether the log had no further matches when it was read
    """

    matches: list[LoggedMatch]
    end: Position
    last: bool


def counted_matches(
    connection: Connection, pool: PoolRecord, amendments: Amendments, after: Position
) -> Iterator[list[LoggedMatch]]:
    """Give all matches that are rated after a position, in the order of rating, piece by piece."""
    last = False
    while not last:
        matches, after, last = counted_piece(connection, pool, amendments, after)
        yield matches


def counted_piece(
    connection: Connection,
    pool: PoolRecord,
    amendments: Amendments,
    after: Position,
    until: int | None = None,
    *,
    posted: int = log.LAST,
) -> Piece:
    """Return the next matches that are rated after a position, in the order of rating.

    Late matches that were posted after `amendments.through` wait for the next replay.
    until : time up to which the log is read; no match counts later. None for its end
    posted : only matches whose records have a number up to this one
    """
    records, last = log.matches_after(connection, pool.id, after, until, posted=posted)
    end = _END if last else records[-1].position
    moved = _moved(connection, pool, amendments, after, end)
    if amendments.corrections:
        placed = [
            (record.position, record)
            for record in records
            if amendments.position(record) == record.position
        ]
        placed = sorted(placed + moved, key=lambda place: place[0])
        reached = max([after, *(place for place, _ in placed), *(r.position for r in records[-1:])])
        records = [record for _, record in placed]
    else:
        reached = records[-1].position if records else after
    counted = _counted(records, amendments)
    return Piece(counted, reached if last else end, last)


def _moved(
    connection: Connection,
    pool: PoolRecord,
    amendments: Amendments,
    after: Position,
    end: Position,
) -> list[tuple[Position, LogRecord]]:
    """Return the matches that corrections of their time moved to after `after`, up to `end`."""
    if not amendments.corrections:
        return []
    records = log.matches_by_id(connection, pool.id, amendments.corrections)
    places = [(amendments.position(record), record) for record in records.values()]
    return [
        (place, record)
        for place, record in places
        if place != record.position and after < place <= end
    ]


def _counted(records: Sequence[LogRecord], amendments: Amendments) -> list[LoggedMatch]:
    """Return the matches that are rated, as their disqualified players let them count."""
    void, through = amendments.void, amendments.through
    kept = [
        record
        for record in records
        if record.match not in void and not (record.needs_replay and record.seq > through)
    ]
    if amendments.corrections or amendments.descriptions or amendments.renames:
        matches = [amendments.match(record) for record in kept]
    else:
        requests = map(logged_match, [record.content for record in kept])
        matches = [
            LoggedMatch(record.seq, record.time, request)
            for record, request in zip(kept, requests, strict=True)
        ]
    rated = [match for match in matches if match.request.rated]
    if not amendments.eligibility:
        return rated
    parts = map(amendments.eligibility.rated_part, rated)
    return [part for part in parts if part is not None]


def latest_of(*times: int | None) -> int | None:
    """Return the latest of some times; None, which is no time, only if all are None."""
    return max((time for time in times if time is not None), default=None)


def last_counting_time(
    connection: Connection, pool: PoolRecord, amendments: Amendments
) -> int | None:
    """Return the time of the latest match that counts after amendments; None if no match does.

    A match counts if it is rated or lists a player, now or by the replay that the pool waits for.
    So void and unrated matches do not count.
    """
    time: int | None = None
    before, limit, more = None, 1, True
    while time is None and more:
        piece = log.matches_before(connection, pool.id, before, limit)
        for record in piece:
            before = record.position
            if amendments.position(record) == before and _counted([record], amendments):
                time = record.time
                break
        more, limit = len(piece) == limit, min(2 * limit, _MOST_READ)
    # Corrections may have moved other matches after this one.
    moved = {
        match: record.time
        for match, record in amendments.corrections.items()
        if (time is None or record.time > time) and match not in amendments.void
    }
    matches = log.matches_by_id(connection, pool.id, moved) if moved else {}
    for match, record in matches.items():
        if _counted([record], amendments):
            time = latest_of(time, moved[match])
    return time


def first_position(record: LogRecord, match: LogRecord | None, before: Amendments) -> Position:
    """Return the first position at which an amendment makes a difference.

    match : the match that it amends, None for an amendment of a player or of settings
    before : the amendments before it
    """
    if record.kind in ("settings", "rename"):
        return START
    if match is None:
        return record.time, 0
    old = before.position(match)
    return min(old, (record.time, match.seq)) if record.kind == "correct" else old


def waiting_from(connection: Connection, pool: PoolRecord, through: int) -> Position | None:
    """Return the first position at which records after `through` make a difference.

    These are late matches and amendments that wait for a replay. None if there are none.
    """
    first = log.first_waiting(connection, pool.id, through)
    places = [] if first is None else [first]
    if not pool.amendments:
        return min(places, default=None)
    every = log.amendments(connection, pool.id)
    waiting = [record for record in every if record.seq > through and record.needs_replay]
    named = {record.match for record in waiting if record.match is not None}
    matches = log.matches_by_id(connection, pool.id, named) if named else {}
    before = Amendments(through)
    for record in every:
        if record.seq > through and record.needs_replay:
            match = None if record.match is None else matches[record.match]
            places.append(first_position(record, match, before))
        before.add(record)
    return min(places, default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A record that is to be added to a log, and what changes with it.

    needs_replay : whether it counts only once matches are rated again
    columns : of the pool, beside those that every record changes; they override what the record
        itself says of a replay
    ends_replay : whether a running replay must begin again, as it holds what has changed
    action, subject, detail : the row of the audit log; no action for none
    """

    kind: Kind
    content: str
    time: int
    match: str | None = None
    player: str | None = None
    posted_time: int | None = None
    needs_replay: bool = False
    columns: Mapping[str, Any] = field(default_factory=dict)
    ends_replay: bool = False
    action: str = ""
    subject: object = None
    detail: Mapping[str, Any] = field(default_factory=dict)

    def record(self, seq: int, now: int, key: int | None) -> LogRecord:
        """Return the record with its number, time of receipt and key."""
        own = ("kind", "match", "player", "content", "posted_time", "time", "needs_replay")
        values = {name: getattr(self, name) for name in own}
        return LogRecord(seq=seq, received=now, key=key, **values)


#: Makes the draft for a pool, which is locked; None if nothing is to be recorded.
MakeDraft: TypeAlias = Callable[[Connection, PoolRecord], Draft | None]
#: What else is written in the transaction; it gets the pool after the record.
Then: TypeAlias = Callable[[Connection, PoolRecord, LogRecord], None]


def record_change(
    store: Store,
    pool: str,
    make: MakeDraft,
    *,
    key: int | None,
    now: int,
    logged: LoggedAs | None = None,
    then: Then = lambda *_: None,
) -> PoolRecord:
    """Record a change of an open pool; return the pool after it.

    logged : what an imported log has of the record
    Raises : NotFoundError, ConflictError, and what `make` and `then` raise
    """
    with store.write() as connection:
        before = get_pool(connection, pool, lock=True)
        before.check_open()
        draft = make(connection, before)
        if draft is None:
            return before
        after, _ = append(connection, before, draft, key=key, now=now, logged=logged, then=then)
        return after


def append(
    connection: Connection,
    pool: PoolRecord,
    draft: Draft,
    *,
    key: int | None,
    now: int,
    logged: LoggedAs | None = None,
    then: Then = lambda *_: None,
) -> tuple[PoolRecord, LogRecord]:
    """Append a record to the log of a pool, which is locked; return the pool after it, and it."""
    kept = LoggedAs(now) if logged is None else logged
    new = kept.applied(draft.record(pool.last_seq + 1, now, key))
    columns: dict[str, Any] = {"amendments": pool.amendments + 1}
    if new.needs_replay and "dirty" not in draft.columns:
        columns |= _replay_columns(connection, pool, new)
    columns |= log.append(connection, pool, [new], kept.seals(new.seq))
    if draft.ends_replay and pool.replay_until is not None:
        # A running replay notices this at its next step, and begins again.
        columns |= {"replay_owner": None, "replay_until": None}
    columns |= draft.columns
    change_pool(connection, pool.id, **columns)
    after = msgspec.structs.replace(pool, **columns)
    then(connection, after, new)
    if draft.action:
        # Last, because all pools share the chain that this locks.
        add_audit_row(
            connection,
            draft.action,
            now=now,
            key=key,
            pool=pool.name,
            subject=draft.subject,
            seq=new.seq,
            **draft.detail,
        )
    return after, new


def first_changed(
    connection: Connection, pool: PoolRecord, new: LogRecord, before: Amendments
) -> Position:
    """Return the position from which a record, and what waits already, changes the ratings."""
    match = None if new.match is None else log.match_by_id(connection, pool.id, new.match)
    begin = first_position(new, match, before)
    return begin if pool.dirty is None else min(begin, pool.dirty)


def _replay_columns(connection: Connection, pool: PoolRecord, new: LogRecord) -> dict[str, Any]:
    """Return from where a pool is rated again, and how late its matches now are."""
    records = log.amendments(connection, pool.id) if pool.amendments else []
    before = Amendments.of(records, pool.last_seq)
    last = last_counting_time(connection, pool, Amendments.of([*records, new], new.seq))
    columns: dict[str, Any] = {
        "dirty": first_changed(connection, pool, new, before),
        "last_time": last,
        "rated_to": latest_of(pool.rated_to, pool.last_time, last),
    }
    if pool.board_day is not None:
        day = START[0] if last is None else day_of(last)
        if day < pool.board_day:
            # Ratings shown have decayed up to a match that no longer counts.
            columns |= {"board_day": day, "board_from": ""}
    return columns

"""The log after its amendments: which matches are rated, with what content, in which order.

A log consists of matches and their amendments, and no record is ever removed. `Amendments` is the
sum of the amendments up to one record: which matches are void or corrected, and, as `Eligibility`,
who may be rated when. `counted_matches` reads the matches that are rated, in the order of rating,
for everything that replays a log. `waiting_from` returns the position from which a pool needs a
replay because of late matches and amendments.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec
from sqlalchemy import Connection

from equipoise.messages.matches import Effect, MatchRequest
from equipoise.pools.posting.match_history import LoggedMatch, players_of, without
from equipoise.pools.posting.posted_matches import logged_match, logged_matches
from equipoise.store import log
from equipoise.store.log import LogRecord
from equipoise.store.pools import START, PoolRecord, Position

#: After all positions.
_END: Position = (2**62, 2**62)

#: Matches that are read at once to find the last one that counts.
_MOST_READ = 64


class DisqualifyContent(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True
):
    """The content of the log record of a disqualification.

    effect : None in the records of earlier versions, which mean "without". Their player has no
        entry on the leaderboard if no match counts
    """

    reason: str
    effect: Effect | None = None


_disqualify = msgspec.json.Decoder(DisqualifyContent)


def disqualify_content(content: str | bytes | msgspec.Raw) -> DisqualifyContent:
    """Return the content of the record of a disqualification. Raises : msgspec.MsgspecError."""
    return _disqualify.decode(content)


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
        effect = disqualify_content(record.content).effect if disqualifies else None
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
    def of(cls, records: Iterable[LogRecord], through: int) -> Eligibility:
        """Return what the amendments of a log say of eligibility."""
        found = cls(through=through)
        for record in records:
            if record.kind not in ("disqualify", "reinstate") or record.player is None:
                continue
            if record.match is None:
                found.players.setdefault(record.player, []).append(EligibilityRecord.of(record))
            elif record.seq <= through:
                of_match = found.matches.setdefault(record.match, {})
                of_match[record.player] = EligibilityRecord.of(record)
        return found

    @classmethod
    def of_players(
        cls, connection: Connection, pool: PoolRecord, players: Iterable[str]
    ) -> Eligibility:
        """Return which of some players may be rated in matches posted now."""
        if not pool.amendments:
            return cls()
        return cls.of(log.amendments_about(connection, pool.id, "player", players), pool.last_seq)

    def __bool__(self) -> bool:
        """Return whether there is any record about a player."""
        return bool(self.players or self.matches)

    def disqualified(self, match: LoggedMatch) -> dict[str, EligibilityRecord]:
        """Return the disqualified players of a match, and the record that disqualifies each."""
        if not self:
            return {}
        alone = self.matches.get(str(match.request.match), {})
        found = {}
        for player in players_of(match.request):
            record = alone.get(player)
            if record is None or not record.disqualifies:
                record = self._last_covering(player, match.position)
            if record is not None and record.disqualifies:
                found[player] = record
        return found

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


@dataclass(frozen=True, slots=True)
class Amendments:
    """The sum of a log's amendments up to one record.

    through : the last record that is taken into account
    void : ids of matches that do not count
    corrections : match -> the last correction
    touched : match -> the number of its last amendment of any kind
    played : match -> the time in the last correction that gives one
    """

    through: int
    void: set[str] = field(default_factory=set)
    corrections: dict[str, LogRecord] = field(default_factory=dict)
    touched: dict[str, int] = field(default_factory=dict)
    played: dict[str, int] = field(default_factory=dict)
    eligibility: Eligibility = field(default_factory=Eligibility)

    @classmethod
    def of(cls, records: Iterable[LogRecord], through: int) -> Amendments:
        """Return the sum of some amendments, which are in the order of the log.

        Disqualifications after `through` hold for the matches that were posted after them.
        """
        every = list(records)
        found = cls(through, eligibility=Eligibility.of(every, through))
        for record in every:
            if record.seq <= through:
                found.add(record)
        return found

    def add(self, record: LogRecord) -> None:
        """Take another amendment of a match into account; one of a player changes nothing here."""
        if record.match is None:
            return
        self.touched[record.match] = record.seq
        if record.kind == "void":
            self.void.add(record.match)
        elif record.kind == "restore":
            self.void.discard(record.match)
        elif record.kind == "correct":
            self.corrections[record.match] = record
            if record.posted_time is not None:
                self.played[record.match] = record.posted_time

    def request(self, record: LogRecord) -> MatchRequest:
        """Return the content of a match, as corrected."""
        return logged_match(self.corrections.get(str(record.match), record).content)

    def time(self, record: LogRecord) -> int:
        """Return the time at which a match counts, as corrected."""
        return self.corrections.get(str(record.match), record).time

    def position(self, record: LogRecord) -> Position:
        """Return the position at which a match counts, as corrected."""
        return self.time(record), record.seq

    def match(self, record: LogRecord) -> LoggedMatch:
        """Return a match as corrected, with all its players."""
        if record.match not in self.corrections:
            return LoggedMatch(record.seq, record.time, logged_match(record.content))
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
    """Return the amendments of some matches of a pool; those of players are left out."""
    last = pool.last_seq if through is None else through
    found = log.amendments_about(connection, pool.id, "match", matches) if pool.amendments else []
    return Amendments.of(found, last)


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
        placed = sorted(placed + moved, key=lambda one: one[0])
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
    found = log.matches_by_id(connection, pool.id, amendments.corrections)
    places = [(amendments.position(record), record) for record in found.values()]
    return [(place, one) for place, one in places if place != one.position and after < place <= end]


def _counted(records: Sequence[LogRecord], amendments: Amendments) -> list[LoggedMatch]:
    """Return the matches that are rated, as their disqualified players let them count."""
    void, through = amendments.void, amendments.through
    kept = [
        record
        for record in records
        if record.match not in void and not (record.needs_replay and record.seq > through)
    ]
    if amendments.corrections:
        matches = [amendments.match(record) for record in kept]
    else:
        requests = logged_matches([record.content for record in kept])
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
    found: int | None = None
    before, limit, more = None, 1, True
    while found is None and more:
        piece = log.matches_before(connection, pool.id, before, limit)
        for record in piece:
            before = record.position
            if amendments.position(record) == before and _counted([record], amendments):
                found = record.time
                break
        more, limit = len(piece) == limit, min(2 * limit, _MOST_READ)
    # Corrections may have moved other matches after this one.
    moved = {
        match: record.time
        for match, record in amendments.corrections.items()
        if (found is None or record.time > found) and match not in amendments.void
    }
    matches = log.matches_by_id(connection, pool.id, moved) if moved else {}
    for match, record in matches.items():
        if _counted([record], amendments):
            found = latest_of(found, moved[match])
    return found


def first_position(record: LogRecord, match: LogRecord | None, before: Amendments) -> Position:
    """Return the first position at which an amendment makes a difference.

    match : the match that it amends, None for an amendment of a player or of settings
    before : the amendments before it
    """
    if record.kind == "settings":
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
    waiting = [one for one in every if one.seq > through and one.needs_replay]
    named = {one.match for one in waiting if one.match is not None}
    matches = log.matches_by_id(connection, pool.id, named) if named else {}
    before = Amendments(through)
    for record in every:
        if record.seq > through and record.needs_replay:
            match = None if record.match is None else matches[record.match]
            places.append(first_position(record, match, before))
        before.add(record)
    return min(places, default=None)

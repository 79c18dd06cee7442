"""The log as its amendments leave it: which matches count, as what, in which order.

From where on an amendment wants a pool replayed.

Who may be rated when: disqualifications and reinstatements of a pool's log.

Each holds from a time on, or for a single match. The two kinds do not affect each other: a player
is not rated in a match if the last entry from a time on that covers it says so, or the last entry
about that match alone does.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from sqlalchemy import Connection

from equipoise.messages.matches import MatchRequest
from equipoise.pools.posting.match_history import LoggedMatch, players_of, without
from equipoise.pools.posting.posted_matches import logged_match
from equipoise.store import log
from equipoise.store.log import LogRecord
from equipoise.store.pools import PoolRecord, Position


class Turn(NamedTuple):
    """A log record that bars a player or lifts that.

    since : time from which on it holds; None for all matches that are posted after it
    """

    seq: int
    bars: bool
    since: int | None
    received: int


@dataclass(frozen=True, slots=True)
class Eligibility:
    """When each player may be rated.

    turns : player -> entries about a time on, in the order of the log
    matches : match -> player -> whether the last entry about that match alone bars the player
    through : entries up to here hold for all matches, later ones only for matches posted after
        them: a match keeps the eligibility with which it was posted until a replay takes later
        entries into account
    """

    turns: dict[str, list[Turn]] = field(default_factory=dict)
    through: int = 0
    matches: dict[str, dict[str, bool]] = field(default_factory=dict)

    @classmethod
    def of(cls, entries: Iterable[LogRecord], through: int) -> Eligibility:
        """Return what the amendments of a log say."""
        turns: dict[str, list[Turn]] = {}
        matches: dict[str, dict[str, bool]] = {}
        for entry in entries:
            if entry.kind not in ("disqualify", "reinstate") or entry.player is None:
                continue
            bars = entry.kind == "disqualify"
            if entry.match is None:
                turn = Turn(entry.seq, bars, entry.posted_time, entry.received)
                turns.setdefault(entry.player, []).append(turn)
            elif entry.seq <= through:
                matches.setdefault(entry.match, {})[entry.player] = bars
        return cls(turns, through, matches)

    @classmethod
    def of_players(
        cls, connection: Connection, pool: PoolRecord, players: Iterable[str]
    ) -> Eligibility:
        """Return who of some players may be rated in matches posted now."""
        if not pool.amendments:
            return cls()
        return cls.of(log.amendments_about(connection, pool.id, "player", players), pool.last_seq)

    def __bool__(self) -> bool:
        """Return whether it says anything of anybody."""
        return bool(self.turns or self.matches)

    def barred(self, players: Iterable[str], match: str, position: Position) -> set[str]:
        """Return those who may not be rated in a match at this position.

        Of the entries that hold for the match the last one of the log counts.
        """
        alone = self.matches.get(match, {})
        return {
            player
            for player in players
            if alone.get(player)
            or (player in self.turns and self._state(self.turns[player], position))
        }

    def barred_from(self, player: str, match: str) -> bool:
        """Return whether a player is barred from one match alone."""
        return self.matches.get(match, {}).get(player, False)

    def barred_now(self, player: str) -> Turn | None:
        """Return the entry by which a player is barred from matches to come, or None."""
        turns = self.turns.get(player)
        return turns[-1] if turns and turns[-1].bars else None

    def flags(self, players: Iterable[str]) -> list[bool]:
        """Return whether each of some players is barred from matches to come."""
        return [self.barred_now(player) is not None for player in players]

    def _state(self, turns: list[Turn], position: Position) -> bool:
        time, seq = position
        state = False
        for turn in turns:
            posted_after = turn.seq < seq
            if turn.since is None:
                holds = posted_after
            else:
                holds = turn.since <= time and (posted_after or turn.seq <= self.through)
            if holds:
                state = turn.bars
        return state


#: After all positions.
_END: Position = (2**62, 2**62)


@dataclass(frozen=True, slots=True)
class Amendments:
    """What the amendments of a log up to an entry say.

    through : the last entry that is taken into account
    void : ids of matches that do not count
    corrections : match -> the last correction
    touched : match -> the last amendment of any kind
    played : match -> the time that the last correction with a time gives it
    """

    through: int
    void: set[str] = field(default_factory=set)
    corrections: dict[str, LogRecord] = field(default_factory=dict)
    touched: dict[str, int] = field(default_factory=dict)
    played: dict[str, int] = field(default_factory=dict)
    eligibility: Eligibility = field(default_factory=Eligibility)

    @classmethod
    def of(cls, entries: Iterable[LogRecord], through: int) -> Amendments:
        """Return what these entries, in the order of the log, say together.

        Disqualifications after `through` hold for the matches that were posted after them.
        """
        every = list(entries)
        found = cls(through, eligibility=Eligibility.of(every, through))
        for entry in every:
            if entry.seq <= through:
                found.take(entry)
        return found

    def take(self, entry: LogRecord) -> None:
        """Take another entry about a match into account; entries about players say nothing here."""
        if entry.match is None:
            return
        self.touched[entry.match] = entry.seq
        if entry.kind == "void":
            self.void.add(entry.match)
        elif entry.kind == "restore":
            self.void.discard(entry.match)
        elif entry.kind == "correct":
            self.corrections[entry.match] = entry
            if entry.posted_time is not None:
                self.played[entry.match] = entry.posted_time

    def request(self, entry: LogRecord) -> MatchRequest:
        """Return what a match says now."""
        return logged_match(self.corrections.get(str(entry.match), entry).content)

    def time(self, entry: LogRecord) -> int:
        """Return the time at which a match counts now."""
        return self.corrections.get(str(entry.match), entry).time

    def time_played(self, match: str, posted: int | None) -> int | None:
        """Return the time that was given for a match, if any: by a correction, or as posted."""
        return self.played.get(match, posted)


def amendments_of(
    connection: Connection, pool: PoolRecord, through: int | None = None
) -> Amendments:
    """Return what the amendments of a pool say, up to an entry or all of them."""
    last = pool.last_seq if through is None else through
    entries = log.amendments(connection, pool.id) if pool.amendments else []
    return Amendments.of(entries, last)


def amendments_of_matches(
    connection: Connection, pool: PoolRecord, matches: Iterable[str], through: int | None = None
) -> Amendments:
    """Return what the amendments of a pool say of some matches, and nothing of players."""
    last = pool.last_seq if through is None else through
    found = log.amendments_about(connection, pool.id, "match", matches) if pool.amendments else []
    return Amendments.of(found, last)


class Piece(NamedTuple):
    """Some matches in the order of rating.

    end : position up to which everything that counts is among them or before them
    last : whether nothing came after it when it was read
    """

    matches: list[LoggedMatch]
    end: Position
    last: bool


def counted_piece(
    connection: Connection, pool: PoolRecord, amendments: Amendments, after: Position
) -> Piece:
    """Return the next matches that are rated, in the order of rating, after a position.

    Late matches that came after `amendments.through` are left to the next replay.
    """
    entries, last = log.matches_after(connection, pool.id, after)
    end = _END if last else entries[-1].position
    placed = _moved(connection, pool, amendments, after, end)
    for entry in entries:
        correction = amendments.corrections.get(str(entry.match))
        if correction is None or correction.time == entry.time:
            placed.append((entry.position, entry))
    placed.sort(key=lambda one: one[0])
    reached = max([after, *(place for place, _ in placed), *(e.position for e in entries[-1:])])
    counted = [_counted(place, entry, amendments) for place, entry in placed]
    return Piece([one for one in counted if one is not None], reached if last else end, last)


def _moved(
    connection: Connection,
    pool: PoolRecord,
    amendments: Amendments,
    after: Position,
    end: Position,
) -> list[tuple[Position, LogRecord]]:
    """Return matches whose time was corrected to lie after one position and up to another."""
    if not amendments.corrections:
        return []
    found = log.matches_by_id(connection, pool.id, amendments.corrections)
    places = [
        ((amendments.corrections[match].time, entry.seq), entry) for match, entry in found.items()
    ]
    return [(place, one) for place, one in places if place != one.position and after < place <= end]


def _counted(position: Position, entry: LogRecord, amendments: Amendments) -> LoggedMatch | None:
    """Return the match if it is rated, without players who were barred."""
    if entry.match in amendments.void or (entry.needs_replay and entry.seq > amendments.through):
        return None
    request = amendments.request(entry)
    if not request.rated:
        return None
    eligible = amendments.eligibility
    kept: MatchRequest | None = request
    if eligible:
        barred = eligible.barred(players_of(request), str(entry.match), position)
        kept = without(request, barred)
    return None if kept is None else LoggedMatch(position[1], position[0], kept)


def place_of(entry: LogRecord, match: LogRecord | None, before: Amendments) -> Position:
    """Return the first position at which an amendment makes a difference.

    match : the entry of the match that it is about, if it is about one
    before : what was amended before it
    """
    if match is None:
        return entry.time, 0
    old = (before.time(match), match.seq)
    if entry.kind != "correct":
        return old
    return min(old, (entry.time, match.seq))


def waiting_from(connection: Connection, pool: PoolRecord, through: int) -> Position | None:
    """Return the first position at which what came after an entry makes a difference, or None."""
    first = log.first_waiting(connection, pool.id, through)
    places = [] if first is None else [first]
    if not pool.amendments:
        return min(places, default=None)
    every = log.amendments(connection, pool.id)
    waiting = [one for one in every if one.seq > through and one.needs_replay]
    named = {one.match for one in waiting if one.match is not None}
    matches = log.matches_by_id(connection, pool.id, named) if named else {}
    before = Amendments(through)
    for entry in every:
        if entry.seq > through and entry.needs_replay:
            match = None if entry.match is None else matches[entry.match]
            places.append(place_of(entry, match, before))
        before.take(entry)
    return min(places, default=None)

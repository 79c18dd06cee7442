"""The log as its amendments leave it: which matches count, as what, in which order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from sqlalchemy import Connection

from equipoise.messages.matches import MatchRequest
from equipoise.store import log
from equipoise.store.log import Entry
from equipoise.store.pools import PoolRecord, Position
from equipoise.workflows.eligibility import Eligibility
from equipoise.workflows.match_history import LoggedMatch, players_of, without
from equipoise.workflows.posted_matches import logged_match

#: Entries read at a time.
PIECE = 2_000


@dataclass(frozen=True, slots=True)
class Amendments:
    """What the amendments of a log up to an entry say.

    through : the last entry that is taken into account
    void : ids of matches that do not count
    corrections : match -> the last correction
    touched : match -> the last amendment of any kind
    """

    through: int
    void: set[str] = field(default_factory=set)
    corrections: dict[str, Entry] = field(default_factory=dict)
    touched: dict[str, int] = field(default_factory=dict)
    eligibility: Eligibility = field(default_factory=Eligibility)

    @classmethod
    def of(cls, entries: Iterable[Entry], through: int) -> Amendments:
        """Return what these entries, in the order of the log, say together.

        Disqualifications after `through` hold for the matches that were posted after them.
        """
        every = list(entries)
        found = cls(through, eligibility=Eligibility.of(every, through))
        for entry in every:
            if entry.match is None or entry.seq > through:
                continue
            found.touched[entry.match] = entry.seq
            if entry.kind == "void":
                found.void.add(entry.match)
            elif entry.kind == "restore":
                found.void.discard(entry.match)
            elif entry.kind == "correct":
                found.corrections[entry.match] = entry
        return found

    def request(self, entry: Entry) -> MatchRequest:
        """Return what a match says now."""
        return logged_match(self.corrections.get(str(entry.match), entry).content)

    def time(self, entry: Entry) -> int:
        """Return the time at which a match counts now."""
        return self.corrections.get(str(entry.match), entry).time


def amendments_of(
    connection: Connection, pool: PoolRecord, through: int | None = None
) -> Amendments:
    """Return what the amendments of a pool say, up to an entry or all of them."""
    last = pool.last_seq if through is None else through
    entries = log.amendments(connection, pool.id) if pool.amendments else []
    return Amendments.of(entries, last)


def counted_matches(
    connection: Connection, pool: PoolRecord, amendments: Amendments, after: Position
) -> Iterator[LoggedMatch]:
    """Give the matches that are rated, in the order of rating, after a position.

    Late matches that came after `amendments.through` are left to the next replay. What is
    appended to the log while this goes on is given too.
    """
    moved = _moved(connection, pool, amendments, after)
    while True:
        piece = log.matches_after(connection, pool.id, after, PIECE)
        for entry in piece:
            while moved and moved[-1][0] < entry.position:
                yield from _counted(*moved.pop(), amendments)
            correction = amendments.corrections.get(str(entry.match))
            if correction is None or correction.time == entry.time:
                yield from _counted(entry.position, entry, amendments)
        if len(piece) < PIECE:
            break
        after = piece[-1].position
    while moved:
        yield from _counted(*moved.pop(), amendments)


def _moved(
    connection: Connection, pool: PoolRecord, amendments: Amendments, after: Position
) -> list[tuple[Position, Entry]]:
    """Return matches whose time was corrected, with their new positions, last one first."""
    if not amendments.corrections:
        return []
    found = log.matches_by_id(connection, pool.id, amendments.corrections)
    places = [
        ((amendments.corrections[match].time, entry.seq), entry) for match, entry in found.items()
    ]
    places = [
        (place, entry) for place, entry in places if place != entry.position and place > after
    ]
    return sorted(places, key=lambda one: one[0], reverse=True)


def _counted(position: Position, entry: Entry, amendments: Amendments) -> Iterator[LoggedMatch]:
    """Give the match if it is rated, without players who were barred."""
    if entry.match in amendments.void or (entry.needs_replay and entry.seq > amendments.through):
        return
    request = amendments.request(entry)
    if not request.rated:
        return
    eligible = amendments.eligibility
    if eligible.turns:
        kept = without(request, eligible.barred(players_of(request), position))
        if kept is None:
            return
        request = kept
    yield LoggedMatch(position[1], position[0], request)

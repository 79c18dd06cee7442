"""What webhooks are sent: events of the outbox, filled in from the log and what followed."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, NamedTuple

import msgspec
from sqlalchemy import Connection

from equipoise.messages.amendments import DifferenceMessage
from equipoise.messages.matches import MatchMessage
from equipoise.messages.webhooks import AmendmentLine, CorrectedMessage, EventMessage
from equipoise.store import log, outbox, replays, webhooks
from equipoise.store.connection import Store
from equipoise.store.outbox import Event
from equipoise.store.pools import PoolRecord, pool_by_number
from equipoise.workflows.pool_reading import stored_matches
from equipoise.workflows.pools import iso, rules_of
from equipoise.workflows.seasons import season_message

#: Amendments that a message lists.
_LISTED = 100

#: Microseconds for which a replay that has not yet said what it changed is waited for.
_TELLING = 10_000_000

#: Events deleted in one transaction.
_PIECE = 5_000


class Outgoing(NamedTuple):
    """An event as it is sent.

    number : in the outbox; message : its id, the same whenever it is sent
    body : JSON of EventMessage; None where it is not to be sent
    """

    number: int
    message: str
    body: bytes | None


def outgoing(
    store: Store, pool: int, after: int, kinds: Collection[str], limit: int, now: int
) -> list[Outgoing]:
    """Return the next events of a pool after a number, in order; those of other kinds unsent.

    It ends before an event of which not all is known yet.
    """
    with store.read() as connection:
        events = outbox.events_after(connection, pool, after, limit)
        wanted = [event for event in events if event.kind in kinds]
        sources = {number: pool_by_number(connection, number) for number in _sources(wanted)}
        matches = _matches(connection, sources, wanted)
        found = []
        for event in events:
            source = sources.get(event.source)
            if event.kind not in kinds or source is None:
                found.append(Outgoing(event.number, "", None))
                continue
            ready, data = _data(connection, source, event, matches, now)
            if not ready:
                break
            found.append(_outgoing(event, source, data))
    return found


def forget_delivered(store: Store) -> None:
    """Delete events that every webhook of their pool has, in small steps."""
    with store.read() as connection:
        pools = webhooks.pools_with_webhooks(connection)
    for pool in pools:
        gone = _PIECE
        while gone == _PIECE:
            with store.read() as connection:
                through = webhooks.delivered_to_all(connection, pool)
                last = 2**62 if through is None else through
                oldest = outbox.events_after(connection, pool, 0, 1)
            if not oldest or oldest[0].number > last:
                break
            with store.write() as connection:
                gone = outbox.forget_through(connection, pool, last, _PIECE)


def _sources(events: Iterable[Event]) -> set[int]:
    return {event.source for event in events}


def _outgoing(event: Event, source: PoolRecord, data: Any) -> Outgoing:
    # With the moment at which it happened an id is not given anew where a backup was restored.
    message = f"msg_{event.source}_{event.number}_{event.created:x}"
    if data is None:
        return Outgoing(event.number, message, None)
    told = EventMessage(event.kind, iso(event.created), source.name, data)
    return Outgoing(event.number, message, msgspec.json.encode(told))


def _data(
    connection: Connection,
    source: PoolRecord,
    event: Event,
    matches: dict[tuple[int, int], MatchMessage],
    now: int,
) -> tuple[bool, Any]:
    """Return whether all is known of an event, and its data, None where there is nothing to say."""
    if event.kind == "match.rated":
        match = matches.get((event.source, event.reference))
        return True, None if match is None or match.status == "unrated" else match
    if event.kind == "season.ended":
        return True, season_message(connection, source.id)
    return _corrected(connection, source, event.reference, now)


def _matches(
    connection: Connection, sources: dict[int, PoolRecord | None], events: Iterable[Event]
) -> dict[tuple[int, int], MatchMessage]:
    """Return the matches that events are about, by pool and entry."""
    rated = [event for event in events if event.kind == "match.rated"]
    found: dict[tuple[int, int], MatchMessage] = {}
    for number in _sources(rated):
        source = sources[number]
        if source is None:
            continue
        seqs = [event.reference for event in rated if event.source == number]
        ids = log.match_ids(connection, number, seqs)
        stored = stored_matches(connection, source, rules_of(source.settings), ids.values())
        found |= {(number, seq): stored[match] for seq, match in ids.items() if match in stored}
    return found


def _corrected(
    connection: Connection, pool: PoolRecord, generation: int, now: int
) -> tuple[bool, CorrectedMessage | None]:
    """Return whether it is known what a replay changed, and what that was."""
    replay = replays.replay_of(connection, pool.id, generation)
    if replay is None:
        return True, None
    if not replay.difference and now - replay.finished < _TELLING:
        return False, None
    difference = None
    if replay.difference:
        difference = msgspec.json.decode(replay.difference, type=DifferenceMessage)
    before = replays.through_before(connection, pool.id, generation)
    entries = log.amendments(connection, pool.id, through=replay.through_seq)
    new = [entry for entry in entries if entry.seq > before]
    return True, CorrectedMessage(
        generation=generation,
        amended=len(new),
        amendments=[
            AmendmentLine(entry.seq, entry.kind, entry.match, entry.player)
            for entry in new[:_LISTED]
        ],
        matches=None if difference is None else difference.matches,
        changed=None if difference is None else difference.changed,
    )

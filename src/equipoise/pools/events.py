"""Events as webhooks receive them: made from the outbox, the log and what followed, and signed.

The signature is that of the Standard Webhooks specification (1.0): "ID.TIMESTAMP.BODY" is signed
with HMAC-SHA256, by the bytes that follow "whsec_" in the secret, in Base64.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Collection, Iterable
from typing import Any, NamedTuple

import msgspec
from sqlalchemy import Connection

from equipoise.messages.matches import MatchMessage
from equipoise.messages.webhooks import (
    AmendmentLine,
    CorrectedMessage,
    EventMessage,
)
from equipoise.pools.pool.rules import iso, rules_of
from equipoise.pools.reading.matches import stored_matches
from equipoise.pools.replay.differences import known_difference
from equipoise.pools.seasons import season_message
from equipoise.pools.webhooks import PREFIX
from equipoise.store import log, replays, webhooks
from equipoise.store.connection import Store
from equipoise.store.pools import PoolRecord, pool_by_number
from equipoise.store.webhooks import Event

#: Amendments that a message lists.
_LISTED = 100

#: Events deleted in one transaction.
_DELETED_AT_ONCE = 5_000


class Outgoing(NamedTuple):
    """An event as it is sent.

    number : in the outbox; message : its id, the same in every delivery
    body : JSON of EventMessage; None for an event that is not sent
    """

    number: int
    message: str
    body: bytes | None


def outgoing(
    store: Store, pool: int, after: int, kinds: Collection[str], limit: int, now: int
) -> list[Outgoing]:
    """Return the next events of a pool after a number, in order.

    Events of other kinds have no body. The list ends before an event whose data is incomplete.
    """
    with store.read() as connection:
        events = webhooks.events_after(connection, pool, after, limit)
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


def _outgoing(event: Event, source: PoolRecord, data: Any) -> Outgoing:
    # The time makes ids unique also after a backup was restored.
    message = f"msg_{event.source}_{event.number}_{event.created:x}"
    if data is None:
        return Outgoing(event.number, message, None)
    body = EventMessage(event.kind, iso(event.created), source.name, data)
    return Outgoing(event.number, message, msgspec.json.encode(body))


def _data(
    connection: Connection,
    source: PoolRecord,
    event: Event,
    matches: dict[tuple[int, int], MatchMessage],
    now: int,
) -> tuple[bool, Any]:
    """Return whether the data of an event is complete, and the data; None for an event not sent."""
    if event.kind == "match.rated":
        match = matches.get((event.source, event.reference))
        return True, None if match is None or match.status == "unrated" else match
    if event.kind == "season.ended":
        return True, season_message(connection, source.id)
    return _corrected(connection, source, event.reference, now)


def _sources(events: Iterable[Event]) -> set[int]:
    return {event.source for event in events}


def _matches(
    connection: Connection, sources: dict[int, PoolRecord | None], events: Iterable[Event]
) -> dict[tuple[int, int], MatchMessage]:
    """Return the matches that events are about, by pool and record."""
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
    """Return whether it is known what a replay changed, and what it changed."""
    replay = replays.replay_of(connection, pool.id, generation)
    if replay is None:
        return True, None
    known, difference = known_difference(replay, now)
    if not known:
        return False, None
    before = replays.through_before(connection, pool.id, generation)
    amendments = log.amendments(connection, pool.id, through=replay.through_seq)
    new = [one for one in amendments if one.seq > before]
    return True, CorrectedMessage(
        generation=generation,
        amended=len(new),
        amendments=[
            AmendmentLine(one.seq, one.kind, one.match, one.player) for one in new[:_LISTED]
        ],
        matches=None if difference is None else difference.matches,
        changed=None if difference is None else difference.changed,
    )


def forget_delivered(store: Store) -> None:
    """Delete events that no webhook of their pool waits for, in small steps."""
    with store.read() as connection:
        found = webhooks.not_awaited(connection)
    for pool, through in found:
        gone = _DELETED_AT_ONCE
        while gone == _DELETED_AT_ONCE:
            with store.write() as connection:
                gone = webhooks.forget_through(connection, pool, through, _DELETED_AT_ONCE)


def signed_headers(secret: str, message: str, timestamp: int, body: bytes) -> dict[str, str]:
    """Return the headers that prove who sent a body, and when.

    message : id of the event, the same in every delivery
    timestamp : of this delivery, seconds since 1970
    """
    key = base64.b64decode(secret.removeprefix(PREFIX))
    signed = f"{message}.{timestamp}.".encode() + body
    digest = hmac.new(key, signed, hashlib.sha256).digest()
    return {
        "webhook-id": message,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": f"v1,{base64.b64encode(digest).decode()}",
    }

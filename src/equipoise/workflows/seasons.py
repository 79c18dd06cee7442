"""The end of a season: the pool becomes an archive, and a new one takes its name."""

from __future__ import annotations

import zlib

import msgspec
from sqlalchemy import Connection

from equipoise.errors import ConflictError
from equipoise.messages.seasons import SeasonList, SeasonMessage, SeasonRequest
from equipoise.store import audit, log, outbox, ratings, seeds, webhooks
from equipoise.store.connection import Store
from equipoise.store.log import LogRecord
from equipoise.store.pools import (
    FIRST_GENERATION,
    PoolRecord,
    archives_of,
    change_pool,
    find_pool,
    get_pool,
    pool_by_number,
)
from equipoise.store.seeds import Seed
from equipoise.workflows.checkpointing import ZLIB_LEVEL
from equipoise.workflows.planting import plant_ratings
from equipoise.workflows.pools import (
    iso,
    open_pool,
    rules_of,
)
from equipoise.workflows.posted_matches import PoolRules
from equipoise.workflows.season_start import (
    archive_name,
    barred_at_end,
    settings_of_next,
    softened,
    told_widening,
)


def end_season(
    store: Store, pool: str, request: SeasonRequest, *, key: int | None, now: int
) -> SeasonMessage:
    """End a season: archive the pool as POOL.SEASON, and open a new one under its name.

    Raises : NotFoundError, InvalidDataError, ConflictError where the pool is an archive itself or
        waits for a replay, or the archive's name is taken
    """
    archive = archive_name(pool, request)
    with store.write() as connection:
        old = get_pool(connection, pool, lock=True)
        there = find_pool(connection, archive)
        if there is not None:
            return _again(connection, there, pool, request)
        settings = settings_of_next(old, request)
        change_pool(
            connection, old.id, name=archive, closed=now, archive_of=pool, season=request.season
        )
        new = open_pool(connection, pool, settings, now)
        if new is None:
            # Between the renaming and this, on PostgreSQL, somebody made a pool of the name.
            raise ConflictError(f"pool {pool!r} was created in the meantime; try again")
        _plant(connection, old, new, request, PoolRules(settings))
        if request.disqualified == "stay":
            _keep_barred(connection, old, new, key, now)
        _hand_webhooks_on(connection, old, new, now)
        audit.note(
            connection,
            "season.ended",
            now=now,
            key=key,
            pool=pool,
            subject=request.season,
            request=request,
        )
        return season_message(connection, old.id)


def seasons(store: Store, pool: str) -> SeasonList:
    """Return the seasons of a pool that have ended, newest first. Raises : NotFoundError."""
    with store.read() as connection:
        get_pool(connection, pool)
        return SeasonList([_message(connection, one) for one in archives_of(connection, pool)])


def season_message(connection: Connection, archive: int) -> SeasonMessage:
    """Return the season of which a pool, by its number, is the archive."""
    return _message(connection, _archive(connection, archive))


def _keep_barred(
    connection: Connection, old: PoolRecord, new: int, key: int | None, now: int
) -> None:
    """Disqualify in the new season who is disqualified at the end of the old one."""
    reason = f"disqualified when season {old.name} ended"
    content = msgspec.json.encode({"reason": reason}).decode()
    entries = [
        LogRecord(
            seq=seq,
            kind="disqualify",
            match=None,
            player=player,
            content=content,
            posted_time=turn.since,
            time=now if turn.since is None else turn.since,
            needs_replay=False,
            received=now,
            key=key,
        )
        for seq, (player, turn) in enumerate(barred_at_end(connection, old), start=1)
    ]
    log.append(connection, new, entries)
    change_pool(connection, new, last_seq=len(entries), amendments=len(entries))
    barred = [entry.player for entry in entries if entry.player is not None]
    ratings.mark_disqualified(connection, new, [FIRST_GENERATION], barred, True)


def _hand_webhooks_on(connection: Connection, old: PoolRecord, new: int, now: int) -> None:
    """Let webhooks follow the name of the pool, with what they have not been told yet."""
    webhooks.move(connection, old.id, new)
    outbox.move(connection, old.id, new)
    wanted = old.webhooks & outbox.KINDS["season.ended"]
    happened = [("season.ended", 0)] if wanted else []
    last = outbox.append(connection, new, old.outbox_last, old.id, happened, now)
    change_pool(connection, new, webhooks=old.webhooks, outbox_last=last)
    change_pool(connection, old.id, webhooks=0)


def _plant(
    connection: Connection, old: PoolRecord, new: int, request: SeasonRequest, rules: PoolRules
) -> None:
    """Write what the new pool begins with."""
    centre, content, players = None, None, 0
    if request.reset == "soft" and old.players:
        state, centre = softened(connection, old, request, rules.system)
        content = zlib.compress(state.to_bytes(), ZLIB_LEVEL)
        players = plant_ratings(connection, new, FIRST_GENERATION, rules, state)
    told = msgspec.json.encode(request).decode()
    seeds.add_seed(connection, new, Seed(old.id, told, centre, players), content)
    change_pool(connection, new, players=players, follows=old.id)


def _again(
    connection: Connection, there: PoolRecord, pool: str, request: SeasonRequest
) -> SeasonMessage:
    """Return the answer to a request that was carried out before. Raises : ConflictError."""
    after = seeds.seed_after(connection, there.id)
    if there.archive_of != pool or after is None:
        raise ConflictError(f"pool {there.name!r} already exists and is not a season of {pool!r}")
    if msgspec.json.decode(after[1].request, type=SeasonRequest) != request:
        raise ConflictError(
            f"season {there.season!r} of pool {pool!r} has already ended with different settings"
        )
    return _message(connection, there)


def _archive(connection: Connection, number: int) -> PoolRecord:
    found = pool_by_number(connection, number)
    if found is None:
        raise LookupError(f"pool {number} is gone")
    return found


def _message(connection: Connection, archive: PoolRecord) -> SeasonMessage:
    """Return an archived season as it is shown."""
    after = seeds.seed_after(connection, archive.id)
    if after is None:
        raise LookupError(f"pool {archive.name} has no season after it")
    number, seed = after
    request = msgspec.json.decode(seed.request, type=SeasonRequest)
    system = rules_of(_archive(connection, number).settings).system
    return SeasonMessage(
        season=archive.season or "",
        pool=archive.archive_of or "",
        archive=archive.name,
        ended=iso(archive.closed or 0),
        players=archive.players,
        matches=archive.matches,
        reset=request.reset,
        keep=request.keep,
        widen=told_widening(request, system),
        towards=request.towards,
        centre=seed.centre,
        seeded=seed.players,
    )

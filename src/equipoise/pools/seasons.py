"""Seasons: how a season ends, and the ratings with which the next one begins.

At the end of a season its pool becomes an archive, POOL.SEASON, and a new pool takes its name. The
new pool begins empty (a hard reset), or with the ratings of the old one drawn towards a centre (a
soft reset). These are the seed of the new pool. Disqualifications and webhooks can move on.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping

import msgspec
import numpy as np
from sqlalchemy import Connection

from equipoise.arrays import Floats
from equipoise.errors import ConflictError, InvalidDataError, Problem
from equipoise.messages.conversion import json_value
from equipoise.messages.matches import PlayerDifference
from equipoise.messages.pools import (
    PoolRequest,
    SeasonList,
    SeasonMessage,
    SeasonPreview,
    SeasonRequest,
)
from equipoise.pools.contents import DisqualifyContent, RenameContent
from equipoise.pools.pool.pools import open_pool, read_pool
from equipoise.pools.pool.rules import PoolRules, check_settings, iso, rules_of
from equipoise.pools.posting.rating import object_array, time_kind
from equipoise.pools.posting.running import ZLIB_LEVEL, RunningPool, stored_pool
from equipoise.pools.profiles import keep_profiles
from equipoise.pools.records import (
    Draft,
    EligibilityRecord,
    amendments_of,
    append,
)
from equipoise.pools.replay.states import Numbers, compared, stored_numbers
from equipoise.rating.base_system import System
from equipoise.rating.pool_state import (
    PoolState,
    carry_entry,
    seeded_state,
    soft_reset,
)
from equipoise.rating.system import RatingSystem
from equipoise.store import pools, ratings, webhooks
from equipoise.store.connection import Store
from equipoise.store.keys import add_audit_row
from equipoise.store.pools import (
    FIRST_GENERATION,
    PoolRecord,
    Seed,
    archives_of,
    change_pool,
    find_pool,
    get_pool,
    pool_by_number,
)

#: Players that a preview shows.
SAMPLE = 12

#: Players written in one statement.
_WRITTEN_AT_ONCE = 5_000


def end_season(
    store: Store, pool: str, request: SeasonRequest, *, key: int | None, now: int
) -> SeasonMessage:
    """End a season: archive the pool as POOL.SEASON, and create a new one under its name.

    The same request again changes nothing and gets the same answer.
    Raises : NotFoundError, InvalidDataError; ConflictError if the pool is an archive itself or
        waits for a replay, or if the name of the archive is taken
    """
    archive = _archive_name(pool, request)
    with store.write() as connection:
        old = get_pool(connection, pool, lock=True)
        existing = find_pool(connection, archive)
        if existing is not None:
            return _repeated(connection, existing, pool, request)
        settings = _next_settings(old, request)
        change_pool(
            connection, old.id, name=archive, closed=now, archive_of=pool, season=request.season
        )
        new = open_pool(connection, pool, settings, now)
        if new is None:
            # On PostgreSQL another transaction may create a pool of the name in between.
            raise ConflictError(f"pool {pool!r} was created in the meantime; try again")
        _write_seed(connection, old, new, request, PoolRules(settings))
        begun = _pool(connection, new)
        barred = _disqualified_at_end(connection, old, request)
        for draft in _kept_drafts(connection, old, barred, now):
            begun, _ = append(connection, begun, draft, key=key, now=now)
        ratings.mark_disqualified(connection, new, [FIRST_GENERATION], [*barred], True)
        keep_profiles(connection, old, begun, key, now)
        _move_webhooks(connection, old, new, now)
        add_audit_row(
            connection,
            "season.ended",
            now=now,
            key=key,
            pool=pool,
            subject=request.season,
            request=request,
        )
        return season_message(connection, _pool(connection, old.id))


def seasons(store: Store, pool: str) -> SeasonList:
    """Return the seasons of a pool that have ended, newest first. Raises : NotFoundError."""
    with store.read() as connection:
        get_pool(connection, pool)
        return SeasonList(
            [season_message(connection, archive) for archive in archives_of(connection, pool)]
        )


def preview_season(store: Store, pool: str, request: SeasonRequest) -> SeasonPreview:
    """Return what ending a season would do.

    Raises : NotFoundError, InvalidDataError; ConflictError if the season could not be ended
    """
    with read_pool(store, pool) as (connection, record, _):
        archive = _archive_name(pool, request)
        if find_pool(connection, archive) is not None:
            raise ConflictError(
                f"pool {archive!r} already exists: choose another name for the season"
            )
        system = PoolRules(_next_settings(record, request)).system
        before = stored_numbers(connection, record)
        after, centre, start = _seed_numbers(connection, record, request, system)
        hooks = webhooks.webhooks_of(connection, record.id)
        return SeasonPreview(
            archive=archive,
            players=record.players,
            matches=record.matches,
            reset=request.reset,
            keep=request.keep,
            widen=_shown_widening(request, system),
            towards=request.towards,
            centre=centre,
            start=start,
            start_deviation=json_value(_newcomer(system)[1]),
            barred=len(_disqualified_at_end(connection, record, request)),
            webhooks=sum(hook.disabled is None for hook in hooks),
            sample=_sample(before, after),
        )


def _seed_numbers(
    connection: Connection, pool: PoolRecord, request: SeasonRequest, system: RatingSystem
) -> tuple[dict[str, Numbers], float | None, float]:
    """Return the numbers that players would begin with, the centre of the reset, and the entry."""
    if request.reset == "hard" or not pool.players:
        return {}, None, _newcomer(system)[0]
    seeded, centre = _soft_seed(connection, pool, request, system)
    names = [str(player) for player in seeded.player_ids.tolist()]
    numbers = system.at(seeded.state, np.arange(len(names)), None)
    pairs = zip(numbers["rating"].tolist(), numbers["deviation"].tolist(), strict=True)
    after = {name: Numbers.of(*pair) for name, pair in zip(names, pairs, strict=True)}
    return after, centre, _newcomer(system, seeded.state.shared)[0]


def _sample(before: dict[str, Numbers], after: dict[str, Numbers]) -> list[PlayerDifference]:
    """Return some players, evenly from the highest rating to the lowest."""
    order = sorted(before, key=lambda name: (-before[name].rating, name))
    chosen = np.linspace(0, len(order) - 1, min(SAMPLE, len(order))).round().astype(np.int64)
    names = [order[at] for at in chosen.tolist()]
    return [compared(name, before[name], after.get(name)) for name in names]


def _archive_name(pool: str, request: SeasonRequest) -> str:
    """Return the name of the pool after its season has ended."""
    return f"{pool}.{request.season}"


def _next_settings(pool: PoolRecord, request: SeasonRequest) -> PoolRequest:
    """Return the settings of the next season.

    Raises : InvalidDataError; ConflictError if the pool is an archive or waits for a replay
    """
    pool.check_open()
    if pool.dirty is not None:
        raise ConflictError(f"pool {pool.name!r} waits for a replay; end the season after that")
    old = rules_of(pool.settings).settings
    changed = msgspec.to_builtins(request.settings)
    settings = msgspec.convert({**msgspec.to_builtins(old), **changed}, PoolRequest)
    if request.reset == "soft" and settings.system != old.system:
        rule = f"must stay {old.system} in a soft reset, which keeps its ratings"
        raise InvalidDataError([Problem("", None, "settings.system", rule, settings.system)])
    check_settings(_archive_name(pool.name, request), settings, "The season could not be ended")
    return settings


def _repeated(
    connection: Connection, existing: PoolRecord, pool: str, request: SeasonRequest
) -> SeasonMessage:
    """Return the season that an earlier request has ended. Raises : ConflictError."""
    after = pools.seed_after(connection, existing.id)
    if existing.archive_of != pool or after is None:
        raise ConflictError(
            f"pool {existing.name!r} already exists and is not a season of {pool!r}"
        )
    if msgspec.json.decode(after[1].request, type=SeasonRequest) != request:
        raise ConflictError(
            f"season {existing.season!r} of pool {pool!r} has already ended with different settings"
        )
    return season_message(connection, existing)


def _write_seed(
    connection: Connection, old: PoolRecord, new: int, request: SeasonRequest, rules: PoolRules
) -> None:
    """Write the seed of the new pool, and its ratings."""
    centre, content, players = None, None, 0
    if request.reset == "soft" and old.players:
        state, centre = _soft_seed(connection, old, request, rules.system)
        content = zlib.compress(state.to_bytes(), ZLIB_LEVEL)
        running = RunningPool.of_state(rules, state)
        players = write_seed_ratings(connection, new, FIRST_GENERATION, running)
        change_pool(connection, new, shared=state.state.shared)
    seed = Seed(old.id, msgspec.json.encode(request).decode(), centre, players)
    pools.add_seed(connection, new, seed, content)
    change_pool(connection, new, players=players, follows=old.id)


def _soft_seed(
    connection: Connection, old: PoolRecord, request: SeasonRequest, system: RatingSystem
) -> tuple[PoolState, float]:
    """Return the state after a soft reset, and the centre that ratings were drawn towards."""
    before = rules_of(old.settings)
    stored = stored_pool(connection, old, before)
    last = before.system.at(stored.state, np.arange(len(stored.players)), None)
    start, most = _newcomer(system)
    mean = float(np.mean(last["rating"]))
    centre = mean if request.towards == "mean" else start
    rating, deviation = soft_reset(
        last["rating"],
        last["deviation"],
        centre=centre,
        keep=request.keep,
        widen=_widening(request, system),
        most=most,
    )
    begins = seeded_state(system, rating, deviation)
    if isinstance(before.system, System):
        carry_entry(begins, stored.state, before.system, centre=centre, keep=request.keep)
    seeded = PoolState(
        system=system,
        player_ids=object_array(stored.players),
        state=begins,
        rated=np.zeros(0, np.int64),
        time_kind=time_kind(before),
    )
    return seeded, centre


def _widening(request: SeasonRequest, system: RatingSystem) -> float:
    """Return what a soft reset adds to deviations; NaN for a system without deviations."""
    return 0.5 * _newcomer(system)[1] if request.widen is None else request.widen


def _shown_widening(request: SeasonRequest, system: RatingSystem) -> float | None:
    """Return what is added to deviations; None if nothing is."""
    added = _widening(request, system)
    return None if request.reset == "hard" or added != added else added


def _newcomer(system: RatingSystem, shared: dict[str, Floats] | None = None) -> tuple[float, float]:
    """Return rating and deviation of a player before the first match; NaN for no deviation.

    shared : numbers of the pool; None for those before its first match
    """
    state = system.initial(1)
    state.shared = state.shared if shared is None else shared
    columns = system.at(state, np.zeros(1, np.int64), None)
    return float(columns["rating"][0]), float(columns["deviation"][0])


def write_seed_ratings(
    connection: Connection, pool: int, generation: int, running: RunningPool
) -> int:
    """Write the ratings with which all players begin; return their number."""
    players = len(running.players)
    for low in range(0, players, _WRITTEN_AT_ONCE):
        rows = running.ratings(np.arange(low, min(low + _WRITTEN_AT_ONCE, players)))
        ratings.put(connection, pool, generation, rows)
    return players


def _disqualified_at_end(
    connection: Connection, pool: PoolRecord, request: SeasonRequest
) -> dict[str, EligibilityRecord]:
    """Return the players who stay disqualified, and the records that disqualify them, by id."""
    if request.disqualified != "stay":
        return {}
    eligible = amendments_of(connection, pool).eligibility
    records = {player: eligible.disqualification_of(player) for player in sorted(eligible.players)}
    return {player: by for player, by in records.items() if by is not None}


def _kept_drafts(
    connection: Connection, old: PoolRecord, barred: Mapping[str, EligibilityRecord], now: int
) -> Iterator[Draft]:
    """Give the records with which players stay disqualified and renamed in the new season."""
    reason = f"disqualified when season {old.name} ended"
    for player, by in barred.items():
        content = DisqualifyContent(reason, by.effect or "without")
        yield Draft(
            kind="disqualify",
            content=msgspec.json.encode(content).decode(),
            time=now if by.since is None else by.since,
            player=player,
            posted_time=by.since,
        )
    for player, to in amendments_of(connection, old).renames.items():
        renamed = RenameContent(to, f"renamed in season {old.name}")
        text = msgspec.json.encode(renamed).decode()
        yield Draft(kind="rename", content=text, time=now, player=player)


def _move_webhooks(connection: Connection, old: PoolRecord, new: int, now: int) -> None:
    """Move webhooks to the new pool, with the events that they have not received yet."""
    webhooks.move(connection, old.id, new)
    wanted = old.webhooks & webhooks.KINDS["season.ended"]
    happened = [("season.ended", 0)] if wanted else []
    last = webhooks.append(connection, new, old.outbox_last, old.id, happened, now)
    change_pool(connection, new, webhooks=old.webhooks, outbox_last=last)
    change_pool(connection, old.id, webhooks=0)


def _pool(connection: Connection, number: int) -> PoolRecord:
    pool = pool_by_number(connection, number)
    if pool is None:
        raise LookupError(f"no pool number {number}")
    return pool


def season_message(connection: Connection, archive: PoolRecord) -> SeasonMessage:
    """Return the season of an archive."""
    after = pools.seed_after(connection, archive.id)
    if after is None:
        raise LookupError(f"pool {archive.name} has no season after it")
    number, seed = after
    request = msgspec.json.decode(seed.request, type=SeasonRequest)
    system = rules_of(_pool(connection, number).settings).system
    return SeasonMessage(
        season=archive.season or "",
        pool=archive.archive_of or "",
        archive=archive.name,
        ended=iso(archive.closed or 0),
        players=archive.players,
        matches=archive.matches,
        reset=request.reset,
        keep=request.keep,
        widen=_shown_widening(request, system),
        towards=request.towards,
        centre=seed.centre,
        seeded=seed.players,
    )

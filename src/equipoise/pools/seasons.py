"""The end of a season: the pool becomes an archive, and a new one takes its name.

What the next season begins with: its settings, and ratings drawn towards a centre.

Writing the ratings with which a pool begins.

What the end of a season would do, before it is done.
"""

from __future__ import annotations

import zlib

import msgspec
import numpy as np
from sqlalchemy import Connection

from equipoise.errors import ConflictError, InvalidDataError, Problem
from equipoise.messages.conversion import json_value
from equipoise.messages.matches import PlayerDifference
from equipoise.messages.pools import PoolRequest
from equipoise.messages.seasons import SeasonList, SeasonMessage, SeasonPreview, SeasonRequest
from equipoise.pools.amended_log import Turn, amendments_of
from equipoise.pools.pool.pools import check_open, check_settings, iso, open_pool, rules_of
from equipoise.pools.posting.match_history import object_array, time_kind
from equipoise.pools.posting.posted_matches import PoolRules
from equipoise.pools.posting.rated_rows import LastChanges, rating_rows
from equipoise.pools.replay.checkpointing import ZLIB_LEVEL, Numbers, compared, stored_numbers
from equipoise.rating.player_state import seeded_state, soft_reset, unpack_players
from equipoise.rating.pool_state import PoolState
from equipoise.rating.system import RatingSystem
from equipoise.store import audit, log, pools, ratings, webhooks
from equipoise.store.connection import Store
from equipoise.store.log import LogRecord
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


def archive_name(pool: str, request: SeasonRequest) -> str:
    """Return what the pool of the season that ends is called from then on."""
    return f"{pool}.{request.season}"


def settings_of_next(pool: PoolRecord, request: SeasonRequest) -> PoolRequest:
    """Return the settings of the season after one that may end.

    Raises : InvalidDataError, ConflictError where the pool is an archive or waits for a replay
    """
    check_open(pool)
    if pool.dirty is not None:
        raise ConflictError(f"pool {pool.name!r} waits for a replay; end the season after it")
    old = rules_of(pool.settings).settings
    changed = msgspec.to_builtins(request.settings)
    settings = msgspec.convert({**msgspec.to_builtins(old), **changed}, PoolRequest)
    if request.reset == "soft" and settings.system != old.system:
        rule = f"must stay {old.system} in a soft reset, which keeps its ratings"
        raise InvalidDataError([Problem("", None, "settings.system", rule, settings.system)])
    check_settings(archive_name(pool.name, request), settings, "The season could not be ended")
    return settings


def barred_at_end(connection: Connection, pool: PoolRecord) -> list[tuple[str, Turn]]:
    """Return who is disqualified now, by name, and since when."""
    eligible = amendments_of(connection, pool).eligibility
    turns = {player: eligible.barred_now(player) for player in sorted(eligible.turns)}
    return [(player, turn) for player, turn in turns.items() if turn is not None]


def softened(
    connection: Connection, old: PoolRecord, request: SeasonRequest, system: RatingSystem
) -> tuple[PoolState, float]:
    """Return the state that the new pool begins with, and the centre of the ratings in it."""
    before = rules_of(old.settings)
    pieces = ratings.all_states(connection, old.id, old.generation)
    known = [one for rows in pieces for one in rows]
    state = unpack_players(before.system, [one.state for one in known])
    state.shared = old.shared
    last = before.system.at(state, np.arange(len(known)), None)
    start, most = newcomer(system)
    mean = float(np.mean(last["rating"]))
    centre = mean if request.towards == "mean" else start
    rating, deviation = soft_reset(
        last["rating"],
        last["deviation"],
        centre=centre,
        keep=request.keep,
        widen=widening(request, system),
        most=most,
    )
    seeded = PoolState(
        system=system,
        player_ids=object_array([one.player for one in known]),
        state=seeded_state(system, rating, deviation),
        rated=np.zeros(0, np.int64),
        time_kind=time_kind(before),
    )
    return seeded, centre


def widening(request: SeasonRequest, system: RatingSystem) -> float:
    """Return what is added to deviations; NaN where the system has none."""
    if request.widen is not None:
        return request.widen
    return 0.5 * newcomer(system)[1]


def told_widening(request: SeasonRequest, system: RatingSystem) -> float | None:
    """Return what is added to deviations, None where nothing is: as it is shown."""
    added = widening(request, system)
    return None if request.reset == "hard" or added != added else added


def newcomer(system: RatingSystem) -> tuple[float, float]:
    """Return rating and deviation of a player before the first match; NaN for no deviation."""
    found = system.at(system.initial(1), np.zeros(1, np.int64), None)
    return float(found["rating"][0]), float(found["deviation"][0])


#: Players written in one statement.
_ROWS = 5_000


def plant_ratings(
    connection: Connection, pool: int, generation: int, rules: PoolRules, state: PoolState
) -> int:
    """Write the ratings of all players of a state, and return how many they are."""
    players = len(state.player_ids)
    last_changes = LastChanges.empty(players)
    for low in range(0, players, _ROWS):
        rows = np.arange(low, min(low + _ROWS, players))
        names = [str(one) for one in state.player_ids[rows].tolist()]
        ratings.put(
            connection, pool, generation, rating_rows(rules, state.state, rows, names, last_changes)
        )
    return players


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
    webhooks.move_webhooks(connection, old.id, new)
    webhooks.move_events(connection, old.id, new)
    wanted = old.webhooks & webhooks.KINDS["season.ended"]
    happened = [("season.ended", 0)] if wanted else []
    last = webhooks.append(connection, new, old.outbox_last, old.id, happened, now)
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
    pools.add_seed(connection, new, Seed(old.id, told, centre, players), content)
    change_pool(connection, new, players=players, follows=old.id)


def _again(
    connection: Connection, there: PoolRecord, pool: str, request: SeasonRequest
) -> SeasonMessage:
    """Return the answer to a request that was carried out before. Raises : ConflictError."""
    after = pools.seed_after(connection, there.id)
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
    after = pools.seed_after(connection, archive.id)
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


#: Players that a preview lists.
SAMPLE = 12


def preview_season(store: Store, pool: str, request: SeasonRequest) -> SeasonPreview:
    """Return what ending a season would do.

    Raises : NotFoundError, InvalidDataError, ConflictError where it could not be done
    """
    with store.read() as connection:
        record = get_pool(connection, pool)
        archive = archive_name(pool, request)
        if find_pool(connection, archive) is not None:
            raise ConflictError(
                f"pool {archive!r} already exists: choose another name for the season"
            )
        system = PoolRules(settings_of_next(record, request)).system
        before = stored_numbers(connection, record)
        after, centre = _begins_with(connection, record, request, system)
        start, deviation = newcomer(system)
        hooks = webhooks.webhooks_of(connection, record.id)
        stay = request.disqualified == "stay"
        return SeasonPreview(
            archive=archive,
            players=record.players,
            matches=record.matches,
            reset=request.reset,
            keep=request.keep,
            widen=told_widening(request, system),
            towards=request.towards,
            centre=centre,
            start=start,
            start_deviation=json_value(deviation),
            barred=len(barred_at_end(connection, record)) if stay else 0,
            webhooks=sum(hook.disabled is None for hook in hooks),
            sample=_sample(before, after),
        )


def _begins_with(
    connection: Connection, pool: PoolRecord, request: SeasonRequest, system: RatingSystem
) -> tuple[dict[str, Numbers], float | None]:
    """Return what the players of a pool would begin with, and the centre that they move to."""
    if request.reset == "hard" or not pool.players:
        return {}, None
    seeded, centre = softened(connection, pool, request, system)
    names = [str(one) for one in seeded.player_ids.tolist()]
    numbers = system.at(seeded.state, np.arange(len(names)), None)
    pairs = zip(numbers["rating"].tolist(), numbers["deviation"].tolist(), strict=True)
    return {name: Numbers.of(*pair) for name, pair in zip(names, pairs, strict=True)}, centre


def _sample(before: dict[str, Numbers], after: dict[str, Numbers]) -> list[PlayerDifference]:
    """Return some players, evenly from the highest rating to the lowest."""
    order = sorted(before, key=lambda name: (-before[name].rating, name))
    chosen = np.linspace(0, len(order) - 1, min(SAMPLE, len(order))).round().astype(np.int64)
    names = [order[at] for at in chosen.tolist()]
    return [compared(name, before[name], after.get(name)) for name in names]

"""What the next season begins with: its settings, and ratings drawn towards a centre."""

from __future__ import annotations

import msgspec
import numpy as np
from sqlalchemy import Connection

from equipoise.errors import ConflictError, InvalidDataError, Problem
from equipoise.messages.pools import PoolRequest
from equipoise.messages.seasons import SeasonRequest
from equipoise.rating.pool_state import PoolState
from equipoise.rating.reseeding import seeded_state, soft_reset
from equipoise.rating.state_bytes import unpack_players
from equipoise.rating.system import RatingSystem
from equipoise.store import ratings
from equipoise.store.pools import PoolRecord
from equipoise.workflows.amended_log import amendments_of
from equipoise.workflows.eligibility import Turn
from equipoise.workflows.match_history import object_array, time_kind
from equipoise.workflows.pools import check_open, check_settings, rules_of


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

"""What the end of a season would do, before it is done."""

from __future__ import annotations

import numpy as np
from sqlalchemy import Connection

from equipoise.errors import ConflictError
from equipoise.messages.amendments import PlayerDifference
from equipoise.messages.conversion import json_value
from equipoise.messages.seasons import SeasonPreview, SeasonRequest
from equipoise.rating.system import RatingSystem
from equipoise.store import webhooks
from equipoise.store.connection import Store
from equipoise.store.pools import PoolRecord, find_pool, get_pool
from equipoise.workflows.differences import Numbers, compared, stored_numbers
from equipoise.workflows.posted_matches import PoolRules
from equipoise.workflows.season_start import (
    archive_name,
    barred_at_end,
    newcomer,
    settings_of_next,
    softened,
    told_widening,
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

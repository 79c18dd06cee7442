"""Changing the settings of a pool, and the order of its leaderboard after that.

All ratings get their places again every day where ratings shown decay, and once after a change of
settings that affect the leaderboard.

A change is a log record. Matches before it stay rated by the settings of their time, also after an
import: the head of an exported log has the first settings of the pool, and the import makes each
change at its place in the log.

The parameters of the entry and level are different: a change of these waits for a replay of the
whole log. Until that is swapped in, the pool keeps the old parameters, by which it rates what is
posted. The parameters that it shall have follow from the log, see `settings_through`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import msgspec
import numpy as np
from msgspec import UNSET
from sqlalchemy import Connection

from equipoise.analysis.systems import plain_parameters
from equipoise.data.history import MICROSECONDS_PER_DAY
from equipoise.errors import ConflictError, InvalidDataError, Problem
from equipoise.messages.matches import AmendmentMessage, DifferenceMessage
from equipoise.messages.pools import PoolChange, PoolMessage, PoolRequest
from equipoise.pools.contents import SettingsContent, content_of
from equipoise.pools.pool.pools import (
    changed_settings,
    described_differences,
    differing,
    is_fixed,
    message_of,
    read_pool,
)
from equipoise.pools.pool.rules import (
    REPLAYED,
    PoolRules,
    check_reason,
    check_settings,
    decays,
    iso,
    rules_of,
    settings_json,
)
from equipoise.pools.posting.rating import day_of, days_idle, display
from equipoise.pools.records import Draft, amendments_of, record_change
from equipoise.pools.replay.states import PoolPast, difference
from equipoise.store import log, ratings
from equipoise.store.bulk import sizes_of
from equipoise.store.connection import Store
from equipoise.store.log import LoggedAs, LogRecord
from equipoise.store.pools import START, PoolRecord, change_pool, get_pool
from equipoise.store.ratings import RatingRow


def update_leaderboard(
    store: Store, pool: str, *, stop: Callable[[], bool] = lambda: False
) -> None:
    """Write changed settings, and decay up to the day of the last match, into all ratings.

    That is done in small steps, until `stop` returns True.
    """
    while not stop():
        with store.write() as connection:
            record = _on_its_day(connection, get_pool(connection, pool, lock=True))
            if record.board_from is None or rewrite_next(connection, record):
                return
        time.sleep(0.001)


def _on_its_day(connection: Connection, pool: PoolRecord) -> PoolRecord:
    """Return a pool, locked, whose ratings shown are to decay up to the day of its last match."""
    if pool.board_day is None or pool.last_time is None:
        return pool
    day = day_of(pool.last_time)
    if day <= pool.board_day or pool.dirty is not None or pool.board_from is not None:
        return pool
    change_pool(connection, pool.id, board_day=day, board_from="")
    return msgspec.structs.replace(pool, board_day=day, board_from="")


def rewrite_next(connection: Connection, pool: PoolRecord) -> bool:
    """Write the leaderboard into the next ratings; return whether all have it.

    pool : locked
    """
    after, limit = pool.board_from or "", sizes_of(connection).board
    rows = ratings.ratings_after(connection, pool.id, pool.generation, after, limit)
    places = {
        row.player: place
        for row, place in zip(rows, places_of(pool, rows), strict=True)
        if (row.ordering, row.provisional) != place
    }
    ratings.reorder(connection, pool.id, pool.generation, places)
    done = len(rows) < limit
    change_pool(connection, pool.id, board_from=None if done else rows[-1].player)
    return done


def places_of(pool: PoolRecord, rows: Sequence[RatingRow]) -> list[tuple[float, bool]]:
    """Return (`ordering`, `provisional`) of ratings, by the settings and the day of a pool."""
    rules = rules_of(pool.settings)
    rating = np.array([row.rating for row in rows], np.float64)
    deviation = np.array([row.deviation for row in rows], np.float64)
    last = np.array([row.last_time for row in rows], np.float64) / MICROSECONDS_PER_DAY
    shown = display(rules, rating, deviation, days_idle(last, pool.board_day))
    matches = np.array([row.matches for row in rows], np.int64)
    marks = rules.provisional(matches, deviation).tolist()
    return list(zip((-shown).tolist(), marks, strict=True))


#: Settings that affect stored ratings: the order of the leaderboard, and who is provisional.
_ON_BOARD = frozenset(
    {
        "display_deviations",
        "display_floor",
        "display_decay_per_day",
        "display_decay_after_days",
        "placement_matches",
        "provisional_deviation",
    }
)


def change_settings(
    store: Store, pool: str, request: PoolChange, now: int, *, key: int | None = None
) -> PoolMessage:
    """Change settings of a pool. Without a difference nothing is recorded.

    key : number of the key that changes them
    Raises : NotFoundError; InvalidDataError; ConflictError for the archive of a season, and for
        settings that cannot be changed without rating all matches again
    """

    def make(connection: Connection, record: PoolRecord) -> Draft | None:
        change = _wanted(connection, record, request)
        return _draft(record, change, now) if change.settings else None

    return message_of(record_change(store, pool, make, key=key, now=now, then=_reorder))


def preview_settings(store: Store, pool: str, request: PoolChange, now: int) -> AmendmentMessage:
    """Return which ratings a change of settings would change, and change nothing.

    It rates the whole log in memory if parameters differ; other settings change no rating.
    Raises : as `change_settings`; ConvergenceError if the log cannot be rated so
    """
    with read_pool(store, pool) as (connection, record, _):
        change = _wanted(connection, record, request)
        shown = DifferenceMessage(0, 0, [])
        if "parameters" in change.settings:
            rules = rules_through(connection, record)
            wanted = with_settings(rules.settings, change.settings)
            after = amendments_of(connection, record)
            rules = replace(rules, settings=wanted)
            past = PoolPast(connection, record, rules, after)
            shown = difference(*past.numbers_of_replay(START))
    return AmendmentMessage(
        seq=None,
        kind="preview",
        match=None,
        player=None,
        since=None,
        reason=request.reason,
        received=iso(now),
        status="done",
        difference=shown,
        settings=change.settings,
        settings_before=change.before,
    )


def _wanted(connection: Connection, pool: PoolRecord, request: PoolChange) -> SettingsContent:
    """Return how the wanted settings change those of a pool, those that wait included.

    Raises : InvalidDataError, ConflictError
    """
    changes = {
        name: value
        for name, value in msgspec.structs.asdict(request).items()
        if name != "reason" and value is not UNSET
    }
    check_reason(request.reason)
    pool.check_open()
    current = settings_through(connection, pool)
    wanted = with_settings(current, changes)
    check_settings(pool.name, wanted, "The settings could not be changed")
    rules = rules_of(pool.settings)
    differences = differing(replace(rules, settings=current), replace(rules, settings=wanted))
    fixed = {name: pair for name, pair in differences.items() if is_fixed(name, pair)}
    if fixed:
        raise ConflictError(
            f"Pool {pool.name!r} cannot take these settings: {described_differences(fixed)}. "
            "Its matches were rated with the old ones. Create another pool, or end the season "
            f"with other settings: POST /v1/pools/{pool.name}/seasons"
        )
    return _change_of(current, changed_settings(differences), request.reason)


def import_settings(store: Store, pool: str, content: SettingsContent, logged: LoggedAs) -> None:
    """Record a change of settings from an imported log, even if nothing differs.

    logged : what the log has of the record
    Raises : NotFoundError, InvalidDataError, ConflictError
    """

    def make(connection: Connection, record: PoolRecord) -> Draft:
        current = settings_through(connection, record)
        wanted = with_settings(current, content.settings)
        check_settings(pool, wanted, "The settings could not be changed")
        differences = differing(PoolRules(current), PoolRules(wanted))
        if any(is_fixed(name, pair) for name, pair in differences.items()):
            raise ConflictError(
                f"the log changes settings that cannot be changed: {', '.join(differences)}"
            )
        change = _change_of(current, content.settings, content.reason)
        return _draft(record, change, logged.received)

    record_change(store, pool, make, key=None, now=logged.received, logged=logged, then=_reorder)


def first_settings(pool: PoolRecord) -> PoolRequest:
    """Return the first settings of a pool."""
    return rules_of(pool.first_settings).settings


def settings_through(
    connection: Connection, pool: PoolRecord, through: int | None = None
) -> PoolRequest:
    """Return the settings of a pool with the parameters and `calibrate` that the log gives it.

    They differ from those by which the pool rates only while a change waits for a replay.

    through : the last record that is taken into account; None for all
    """
    current = rules_of(pool.settings).settings
    if pool.dirty != START:
        return current
    changes = [
        (record.seq, content_of("settings", record.content).settings)
        for record in (log.amendments(connection, pool.id) if pool.amendments else [])
        if record.kind == "settings"
    ]
    if not any(REPLAYED & changed.keys() for _, changed in changes):
        return current
    first = first_settings(pool)
    parameters, calibrate = first.parameters, first.calibrate
    for seq, changed in changes:
        if through is None or seq <= through:
            parameters = {**parameters, **changed.get("parameters", {})}
            calibrate = changed.get("calibrate", calibrate)
    return msgspec.structs.replace(current, parameters=parameters, calibrate=calibrate)


def rules_through(
    connection: Connection, pool: PoolRecord, through: int | None = None
) -> PoolRules:
    """Return the rules of a pool with the parameters that the log gives it; as above."""
    settings = settings_through(connection, pool, through)
    return replace(rules_of(pool.settings), settings=settings)


def with_parameters(pool: PoolRecord, rated: PoolRules) -> str:
    """Return the settings of a pool, as it stores them, with those that rated it now."""
    settings = rules_of(pool.settings).settings
    now_so = {name: getattr(rated.settings, name) for name in REPLAYED}
    if all(getattr(settings, name) == value for name, value in now_so.items()):
        return pool.settings
    return settings_json(msgspec.structs.replace(settings, **now_so))


def pool_as_wanted(store: Store, pool: str, request: PoolChange | None = None) -> PoolMessage:
    """Return a pool with the parameters that it will have after a replay that it waits for.

    request : a change of settings that is not made yet
    Raises : NotFoundError; InvalidDataError and ConflictError for the request
    """
    with read_pool(store, pool) as (connection, record, rules):
        settings = settings_through(connection, record)
        if request is None and settings == rules.settings:
            return message_of(record)  # also where the package of its system is not installed
        if request is not None:
            change = _wanted(connection, record, request)
            settings = with_settings(settings, change.settings)
    return message_of(msgspec.structs.replace(record, settings=settings_json(settings)))


def with_settings(settings: PoolRequest, changes: Mapping[str, Any]) -> PoolRequest:
    """Return settings with some of them replaced; parameters that are not given stay.

    Raises : InvalidDataError
    """
    values = {**msgspec.to_builtins(settings), **changes}
    parameters = values.get("parameters", {})
    if isinstance(parameters, Mapping):
        values["parameters"] = {**settings.parameters, **parameters}
    try:
        return msgspec.convert(values, PoolRequest)
    except msgspec.ValidationError as error:
        raise InvalidDataError(
            [Problem("", None, "settings", str(error), str(changes)[:200])]
        ) from (error)


def _change_of(current: PoolRequest, changed: Mapping[str, Any], reason: str) -> SettingsContent:
    """Return a change of these settings, also where nothing differs."""
    before = {name: getattr(current, name) for name in changed if name != "parameters"}
    if "parameters" in changed:
        plain = plain_parameters(PoolRules(current).system)
        before["parameters"] = {name: plain.get(name) for name in changed["parameters"]}
    return SettingsContent(dict(changed), before, reason)


def _draft(pool: PoolRecord, change: SettingsContent, now: int) -> Draft:
    """Return the draft of the record of a change."""
    changed = change.settings
    replays = bool(REPLAYED & changed.keys())
    # The replay brings the others.
    now_so = {name: value for name, value in changed.items() if name not in REPLAYED}
    new = with_settings(rules_of(pool.settings).settings, now_so)
    columns: dict[str, Any] = {"settings": settings_json(new)}
    if replays:
        columns["dirty"] = START
    if _ON_BOARD & changed.keys():
        columns["board_from"] = ""
        since = START[0] if pool.board_day is None else pool.board_day
        columns["board_day"] = since if decays(new) else None
    return Draft(
        kind="settings",
        content=msgspec.json.encode(change).decode(),
        time=now,
        needs_replay=replays,
        columns=columns,
        action="pool.changed",
        detail={"settings": changed, "before": change.before, "reason": change.reason},
    )


def _reorder(connection: Connection, pool: PoolRecord, new: LogRecord) -> None:
    """Write changed settings into the ratings at once, if they are few."""
    if pool.board_from is not None and pool.players < sizes_of(connection).board:
        rewrite_next(connection, pool)

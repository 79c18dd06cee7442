"""Whether the row of a pool, its replays and its seed agree with its log.

Not compared are values that follow from nothing that is stored: the version of the code, what a
past replay changed and when it ran, webhooks and events that wait for delivery. Nor are those that
only say when background work is done, such as the interval between checkpoints.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, replace

import msgspec
from sqlalchemy import Connection

from equipoise.errors import EquipoiseError
from equipoise.messages.pools import PoolRequest
from equipoise.messages.seasons import SeasonRequest
from equipoise.pools.amended_log import (
    amendments_of,
    last_counting_time,
    latest_of,
    waiting_from,
)
from equipoise.pools.pool.known_ratings import read_known
from equipoise.pools.pool.rules import PoolRules, decays, rules_of
from equipoise.pools.pool.settings import content_of, first_settings, with_settings
from equipoise.pools.posting.rated_rows import day_of
from equipoise.pools.replay.findings import Findings
from equipoise.rating.pool_state import PoolState
from equipoise.store import log, pools, replays
from equipoise.store.pools import FIRST_GENERATION, START, PoolRecord, pool_by_number, seed_after
from equipoise.store.upkeep.erasing import erasure_numbers
from equipoise.wording import counted


def settings_versions(connection: Connection, pool: PoolRecord, found: Findings) -> list[PoolRules]:
    """Return the rules of a pool from its first settings to the current ones, as the log has them.

    The last ones are compared with those of the pool.
    """
    current = rules_of(pool.settings)
    settings = [first_settings(pool)]
    through = replays.rated_through(connection, pool)
    try:
        for record in log.amendments(connection, pool.id) if pool.amendments else []:
            if record.kind == "settings":
                changed = content_of(record.content).settings
                if through is not None and record.seq > through:
                    # These parameters wait for a replay.
                    changed = {name: one for name, one in changed.items() if name != "parameters"}
                settings.append(with_settings(settings[-1], changed))
    except (EquipoiseError, msgspec.MsgspecError) as error:
        found.add(f"a change of settings in the log cannot be read: {error}")
    if settings[-1] != current.settings:
        names = ", ".join(
            name
            for name in PoolRequest.__struct_fields__
            if getattr(settings[-1], name) != getattr(current.settings, name)
        )
        found.add(f"the settings of the pool are not those of the log: {names}")
    return [*(replace(current, settings=one) for one in settings[:-1]), current]


@dataclass(frozen=True, slots=True)
class Replayed:
    """What a replay of the whole log counted: players, and changes."""

    players: int
    changes: int


def compare_pool(
    connection: Connection,
    pool: PoolRecord,
    replayed: Replayed,
    stored_changes: int,
    found: Findings,
) -> None:
    """Compare the row of a pool with its log and with the end of a replay."""
    found.check(
        pool.players == replayed.players,
        f"the pool counts {counted(pool.players, 'player')}, the log has {replayed.players:,}",
    )
    if stored_changes != replayed.changes:
        found.add(
            f"{counted(stored_changes, 'change is', 'changes are')} stored, "
            f"and the log gives {replayed.changes:,}"
        )
    last = last_counting_time(connection, pool, amendments_of(connection, pool))
    waits = pool.dirty is not None and latest_of(last, pool.rated_to) == pool.rated_to
    found.check(
        pool.last_time == last and (pool.rated_to == last or waits),
        "the time of the last match of the pool is not that of the log",
    )
    erasures = [0, *erasure_numbers(connection, pool.id)]
    found.check(pool.erased == erasures[-1], "the last erasure of a name is not the one in the log")
    _compare_known_ratings(connection, pool, found)
    day = pool.board_day
    found.check(
        decays(rules_of(pool.settings).settings) == (day is not None)
        and (day is None or day == START[0] or day == day_of(day)),
        "the day to which ratings shown have decayed disagrees with the settings",
    )
    _compare_replays(connection, pool, found)
    _compare_seasons(connection, pool, found)


def _compare_known_ratings(connection: Connection, pool: PoolRecord, found: Findings) -> None:
    """Compare what is said of the known ratings of a pool with its log."""
    numbers = [0, *log.initial_numbers(connection, pool.id)]
    found.check(
        pool.initial == numbers[-1], "the known ratings that count are not the last ones in the log"
    )
    first = log.first_match_number(connection, pool.id)
    found.check(
        first is None or pool.initial < first, "the known ratings came after the first match"
    )
    known = read_known(connection, pool)
    found.check(
        pool.known_ratings == (0 if known is None else len(known.content.players)),
        "the number of players with known ratings differs",
    )


def _compare_replays(connection: Connection, pool: PoolRecord, found: Findings) -> None:
    """Compare the generation, and what waits for a replay, with the replays and the log."""
    every = replays.replays_of(connection, pool.id)
    last = every[-1] if every else None
    found.check(
        pool.generation == (FIRST_GENERATION if last is None else last.generation)
        and pool.begins == (START if last is None else last.begins),
        "the generation of the ratings is not that of the last replay",
    )
    through = [0, *(one.through_seq for one in every)]
    found.check(
        through == sorted(through) and through[-1] <= pool.last_seq,
        "the records that replays took into account are not in the order of the log",
    )
    # A replay of everything can be requested at any time.
    if pool.dirty != START:
        waiting = waiting_from(connection, pool, through[-1])
        found.check(pool.dirty == waiting, "what waits for a replay is not what waits in the log")


def _compare_seasons(connection: Connection, pool: PoolRecord, found: Findings) -> None:
    """Compare the end of a season, and the seed of the next one, with each other."""
    after = seed_after(connection, pool.id)
    following = None if after is None else pool_by_number(connection, after[0])
    if pool.closed is not None or following is not None:
        season = None
        if after is not None:
            season = msgspec.json.decode(after[1].request, type=SeasonRequest).season
        found.check(
            following is not None
            and following.follows == pool.id
            and pool.closed == following.created
            and pool.season == season
            and pool.name == f"{pool.archive_of}.{season}",
            "the end of its season disagrees with the season after it",
        )
    found.check(
        pool.closed is not None or (pool.archive_of, pool.season) == (None, None),
        "its season has not ended, but it has the name of one",
    )
    _compare_seed(connection, pool, found)


def _compare_seed(connection: Connection, pool: PoolRecord, found: Findings) -> None:
    """Compare what is said of the seed of a pool with its content."""
    seed = pools.seed_of(connection, pool.id)
    if seed is None or pool.follows is None:
        found.check(seed is None and pool.follows is None, "the seed of the season is missing")
        return
    found.check(seed.archive == pool.follows, "the seed is of another season than the one before")
    content, players = pools.content_of(connection, pool.id), 0
    if content is not None:
        try:
            players = len(PoolState.from_bytes(zlib.decompress(content), "seed").player_ids)
        except (zlib.error, EquipoiseError) as error:
            found.add(f"the seed cannot be read: {error}")
            return
    found.check(seed.players == players, "the number of players in the seed differs")

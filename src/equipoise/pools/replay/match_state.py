"""The states of a match's players right before it, without those of all other players.

They follow from the last partial checkpoint before the match, and from the matches since that the
states depend on: those of its players, those of their opponents in these, and so on. The chains of
changes lead to them. Where a match changes numbers of the whole pool, such as the entry, they are
all matches since. So the time does not depend on the length of the log.
"""

from __future__ import annotations

import numpy as np
from sqlalchemy import Connection

from equipoise.arrays import Floats
from equipoise.pools.amended_log import Amendments
from equipoise.pools.pool.known_ratings import cached_known
from equipoise.pools.pool.rules import PoolRules
from equipoise.pools.posting.match_history import (
    LoggedMatch,
    history_of,
    names_of,
    object_array,
    time_kind,
)
from equipoise.rating.base_system import System
from equipoise.rating.draws import DRAWS
from equipoise.rating.entry.entering import SEEDED
from equipoise.rating.player_state import pack_players, unpack_players
from equipoise.rating.pool_state import PoolState
from equipoise.rating.system import RatingSystem
from equipoise.store import changes, log
from equipoise.store.changes import ChangeRow
from equipoise.store.derived import partial_checkpoints
from equipoise.store.derived.partial_checkpoints import PartialStates
from equipoise.store.pools import START, PoolRecord, Position

#: Matches that are looked up one by one; after that all since the partial checkpoint are read.
_SINGLY = 40
#: Changes that are read at most. Only where partial checkpoints are missing are there more.
_MOST_CHANGES = 50_000


def players_before(
    connection: Connection,
    pool: PoolRecord,
    rules: PoolRules,
    amendments: Amendments,
    position: Position,
) -> PoolState | None:
    """Return the state of a match's players before it, and of players that it depends on.

    amendments : those that the ratings take into account
    None if the partial checkpoints that it needs are missing
    """
    end = partial_checkpoints.last_before(connection, pool, position)
    if end is None and (pool.unfilled is not None or pool.follows is not None):
        return None
    start = START if end is None else end.position
    stored = PartialStates(connection, pool)
    shared = rules.system.initial(0).shared if end is None else stored.shared_at(end)
    # Sums of draws change no rating. All other numbers of the pool depend on all matches.
    shared.pop(DRAWS, None)
    everything = _changes_pool(rules.system)
    reached = _reached(connection, pool, start, position, everything=everything)
    if reached is None:
        return None
    places, begins = reached
    packed: dict[str, bytes | None] = {}
    for player, change in begins.items():
        packed[player] = stored.state_after(player, change) if change[1] else None
        if packed[player] is None and (
            change[1] or (pool.follows is not None and not pool.initial)
        ):
            return None
    known = cached_known(connection, pool)
    if known is not None and SEEDED in rules.system.initial(0).initial:
        # The level of the pool depends on everybody's known rating.
        return None
    if known is not None:
        begun = [
            player for player, change in begins.items() if not change[1] and player in known.row_of
        ]
        states = pack_players(known.state(rules, begun)) if begun else []
        packed |= dict(zip(begun, states, strict=True))
    matches = _matches(connection, pool, amendments, places)
    if matches is None:
        return None
    return _rated(rules, packed, matches, shared)


def _changes_pool(system: RatingSystem) -> bool:
    """Return whether matches change more than the states of their players, other than draws.

    They do where the system learns roles, the entry or the home advantage, or holds the level.
    """
    learns_roles = bool(getattr(system, "roles", False))
    if not isinstance(system, System):
        return learns_roles
    return learns_roles or system.changes_entry or system.learns_advantage


def _reached(
    connection: Connection,
    pool: PoolRecord,
    start: Position,
    position: Position,
    *,
    everything: bool,
) -> tuple[list[Position], dict[str, Position]] | None:
    """Return the matches after `start` that a match depends on, and where their players come from.

    everything : take all matches before it, not only those of its players
    Returns : positions of the matches in order, without the match itself; and of each player the
        position of the last change up to `start`, number 0 for none. None if there are too many
    """
    own = changes.changes_of_match(connection, pool, position)
    if not own:
        return None
    read: dict[Position, dict[str, ChangeRow]] | None = None
    if everything:
        read = _between(connection, pool, start, position)
        if read is None:
            return None
    begins: dict[str, Position] = {}
    rated: set[Position] = set() if read is None else set(read)
    waiting = [own] if read is None else [own, *read.values()]
    while waiting:
        for row in waiting.pop().values():
            if row.previous <= start or not row.previous[1]:
                begins[row.player] = row.previous
            elif row.previous not in rated:
                rated.add(row.previous)
                if read is None and len(rated) > _SINGLY:
                    read = _between(connection, pool, start, position)
                    if read is None:
                        return None
                if read is None:
                    waiting.append(changes.changes_of_match(connection, pool, row.previous))
                else:
                    waiting.append(read.get(row.previous, {}))
    return sorted(rated), begins


def _between(
    connection: Connection, pool: PoolRecord, start: Position, position: Position
) -> dict[Position, dict[str, ChangeRow]] | None:
    """Return the changes of all matches between two positions; None if there are too many."""
    limit = _MOST_CHANGES + 1
    every = changes.changes_between(connection, pool, start, position, limit)
    if len(every) == limit:
        return None
    found: dict[Position, dict[str, ChangeRow]] = {}
    for row in every.values():
        place = row.time, row.seq
        if start < place < position:
            found.setdefault(place, {})[row.player] = row
    return found


def _matches(
    connection: Connection, pool: PoolRecord, amendments: Amendments, places: list[Position]
) -> list[LoggedMatch] | None:
    """Return the matches at some positions as they were rated; None if one is elsewhere."""
    found = log.records_at(connection, pool.id, [seq for _, seq in places])
    matches = []
    for place in places:
        record = found.get(place[1])
        if record is None:
            return None
        match = amendments.match(record)
        rated = amendments.eligibility.rated_part(match)
        if rated is None or not rated.request.teams or rated.position != place:
            return None
        matches.append(rated)
    return matches


def _rated(
    rules: PoolRules,
    packed: dict[str, bytes | None],
    matches: list[LoggedMatch],
    shared: dict[str, Floats],
) -> PoolState | None:
    """Rate matches on packed states; return the state after them."""
    players = list(packed)
    rows = {player: row for row, player in enumerate(players)}
    if any(name not in rows for name in names_of(matches)):
        return None
    state = unpack_players(rules.system, list(packed.values()))
    state.shared = shared
    ids = object_array(players)
    if matches:
        history = history_of(matches, rows, ids, rules)
        rules.system.run(state, history, 0, history.matches)
    return PoolState(
        system=rules.system,
        player_ids=ids,
        state=state,
        rated=np.zeros(0, np.int64),
        last_time=matches[-1].position[0] if rules.timed and matches else None,
        time_kind=time_kind(rules),
    )

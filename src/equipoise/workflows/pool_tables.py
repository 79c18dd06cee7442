"""Ratings and changes of a pool as the tables of `equipoise rate`, piece by piece."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl
from sqlalchemy import Connection

from equipoise.rating.pool_state import PoolState
from equipoise.rating.replay import TRACE_COLUMNS, ratings_of
from equipoise.rating.state_bytes import unpack_players
from equipoise.store import changes, ratings
from equipoise.store.changes import ChangeRow
from equipoise.store.pools import START, PoolRecord
from equipoise.workflows.amended_log import Amendments, counted_piece
from equipoise.workflows.match_history import LoggedMatch, object_array, players_of, time_kind
from equipoise.workflows.posted_matches import PoolRules
from equipoise.workflows.rated_rows import unpack_extra


def rating_frames(
    connection: Connection, pool: PoolRecord, rules: PoolRules
) -> Iterator[tuple[pl.DataFrame, int]]:
    """Give the rating table, best players first, and how many there are in each piece."""
    empty = True
    for players in ratings.players_by_rating(connection, pool.id, pool.generation):
        empty = False
        stored = ratings.states_of(connection, pool.id, pool.generation, players)
        packed = {player: row.state for player, row in stored.items()}
        yield _rating_frame(pool, rules, packed), len(players)
    if empty:
        yield _rating_frame(pool, rules, {}), 0


def _rating_frame(pool: PoolRecord, rules: PoolRules, packed: dict[str, bytes]) -> pl.DataFrame:
    """Return the rating table of some players."""
    state = unpack_players(rules.system, list(packed.values()))
    state.shared = {name: values.copy() for name, values in pool.shared.items()}
    some = PoolState(
        system=rules.system,
        player_ids=object_array(list(packed)),
        state=state,
        rated=np.zeros(0, np.int64),
        time_kind=time_kind(rules),
    )
    return ratings_of(some).to_polars().with_columns(pl.col("player").cast(pl.String))


def change_frames(
    connection: Connection, pool: PoolRecord, rules: PoolRules, amendments: Amendments
) -> Iterator[tuple[pl.DataFrame, int]]:
    """Give what every match did to every player in it, in the order of rating.

    amendments : those that the stored ratings take into account
    Returns : tables, and the matches in each
    """
    names = (*TRACE_COLUMNS, *rules.system.trace_columns)
    schema = _change_schema(rules, names)
    after, last = START, False
    while not last:
        piece = counted_piece(connection, pool, amendments, after)
        after, last = piece.end, piece.last
        rows = _change_rows(connection, pool, rules, piece.matches, names)
        yield pl.DataFrame(rows, schema=schema, orient="row"), len(piece.matches)


def _change_schema(rules: PoolRules, names: tuple[str, ...]) -> dict[str, Any]:
    columns: dict[str, Any] = {"match": pl.String}
    if rules.timed:
        stamps = rules.settings.times == "datetime"
        columns["time"] = pl.Datetime("us") if stamps else pl.Int64
    columns |= {"player": pl.String, "team": pl.Int64, "rank": pl.Int64}
    return columns | dict.fromkeys(names, pl.Float64)


def _change_rows(
    connection: Connection,
    pool: PoolRecord,
    rules: PoolRules,
    matches: list[LoggedMatch],
    names: tuple[str, ...],
) -> list[tuple[Any, ...]]:
    """Return a row a participation; without numbers where the match changed nothing."""
    if not matches:
        return []
    first, last = matches[0].position, matches[-1].position
    stored = changes.changes_between(connection, pool, first, last)
    rows = []
    for match in matches:
        request = match.request
        places = {r: place for place, r in enumerate(sorted({t.rank for t in request.teams}))}
        head: list[Any] = [str(request.match)]
        if rules.timed:
            whole = rules.settings.times != "datetime"
            head.append(match.time // 1_000_000 if whole else match.time)
        row_of = iter(players_of(request))
        for number, team in enumerate(request.teams):
            for player in (next(row_of) for _ in team.players):
                found = _numbers(stored.get((player, match.seq)), rules, names)
                rows.append((*head, player, number, places[team.rank], *found))
    return rows


def _numbers(
    change: ChangeRow | None, rules: PoolRules, names: tuple[str, ...]
) -> list[float | None]:
    if change is None:
        return [None] * len(names)
    extra = unpack_extra(rules.system, change.extra)
    return [extra[name] if name in extra else getattr(change, name) for name in names]

"""Ratings and changes of a pool as the tables of `equipoise rate`, piece by piece."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl
from sqlalchemy import Connection

from equipoise.data.history import TimeKind
from equipoise.data.times import MICROSECONDS
from equipoise.rating.pool_state import PoolState
from equipoise.rating.replay import TRACE_COLUMNS, ratings_of
from equipoise.rating.state_bytes import unpack_players
from equipoise.store import changes, log, ratings
from equipoise.store.changes import ChangeRow
from equipoise.store.pools import START, PoolRecord
from equipoise.workflows.amended_log import Amendments, counted_piece
from equipoise.workflows.match_history import LoggedMatch, object_array, players_of, pool_stamps
from equipoise.workflows.posted_matches import PoolRules
from equipoise.workflows.rated_rows import unpack_extra


def rating_frames(
    connection: Connection, pool: PoolRecord, rules: PoolRules
) -> Iterator[tuple[pl.DataFrame, int]]:
    """Give the rating table, best players first, and how many there are in each piece.

    Players who are disqualified come after all others; where there are some, a column says who.
    """
    empty, marked = True, ratings.any_disqualified(connection, pool.id, pool.generation)
    span = ratings.span_of_last_times(connection, pool.id, pool.generation)
    kind: TimeKind = "datetime" if pool_stamps(rules, span) else "seconds"
    for players in ratings.players_by_rating(connection, pool.id, pool.generation):
        empty = False
        stored = ratings.states_of(connection, pool.id, pool.generation, players)
        # In the order of the board, which the database does not keep in its answer.
        packed = {player: stored[player].state for player in players}
        table = _rating_frame(pool, rules, kind, packed)
        if marked:
            shown = ratings.ratings_of(connection, pool.id, pool.generation, players)
            barred = [bool(shown[player].disqualified) for player in table["player"]]
            table = table.with_columns(pl.Series("disqualified", barred, dtype=pl.Boolean))
            table = table.sort("disqualified", maintain_order=True)
        yield table, len(players)
    if empty:
        yield _rating_frame(pool, rules, kind, {}), 0


def _rating_frame(
    pool: PoolRecord, rules: PoolRules, kind: TimeKind, packed: dict[str, bytes]
) -> pl.DataFrame:
    """Return the rating table of some players; kind : how their times are written."""
    state = unpack_players(rules.system, list(packed.values()))
    state.shared = {name: values.copy() for name, values in pool.shared.items()}
    some = PoolState(
        system=rules.system,
        player_ids=object_array(list(packed)),
        state=state,
        rated=np.zeros(0, np.int64),
        time_kind=kind,
    )
    table = ratings_of(some).to_polars().with_columns(pl.col("player").cast(pl.String))
    if kind == "seconds" and table["last_time"].dtype != pl.Int64:
        # All pieces of a table are written alike, whatever the times of one alone would need.
        table = table.with_columns(pl.col("last_time").dt.epoch("s"))
    return table


def change_frames(
    connection: Connection, pool: PoolRecord, rules: PoolRules, amendments: Amendments
) -> Iterator[tuple[pl.DataFrame, int]]:
    """Give what every match did to every player in it, in the order of rating.

    amendments : those that the stored ratings take into account
    Returns : tables, and the matches in each
    """
    names = (*TRACE_COLUMNS, *rules.system.trace_columns)
    stamps = pool_stamps(rules, log.span_of_matches(connection, pool.id))
    schema = _change_schema(rules, names, stamps)
    after, last = START, False
    while not last:
        piece = counted_piece(connection, pool, amendments, after)
        after, last = piece.end, piece.last
        rows = _change_rows(connection, pool, rules, piece.matches, names, stamps)
        yield pl.DataFrame(rows, schema=schema, orient="row"), len(piece.matches)


def _change_schema(rules: PoolRules, names: tuple[str, ...], stamps: bool) -> dict[str, Any]:
    columns: dict[str, Any] = {"match": pl.String}
    if rules.timed:
        columns["time"] = pl.Datetime("us") if stamps else pl.Int64
    columns |= {"player": pl.String, "team": pl.Int64, "rank": pl.Int64}
    return columns | dict.fromkeys(names, pl.Float64)


def _change_rows(
    connection: Connection,
    pool: PoolRecord,
    rules: PoolRules,
    matches: list[LoggedMatch],
    names: tuple[str, ...],
    stamps: bool,
) -> list[tuple[Any, ...]]:
    """Return a row a participation; without numbers where the match changed nothing.

    stamps : whether times are written as in ISO 8601
    """
    if not matches:
        return []
    first, last = matches[0].position, matches[-1].position
    stored = changes.changes_between(connection, pool, first, last)
    rows = []
    for match in matches:
        request = match.request
        places = {r: place for place, r in enumerate(sorted({t.order for t in request.teams}))}
        head: list[Any] = [str(request.match)]
        if rules.timed:
            head.append(match.time if stamps else match.time // MICROSECONDS)
        row_of = iter(players_of(request))
        for number, team in enumerate(request.teams):
            for player in (next(row_of) for _ in team.players):
                found = _numbers(stored.get((player, match.seq)), rules, names)
                rows.append((*head, player, number, places[team.order], *found))
    return rows


def _numbers(
    change: ChangeRow | None, rules: PoolRules, names: tuple[str, ...]
) -> list[float | None]:
    if change is None:
        return [None] * len(names)
    extra = unpack_extra(rules.system, change.extra)
    return [extra[name] if name in extra else getattr(change, name) for name in names]

"""Rebalancing: read a request, make teams, write them down."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polars as pl

from equipoise.balance.matched import Matched
from equipoise.balance.rebalance import MAX_SEQUENCES, rebalance
from equipoise.data.rebalanced import Method, Rebalance
from equipoise.data.ruleset import RebalanceRequest
from equipoise.formats.rebalance_request import read_rebalance_request
from equipoise.formats.writing import check_target, write_table


@dataclass(frozen=True, slots=True, kw_only=True)
class RebalanceOrder:
    """What to rebalance, and how.

    source : path or stream of a request
    output : path of a table of the teams
    The others are parameters of `equipoise.rebalance`.
    """

    source: object
    method: Method | None = None
    candidates: bool = False
    max_sequences: int = MAX_SEQUENCES
    nodes: int | None = None
    time_limit: float | None = None
    output: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RebalanceAnswer:
    """The request, and the teams made of it."""

    request: RebalanceRequest
    result: Rebalance


def rebalance_request(order: RebalanceOrder) -> RebalanceAnswer:
    """Read, rebalance, write. Raises : EquipoiseError, and then nothing was written."""
    if order.output is not None:
        check_target(order.output)
    request = read_rebalance_request(order.source)
    answer = RebalanceAnswer(request=request, result=rebalanced(request, order))
    if order.output is not None:
        write_table(table_of(answer), order.output)
    return answer


def rebalanced(request: RebalanceRequest, order: RebalanceOrder) -> Rebalance:
    """Return the teams of a request."""
    return rebalance(
        request,
        method=order.method,
        candidates=order.candidates,
        max_sequences=order.max_sequences,
        nodes=order.nodes,
        time_limit=order.time_limit,
    )


def table_of(answer: RebalanceAnswer) -> pl.DataFrame:
    """Return a row a player: the number of the team from 1, the party, what counts."""
    request = answer.request
    names = [rule.attribute for rule in request.ruleset.rules]
    matched = Matched(request)
    known = {
        one.player: (party.party, one) for _, party in request.everyone() for one in party.players
    }
    placed = [
        (number, one)
        for number, team in enumerate(answer.result.teams, start=1)
        for party in team
        for one in party
    ]
    columns: dict[str, Any] = {
        "team": [number for number, _ in placed],
        "player": _column([one for _, one in placed]),
        "party": _column([known[one][0] for _, one in placed]),
    }
    for name in names:
        # An attribute may be called like one of these columns.
        label = f"{name}_attribute" if name in columns else name
        columns[label] = [matched.attribute(known[one][1], name) for _, one in placed]
    return pl.DataFrame(columns)


def _column(ids: list[Any]) -> pl.Series:
    """Return ids as a column: numbers if all are, else text."""
    if all(isinstance(one, int) for one in ids):
        return pl.Series(ids, dtype=pl.Int64)
    return pl.Series([None if one is None else str(one) for one in ids], dtype=pl.String)

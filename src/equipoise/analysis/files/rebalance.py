"""Rebalancing matched parties: read a request, make teams, write them; or compare all methods."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
import polars as pl

from equipoise.analysis.files.party_ratings import read_matched
from equipoise.analysis.requests.teams import RebalanceOrder
from equipoise.analysis.requests.typed import shared
from equipoise.data.lobby import Id, Lobby
from equipoise.data.rebalancing import (
    Candidate,
    Method,
    PartyIds,
    PartyTeams,
    Rebalance,
    RebalanceRequest,
)
from equipoise.errors import EquipoiseError, InvalidParameterError
from equipoise.formats.writing import check_target, write_table
from equipoise.messages.conversion import to_message
from equipoise.messages.teams import ComparedMessage
from equipoise.teams.lobby.lobby_split import balance
from equipoise.teams.parties.placing import Matched
from equipoise.teams.parties.rebalance import chosen_method, rebalance

#: The methods that are compared, in the order of the answer.
COMPARED: tuple[Method, ...] = ("permutation", "combination", "greedy", "optimal")


@dataclass(frozen=True, slots=True, kw_only=True)
class RebalanceAnswer:
    """The request, and the teams made of it."""

    request: RebalanceRequest
    result: Rebalance


def rebalance_request(order: RebalanceOrder) -> RebalanceAnswer:
    """Read a request, rebalance, write. Raises : EquipoiseError, and then nothing was written."""
    if order.output is not None:
        check_target(order.output)
    request = read_matched(order.source, order.ratings)
    answer = RebalanceAnswer(request=request, result=rebalanced(request, order))
    if order.output is not None:
        write_table(table_of(answer), order.output, raw=order.raw)
    return answer


def rebalanced(request: RebalanceRequest, order: RebalanceOrder) -> Rebalance:
    """Return the teams of a request."""
    return rebalance(request, **shared(order, rebalance))


def table_of(answer: RebalanceAnswer) -> pl.DataFrame:
    """Return one row for each player: the team from 1, the party, the attributes of the rules."""
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
        # An attribute may have the name of one of these columns.
        label = f"{name}_attribute" if name in columns else name
        columns[label] = [matched.attribute(known[one][1], name) for _, one in placed]
    return pl.DataFrame(columns)


def _column(ids: list[Any]) -> pl.Series:
    """Return ids as a column: numbers if all are, else text."""
    if all(isinstance(one, int) for one in ids):
        return pl.Series(ids, dtype=pl.Int64)
    return pl.Series([None if one is None else str(one) for one in ids], dtype=pl.String)


def compare_methods(order: RebalanceOrder) -> list[ComparedMessage]:
    """Return the teams of every method; for two teams, also those of `balance`.

    Gaps are measured from the proved bound. A method that was replaced by another one has no teams.
    """
    if order.output is not None or order.candidates or order.method is not None:
        raise InvalidParameterError("--compare cannot be combined with --method, --all or --output")
    request = read_matched(order.source, order.ratings)
    chosen, _ = chosen_method(request)
    found: list[tuple[str, Rebalance | None, float, str]] = []
    for method in COMPARED:
        result: Rebalance | None = None
        note = ""
        start = time.perf_counter()
        try:
            result = rebalanced(request, replace(order, method=method))
        except EquipoiseError as error:
            note = str(error).partition("\n")[0]
        seconds = time.perf_counter() - start
        if result is not None and result.method != method:
            note, result = result.reason.partition("; ")[2], None
        found.append((method, result, seconds, note))
    best = found[-1][1]
    rows = [
        _compared(
            method,
            None if result is None else result.best,
            best,
            seconds,
            note,
            chosen=method == chosen,
            truncated=result is not None and result.truncated,
        )
        for method, result, seconds, note in found
    ]
    if best is not None and len(best.teams) == 2:
        rows.append(_by_balance(request, best))
    return rows


def _compared(
    method: str,
    found: Candidate | None,
    best: Rebalance | None,
    seconds: float,
    note: str,
    *,
    chosen: bool = False,
    objective: float | None = None,
    truncated: bool = False,
) -> ComparedMessage:
    """Return the result of a method; `found` is None if it has no teams, and `note` says why."""
    unknown = dict.fromkeys(("teams", "member_count_difference", "distance"))
    gaps = (None, None) if found is None else _gaps(found, best)
    return to_message(
        ComparedMessage,
        found,
        **(unknown if found is None else {}),
        method=method,
        chosen=chosen,
        gap_member_count_difference=gaps[0],
        gap_distance=gaps[1],
        objective=objective,
        seconds=seconds,
        truncated=truncated,
        note=note,
    )


def _gaps(found: Candidate, best: Rebalance | None) -> tuple[int | None, float | None]:
    """Return how far teams are from the bound; None if the gap is not known."""
    if best is None or best.optimum is None or len(found.teams) != len(best.teams):
        return None, None
    bound = best.optimum
    difference = found.member_count_difference - bound.bound_difference
    return difference, None if difference else max(found.distance - bound.bound_distance, 0.0)


def _by_balance(request: RebalanceRequest, best: Rebalance) -> ComparedMessage:
    """Return the teams that `balance` makes of the same players, without deviations."""
    matched = Matched(request)
    start = time.perf_counter()
    try:
        split = balance(
            _lobby(matched), 2, top_two=False, uneven=False, alternatives=0, costs=False
        )
        note, objective = "", split.objective
        candidate: Candidate | None = _as_candidate(matched, split.teams)
    except EquipoiseError as error:
        note, objective, candidate = str(error).partition("\n")[0], None, None
    seconds = time.perf_counter() - start
    return _compared("balance", candidate, best, seconds, note, objective=objective)


def _lobby(matched: Matched) -> Lobby:
    """Return players with their values as ratings; members of a session are locked."""
    rows = [
        (one.player, matched.value(one), str(number), str(team) if team else None)
        for number, (team, party) in enumerate(_with_team(matched))
        for one in party.players
    ]
    ids, values, parties, locks = zip(*rows, strict=True)
    return Lobby(
        player_ids=np.array(ids, dtype=object),
        rating=np.array(values),
        deviation=np.zeros(len(rows)),
        party=np.array(parties, dtype=object),
        team=np.array(locks, dtype=object),
    )


def _with_team(matched: Matched) -> list[tuple[int, Any]]:
    """Return every party with its team in the session from 1, or 0 for a new party."""
    of_session = [
        (team, party) for team, parties in enumerate(matched.session, start=1) for party in parties
    ]
    return [*of_session, *((0, party) for party in matched.parties)]


def _as_candidate(matched: Matched, teams: tuple[tuple[Id, ...], ...]) -> Candidate:
    """Return teams of players as teams of parties; teams of a session keep their numbers."""
    team_of = {str(one): team for team, players in enumerate(teams) for one in players}
    found: list[list[PartyIds]] = [[], []]
    swap = any(
        team_of[str(party.ids[0])] != team - 1 for team, party in _with_team(matched) if team
    )
    for _, party in _with_team(matched):
        at = team_of[str(party.ids[0])]
        found[1 - at if swap else at].append(party.ids)
    placing = matched.placing(2, 0)
    of_party = [team_of[str(party.ids[0])] for party in matched.parties]
    evenness = placing.evenness_of([1 - at if swap else at for at in of_party])
    return Candidate(
        sequence=tuple(party.ids for party in matched.parties),
        teams=cast(PartyTeams, tuple(tuple(team) for team in found)),
        member_count_difference=evenness.difference,
        distance=evenness.distance,
    )

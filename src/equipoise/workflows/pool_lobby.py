"""A lobby that is posted to a pool: who is known, who is new, who belongs together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from equipoise.arrays import Flags, Floats, Ids
from equipoise.data.lobby import ONCE, Lobby
from equipoise.errors import InvalidDataError, Problem
from equipoise.messages.matches import Id
from equipoise.messages.service_requests import BalancePlayer
from equipoise.rating.pool_state import PoolState
from equipoise.rating.system import RatingColumns
from equipoise.workflows.match_history import object_array
from equipoise.workflows.posted_matches import id_fault, id_text


def posted_lobby(players: Sequence[BalancePlayer | Id]) -> list[BalancePlayer]:
    """Return the players of a lobby with text for ids.

    Raises : InvalidDataError where somebody cannot be told from the others
    """
    lobby = [_lobby_player(one) for one in players]
    _check_lobby(lobby)
    return lobby


def _lobby_player(one: BalancePlayer | Id) -> BalancePlayer:
    """Return a player of a lobby with text for an id."""
    if not isinstance(one, BalancePlayer):
        return BalancePlayer(player=id_text(one))
    return BalancePlayer(
        player=id_text(one.player),
        rating=one.rating,
        deviation=one.deviation,
        party=None if one.party is None else id_text(one.party),
        team=one.team,
        avoid=[id_text(other) for other in one.avoid],
    )


def _check_lobby(lobby: Sequence[BalancePlayer]) -> None:
    """Refuse a lobby of which no row can be told from the others. Raises : InvalidDataError."""
    problems = []
    seen: set[str] = set()
    for line, one in enumerate(lobby, start=1):
        player = str(one.player)
        if (rule := id_fault(player)) is not None:
            problems.append(Problem("", line, "player", rule, player[:200]))
        if player in seen:
            problems.append(Problem("", line, "player", ONCE, repr(player)))
        seen.add(player)
        if one.team is not None and one.team < 1:
            rule = "must be the number of a team, from 1"
            problems.append(Problem("", line, "team", rule, str(one.team)))
    if problems:
        count = len(problems)
        head = f"{count} problem{'' if count == 1 else 's'} in the lobby"
        raise InvalidDataError(problems, head)


def lobby_in_pool(lobby: Sequence[BalancePlayer], known: PoolState, at: float | None) -> Lobby:
    """Return the lobby with the numbers of those who are known, and of newcomers.

    Raises : InvalidDataError
    """
    state, ids, is_known = known.with_newcomers([one.player for one in lobby])
    numbers = _numbers(lobby, known.system.at(state, np.arange(len(ids)), at), ~is_known)
    parties = [one.party for one in lobby]
    locks = [None if one.team is None else str(one.team) for one in lobby]
    return Lobby(
        player_ids=ids,
        rating=numbers["rating"],
        deviation=numbers["deviation"],
        effective_rating=numbers.get("effective_rating"),
        party=_labels(parties),
        team=_labels(locks),
        avoid=tuple((str(one.player), str(other)) for one in lobby for other in one.avoid),
        newcomers=tuple(ids[~is_known].tolist()),
    )


def _numbers(
    lobby: Sequence[BalancePlayer], now: RatingColumns, newcomer: Flags
) -> dict[str, Floats]:
    """Return rating, deviation and, where the system has one, effective rating of all.

    now : columns of the lobby's players; newcomer : who has what the lobby says, if it does
    """
    found: dict[str, Floats] = {
        name: now[name].copy()
        for name in ("rating", "deviation", "effective_rating")
        if name in now
    }
    if np.isnan(found["deviation"]).all():
        # Of a system that has no deviations.
        found["deviation"] = np.zeros(len(lobby))
    for row in np.flatnonzero(newcomer).tolist():
        one = lobby[row]
        if one.rating is not None:
            found["rating"][row] = one.rating
            if "effective_rating" in found:
                # Nobody without a match has form.
                found["effective_rating"][row] = one.rating
        if one.deviation is not None:
            found["deviation"][row] = one.deviation
    return found


def _labels(values: Sequence[Any]) -> Ids | None:
    """Return labels as a column; None where nobody has one."""
    return None if all(value is None for value in values) else object_array(values)

"""What a command adds to a lobby: newcomers, parties and avoid pairs that its options name.

Problems name the option and the player. Nothing is changed if there is one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from equipoise.analysis.requests.teams import Additions
from equipoise.data.lobby import DEVIATION, LARGEST, ONCE, RATING, Lobby
from equipoise.errors import InvalidDataError, InvalidParameterError, Problem
from equipoise.formats.sources import format_of
from equipoise.wording import counted

PARTY, AVOID, NEWCOMER = "--party", "--avoid", "--newcomer"
DEFAULT_RATING, DEFAULT_DEVIATION = "--default-rating", "--default-deviation"

IN_LOBBY = "must be a player of the lobby"
NOT_YET = "must not have a rating already"
ONE_PARTY = "must be in one party only"
SEVERAL = "must name at least two players"


def check_state(path: str, option: str, other: str) -> None:
    """Refuse a table in the place of a saved state. Raises : InvalidParameterError.

    other : the option that reads a table
    """
    if Path(path).is_file() and format_of(Path(path)) is not None:
        raise InvalidParameterError(
            f"{option} takes a state that `equipoise rate --save` wrote (.npz); {path} is a table: "
            f"use {other} {path}"
        )


def check_defaults(added: Additions, from_state: bool) -> None:
    """Refuse defaults that are out of range, missing or of no use.

    from_state : whether the players come from a saved state
    Raises : InvalidParameterError
    """
    for option, value, low, rule in (
        (DEFAULT_RATING, added.default_rating, -LARGEST, RATING),
        (DEFAULT_DEVIATION, added.default_deviation, 0.0, DEVIATION),
    ):
        if value is None:
            continue
        if from_state:
            raise InvalidParameterError(
                f"{option} cannot be combined with --state, which has the rating and "
                "deviation of newcomers"
            )
        if not low <= value <= LARGEST:
            raise InvalidParameterError(f"{option} {rule}; got {value}")
    if added.newcomers and not from_state and added.default_rating is None:
        raise InvalidParameterError(
            f"{NEWCOMER} {added.newcomers[0]} needs {DEFAULT_RATING}: a lobby and a table of "
            "ratings do not say how newcomers start; a saved state does (--state)"
        )
    if added.default_rating is not None and not added.newcomers:
        raise InvalidParameterError(f"{DEFAULT_RATING} needs {NEWCOMER}")


def check_newcomers(newcomers: Sequence[str], known: Sequence[object]) -> None:
    """Refuse newcomers who are known or named twice. Raises : InvalidDataError."""
    rated = {str(one) for one in known}
    found, seen = [], set()
    for one in newcomers:
        if one in rated or one in seen:
            found.append(_problem(NEWCOMER, ONCE if one in seen else NOT_YET, one))
        seen.add(one)
    _refuse(found)


def with_newcomers(lobby: Lobby, added: Additions) -> Lobby:
    """Return the lobby with the newcomers, who have the default rating and deviation.

    Raises : InvalidParameterError   the lobby has deviations, and there is no default
    Raises : InvalidDataError        newcomers are in the lobby or named twice
    """
    if not added.newcomers:
        return lobby
    check_newcomers(added.newcomers, lobby.player_ids.tolist())
    deviation = added.default_deviation
    if deviation is None and lobby.deviation.any():
        raise InvalidParameterError(
            f"{NEWCOMER} {added.newcomers[0]} needs {DEFAULT_DEVIATION}: the other players have "
            "deviations"
        )
    count = len(added.newcomers)
    ratings = np.full(count, added.default_rating)
    ids = _as_ids(lobby, added.newcomers)
    none = np.full(count, None, dtype=object)
    return replace(
        lobby,
        player_ids=np.array([*lobby.player_ids.tolist(), *ids], dtype=object),
        rating=np.concatenate([lobby.rating, ratings]),
        deviation=np.concatenate([lobby.deviation, np.full(count, deviation or 0.0)]),
        effective_rating=np.concatenate([lobby.strength, ratings]),
        party=None if lobby.party is None else np.concatenate([lobby.party, none]),
        team=None if lobby.team is None else np.concatenate([lobby.team, none]),
        newcomers=(*lobby.newcomers, *ids),
    )


def with_constraints(lobby: Lobby, added: Additions) -> Lobby:
    """Return the lobby with the parties and avoid pairs. Raises : InvalidDataError."""
    if not added.parties and not added.avoid:
        return lobby
    ids = lobby.player_ids.tolist()
    row_of = {str(one): row for row, one in enumerate(ids)}
    _refuse([*_unknown(PARTY, added.parties, row_of), *_unknown(AVOID, added.avoid, row_of)])
    labels = [None] * len(ids) if lobby.party is None else lobby.party.tolist()
    locks = [None] * len(ids) if lobby.team is None else lobby.team.tolist()
    _refuse(list(_add_parties(added.parties, row_of, labels, locks)))
    avoiding = tuple((a, b) for group in added.avoid for a, b in combinations(group, 2))
    found = []
    for option, pairs in ((AVOID, avoiding), (PARTY, lobby.avoid)):
        for a, b in pairs:
            one, other = row_of[str(a)], row_of[str(b)]
            if labels[one] is not None and labels[one] == labels[other]:
                rule = f"must not be in party {labels[one]!r} with {b!r}, whom to avoid"
                found.append(_problem(option, rule, str(a)))
            elif option == AVOID and locks[one] is not None and locks[one] == locks[other]:
                rule = f"must not be locked to team {locks[one]!r} with {b!r}, whom to avoid"
                found.append(_problem(option, rule, str(a)))
    _refuse(found)
    pairs = tuple((ids[row_of[a]], ids[row_of[b]]) for a, b in avoiding)
    party = np.full(len(ids), None, dtype=object)
    party[:] = labels
    return replace(
        lobby,
        party=party if added.parties else lobby.party,
        avoid=(*lobby.avoid, *pairs),
    )


def _add_parties(
    parties: Sequence[Sequence[str]],
    row_of: dict[str, int],
    labels: list[str | None],
    locks: Sequence[str | None],
) -> Iterator[Problem]:
    """Set the labels of the players of parties; yield players who cannot be in theirs."""
    for party in parties:
        label = " + ".join(party)
        while label in labels:
            # A label of the table that reads the same.
            label += " +"
        first = next((one for one in party if locks[row_of[one]] is not None), None)
        for one in party:
            row = row_of[one]
            if labels[row] is not None:
                yield _problem(PARTY, f"{ONE_PARTY}, and is in {labels[row]!r}", one)
            elif first is not None and locks[row] not in (None, locks[row_of[first]]):
                rule = f"must not be locked to another team than {first!r}"
                yield _problem(PARTY, rule, one)
            labels[row] = label


def _unknown(
    option: str, groups: Sequence[Sequence[str]], row_of: dict[str, int]
) -> Iterator[Problem]:
    """Yield groups of fewer than two players, and players who are unknown or named twice."""
    for group in groups:
        if len(group) < 2:
            yield _problem(option, SEVERAL, *group)
        for at, one in enumerate(group):
            if one not in row_of:
                yield _problem(option, f"{IN_LOBBY} ({counted(len(row_of), 'player')})", one)
            elif one in group[:at]:
                yield _problem(option, ONCE, one)


def _as_ids(lobby: Lobby, newcomers: Sequence[str]) -> list[Any]:
    """Return ids as numbers if the lobby has numbers and all newcomers are numbers too."""
    numbers = lobby.player_ids.dtype.kind == "i"
    if numbers and all(re.fullmatch(r"0|-?[1-9]\d{0,17}", one, re.ASCII) for one in newcomers):
        return [int(one) for one in newcomers]
    return list(newcomers)


def _problem(option: str, rule: str, got: str) -> Problem:
    return Problem(option, None, "player", rule, repr(got))


def _refuse(problems: Sequence[Problem]) -> None:
    if problems:
        raise InvalidDataError(problems, f"{counted(len(problems), 'problem')} in the lobby")

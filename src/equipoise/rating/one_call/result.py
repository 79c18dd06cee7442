"""The result of a match: ranks or scores of any comparable kind -> ranks from 0 without gaps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from equipoise.errors import InvalidParameterError
from equipoise.rating.one_call.teams import Teams

_TEXT = (str, bytes)


def dense_ranks(ranks: Any, scores: Any, teams: Teams) -> list[int]:
    """Return the rank of each team, dense from 0, lower is better, equal is a tie.

    ranks, scores : at most one of them; None of both: the teams are in the order of the result
    Raises : InvalidParameterError
    """
    count = len(teams.sizes)
    if ranks is None:
        if scores is None:
            return list(range(count))
        return _dense("scores", each_team("scores", scores, teams), higher=True)
    if scores is not None:
        raise InvalidParameterError("give ranks or scores, not both")
    return _dense("ranks", each_team("ranks", ranks, teams), higher=False)


def each_team(name: str, given: Any, teams: Teams) -> list[Any]:
    """Return one value for each team. Raises : InvalidParameterError."""
    count = len(teams.sizes)
    if isinstance(given, Mapping):
        names = teams.names if teams.single else None
        if names is None:
            raise InvalidParameterError(
                f"{name} must be a list in the order of the teams, or a dict of the same names as "
                "a dict of single players"
            )
        if given.keys() != set(names):
            missing = [one for one in names if one not in given]
            unknown = [one for one in given if one not in names]
            which = f"without {missing[0]!r}" if missing else f"with {unknown[0]!r} beside them"
            raise InvalidParameterError(
                f"{name} must be a dict of the same names as the players; got one {which}"
            )
        return [given[one] for one in names]
    if isinstance(given, str | bytes) or not hasattr(given, "__len__"):
        raise InvalidParameterError(
            f"{name} must be a list in the order of the teams; got {given!r}"
        )
    if len(given) != count:
        raise InvalidParameterError(
            f"{name} must be one for each of the {count} teams; got {len(given)}"
        )
    return list(given)


def _dense(name: str, values: list[Any], *, higher: bool) -> list[int]:
    """Return the ranks of values. Raises : InvalidParameterError."""
    for value in values:
        if isinstance(value, _TEXT) or (isinstance(value, tuple) and _holds_text(value)):
            raise _text(name, value)
        if value is None or value != value:
            raise _not_comparable(name, value)
    try:
        order = sorted(range(len(values)), key=values.__getitem__, reverse=higher)
    except TypeError as error:
        raise _not_comparable(name, values) from error
    ranks, rank, before = [0] * len(values), 0, values[order[0]]
    for team in order:
        value = values[team]
        if value != before:
            rank += 1
        ranks[team] = rank
        before = value
    return ranks


def _holds_text(value: tuple[Any, ...]) -> bool:
    return any(isinstance(one, _TEXT) for one in value)


def _text(name: str, got: object) -> InvalidParameterError:
    """Return the error for text, whose order is no result: "10" comes before "9"."""
    return InvalidParameterError(
        f"{name} must be numbers or other values that can be compared, not text, because text is "
        f"in the order of its letters; got {got!r}"
    )


def _not_comparable(name: str, got: object) -> InvalidParameterError:
    """Return the error for values without an order."""
    return InvalidParameterError(
        f"{name} must be numbers or other values that can be compared, none of them missing; "
        f"got {got!r}"
    )

"""The teams and the result of a call in any of their shapes, and values in the shape of the teams.

    [a, b]                           single players
    {"ada": a, "bo": b}              single players with names
    [[a, b], [c]]                    teams
    [{"ada": a, "bo": b}, {"cy": c}] teams of players with names

`flat_teams` reads them, and `Teams.shaped` gives new values the same shape. A player is a
rating, or, for a pool, a name. `dense_ranks` reads the result, of any values that compare.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, cast

import numpy as np

from equipoise.arguments import is_number
from equipoise.errors import InvalidParameterError, require

#: What `isinstance` tests fastest: tuples of classes.
_LISTS = (list, tuple)
_GROUPS = (list, tuple, Mapping)

_SHAPES = "a list of players, a list of teams, or a dict of names to ratings"


class Teams(NamedTuple):
    """Teams in one list, and how they came.

    players : what stands for each player, team after team
    sizes : number of players of each team
    names : of the players, in the same order; None without names
    single : whether single players came without inner lists
    """

    players: list[Any]
    sizes: list[int]
    names: list[Any] | None
    single: bool

    def shaped(self, values: Sequence[Any]) -> Any:
        """Return one value for each player in the shape of the teams."""
        names, low = self.names, 0
        found: list[Any] = []
        if self.single:
            return list(values) if names is None else dict(zip(names, values, strict=True))
        for size in self.sizes:
            part = values[low : low + size]
            if names is None:
                found.append(list(part))
            else:
                found.append(dict(zip(names[low : low + size], part, strict=True)))
            low += size
        return found


def flat_teams(teams: object) -> Teams:
    """Return teams of any shape in one list; what stands for a player is not checked.

    Raises : InvalidParameterError
    """
    kind = type(teams)
    if kind is not list and kind is not tuple:
        if isinstance(teams, Mapping):
            return _named_players(teams)
        if not isinstance(teams, Sequence) or isinstance(teams, str | bytes):
            hint = ": write [a, b] in brackets" if kind.__name__ == "Rating" else ""
            raise InvalidParameterError(f"teams must be {_SHAPES}; got {kind.__name__}{hint}")
    given = cast(Sequence[Any], teams)
    _check_count(len(given))
    first = type(given[0])
    if first is list or first is tuple:
        players: list[Any] = []
        sizes = []
        for team in given:
            if not isinstance(team, _LISTS):
                raise _mixed(team)
            players += team
            sizes.append(len(team))
        _check_sizes(sizes)
        return Teams(players, sizes, None, False)
    if isinstance(given[0], Mapping):
        return _named_teams(given)
    for one in given:
        if isinstance(one, _GROUPS):
            raise _mixed(given[0])
    return Teams(list(given), [1] * len(given), None, True)


def _named_players(teams: Mapping[Any, Any]) -> Teams:
    """Return single players with names. Raises : InvalidParameterError."""
    _check_count(len(teams))
    for name, one in teams.items():
        if isinstance(one, _GROUPS):
            raise InvalidParameterError(
                f"teams must be {_SHAPES}; got a dict with a team under {name!r}: write a list of "
                "the teams"
            )
    return Teams(list(teams.values()), [1] * len(teams), list(teams), True)


def _named_teams(teams: Sequence[Any]) -> Teams:
    """Return teams of names. Raises : InvalidParameterError."""
    players: list[Any] = []
    names: list[Any] = []
    sizes = []
    for team in teams:
        if not isinstance(team, Mapping):
            raise _mixed(team)
        players.extend(team.values())
        names.extend(team)
        sizes.append(len(team))
    _check_sizes(sizes)
    check_named_once(names)
    return Teams(players, sizes, names, False)


def check_named_once(names: Sequence[Any]) -> None:
    """Refuse a name that stands twice in a match. Raises : InvalidParameterError."""
    if len(set(names)) == len(names):
        return
    seen: set[Any] = set()
    for name in names:
        if name in seen:
            raise InvalidParameterError(
                f"a player may be named only once in a match; {name} is named twice"
            )
        seen.add(name)


def _mixed(team: object) -> InvalidParameterError:
    """Return the error for teams of different shapes."""
    shown = type(team).__name__
    return InvalidParameterError(
        "teams must all be single players, all lists, or all dicts of names; got a mixture "
        f"with a {shown}"
    )


def _check_count(count: int) -> None:
    require(count >= 2, "teams", "at least two", count)


def _check_sizes(sizes: Sequence[int]) -> None:
    require(0 not in sizes, "teams", "of at least one player each", 0)


def values_of(name: str, given: Any, teams: Teams, low: float, high: float) -> list[float]:
    """Return one number for each player, given in the shape of the teams; None becomes NaN.

    A player whom a dict does not name has None.

    name : of the argument; low, high : bounds of the numbers
    Raises : InvalidParameterError
    """
    found = [
        math.nan if one is None else _within(name, one, low, high)
        for one in _in_shape(name, given, teams)
    ]
    return found


def _within(name: str, value: Any, low: float, high: float) -> float:
    """Return a number within its bounds, or NaN. Raises : InvalidParameterError."""
    fits = is_number(value) and (value != value or low <= value <= high)
    require(fits, name, f"numbers from {low:g} to {high:g}, or None", value)
    return float(value)


def _in_shape(name: str, given: Any, teams: Teams) -> list[Any]:
    """Return one value for each player. Raises : InvalidParameterError."""
    if teams.single:
        return _of_team(name, given, len(teams.players), teams.names)
    if not isinstance(given, Sequence) or len(given) != len(teams.sizes):
        raise _other_shape(name)
    found, low = [], 0
    for part, size in zip(given, teams.sizes, strict=True):
        names = None if teams.names is None else teams.names[low : low + size]
        found += _of_team(name, part, size, names)
        low += size
    return found


def words_of(name: str, given: Any, teams: Teams) -> list[str]:
    """Return one word for each player, given in the shape of the teams.

    Raises : InvalidParameterError
    """
    found = _in_shape(name, given, teams)
    for one in found:
        require(isinstance(one, str), name, "a word for every player", one)
    return found


def _of_team(name: str, given: Any, size: int, names: list[Any] | None) -> list[Any]:
    """Return the values of the players of a team. Raises : InvalidParameterError."""
    if names is not None:
        if not isinstance(given, Mapping):
            raise _other_shape(name)
        unknown = [one for one in given if one not in names]
        if unknown:
            raise InvalidParameterError(
                f"{name} must name players of their team; got {unknown[0]!r}"
            )
        return [given.get(one) for one in names]
    listed = isinstance(given, Sequence | np.ndarray) and not isinstance(given, str | bytes)
    if not listed or len(given) != size:
        raise _other_shape(name)
    return list(given)


def _other_shape(name: str) -> InvalidParameterError:
    """Return the error for values that do not fit the teams."""
    return InvalidParameterError(
        f"{name} must have the shape of the teams, with a value for each player"
    )


#: What has an order of letters, which is no result.
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

"""What a call says of one match, checked: its teams in any shape, its result, and all else.

    [a, b]                           single players
    {"ada": a, "bo": b}              single players with names
    [[a, b], [c]]                    teams
    [{"ada": a, "bo": b}, {"cy": c}] teams of players with names

`flat_teams` reads them, and `Teams.shaped` gives new values the same shape. A player is a
rating, or, for a pool, a name. `dense_ranks` reads the result, of any values that compare.

A draw probability may be that of one match: a number, or a function of its two teams. It takes the
place of `draw_probability` and of the draw rule of a system for one call. A function cannot be
saved, so no pool takes it: a replay of the pool would not know it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, cast

import numpy as np

from equipoise.arguments import checked_number, is_number
from equipoise.data.history import (
    FARTHEST_CEILING,
    LARGEST_PERFORMANCE,
    MICROSECONDS_PER_DAY,
    MOST_WEIGHT,
)
from equipoise.errors import InvalidParameterError, require
from equipoise.rating.one_call.rating import (
    Rating,
    SystemFacts,
    facts_of,
    microseconds_of,
    refuse_learning,
    time_of,
    too_early,
)
from equipoise.rating.one_match import OneMatch
from equipoise.rating.system import Capabilities, RatingSystem, no_advantage, own_deviations
from equipoise.wording import counted

if TYPE_CHECKING:
    from equipoise.rating.base_system import System


#: What `isinstance` tests fastest: tuples of classes.
_LISTS = (list, tuple)
_GROUPS = (list, tuple, Mapping)

_SHAPES = "a list of players, a list of teams, or a dict of names to ratings"

#: Least draw probability above 0, as of the parameter. A function that returns less means this.
LEAST = 1e-9


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
        shapes: list[Any] = []
        if self.single:
            return list(values) if names is None else dict(zip(names, values, strict=True))
        for size in self.sizes:
            part = values[low : low + size]
            if names is None:
                shapes.append(list(part))
            else:
                shapes.append(dict(zip(names[low : low + size], part, strict=True)))
            low += size
        return shapes


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
    groups = cast(Sequence[Any], teams)
    _check_count(len(groups))
    first = type(groups[0])
    if first is list or first is tuple:
        players: list[Any] = []
        sizes = []
        for team in groups:
            if not isinstance(team, _LISTS):
                raise _mixed(team)
            players += team
            sizes.append(len(team))
        _check_sizes(sizes)
        return Teams(players, sizes, None, False)
    if isinstance(groups[0], Mapping):
        return _named_teams(groups)
    for player in groups:
        if isinstance(player, _GROUPS):
            raise _mixed(groups[0])
    return Teams(list(groups), [1] * len(groups), None, True)


def _named_players(teams: Mapping[Any, Any]) -> Teams:
    """Return single players with names. Raises : InvalidParameterError."""
    _check_count(len(teams))
    for name, group in teams.items():
        if isinstance(group, _GROUPS):
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


def values_of(name: str, values: Any, teams: Teams, low: float, high: float) -> list[float]:
    """Return one number for each player, given in the shape of the teams; None becomes NaN.

    A player whom a dict does not name has None.

    name : of the argument; low, high : bounds of the numbers
    Raises : InvalidParameterError
    """
    numbers = [
        math.nan if value is None else _within(name, value, low, high)
        for value in _in_shape(name, values, teams)
    ]
    return numbers


def _within(name: str, value: Any, low: float, high: float) -> float:
    """Return a number within its bounds, or NaN. Raises : InvalidParameterError."""
    fits = is_number(value) and (value != value or low <= value <= high)
    require(fits, name, f"numbers from {low:g} to {high:g}, or None", value)
    return float(value)


def _in_shape(name: str, values: Any, teams: Teams) -> list[Any]:
    """Return one value for each player. Raises : InvalidParameterError."""
    if teams.single:
        return _of_team(name, values, len(teams.players), teams.names)
    if not isinstance(values, Sequence) or len(values) != len(teams.sizes):
        raise _other_shape(name)
    flat, low = [], 0
    for part, size in zip(values, teams.sizes, strict=True):
        names = None if teams.names is None else teams.names[low : low + size]
        flat += _of_team(name, part, size, names)
        low += size
    return flat


def words_of(name: str, values: Any, teams: Teams) -> list[str]:
    """Return one word for each player, given in the shape of the teams.

    Raises : InvalidParameterError
    """
    words = _in_shape(name, values, teams)
    for word in words:
        require(isinstance(word, str), name, "a word for every player", word)
    return words


def _of_team(name: str, values: Any, size: int, names: list[Any] | None) -> list[Any]:
    """Return the values of the players of a team. Raises : InvalidParameterError."""
    if names is not None:
        if not isinstance(values, Mapping):
            raise _other_shape(name)
        unknown = [name for name in values if name not in names]
        if unknown:
            raise InvalidParameterError(
                f"{name} must name players of their team; got {unknown[0]!r}"
            )
        return [values.get(name) for name in names]
    listed = isinstance(values, Sequence | np.ndarray) and not isinstance(values, str | bytes)
    if not listed or len(values) != size:
        raise _other_shape(name)
    return list(values)


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


def each_team(name: str, values: Any, teams: Teams) -> list[Any]:
    """Return one value for each team. Raises : InvalidParameterError."""
    count = len(teams.sizes)
    if isinstance(values, Mapping):
        names = teams.names if teams.single else None
        if names is None:
            raise InvalidParameterError(
                f"{name} must be a list in the order of the teams, or a dict of the same names as "
                "a dict of single players"
            )
        if values.keys() != set(names):
            missing = [name for name in names if name not in values]
            unknown = [name for name in values if name not in names]
            which = f"without {missing[0]!r}" if missing else f"with {unknown[0]!r} beside them"
            raise InvalidParameterError(
                f"{name} must be a dict of the same names as the players; got one {which}"
            )
        return [values[name] for name in names]
    if isinstance(values, str | bytes) or not hasattr(values, "__len__"):
        raise InvalidParameterError(
            f"{name} must be a list in the order of the teams; got {values!r}"
        )
    if len(values) != count:
        raise InvalidParameterError(
            f"{name} must be one for each of the {count} teams; got {len(values)}"
        )
    return list(values)


def _dense(name: str, values: list[Any], *, higher: bool) -> list[int]:
    """Return the ranks of values. Raises : InvalidParameterError."""
    for value in values:
        parts = value if isinstance(value, tuple) else (value,)
        if any(isinstance(part, _TEXT) for part in parts):
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


#: A number, or a function of the ratings of two teams that returns one.
DrawProbability: TypeAlias = float | Callable[[tuple["Rating", ...], tuple["Rating", ...]], float]


def match_of(
    system: System,
    able: Capabilities,
    lobby: Teams,
    at: int | None,
    ranks: Any,
    scores: Any,
    weight: float,
    performance: Any,
    share: Any,
    performance_ceiling: float | None,
    beta: float | None,
    gamma: float | None,
    home: int | None,
    context: str | None,
    role: Sequence[str] = (),
) -> OneMatch:
    """Return a match as numbers, checked; see `System.rate`.

    able : what the system can do with the draw probability of the match
    at : time of the match, microseconds since 1970
    role : of each player
    Raises : InvalidParameterError
    """
    if not able.fits(lobby.sizes):
        raise _unfit(system, able, lobby.sizes)
    dense = dense_ranks(ranks, scores, lobby)
    check_ties(system, able, max(dense) + 1 < len(dense))
    if weight != 1.0 or weight.__class__ is bool:
        check_weight(system, able, weight)
    more: dict[str, Any] = {}
    if performance is not None or share is not None:
        more = per_player(system, able, lobby, performance, share)
    if performance_ceiling is not None:
        most = FARTHEST_CEILING
        ceiling = checked_number("performance_ceiling", performance_ceiling, -most, most)
        check_used(system, able, "performance_ceiling", performance_ceiling)
        more["performance_ceiling"] = ceiling
    if beta is not None or gamma is not None:
        more |= own_deviations(system.name, able, beta, gamma)
    if at_home := who_is_at_home(system, able, lobby.sizes, home):
        more["at_home"] = at_home
    if scores is not None and "score" in able.uses:
        more["score"] = scores_of(scores, lobby)
    if context is not None:
        require_context(system, able, context)
        more["context"] = context
    if role:
        more["role"] = role
    return OneMatch(lobby.sizes, dense, float(weight), at, **more)


def require_context(system: Any, able: Capabilities, context: object) -> None:
    """Refuse what is no context, or counts none. Raises : InvalidParameterError."""
    check_used(system, able, "context", context)
    fits = isinstance(context, str) and bool(context.strip())
    require(fits, "context", "text, such as the name of a surface", context)


def facts_of_ratings(system: System, players: Sequence[Any]) -> SystemFacts:
    """Return the facts of a system whose ratings these are. Raises : InvalidParameterError."""
    first = players[0]
    # The facts of a rating are found without hashing the parameters of the system.
    facts = first._facts if first.__class__ is Rating else facts_of(system)
    if facts.system is not system:
        facts = facts_of(system)
    if facts.pooled:
        refuse_learning(system)
    for player in players:
        if player.__class__ is not Rating or player._facts is not facts:
            _check_rating(system, player)
    return facts


def _check_rating(system: System, player: object) -> None:
    """Refuse what is not a rating of a system. Raises : InvalidParameterError."""
    if not isinstance(player, Rating):
        shown = repr(player)[:60]
        raise InvalidParameterError(
            f"a player must be a Rating, such as {type(system).__name__}().rating(); got {shown}. "
            "To rate names, use equipoise.Pool(system)"
        )
    if player.system != system:
        from equipoise.rating.pool_state import other_system

        raise InvalidParameterError(other_system(player.system, system, "rating"))


def check_once(players: Sequence[Rating]) -> None:
    """Refuse the same object twice if it has played. Raises : InvalidParameterError.

    One object may stand for several newcomers, because nothing tells them apart yet.
    """
    seen: set[int] = set()
    for player in players:
        if id(player) in seen and player.matches:
            raise InvalidParameterError(
                f"a player may stand only once in a match; {player!r} after "
                f"{counted(player.matches, 'match', 'matches')} was given twice"
            )
        seen.add(id(player))


def _unfit(system: System, able: Capabilities, sizes: Sequence[int]) -> InvalidParameterError:
    """Return the error for teams that a system cannot rate."""
    from equipoise.rating.registry import SYSTEMS, make_system, unsuited

    misfit = f"matches of {len(sizes)} players or teams (at most {able.max_teams})"
    if able.max_teams is None or len(sizes) <= able.max_teams:
        misfit = f"teams of {max(sizes)} (at most {able.max_team_size})"
    others = {
        name: [] if make_system(name).capabilities.fits(sizes) else [misfit] for name in SYSTEMS
    }
    return InvalidParameterError(unsuited({system.name: [misfit], **others}))


def check_ties(system: System, able: Capabilities, ties: bool) -> None:
    """Refuse a tie where a system rates none. Raises : InvalidParameterError."""
    if ties and not able.draws:
        need = f": ties need {able.ties_need}" if able.ties_need else ""
        raise InvalidParameterError(f"ranks must differ, because {system.name} rates no ties{need}")


def check_weight(system: System, able: Capabilities, weight: object) -> None:
    """Refuse a weight that is none, or that changes nothing. Raises : InvalidParameterError."""
    fits = is_number(weight) and 0 < weight <= MOST_WEIGHT
    require(fits, "weight", f"a positive number up to {MOST_WEIGHT:g}", weight)
    check_used(system, able, "weight", weight)


def check_used(system: System, able: Capabilities, name: str, got: object) -> None:
    """Refuse an argument that changes nothing. Raises : InvalidParameterError."""
    if name in able.uses:
        return
    needed = able.needed.get(name)
    why = f"{system.name} does not use it"
    if needed is not None:
        why += f" unless {needed} is set"
    require(False, name, f"left out, because {why}", got)


def coming_match(
    system: RatingSystem,
    able: Capabilities,
    sizes: Sequence[int],
    at: int | None,
    *,
    home: int | None,
    context: str | None = None,
    beta: float | None = None,
    gamma: float | None = None,
    share: Sequence[float] = (),
) -> OneMatch:
    """Return a match that has not been played, its teams in the order of their numbers.

    at : microseconds since 1970
    home : number of the team at home
    beta, gamma : deviations of the match's own
    share : how much of the match each player takes part in; () for all of it
    Raises : InvalidParameterError
    """
    if context is not None:
        require_context(system, able, context)
    own: dict[str, Any] = own_deviations(system.name, able, beta, gamma)
    return OneMatch(
        sizes,
        range(len(sizes)),
        time=at,
        at_home=who_is_at_home(system, able, sizes, home),
        context=context,
        share=share,
        **own,
    )


def check_time(
    system: System, facts: SystemFacts, numbers: Sequence[Any], time: object
) -> int | None:
    """Return the time of a match in microseconds since 1970, None without one.

    Raises : InvalidParameterError
    """
    column = facts.last_time
    if time is None:
        for row, _ in numbers:
            if row[column] == row[column]:
                # The match would forget this time, and so an older one could follow.
                raise InvalidParameterError(
                    "time must be given, because the last match of a player has a time: "
                    f"{time_of(row[column]).isoformat()}"
                )
        if facts.able.needs_time:
            raise no_time(system)
        return None
    at = microseconds_of(time)
    day = at / MICROSECONDS_PER_DAY
    for row, _ in numbers:
        if row[column] > day:
            raise too_early(row[column], day)
    return at


def no_time(system: System) -> InvalidParameterError:
    """Return the error for a match without a time where a system needs it."""
    return InvalidParameterError(
        f"{system.name} needs the time of the match with these parameters: give time"
    )


def per_player(
    system: System, able: Capabilities, teams: Teams, performance: Any, share: Any
) -> dict[str, list[float]]:
    """Return the columns `performance` and `share` of a match. Raises : InvalidParameterError."""
    columns = {}
    if performance is not None:
        check_used(system, able, "performance", performance)
        most = LARGEST_PERFORMANCE
        columns["performance"] = values_of("performance", performance, teams, -most, most)
    if share is not None:
        check_used(system, able, "share", share)
        shares = values_of("share", share, teams, 0.0, 1.0)
        columns["share"] = [1.0 if math.isnan(value) else value for value in shares]
    return columns


def scores_of(scores: Any, teams: Teams) -> list[float]:
    """Return the score of each player's team. Raises : InvalidParameterError."""
    flat = []
    for score, size in zip(each_team("scores", scores, teams), teams.sizes, strict=True):
        plain = isinstance(score, int | float | np.integer | np.floating)
        require(plain and math.isfinite(score), "scores", "numbers, because margins count", score)
        flat += [float(score)] * size
    return flat


def who_is_at_home(
    system: RatingSystem, able: Capabilities, sizes: Sequence[int], home: object
) -> list[bool]:
    """Return whether each player is at home, nobody on neutral ground; [] where it does not count.

    Raises : InvalidParameterError
    """
    if home is None and "at_home" not in able.uses:
        return []
    if home is not None:
        plain = isinstance(home, int | np.integer) and not isinstance(home, bool)
        fits = plain and 0 <= home < len(sizes)  # type: ignore[operator]
        require(fits, "home", f"the number of a team, from 0 to {len(sizes) - 1}", home)
        if "at_home" not in able.uses:
            raise no_advantage(system)
    return [team == home for team, size in enumerate(sizes) for _ in range(size)]


def with_draw_probability(
    system: System, probability: Any, players: Sequence[Rating], sizes: Sequence[int]
) -> Any:
    """Return the system with the draw probability of a match in place of its own.

    probability : a number, or a function of two teams
    Raises : InvalidParameterError
    """
    if not hasattr(system, "draw_probability"):
        more = ": its eps says how often teams draw" if hasattr(system, "eps") else ""
        raise InvalidParameterError(
            f"draw_probability must be left out, because {system.name} does not use it{more}; got "
            f"{probability!r}"
        )
    chance = probability
    if callable(probability):
        if len(sizes) != 2:
            raise InvalidParameterError(
                "draw_probability is a function of two teams, and the match has "
                f"{len(sizes)}: give a number, or use a named rule of the system, such as "
                "draw_rule='rating'"
            )
        chance = probability(tuple(players[: sizes[0]]), tuple(players[sizes[0] :]))
    plain = is_number(chance)
    if callable(probability):
        fits = plain and 0 <= chance < 1
        require(fits, "the result of draw_probability", "a number from 0 to below 1", chance)
        # A function of far teams may go below what a parameter can be.
        chance = max(chance, LEAST) if chance > 0 else 0.0
    fits = plain and (chance == 0 or LEAST <= chance < 1)
    require(fits, "draw_probability", f"0, or from {LEAST:g} to below 1", chance)
    with_draws: Any = system
    return replace(with_draws, draw_probability=float(chance), draw_rule="constant")


def refuse_in_pool(probability: object) -> None:
    """Refuse a draw probability of one match of a pool. Raises : InvalidParameterError."""
    if probability is None:
        return
    what = (
        "a function of the teams cannot be saved"
        if callable(probability)
        else f"got {probability!r}"
    )
    raise InvalidParameterError(
        "draw_probability must be left out in a pool, because a replay of its matches would not "
        f"know it ({what}): give the system a named rule, such as draw_rule='rating', or rate the "
        "match without a pool, system.rate(teams, draw_probability=...)"
    )

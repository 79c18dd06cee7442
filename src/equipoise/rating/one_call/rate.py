"""Rating one match between ratings: reads the call, checks it, and returns new ratings."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from equipoise.data.history import (
    FARTHEST_CEILING,
    LARGEST_PERFORMANCE,
    MICROSECONDS_PER_DAY,
    MOST_WEIGHT,
)
from equipoise.data.one_match import OneMatch
from equipoise.errors import InvalidParameterError, require
from equipoise.rating.one_call.draw_probability import with_draw_probability
from equipoise.rating.one_call.rating import (
    Rating,
    SystemFacts,
    facts_of,
    microseconds_of,
    refuse_learning,
    time_of,
    too_early,
)
from equipoise.rating.one_call.teams import Teams, dense_ranks, each_team, flat_teams, values_of
from equipoise.rating.one_match import rate_match, rate_once
from equipoise.rating.system import Capabilities, no_advantage, own_deviations
from equipoise.wording import counted

if TYPE_CHECKING:
    from equipoise.rating.base_system import System


def rate(
    system: System,
    teams: Any,
    *,
    ranks: Any,
    scores: Any,
    weight: float,
    time: Any,
    performance: Any,
    share: Any,
    performance_ceiling: float | None,
    beta: float | None,
    gamma: float | None,
    home: int | None,
    draw_probability: Any = None,
) -> Any:
    """Return the new ratings in the shape of the teams; see `System.rate`."""
    given = flat_teams(teams)
    facts = facts_of_ratings(system, given.players)
    able, rates = facts.able, system
    if draw_probability is not None:
        rates = with_draw_probability(system, draw_probability, given.players, given.sizes)
        able = rates.capabilities
    check_sizes(system, able, given.sizes)
    dense = dense_ranks(ranks, scores, given)
    top = max(dense)
    check_ties(system, able, top + 1 < len(dense))
    if weight != 1.0 or weight.__class__ is bool:
        check_weight(system, able, weight)
    if len(set(map(id, given.players))) < len(given.players):
        _check_once(given.players)
    numbers = [one._numbers for one in given.players]
    if time is None:
        _check_undated(facts, numbers)
    at = check_time(system, facts, numbers, time)
    more: dict[str, Any] = {}
    if performance is not None or share is not None:
        more = per_player(system, able, given, performance, share)
    if performance_ceiling is not None:
        more["performance_ceiling"] = checked_ceiling(system, able, performance_ceiling)
    if beta is not None or gamma is not None:
        more |= own_deviations(system.name, able, beta, gamma)
    if at_home := who_is_at_home(system, able, given.sizes, home):
        more["at_home"] = at_home
    if scores is not None and "score" in able.uses:
        more["score"] = scores_of(scores, given)
    if able.skips_all_tied and top == 0 and len(dense) > 2:
        return given.shaped(given.players)
    # The memory of a system is kept for its next match, which one made for a match does not have.
    rated = rate_match if rates is system else rate_once
    after = rated(rates, numbers, OneMatch(given.sizes, dense, float(weight), at, **more))
    return given.shaped(Rating._each(facts, after))


def facts_of_ratings(system: System, players: Sequence[Any]) -> SystemFacts:
    """Return the facts of a system whose ratings these are. Raises : InvalidParameterError."""
    first = players[0]
    # The facts of a rating are found without hashing the parameters of the system.
    facts = first._facts if first.__class__ is Rating else facts_of(system)
    if facts.system is not system:
        facts = facts_of(system)
    if facts.pooled:
        refuse_learning(system)
    for one in players:
        if one.__class__ is not Rating or one._facts is not facts:
            _check_rating(system, one)
    return facts


def _check_rating(system: System, one: object) -> None:
    """Refuse what is not a rating of a system. Raises : InvalidParameterError."""
    if not isinstance(one, Rating):
        shown = repr(one)[:60]
        raise InvalidParameterError(
            f"a player must be a Rating, such as {type(system).__name__}().rating(); got {shown}. "
            "To rate names, use equipoise.Pool(system)"
        )
    if one.system != system:
        from equipoise.rating.pool_state import other_system

        raise InvalidParameterError(other_system(one.system, system, "rating"))


def _check_once(players: Sequence[Rating]) -> None:
    """Refuse the same object twice if it has played. Raises : InvalidParameterError.

    One object may stand for several newcomers, because nothing tells them apart yet.
    """
    seen: set[int] = set()
    for one in players:
        if id(one) in seen and one.matches:
            raise InvalidParameterError(
                f"a player may stand only once in a match; {one!r} after "
                f"{counted(one.matches, 'match', 'matches')} was given twice"
            )
        seen.add(id(one))


def _check_undated(facts: SystemFacts, numbers: Sequence[Any]) -> None:
    """Refuse a match without a time after one with a time. Raises : InvalidParameterError.

    The match would forget the time of the last match, and so an older one could follow.
    """
    column = facts.last_time
    for row, _ in numbers:
        if row[column] == row[column]:
            raise InvalidParameterError(
                "time must be given, because the last match of a player has a time: "
                f"{time_of(row[column]).isoformat()}"
            )


def check_sizes(system: System, able: Capabilities, sizes: Sequence[int]) -> None:
    """Refuse teams that a system cannot rate. Raises : InvalidParameterError."""
    fits = able.max_teams is None or len(sizes) <= able.max_teams
    if fits and (able.max_team_size is None or max(sizes) <= able.max_team_size):
        return
    from equipoise.rating.predicting.lineup import can_rate
    from equipoise.rating.registry import SYSTEMS, make_system, unsuited

    if fits:
        misfit = f"teams of {max(sizes)} (at most {able.max_team_size})"
    else:
        misfit = f"matches of {len(sizes)} players or teams (at most {able.max_teams})"
    others = {name: [] if can_rate(make_system(name), sizes) else [misfit] for name in SYSTEMS}
    raise InvalidParameterError(unsuited({system.name: [misfit], **others}))


def check_ties(system: System, able: Capabilities, ties: bool) -> None:
    """Refuse a tie where a system rates none. Raises : InvalidParameterError."""
    if ties and not able.draws:
        need = f": ties need {able.ties_need}" if able.ties_need else ""
        raise InvalidParameterError(f"ranks must differ, because {system.name} rates no ties{need}")


def check_weight(system: System, able: Capabilities, weight: object) -> None:
    """Refuse a weight that is none, or that changes nothing. Raises : InvalidParameterError."""
    plain = isinstance(weight, int | float | np.integer | np.floating)
    fits = plain and not isinstance(weight, bool) and 0 < weight <= MOST_WEIGHT  # type: ignore[operator]
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


def check_time(
    system: System, facts: SystemFacts, numbers: Sequence[Any], time: object
) -> int | None:
    """Return the time of a match in microseconds since 1970, None without one.

    Raises : InvalidParameterError
    """
    if time is None:
        if facts.able.needs_time:
            raise InvalidParameterError(
                f"{system.name} needs the time of the match with these parameters: give time"
            )
        return None
    at, column = microseconds_of(time), facts.last_time
    day = at / MICROSECONDS_PER_DAY
    for row, _ in numbers:
        if row[column] > day:
            raise too_early(row[column], day)
    return at


def per_player(
    system: System, able: Capabilities, teams: Teams, performance: Any, share: Any
) -> dict[str, list[float]]:
    """Return the columns `performance` and `share` of a match. Raises : InvalidParameterError."""
    found = {}
    if performance is not None:
        check_used(system, able, "performance", performance)
        most = LARGEST_PERFORMANCE
        found["performance"] = values_of("performance", performance, teams, -most, most)
    if share is not None:
        check_used(system, able, "share", share)
        shares = values_of("share", share, teams, 0.0, 1.0)
        found["share"] = [1.0 if math.isnan(one) else one for one in shares]
    return found


def scores_of(scores: Any, teams: Teams) -> list[float]:
    """Return the score of each player's team. Raises : InvalidParameterError."""
    found = []
    for one, size in zip(each_team("scores", scores, teams), teams.sizes, strict=True):
        plain = isinstance(one, int | float | np.integer | np.floating)
        require(plain and math.isfinite(one), "scores", "numbers, because margins count", one)
        found += [float(one)] * size
    return found


def checked_ceiling(system: System, able: Capabilities, ceiling: object) -> float:
    """Return the performance ceiling of a match. Raises : InvalidParameterError."""
    plain = isinstance(ceiling, int | float | np.integer | np.floating)
    fits = plain and not isinstance(ceiling, bool) and abs(ceiling) <= FARTHEST_CEILING  # type: ignore[arg-type]
    most = FARTHEST_CEILING
    require(fits, "performance_ceiling", f"a number from {-most:g} to {most:g}", ceiling)
    check_used(system, able, "performance_ceiling", ceiling)
    return float(ceiling)  # type: ignore[arg-type]


def who_is_at_home(
    system: System, able: Capabilities, sizes: Sequence[int], home: object
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

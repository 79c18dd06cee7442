"""Ratings of matched players, as attributes that a ruleset can use.

Players get `rating`, `effective_rating` and `deviation` from a table of ratings or a saved state,
and with `--attribute mmr=effective_rating` also `mmr`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from equipoise.analysis.files.balance import DEFAULT_DEVIATION, DEFAULT_RATING
from equipoise.analysis.requests.teams import RatingSource
from equipoise.data.lobby import DEVIATION, LARGEST, RATING, Id
from equipoise.data.rebalancing import HAS_ATTRIBUTE, RebalanceRequest
from equipoise.display import names_in_words
from equipoise.errors import InvalidDataError, InvalidParameterError, NotFoundError, Problem
from equipoise.evaluate.rated_players import is_saved_state
from equipoise.formats.lobby import read_strengths
from equipoise.formats.rebalance_request import OpenRequest, open_rebalance_request
from equipoise.wording import counted

RATINGS, ATTRIBUTE = "--ratings", "--attribute"

#: The numbers that players get.
GIVEN = ("rating", "effective_rating", "deviation")


def _check(ratings: RatingSource) -> None:
    """Refuse options that are out of range or of no use. Raises : InvalidParameterError."""
    defaults = (
        (DEFAULT_RATING, ratings.default_rating, -LARGEST, RATING),
        (DEFAULT_DEVIATION, ratings.default_deviation, 0.0, DEVIATION),
    )
    for option, value, low, rule in defaults:
        if value is None:
            continue
        if ratings.path is None:
            raise InvalidParameterError(f"{option} needs {RATINGS}")
        if is_saved_state(ratings.path):
            raise InvalidParameterError(
                f"{option} cannot be combined with a saved state, which has the rating and "
                "deviation of newcomers"
            )
        if not low <= value <= LARGEST:
            raise InvalidParameterError(f"{option} {rule}; got {value}")
    if ratings.attributes and ratings.path is None:
        raise InvalidParameterError(f"{ATTRIBUTE} needs {RATINGS}")
    for name, number in ratings.attributes.items():
        if number not in GIVEN:
            raise InvalidParameterError(
                f"{ATTRIBUTE} must name one of {', '.join(GIVEN)}; got {name}={number}"
            )


class _Known(NamedTuple):
    """Numbers of players by id and name, and notes."""

    numbers: dict[str, dict[str, float]]
    notes: list[str]


def read_matched(source: object, ratings: RatingSource) -> RebalanceRequest:
    """Return the request of a source, with the ratings of its players as attributes.

    Raises : NotFoundError for players who are not in a table; InvalidDataError,
        InvalidParameterError
    """
    _check(ratings)
    opened = open_rebalance_request(source)
    if ratings.path is None:
        return opened.read({})
    players = list(dict.fromkeys(opened.players()))
    known = (
        _of_state(ratings, players) if is_saved_state(ratings.path) else _of_table(ratings, players)
    )
    used = opened.rule_attributes()
    meant = {**{name: name for name in GIVEN}, **ratings.attributes}
    attributes = {
        player: {
            name: numbers[number]
            for name, number in meant.items()
            if name in used and number in numbers
        }
        for player, numbers in known.numbers.items()
    }
    request = _request(opened, attributes, used, meant)
    notes = [*known.notes, *_notes(opened, used, meant, ratings.path)]
    return replace(request, notes=(*notes, *request.notes))


def _request(
    opened: OpenRequest,
    attributes: Mapping[str, Mapping[str, float]],
    used: Sequence[str],
    meant: Mapping[str, str],
) -> RebalanceRequest:
    """Return the request; say how ratings become an attribute that players lack."""
    try:
        return opened.read(attributes)
    except InvalidDataError as error:
        lacking = [name for name in used if name not in meant]
        missed = any(one.rule == HAS_ATTRIBUTE for one in error.problems)
        if not lacking or not missed:
            raise
        hint = Problem(
            *("", None, ATTRIBUTE),
            "must say which number of the ratings is the attribute of the ruleset: "
            f"{ATTRIBUTE} {lacking[0]}=effective_rating",
            "nothing",
        )
        raise InvalidDataError([*error.problems, hint], str(error).partition(":\n")[0]) from None


def _of_table(ratings: RatingSource, players: Sequence[Id]) -> _Known:
    """Return the numbers of players of a table."""
    names = [str(one) for one in players]
    found = read_strengths(ratings.path, names)
    missing = [one for one in names if one not in found.rows]
    if missing and ratings.default_rating is None:
        where = f" of {ratings.path}" if isinstance(ratings.path, str) else ""
        raise NotFoundError(
            f"not among the {counted(found.count, 'rated player')}{where}: {', '.join(missing)}. "
            f"{DEFAULT_RATING} gives a rating to players who have none; a saved state has that of "
            "newcomers"
        )
    numbers = {}
    for name, row in found.rows.items():
        numbers[name] = {
            "rating": float(found.rating[row]),
            "effective_rating": float(found.effective_rating[row]),
        }
        deviation = float(found.deviation[row])
        if not np.isnan(deviation):
            numbers[name]["deviation"] = deviation
        elif ratings.default_deviation is not None:
            numbers[name]["deviation"] = ratings.default_deviation
    notes = list(found.notes)
    if missing and ratings.default_rating is not None:
        default = {"rating": ratings.default_rating, "effective_rating": ratings.default_rating}
        if ratings.default_deviation is not None:
            default["deviation"] = ratings.default_deviation
        numbers |= dict.fromkeys(missing, default)
        notes.append(
            f"not in the ratings, so with the default rating {ratings.default_rating:g}: "
            f"{names_in_words(missing, 20)}"
        )
    return _Known(numbers, notes)


def _of_state(ratings: RatingSource, players: Sequence[Id]) -> _Known:
    """Return the numbers of players of a saved state as of its last match."""
    # Imported here, because a table needs no compiled code.
    from equipoise.data.history import MICROSECONDS_PER_DAY
    from equipoise.rating.pool_state import PoolState, newcomers_note

    pool = PoolState.load(str(ratings.path))
    state, ids, known = pool.with_newcomers(players)
    day = None if pool.last_time is None else pool.last_time / MICROSECONDS_PER_DAY
    now = pool.system.at(state, np.arange(len(ids)), day)
    numbers = {}
    for row, name in enumerate(map(str, players)):
        rating = float(now["rating"][row])
        effective = now.get("effective_rating")
        numbers[name] = {
            "rating": rating,
            "effective_rating": rating if effective is None else float(effective[row]),
        }
        if not np.isnan(now["deviation"][row]):
            numbers[name]["deviation"] = float(now["deviation"][row])
    among = f"among the {counted(len(pool.player_ids), 'rated player')}"
    newcomers = ids[~known].tolist()
    return _Known(numbers, newcomers_note(newcomers, pool.player_ids.tolist(), among))


def _notes(
    opened: OpenRequest, used: Sequence[str], meant: Mapping[str, str], path: object
) -> list[str]:
    """Return notes on ratings that no rule uses, and on attributes that they replace."""
    where = path if isinstance(path, str) else "the ratings"
    if not set(used) & set(meant):
        what = f"the ruleset uses {', '.join(used)}" if used else "the ruleset has no matching rule"
        to_do = f": {ATTRIBUTE} {used[0]}=effective_rating uses them" if used else ""
        return [f"no rule uses the ratings of {where}, because {what}{to_do}"]
    replaced = opened.given(name for name in used if name in meant)
    return [
        f"{name} of {counted(count, 'player')} in the request is replaced by {meant[name]} of "
        f"{where}"
        for name, count in replaced.items()
        if count
    ]

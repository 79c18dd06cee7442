"""Rebalancing matched parties: read, take ratings, make teams, write; or compare all methods."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from equipoise.analysis.balance import RatingSource, RebalanceOrder
from equipoise.analysis.balance.computation import (
    DEFAULT_DEVIATION,
    DEFAULT_RATING,
    refuse_defaults,
)
from equipoise.analysis.requests import shared
from equipoise.data.lobby import Id
from equipoise.data.rebalancing import (
    HAS_ATTRIBUTE,
    Candidate,
    Method,
    Rebalance,
    RebalanceRequest,
)
from equipoise.display import names_in_words
from equipoise.errors import (
    EquipoiseError,
    InvalidDataError,
    InvalidParameterError,
    NotFoundError,
    Problem,
)
from equipoise.formats.players import read_strengths
from equipoise.formats.rebalance_request import OpenRequest, open_rebalance_request
from equipoise.formats.sources import is_saved_state
from equipoise.formats.writing import check_target, write_table
from equipoise.messages.conversion import to_message
from equipoise.messages.questions import ComparedMessage
from equipoise.teams.party_placing import Matched
from equipoise.teams.rebalance import chosen_method, rebalance
from equipoise.wording import counted

RATINGS, ATTRIBUTE = "--ratings", "--attribute"

#: The numbers that players get.
GIVEN = ("rating", "effective_rating", "deviation")


def _check(ratings: RatingSource) -> None:
    """Refuse options that are out of range or of no use. Raises : InvalidParameterError."""
    defaults = {
        DEFAULT_RATING: ratings.default_rating,
        DEFAULT_DEVIATION: ratings.default_deviation,
    }
    for option, value in defaults.items():
        if value is not None and ratings.path is None:
            raise InvalidParameterError(f"{option} needs {RATINGS}")
    state = "a saved state" if is_saved_state(ratings.path) else ""
    refuse_defaults(ratings.default_rating, ratings.default_deviation, state)
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
        missed = any(problem.rule == HAS_ATTRIBUTE for problem in error.problems)
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
    names = [str(player) for player in players]
    strengths = read_strengths(ratings.path, names)
    missing = [name for name in names if name not in strengths.rows]
    if missing and ratings.default_rating is None:
        where = f" of {ratings.path}" if isinstance(ratings.path, str) else ""
        raise NotFoundError(
            f"not among the {counted(strengths.count, 'rated player')}{where}: "
            f"{', '.join(missing)}. "
            f"{DEFAULT_RATING} gives a rating to players who have none; a saved state has that of "
            "newcomers"
        )
    numbers = {}
    for name, row in strengths.rows.items():
        numbers[name] = {
            "rating": float(strengths.rating[row]),
            "effective_rating": float(strengths.effective_rating[row]),
        }
        deviation = float(strengths.deviation[row])
        if not np.isnan(deviation):
            numbers[name]["deviation"] = deviation
        elif ratings.default_deviation is not None:
            numbers[name]["deviation"] = ratings.default_deviation
    notes = list(strengths.notes)
    if missing and ratings.default_rating is not None:
        default = {"rating": ratings.default_rating, "effective_rating": ratings.default_rating}
        if ratings.default_deviation is not None:
            default["deviation"] = ratings.default_deviation
        numbers |= dict.fromkeys(missing, default)
        notes.append(
            f"not in the ratings, so rated {ratings.default_rating:g} by default: "
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
        player.player: (party.party, player)
        for _, party in request.everyone()
        for player in party.players
    }
    placed = [
        (number, player)
        for number, team in enumerate(answer.result.teams, start=1)
        for party in team
        for player in party
    ]
    columns: dict[str, Any] = {
        "team": [number for number, _ in placed],
        "player": _column([player for _, player in placed]),
        "party": _column([known[player][0] for _, player in placed]),
    }
    for name in names:
        # An attribute may have the name of one of these columns.
        label = f"{name}_attribute" if name in columns else name
        columns[label] = [matched.attribute(known[player][1], name) for _, player in placed]
    return pl.DataFrame(columns)


def _column(ids: list[Any]) -> pl.Series:
    """Return ids as a column: numbers if all are, else text."""
    if all(isinstance(player, int) for player in ids):
        return pl.Series(ids, dtype=pl.Int64)
    return pl.Series([None if player is None else str(player) for player in ids], dtype=pl.String)


def compare_methods(order: RebalanceOrder) -> list[ComparedMessage]:
    """Return the teams of every method.

    Gaps are measured from the proved bound. A method that was replaced by another one has no teams.
    """
    if order.output is not None or order.candidates or order.method is not None:
        raise InvalidParameterError("--compare cannot be combined with --method, --all or --output")
    request = read_matched(order.source, order.ratings)
    chosen, _ = chosen_method(request)
    runs: list[tuple[Rebalance | None, float, str]] = []
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
        runs.append((result, seconds, note))
    best = runs[-1][0]
    rows = []
    for method, (result, seconds, note) in zip(COMPARED, runs, strict=True):
        unknown = dict.fromkeys(("teams", "member_count_difference", "distance"))
        gaps = (None, None) if result is None else _gaps(result.best, best)
        rows.append(
            to_message(
                ComparedMessage,
                None if result is None else result.best,
                **(unknown if result is None else {}),
                method=method,
                chosen=method == chosen,
                gap_member_count_difference=gaps[0],
                gap_distance=gaps[1],
                seconds=seconds,
                truncated=result is not None and result.truncated,
                note=note,
            )
        )
    return rows


def _gaps(candidate: Candidate, best: Rebalance | None) -> tuple[int | None, float | None]:
    """Return how far teams are from the bound; None if the gap is not known."""
    if best is None or best.optimum is None or len(candidate.teams) != len(best.teams):
        return None, None
    bound = best.optimum
    difference = candidate.member_count_difference - bound.bound_difference
    return difference, None if difference else max(candidate.distance - bound.bound_distance, 0.0)

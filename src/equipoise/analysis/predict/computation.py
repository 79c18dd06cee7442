"""Predicting a match from a saved state: expected scores, places and what-if."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

import numpy as np

from equipoise.analysis.balance.computation import check_state
from equipoise.analysis.predict import PredictRequest
from equipoise.analysis.rate.computation import system_and_ratings
from equipoise.analysis.reading import learn_curve, unused_at, unused_notes
from equipoise.analysis.requests import shared
from equipoise.analysis.systems import plain_parameters
from equipoise.data.places import place_distribution
from equipoise.data.prediction import BY_CURVE, Prediction, range_in_words
from equipoise.errors import InvalidDataError, InvalidParameterError, NotFoundError, Problem
from equipoise.formats.delimited import unescaped_text
from equipoise.formats.players import ids_of
from equipoise.formats.times import check_time_format, moment
from equipoise.messages.conversion import to_message, to_messages
from equipoise.messages.questions import (
    Outcome,
    Places,
    PredictedPlayer,
    PredictedTeam,
    PredictMessage,
    WhatIfMessage,
)
from equipoise.rating.pool_state import PoolState, newcomers_note
from equipoise.rating.predicting import Lineup, lineup, of_match
from equipoise.rating.replay import check_system, days, known_pool, predict
from equipoise.rating.system import RatingSystem
from equipoise.rating.what_if import what_if
from equipoise.wording import counted

#: Most teams for which the win probabilities of all pairs are given.
PAIRS = 12

#: Most teams for which a what-if has every place; with more it has the `notable_places`.
ALL_PLACES = 1000

#: Places for which the probability to reach at least this place is given.
_WITHIN = (1, 3, 10)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ComingMatch:
    """A match to predict, and what to compute.

    pool : a state that has at least the rated players of the match
    teams : ids, team by team
    at : days since 1970, None for the time of the last match; shown_at : the same for the answer
    home : number of the team that plays at home
    context : of the match
    draw_rate : how likely equal teams draw; None: as often as in the pool
    beta, gamma : deviations of the match's own
    samples, seed : of the place distribution; no samples, no distribution
    players : ids for the what-if, which has every place of up to `all_places` teams
    where : where newcomers were not found, in words; None: among the players of the pool
    notes : further notes for the answer
    """

    pool: PoolState
    teams: list[list[str]]
    at: float | None = None
    shown_at: int | str | None = None
    home: int | None = None
    context: str | None = None
    draw_rate: float | None = None
    beta: float | None = None
    gamma: float | None = None
    samples: int | None = None
    seed: int = 0
    players: Sequence[str] = ()
    all_places: int = ALL_PLACES
    where: str | None = None
    notes: Sequence[str] = ()


def predict_match(
    request: PredictRequest,
    system: RatingSystem | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> PredictMessage:
    """Return what a system expects of a match of a saved state, or of players of known ratings.

    Players who have neither are newcomers, and the answer names them.

    system : None means the system of the state, or the default system
    progress : called with (places tried, total)
    Raises : NotFoundError, InvalidDataError, InvalidParameterError, ConvergenceError
    """
    return predicted(_match(request, system), progress)


def predicted(
    match: ComingMatch, progress: Callable[[int, int], None] | None = None
) -> PredictMessage:
    """Return what the system of a pool expects of a match.

    progress : called with (places tried, total)
    Raises : NotFoundError, InvalidParameterError, ConvergenceError
    """
    system = match.pool.system
    field = lineup(
        system,
        match.pool,
        match.teams,
        at=match.at,
        home=match.home,
        any_teams=not match.players,
        context=match.context,
    )
    expects = predict(
        system,
        match.pool,
        match.teams,
        **shared(match, predict),
    )
    places = None
    if match.samples is not None:
        rng = np.random.default_rng(match.seed)
        places = _places(expects, match.samples, rng)
    return to_message(
        PredictMessage,
        expects,
        system=system.name,
        parameters=plain_parameters(system),
        at=match.shown_at,
        teams=_teams(system, field, expects, places),
        pairs=_pairs(expects),
        samples=match.samples,
        seed=None if match.samples is None else match.seed,
        what_if=[_what_if(match, player, progress) for player in match.players],
        notes=[*match.notes, *_newcomers_notes(match, expects), *_chance_notes(expects)],
    )


def _chance_notes(expects: Prediction) -> list[str]:
    """Return why chances of a win and a draw are unknown, and whether chances are calibrated."""
    notes = [expects.draw_note] if expects.draw_note else []
    if expects.uncalibrated is not None:
        notes.append(f"chances are {BY_CURVE}")
    if expects.calibrated_range is not None:
        notes.append(range_in_words(expects.calibrated_range))
    return notes


def _newcomers_notes(match: ComingMatch, expects: Prediction) -> list[str]:
    """Return a note on newcomers, with similar ids if all ids of the pool are known."""
    known = match.pool.player_ids.tolist()
    if match.where is not None:
        return newcomers_note(expects.newcomers, [], match.where)
    players = counted(len(known), "rated player")
    if not len(match.pool.rated):
        players = counted(len(known), "player with a known rating", "players with known ratings")
    return newcomers_note(expects.newcomers, known, f"among the {players}")


def field_of(source: str | TextIO) -> list[str]:
    """Return the players of a field: the `player` column of a CSV file, or its first column.

    Raises : NotFoundError, InvalidDataError
    """
    name = source if isinstance(source, str) else "standard input"
    if isinstance(source, str) and not Path(source).is_file():
        raise NotFoundError(f"no file {source} with the players of the field")
    try:
        text = Path(source).read_text("utf-8-sig") if isinstance(source, str) else source.read()
        rows = [row for row in csv.reader(text.splitlines(), strict=True) if any(row)]
    except (csv.Error, UnicodeDecodeError) as error:
        rule = "must be UTF-8 text with one player on each line"
        raise InvalidDataError([Problem(name, None, "", rule, str(error))]) from error
    column = 0
    if rows and "player" in rows[0]:
        column = rows.pop(0).index("player")
    players = [unescaped_text(row[column].strip()) if column < len(row) else "" for row in rows]
    if not all(players) or not players:
        rule = "must name a player on every line"
        raise InvalidDataError([Problem(name, None, "player", rule, "none")])
    return players


def notable_places(teams: int) -> list[int]:
    """Return 1, 2, 3, 5, 10, 20, 30, 50, 100, ... and the last place."""
    powers = 10 ** np.arange(math.ceil(math.log10(teams)) + 1)
    round_places = np.outer(powers, [1, 2, 3, 5]).ravel()
    return sorted({*round_places[round_places < teams].tolist(), teams})


def _pool(
    request: PredictRequest, system: RatingSystem | None
) -> tuple[PoolState, tuple[str, ...]]:
    """Return the saved state, or the pool of known ratings before its first match, and notes.

    Raises : EquipoiseError
    """
    if request.state is not None and request.initial is not None:
        raise InvalidParameterError(
            "--initial cannot be combined with --state: initial ratings come before the first "
            "match, and a saved state has its ratings"
        )
    if request.state is None and request.calibrate is not None:
        raise InvalidParameterError("--calibrate needs --state: known ratings have no curve")
    if request.state is not None:
        check_state(request.state, "--state", "--initial")
        pool = PoolState.load(request.state)
        check_system(pool, system or pool.system)
        if request.calibrate is not None:
            learn_curve(pool, request.calibrate)
        return pool, ()
    system, known = system_and_ratings(system, None, request.initial, request.initial_mapping)
    if known.ratings is None:
        raise InvalidParameterError(
            "a prediction needs ratings: a saved state (--state), or known ratings before the "
            "first match (--initial)"
        )
    return known_pool(system, known.ratings), known.notes


def _match(request: PredictRequest, system: RatingSystem | None) -> ComingMatch:
    """Return the match of a request. Raises : EquipoiseError."""
    pool, notes_of_pool = _pool(request, system)
    teams = [ids_of(text, "--team") for text in request.teams]
    if request.field is not None:
        teams += [[player] for player in field_of(request.field)]
    if len(teams) < 2:
        raise InvalidParameterError(
            "a match needs two teams or more: give --team twice, or --field"
        )
    if request.players and not request.what_if:
        raise InvalidParameterError("--player needs --what-if")
    at, notes = None, list(notes_of_pool)
    if request.at is not None and request.initial is not None:
        raise InvalidParameterError(
            "--at cannot be combined with --initial: before the first match no rating depends on "
            "the time"
        )
    if request.at is not None:
        if pool.last_time is None:
            had = "none" if pool.last_order is None else "an order without dates"
            raise InvalidParameterError(f"--at needs a state with times; its history had {had}")
        at = days(moment(request.at, "--at", check_time_format(request.time_format)))
        notes += unused_notes({pool.system.name: unused_at(pool.system)}, strict=False)
    home = None
    if request.home is not None:
        home = next((number for number, team in enumerate(teams) if request.home in team), None)
        if home is None:
            raise NotFoundError(f"--home names {request.home}, who is not in any team")
    own = {
        "teams": teams,
        "at": at,
        "home": home,
        "samples": request.samples if request.places else None,
        "players": (request.players or teams[0][:1]) if request.what_if else (),
    }
    more = {**shared(request, ComingMatch), **own}
    return ComingMatch(pool=pool, shown_at=request.at, notes=notes, **more)


def _places(expects: Prediction, samples: int, rng: np.random.Generator) -> list[Places]:
    """Return the distribution of the place of every team."""
    distribution = place_distribution(expects.outlook, rng=rng, samples=samples, within=_WITHIN)
    teams = len(expects.expected)
    first, top3, top10 = (
        chance.tolist() if place < teams else [None] * teams
        for place, chance in zip(_WITHIN, distribution.chance, strict=True)
    )
    return to_messages(Places, distribution, first=first, top3=top3, top10=top10)


def _pairs(expects: Prediction) -> list[list[float]] | None:
    """Return the win probability of every pair, a tie as one half; None for many teams."""
    teams = len(expects.expected)
    if teams > PAIRS:
        return None
    if teams == 2:
        # If the system models draws, the expected score includes half of them.
        first, second = expects.expected
        return [[0.5, first], [second, 0.5]]
    pairs: list[list[float]] = expects.outlook.pairs().tolist()
    return pairs


def _teams(
    system: RatingSystem, field: Lineup, expects: Prediction, places: list[Places] | None
) -> list[PredictedTeam]:
    """Return the teams with their players and predictions, in the order of the request."""
    teams = []
    sizes = np.bincount(field.team).tolist()
    now = system.at(field.state, np.arange(len(field.team)), field.day)
    ratings, deviations = of_match(
        system, field.state, now["rating"], now["deviation"], field.one.context
    )
    for number, (end, size) in enumerate(zip(np.cumsum(sizes).tolist(), sizes, strict=True)):
        part = slice(end - size, end)
        rating, deviation = ratings[part], deviations[part]
        players = to_messages(
            PredictedPlayer,
            None,
            player=field.player_ids[part],
            rating=rating,
            deviation=deviation,
            newcomer=~field.known[part],
        )
        expected = expects.expected[number]
        teams.append(
            to_message(
                PredictedTeam,
                None,
                players=players,
                rating=rating.mean(),
                deviation=math.sqrt(np.mean(deviation**2)),
                expected=expected,
                expected_place=1.0 + (1.0 - expected) * (len(sizes) - 1),
                places=None if places is None else places[number],
            )
        )
    return teams


def _what_if(
    match: ComingMatch, player: str, progress: Callable[[int, int], None] | None
) -> WhatIfMessage:
    """Return the rating of a player after each place."""
    teams = len(match.teams)
    outcomes = what_if(
        match.pool.system,
        match.pool,
        match.teams,
        player,
        **shared(match, what_if),
        places=None if teams <= match.all_places else notable_places(teams),
        progress=progress,
    )
    return to_message(WhatIfMessage, outcomes, outcomes=to_messages(Outcome, outcomes))

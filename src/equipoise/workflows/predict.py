"""Predicting a match from a saved state: expected scores, places, and what each place would do."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

import numpy as np

from equipoise.data.prediction import Prediction
from equipoise.errors import InvalidDataError, InvalidParameterError, NotFoundError, Problem
from equipoise.evaluate.placing import place_distribution
from equipoise.formats.times import instant
from equipoise.messages.predict import (
    Outcome,
    Places,
    PredictedPlayer,
    PredictedTeam,
    PredictMessage,
    WhatIfMessage,
)
from equipoise.rating.pool_state import PoolState
from equipoise.rating.registry import parameters_of
from equipoise.rating.replay import days, predict
from equipoise.rating.system import RatingSystem
from equipoise.rating.what_if import what_if

#: Chances of all pairs are told for this many teams.
PAIRS = 12

#: Up to this many teams every place is tried; above, a selection (see `notable_places`).
ALL_PLACES = 1000

#: Places whose chance is told, and by which name.
_WITHIN = (1, 3, 10)


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictRequest:
    """Who meets, and what is wanted to be known.

    state : path of a saved state
    teams : each one team, ids separated by commas; quoted as in CSV where an id has one
    field : a file, or an open one, with a player a line: each a team alone, after `teams`
    at : time of the match, as text; None: that of the last match
    home : id of a player whose team is at home
    samples, seed : of the place distribution; no samples, no distribution
    what_if : whether to try every place
    players : for whom; empty takes the first player
    """

    state: str
    teams: Sequence[str] = ()
    field: str | TextIO | None = None
    at: str | None = None
    home: str | None = None
    samples: int | None = None
    seed: int = 0
    what_if: bool = False
    players: Sequence[str] = ()


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ComingMatch:
    """A match to predict, and what is wanted to be known of it.

    pool : a state that knows its players, at least
    teams : ids, team by team
    at : days since 1970, None for the time of the last match; shown_at : as it is answered
    home : number of the team that plays at home
    samples, seed : of the place distribution; no samples, no distribution
    players : for whom places are tried: all of them in fields of up to `all_places` teams, above
        that a selection
    """

    pool: PoolState
    teams: list[list[str]]
    at: float | None = None
    shown_at: int | str | None = None
    home: int | None = None
    samples: int | None = None
    seed: int = 0
    players: Sequence[str] = ()
    all_places: int = ALL_PLACES


def predict_match(
    request: PredictRequest, progress: Callable[[int, int], None] | None = None
) -> PredictMessage:
    """Return what the system of a saved state expects of a match.

    progress : called with (places tried, places in all)
    Raises : NotFoundError, InvalidDataError, InvalidParameterError, ConvergenceError
    """
    return predicted(_match(request), progress)


def predicted(
    match: ComingMatch, progress: Callable[[int, int], None] | None = None
) -> PredictMessage:
    """Return what the system of a pool expects of a match.

    progress : called with (places tried, places in all)
    Raises : NotFoundError, InvalidParameterError, ConvergenceError
    """
    system = match.pool.system
    expects = predict(system, match.pool, match.teams, at=match.at, home=match.home)
    places = None
    if match.samples is not None:
        rng = np.random.default_rng(match.seed)
        places = _places(expects, match.samples, rng)
    return PredictMessage(
        system=system.name,
        parameters=plain_parameters(system),
        at=match.shown_at,
        teams=_teams(match, expects, places),
        pairs=expects.outlook.pairs().tolist() if len(match.teams) <= PAIRS else None,
        win=None if expects.win is None else expects.win.tolist(),
        draw=expects.draw,
        samples=match.samples,
        seed=None if match.samples is None else match.seed,
        what_if=[_tried(match, player, progress) for player in match.players],
    )


def team_of(text: str) -> list[str]:
    """Return the ids of one team: separated by commas, quoted as in CSV where an id has one.

    Raises : InvalidParameterError
    """
    try:
        (ids,) = csv.reader([text], skipinitialspace=True, strict=True)
    except (csv.Error, ValueError):
        ids = []
    ids = [one.strip() for one in ids]
    if not ids or not all(ids):
        raise InvalidParameterError(
            f"--team takes ids separated by commas, in double quotes where one has a comma; "
            f"got {text!r}"
        )
    return ids


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
        rule = "must be UTF-8 text with a player a line"
        raise InvalidDataError([Problem(name, None, "", rule, str(error))]) from error
    column = 0
    if rows and "player" in rows[0]:
        column = rows.pop(0).index("player")
    players = [row[column].strip() if column < len(row) else "" for row in rows]
    if not all(players) or not players:
        rule = "must name a player on every line"
        raise InvalidDataError([Problem(name, None, "player", rule, "none")])
    return players


def notable_places(teams: int) -> list[int]:
    """Return 1, 2, 3, 5, 10, 20, 30, 50, 100, ... and the last place."""
    powers = 10 ** np.arange(math.ceil(math.log10(teams)) + 1)
    round_places = np.outer(powers, [1, 2, 3, 5]).ravel()
    return sorted({*round_places[round_places < teams].tolist(), teams})


def plain_parameters(system: RatingSystem) -> dict[str, object]:
    """Return the parameters of a system as JSON can hold them."""
    return {
        name: str(value) if isinstance(value, float) and math.isinf(value) else value
        for name, value in parameters_of(system).items()
    }


def _match(request: PredictRequest) -> ComingMatch:
    """Return the match asked for. Raises : EquipoiseError where it makes no sense."""
    pool = PoolState.load(request.state)
    teams = [team_of(text) for text in request.teams]
    if request.field is not None:
        teams += [[player] for player in field_of(request.field)]
    if len(teams) < 2:
        raise InvalidParameterError(
            "a match needs two teams or more: give --team twice, or --field"
        )
    if request.players and not request.what_if:
        raise InvalidParameterError("--player says for whom --if-ranked is told; it is not given")
    at = None
    if request.at is not None:
        if pool.last_time is None:
            raise InvalidParameterError("--at needs a state with times; its history had none")
        at = days(instant(request.at, "--at"))
    return ComingMatch(
        pool=pool,
        teams=teams,
        at=at,
        shown_at=request.at,
        home=_home_team(teams, request.home),
        samples=request.samples,
        seed=request.seed,
        players=(request.players or teams[0][:1]) if request.what_if else (),
    )


def _home_team(teams: Sequence[Sequence[str]], player: str | None) -> int | None:
    """Return the number of the player's team. Raises : NotFoundError."""
    if player is None:
        return None
    for number, team in enumerate(teams):
        if player in team:
            return number
    raise NotFoundError(f"--home names {player}, who is in none of the teams")


def _places(expects: Prediction, samples: int, rng: np.random.Generator) -> list[Places]:
    """Return how the place of every team is distributed."""
    found = place_distribution(expects.outlook, rng=rng, samples=samples, within=_WITHIN)
    teams = len(expects.expected)
    first, top3, top10 = (
        chance.tolist() if place < teams else [None] * teams
        for place, chance in zip(_WITHIN, found.chance, strict=True)
    )
    columns = (found.mean.tolist(), found.lower.tolist(), found.upper.tolist(), first, top3, top10)
    return [Places(*row) for row in zip(*columns, strict=True)]


def _teams(
    match: ComingMatch, expects: Prediction, places: list[Places] | None
) -> list[PredictedTeam]:
    """Return the teams with their players and what is expected of them, as they were named."""
    pool, found = match.pool, []
    sizes = [len(team) for team in match.teams]
    rows = pool.rows([player for team in match.teams for player in team])
    now = pool.system.at(pool.state, rows, match.at)
    for number, (end, size) in enumerate(zip(np.cumsum(sizes).tolist(), sizes, strict=True)):
        part = slice(end - size, end)
        rating, deviation = now["rating"][part], now["deviation"][part]
        ids = pool.player_ids[rows[part]].tolist()
        columns = zip(ids, rating.tolist(), deviation.tolist(), strict=True)
        expected = float(expects.expected[number])
        found.append(
            PredictedTeam(
                players=[PredictedPlayer(one, r, _number(d)) for one, r, d in columns],
                rating=float(rating.mean()),
                deviation=_number(math.sqrt(float(np.mean(deviation**2)))),
                expected=expected,
                expected_place=1.0 + (1.0 - expected) * (len(sizes) - 1),
                places=None if places is None else places[number],
            )
        )
    return found


def _tried(
    match: ComingMatch, player: str, progress: Callable[[int, int], None] | None
) -> WhatIfMessage:
    """Return what each place would do to a player's rating."""
    teams = len(match.teams)
    found = what_if(
        match.pool.system,
        match.pool,
        match.teams,
        player,
        at=match.at,
        home=match.home,
        places=None if teams <= match.all_places else notable_places(teams),
        progress=progress,
    )
    columns = (found.place, found.tied, found.rating, found.deviation, found.change)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return WhatIfMessage(
        player=found.player,
        team=found.team,
        rating_before=found.rating_before,
        deviation_before=_number(found.deviation_before),
        outcomes=[Outcome(p, tied, r, _number(d), change) for p, tied, r, d, change in rows],
    )


def _number(value: float) -> float | None:
    """Return a number, or None for one that is not known."""
    return None if math.isnan(value) else value

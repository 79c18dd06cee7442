"""FIDE tournament reports (TRF16) -> games between the players they name.

Source: FIDE Handbook, C.04 Annex 2 (TRF16); see `trf_lines` for lines and columns, `trf_players`
for what a line says. This file holds the two sides of every pairing against each other.
Departures: byes, forfeits and pairings without a result are not games (READINGS C6). A game that
both lost (0 and 0), which arbiters may decide, has no points to share and is left out too. W, D
and L, games of less than one move, count here, though FIDE does not rate them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from equipoise.data.games import id_array
from equipoise.errors import Problem
from equipoise.formats.game_columns import GameColumns
from equipoise.formats.trf_lines import Report, read_report
from equipoise.formats.trf_players import (
    BROKEN,
    BYES,
    FORFEITS,
    GAMES,
    UNRATED,
    Player,
    Players,
    ids_of,
    read_players,
)
from equipoise.wording import counted

KNOWN = "must be the start number of a player of the report"
BACK = "must be named by the opponent in the same round"
OPPOSITE = "must be the other colour than the opponent has"
COLOURED = "must be w or b, as other games of the report have colours"
FITTING = "must fit the result of the opponent: 1 and 0, = and =, W and L, D and D, + and -"

#: Results of both players -> points of the first in a game.
_GAMES = {
    ("1", "0"): 1.0,
    ("0", "1"): 0.0,
    ("=", "="): 0.5,
    ("W", "L"): 1.0,
    ("L", "W"): 0.0,
    ("D", "D"): 0.5,
}
#: Results of both players -> why this is no game.
_LEFT_OUT = {
    ("+", "-"): "forfeit",
    ("-", "+"): "forfeit",
    ("-", "-"): "forfeit",
    ("0", "0"): "lost by both",
    ("L", "L"): "lost by both",
    (" ", " "): "no result",
}
#: What may stand where nobody is the opponent.
_NO_GAME = GAMES | FORFEITS | BYES
#: Points are written with one decimal.
_SAME_POINTS = 0.05


class _Game(NamedTuple):
    """A game: round from 0, rows of both players, white first where there are colours."""

    round: int
    white: int
    black: int
    points: float
    coloured: bool


@dataclass(slots=True)
class _Found:
    """What the rounds of a report come to.

    skipped : round from 0 and start number of entries that break a rule, or name who does not
        name them
    """

    games: list[_Game] = field(default_factory=list)
    unrated: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    problems: list[Problem] = field(default_factory=list)
    skipped: set[tuple[int, int]] = field(default_factory=set)


def read_trf(data: bytes, name: str) -> GameColumns:
    """Return the games of a FIDE tournament report, round after round.

    Ids are the names of players; those who share a name are told apart by their FIDE number or
    start number. `others` are all players in the order of the report.

    data : the report, in UTF-8 or in an encoding of one byte a letter, with any line ends
    name : of the file, for problems
    Raises : InvalidDataError   it is no report at all; else its problems are in the columns
    """
    report = read_report(data, name)
    players = read_players(report.lines, name)
    order = list(players.by_number.values())
    found = _paired(players, order, name)
    games = sorted(found.games)
    coloured = not games or any(one.coloured for one in games)
    if coloured:
        uncoloured = [one for one in games if not one.coloured]
        found.problems += [_uncoloured(one, order, name) for one in uncoloured]
        found.skipped |= {(one.round, order[one.white].number) for one in uncoloured}
        games = [one for one in games if one.coloured]
    ids, twice = ids_of(order)
    names = id_array(ids)
    rating = np.array([one.rating for one in order], dtype=np.float64)
    white = np.array([one.white for one in games], dtype=np.int64)
    black = np.array([one.black for one in games], dtype=np.int64)
    points = np.array([one.points for one in games], dtype=np.float64)
    problems = sorted([*players.problems, *found.problems], key=lambda one: one.line or 0)
    return GameColumns(
        white=names[white],
        black=names[black],
        points=points,
        white_rating=rating[white],
        black_rating=rating[black],
        draws=(points == 0.5).astype(np.float64),
        coloured=coloured,
        round=np.array([one.round + 1 for one in games], dtype=object),
        others=names,
        other_rating=rating,
        left_out=found.left_out,
        problems=tuple(problems),
        notes=(*report.notes, *_notes(report, order, found, problems, coloured, twice)),
        locate=lambda row: (name, order[games[row].white].line),
        skipped=len(found.skipped),
    )


def _paired(players: Players, order: list[Player], name: str) -> _Found:
    """Return the games of a report, each once, and what the rounds say otherwise."""
    found = _Found()
    row_of = {one.number: row for row, one in enumerate(order)}
    for row, one in enumerate(order):
        for at, mine in enumerate(one.entries):
            if not mine.opponent:
                if mine is BROKEN:
                    found.skipped.add((at, one.number))
                elif mine.result in _NO_GAME:
                    found.left_out["bye"] += 1
                continue
            other = players.by_number.get(mine.opponent)
            if other is None:
                found.skipped.add((at, one.number))
                if players.complete:
                    where, got = f"round {at + 1}", one.block(at)
                    found.problems.append(Problem(name, one.line, where, KNOWN, got))
                continue
            if other.entry(at).opponent != one.number:
                _add_one_sided(players, one, other, at, name, found)
            elif row < row_of[other.number]:
                rule = _add_pair(one, other, at, (row, row_of[other.number]), found)
                if rule:
                    found.skipped.add((at, one.number))
                    where, got = f"round {at + 1}", _against(one, other, at)
                    found.problems.append(Problem(name, one.line, where, rule, got))
    return found


def _add_one_sided(
    players: Players, one: Player, other: Player, at: int, name: str, found: _Found
) -> None:
    """Record an opponent who does not name the player who names them."""
    mine, theirs = one.entry(at), other.entry(at)
    if theirs is BROKEN or {one.number, other.number} & players.doubtful:
        found.skipped.add((at, other.number if theirs is BROKEN else one.number))
        return
    if mine.result in FORFEITS and not theirs.opponent and theirs.result not in GAMES:
        # Players of a team that did not come may have no entry at all.
        found.left_out["forfeit"] += 1
        return
    got = _against(one, other, at)
    found.skipped.add((at, one.number))
    found.problems.append(Problem(name, one.line, f"round {at + 1}", BACK, got))


def _add_pair(one: Player, other: Player, at: int, rows: tuple[int, int], found: _Found) -> str:
    """Record a pairing whose players name each other; return the rule that it breaks, or ""."""
    mine, theirs = one.entry(at), other.entry(at)
    results = (mine.result, theirs.result)
    points = _GAMES.get(results)
    if points is None:
        if results not in _LEFT_OUT:
            return FITTING
        found.left_out[_LEFT_OUT[results]] += 1
        return ""
    if mine.colour + theirs.colour not in ("wb", "bw", "--"):
        return OPPOSITE
    if mine.colour == "b":
        rows, points = (rows[1], rows[0]), 1.0 - points
    found.games.append(_Game(at, *rows, points, mine.colour != "-"))
    found.unrated += mine.result in UNRATED
    return ""


def _uncoloured(game: _Game, order: list[Player], name: str) -> Problem:
    """Return the problem of a game without colours, where other games have them."""
    one = order[game.white]
    return Problem(name, one.line, f"round {game.round + 1}", COLOURED, one.block(game.round))


def _against(one: Player, other: Player, at: int) -> str:
    """Return what both sides say of a round, with the line of the other."""
    return f"{one.block(at)}, while line {other.line} has {other.block(at)}"


def _notes(
    report: Report,
    order: list[Player],
    found: _Found,
    problems: list[Problem],
    coloured: bool,
    twice: str,
) -> Iterator[str]:
    """Yield what a user should know about a report that was read."""
    if twice:
        yield twice
    if not coloured:
        yield "the report has no colours"
    if found.unrated:
        yield (
            f"{counted(found.unrated, 'game')} of less than one move (W, D, L) "
            "counted, though FIDE does not rate them"
        )
    both = found.left_out["lost by both"]
    if both:
        yield f"{counted(both, 'game')} lost by both left out"
    differing = [
        one
        for one in order
        if not math.isnan(one.points) and abs(one.points - one.scored) > _SAME_POINTS
    ]
    if differing and report.standard and not problems:
        first = differing[0]
        yield (
            f"points of {len(differing):,} of {counted(len(order), 'player')} differ from the sum "
            f"of their results (the first on line {first.line}: {first.points:g} instead of "
            f"{first.scored:g}); results count, not points"
        )

"""Reads lists of games and tables of pairs.

A list of games has a row for each game: `white`, `black` and `result`, or instead of a result the
`points` of white in `games` games (1 without such a column); optional `white_elo`, `black_elo`,
`weight` (multiplies games and points), `draws`, `round`, `time`. Scores of both sides, such as
`home_score` and `away_score`, decide if there is neither a result nor points.

A table of pairs has a row for all games of a player against an opponent: `player`, `opponent`, and
`points` of the player in `games` games (1 without such a column), or `wins` and `losses` (and
`draws`), or the `result` of one game; optional `draws`, `player_rating` (or `rating`),
`opponent_rating`. It lists every pairing from one side, or every pairing from both:

- One side: no pairing has rows in both directions. Rows of one pairing are added up.
- Both sides, as in a square matrix: every pairing has rows in both directions. The rows of each
  direction are added, the two sums must mirror each other, and the pairing counts once.
- A mixture is ambiguous (is the second row another game, or the first one again?) and is refused.
  Separate games belong in a list with white and black.

For a history, every row of a table of pairs is one game. If every pairing is listed from both
sides, each game has two rows and counts once; then their times and rounds must agree as well,
because otherwise the second row may be another game.

`tables/meanings.py` finds the columns.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import compress
from typing import NamedTuple

import numpy as np
import polars as pl

from equipoise.arrays import Flags, Floats, Ints
from equipoise.data.games import OTHER, POINTS, WEIGHT
from equipoise.formats.games.rows import (
    BYE,
    GameColumns,
    GameRows,
    Players,
    Totals,
    always_won,
    choose_rows,
    read_draws,
    read_neutral,
    read_players,
    read_scored_games,
    read_single_results,
    to_game_columns,
)
from equipoise.formats.table import Options, Table, faults_of, refuse, spelling
from equipoise.formats.tables.meanings import Layout
from equipoise.formats.tables.values import read_truths, text_of
from equipoise.wording import counted


def read_game_list(table: Table, layout: Layout, options: Options) -> GameColumns:
    """Return the games of a list, and all of its problems.

    Raises : InvalidParameterError   the options do not suit the table
    """
    rows = choose_rows(table, layout, options)
    if layout.decided:
        totals = always_won(len(rows.frame))
    elif rows.has("result"):
        totals = read_single_results(rows, "white", "black")
    else:
        totals = _read_points(rows, WEIGHT) if rows.has("points") else read_scored_games(rows)
    players = read_players(rows, ("white", "black"), totals.reason == BYE)
    totals = totals._replace(reason=np.where(players.bye, BYE, totals.reason))
    same = (players.first == players.second) & (players.first >= 0)
    rows.add("black", *faults_of((same, OTHER)))
    totals = _weighted(rows, totals)
    ratings = [rows.ratings(name) for name in ("white_elo", "black_elo")]
    neutral = read_neutral(rows) if layout.coloured else None
    kept = np.flatnonzero(~rows.findings.bad & (totals.reason == 0))
    notes = _sides_notes(rows, neutral, kept)
    on_neutral = neutral is not None and bool(neutral[kept].any())
    coloured = layout.coloured and not on_neutral
    return to_game_columns(rows, players, totals, ratings, kept, coloured=coloured, notes=notes)


def _sides_notes(rows: GameRows, neutral: Flags | None, kept: Ints) -> list[str]:
    """Return notes on scores that decide, or do not, and on neutral ground."""
    notes = []
    if rows.has("white_score"):
        scores = f"{rows.columns['white_score']} and {rows.columns['black_score']}"
        other = next((one for one in ("result", "points") if rows.has(one)), None)
        notes.append(
            f"the higher of {scores} wins"
            if other is None
            else f"{rows.columns[other]} decides the games, not {scores}"
        )
    on_neutral = 0 if neutral is None else int(neutral[kept].sum())
    if on_neutral:
        name = rows.columns["neutral"]
        notes.append(
            f"{counted(on_neutral, 'game is', 'games are')} on neutral ground, so no side counts "
            f"as that at home (--where {name}={_spelled_false(rows.column('neutral'))} leaves them "
            "out)"
        )
    return notes


def _spelled_false(column: pl.Series) -> str:
    """Return how a column writes false."""
    if column.dtype != pl.String:
        return "false" if column.dtype == pl.Boolean else "0"
    words = column.drop_nulls().unique(maintain_order=True)
    truths, _ = read_truths(words)
    return next((word for word, true in zip(words, truths, strict=True) if not true), "false")


def _read_points(rows: GameRows, rule: str) -> Totals:
    """Return points of the first player and the number of games, after recording problems.

    rule : on the number of games, `NOT_NEGATIVE` or else that it must be above 0
    """
    games = np.ones(len(rows.frame))
    if rows.has("games"):
        games = rows.numbers("games")
        rows.add("games", *faults_of((games < 0 if rule == NOT_NEGATIVE else games <= 0, rule)))
    points = rows.numbers("points")
    rows.add("points", *faults_of(((points < 0) | (points > games), POINTS)))
    draws = read_draws(rows, points, games)
    return Totals(points, games, draws, np.zeros(len(games), np.int64))


def _weighted(rows: GameRows, totals: Totals) -> Totals:
    """Return totals times the weight of their rows; an empty weight is 1."""
    if not rows.has("weight"):
        return totals
    weight = rows.numbers("weight", default=1.0)
    rows.add("weight", *faults_of((weight <= 0, WEIGHT)))
    points, games, draws, reason = totals
    draws = None if draws is None else draws * weight
    return Totals(points * weight, games * weight, draws, reason)


MIRROR = "must mirror the other side's row: the same games, and points that sum to their number"
OWN_GAMES = (
    "if every row is a game of its own: --format games --column white=player --column "
    "black=opponent"
)
SIDES = (
    "must be listed from both sides like the other pairings, or all of them from one side "
    f"({OWN_GAMES})"
)

#: Sums that differ by less than this per game are equal, because weights may be fractions.
_TOLERANCE = 1e-9


class Pairings(NamedTuple):
    """The pairings of some rows of a table.

    rows : their numbers among the selected rows
    of_row : the pairing of each, from 0
    ahead : whether the player of each row is the one who appears first in the table
    first, opposite : for each pairing the first row (an index into `rows`) of the direction that
      comes first, and of the other direction (-1 if it is listed from one side)
    """

    rows: Ints
    of_row: Ints
    ahead: Flags
    first: Ints
    opposite: Ints

    @property
    def mirrored(self) -> bool:
        """Whether any pairing is listed from both sides."""
        return bool(np.any(self.opposite >= 0))

    def leading(self, bad: Flags | None = None) -> Ints:
        """Return the rows in the first direction of their pairing, without bad pairings."""
        chosen = self.ahead == self.ahead[self.first][self.of_row]
        rows: Ints = self.rows[chosen if bad is None else chosen & ~bad[self.of_row]]
        return rows

    def repeated(self) -> int:
        """Return the number of pairings with several rows in one direction."""
        counts = np.bincount(self.of_row, minlength=len(self.first))
        return int(np.sum(counts - (self.opposite >= 0) > 1))


def find_pairings(players: Players, rows: Ints) -> Pairings:
    """Return the pairings of rows in which two players met."""
    first, second = players.first[rows], players.second[rows]
    ahead = first < second
    keys = np.minimum(first, second) * len(players.ids) + np.maximum(first, second)
    distinct, of_row = np.unique(keys, return_inverse=True)
    beyond = len(rows)
    earliest = np.full((2, len(distinct)), beyond, np.int64)
    for way in (0, 1):
        there = np.flatnonzero(ahead == (way == 0))[::-1]
        # Assigned from the last row to the first, so that the first one stays.
        earliest[way, of_row[there]] = there
    opposite = earliest.max(axis=0)
    return Pairings(
        rows,
        of_row.astype(np.int64, copy=False),
        ahead,
        earliest.min(axis=0),
        np.where(opposite == beyond, -1, opposite),
    )


def check_mirrors(rows: GameRows, players: Players, totals: Totals, pairings: Pairings) -> Flags:
    """Record and return pairings with one side if others have both, and sides that differ."""
    both = pairings.opposite >= 0
    bad = np.zeros(len(both), dtype=bool)
    if not both.all():
        few = both if 2 * both.sum() < len(both) else ~both
        at = np.sort(pairings.first[few])
        sides = "both sides" if both[few][0] else "one side only"
        got = [f"{_pair(players, row)} from {sides}" for row in pairings.rows[at].tolist()]
        rows.findings.add(pairings.rows[at], rows.columns["opponent"], SIDES, got)
        bad |= few
    # Sides that are given are compared nevertheless.
    differ = np.flatnonzero(_differ(totals, pairings) & both & ~bad)
    bad[differ] = True
    differ = differ[np.argsort(pairings.opposite[differ])]
    one, other = pairings.rows[pairings.first[differ]], pairings.rows[pairings.opposite[differ]]
    places = rows.table.places(rows.findings.rows[one])
    got = [
        f"{_as_text(players, totals, back)}, while line {line} has "
        f"{_as_text(players, totals, ahead)}"
        for ahead, back, (_, line) in zip(one.tolist(), other.tolist(), places, strict=True)
    ]
    rows.findings.add(other, rows.columns["opponent"], MIRROR, got)
    return bad


def _differ(totals: Totals, pairings: Pairings) -> Flags:
    """Return the pairings whose two directions do not mirror each other."""

    def sums(column: Floats) -> tuple[Floats, Floats]:
        taken, pairs = column[pairings.rows], len(pairings.first)
        ahead = np.bincount(pairings.of_row, np.where(pairings.ahead, taken, 0.0), pairs)
        back = np.bincount(pairings.of_row, np.where(pairings.ahead, 0.0, taken), pairs)
        return ahead.astype(np.float64), back.astype(np.float64)

    (points, other_points), (games, other_games) = sums(totals.points), sums(totals.games)
    near = _TOLERANCE * np.maximum(games, 1.0)
    differ = np.abs(games - other_games) > near
    differ |= np.abs(points + other_points - games) > near
    if totals.draws is not None:
        draws, other_draws = sums(totals.draws)
        differ |= np.abs(draws - other_draws) > near
    return differ


def _pair(players: Players, row: int) -> str:
    one, other = players.ids[players.first[row]], players.ids[players.second[row]]
    return f"{one!r} against {other!r}"


def _as_text(players: Players, totals: Totals, row: int) -> str:
    """Return a row as text: 'ann' against 'bob' 2.5 of 4."""
    score = f"{totals.points[row]:g} of {totals.games[row]:g}"
    if totals.draws is not None:
        score += f" with {totals.draws[row]:g} drawn"
    return f"{_pair(players, row)} {score}"


NOT_NEGATIVE = "must be a number from 0"


def read_pair_table(table: Table, layout: Layout, options: Options) -> GameColumns:
    """Return the results of a table of pairs, and all of its problems.

    Raises : InvalidParameterError   the options do not suit the table
    """
    rows = choose_rows(table, layout, options)
    totals = read_totals(rows)
    players = read_players(rows, ("player", "opponent"), totals.reason == BYE)
    totals = totals._replace(reason=np.where(players.bye, BYE, totals.reason))
    # The diagonal of a square matrix has no games, which is not a problem.
    same = (players.first == players.second) & (players.first >= 0) & (totals.games > 0)
    rows.add("opponent", *faults_of((same, OTHER)))
    ratings = [rows.ratings(name) for name in ("player_rating", "opponent_rating")]
    played = ~rows.findings.bad & (totals.reason == 0) & (totals.games > 0)
    pairings = find_pairings(players, np.flatnonzero(played))
    bad = None
    if pairings.mirrored:
        bad = check_mirrors(rows, players, totals, pairings)
    return to_game_columns(
        rows,
        players,
        totals,
        ratings,
        pairings.leading(bad),
        notes=_notes(totals, pairings),
        skipped=0 if bad is None else int(bad.sum()),
    )


def read_totals(rows: GameRows) -> Totals:
    """Return points and games of every row, after recording problems."""
    size = len(rows.frame)
    if rows.has("points"):
        return _read_points(rows, NOT_NEGATIVE)
    if rows.has("wins") and rows.has("losses"):
        counts = {
            name: rows.numbers(name) if rows.has(name) else np.zeros(size)
            for name in ("wins", "draws", "losses")
        }
        for name, column in counts.items():
            if rows.has(name):
                rows.add(name, *faults_of((column < 0, NOT_NEGATIVE)))
        wins, draws, losses = counts.values()
        points, games = wins + draws / 2, wins + draws + losses
        return Totals(points, games, draws, np.zeros(size, np.int64))
    return read_single_results(rows, "player", "opponent")


def _notes(totals: Totals, pairings: Pairings) -> list[str]:
    """Return notes on rows without games, and on repeated pairings."""
    notes = []
    empty = int(np.sum(totals.games == 0))
    if empty:
        notes.append(f"{counted(empty, 'row has', 'rows have')} no games")
    if pairings.mirrored and np.all(pairings.opposite >= 0):
        notes.append("every pairing is listed from both sides and counts once")
    again = pairings.repeated()
    if again:
        which = counted(again, "pairing has", "pairings have")
        notes.append(f"{which} several rows in one direction, which are added up")
    return notes


TOTALS = (
    "must be points or a result of single games to be a history; equipoise performance reads "
    "totals of wins and losses"
)
SAME_GAMES = f"must be the same games on both sides of every pairing ({OWN_GAMES})"


def games_of_pairs(table: Table, layout: Layout, options: Options) -> tuple[Table, Layout]:
    """Return a table of pairs as a list of games, with problems of pairings as broken rows.

    options : which select nothing
    Raises : InvalidDataError   it has wins and losses, not points or results
    """
    columns = dict(layout.columns)
    if not {"points", "result"} & set(columns):
        refuse(table.name, TOTALS, f"{columns['wins']} and {columns['losses']}")
    rows = choose_rows(table, layout, options)
    totals = read_totals(rows)
    players = read_players(rows, ("player", "opponent"), totals.reason == BYE)
    met = (players.first >= 0) & (players.second >= 0) & (players.first != players.second)
    played = ~rows.findings.bad & (totals.reason == 0) & (totals.games > 0) & met
    pairings = find_pairings(players, np.flatnonzero(played))
    dropped = totals.games == 0  # the diagonal of a square matrix
    broken = table.broken_rows
    if pairings.mirrored:
        bad = check_mirrors(rows, players, totals, pairings)
        if not bad.any():
            _check_games(rows, _marks(layout, table), totals, pairings)
        leading = np.zeros(len(dropped), dtype=bool)
        leading[pairings.leading(None)] = True
        dropped |= played & ~leading
        found = [one for one in rows.findings.broken_rows() if one.rule in _OF_PAIRINGS]
        dropped[[one.row for one in found]] = False
        broken = tuple(sorted((*broken, *found)))
    games = {"white": columns["player"], "black": columns["opponent"]}
    games |= {one: columns[one] for one in ("points", "result", "games", "time") if one in columns}
    round_ = next((name for name in table.frame.columns if spelling(name) == "round"), None)
    if round_ is not None:
        games["round"] = round_
    kept = replace(table, broken_rows=broken).only(np.flatnonzero(~dropped))
    return kept, Layout("games", games, False, ())


_OF_PAIRINGS = (MIRROR, SIDES, SAME_GAMES)


def _marks(layout: Layout, table: Table) -> list[str]:
    """Return the columns that say which game a row is: times and rounds."""
    named = [name for name in table.frame.columns if spelling(name) == "round"]
    return [*named, *([layout.columns["time"]] if "time" in layout.columns else [])]


def _check_games(rows: GameRows, names: list[str], totals: Totals, pairings: Pairings) -> None:
    """Record the first row whose game the other side does not have, at this time and round."""
    at = pairings.rows
    points = np.where(pairings.ahead, totals.points[at], totals.games[at] - totals.points[at])
    marks = [text_of(rows.frame[name]).fill_null("").gather(at).to_list() for name in names]
    keys = list(zip(pairings.of_row.tolist(), points.tolist(), *marks, strict=True))
    sides = [Counter(compress(keys, pairings.ahead == way)) for way in (True, False)]
    for row, key, ahead in zip(at.tolist(), keys, pairings.ahead.tolist(), strict=True):
        if sides[0][key] != sides[1][key]:
            said = ", ".join(f"{name} {mark}" for name, mark in zip(names, key[2:], strict=True))
            side = "player" if ahead else "opponent"
            got = f"a result that the other side does not have{said and f' at {said}'}"
            rows.findings.add(np.array([row]), rows.columns[side], SAME_GAMES, [got])
            return

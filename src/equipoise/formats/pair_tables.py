"""Tables of pairs: a row for what two players did against each other, all games at once.

Columns, in any spelling that `game_layout` knows: `player`, `opponent`, and `points` of the player
in `games` games (1 where there is no such column), or `wins` and `losses` (and `draws`), or the
`result` of one game; optional `draws`, `player_rating` (or `rating`), `opponent_rating`.

A table tells every pairing from one side, or every pairing from both:

- One side: no pairing has rows in both directions. Rows of one pairing add up.
- Both sides, as a square matrix does: every pairing has rows in both directions. The rows of each
  direction are added, the two sums must mirror each other, and the pairing counts once.
- Anything between is open to two readings (is the second row another game, or the first one
  again?) and is refused. Separate games belong into a list with white and black.
"""

from __future__ import annotations

import numpy as np

from equipoise.data.games import OTHER, POINTS
from equipoise.formats.columns import faults_of
from equipoise.formats.game_columns import GameColumns
from equipoise.formats.game_layout import Layout
from equipoise.formats.game_rows import GameRows, choose_rows, read_players
from equipoise.formats.game_totals import Totals, hand_over, read_draws, read_single_results
from equipoise.formats.mirrors import Pairings, check_mirrors, find_pairings
from equipoise.formats.options import Options
from equipoise.formats.results import BYE
from equipoise.formats.table import Table
from equipoise.wording import counted

NOT_NEGATIVE = "must be a number from 0"


def read_pair_table(table: Table, layout: Layout, options: Options) -> GameColumns:
    """Return the results of a table of pairs, and everything that is wrong with it.

    Raises : InvalidParameterError   the options do not suit the table
    """
    rows = choose_rows(table, layout, options)
    totals = _read_totals(rows)
    players = read_players(rows, ("player", "opponent"), totals.reason == BYE)
    totals = totals._replace(reason=np.where(players.bye, BYE, totals.reason))
    # The diagonal of a square matrix has no games, and is nobody's fault.
    same = (players.first == players.second) & (players.first >= 0) & (totals.games > 0)
    rows.add("opponent", *faults_of((same, OTHER)))
    ratings = [rows.ratings(name) for name in ("player_rating", "opponent_rating")]
    played = ~rows.findings.bad & (totals.reason == 0) & (totals.games > 0)
    pairings = find_pairings(players, np.flatnonzero(played))
    bad = None
    if pairings.mirrored:
        bad = check_mirrors(rows, players, totals, pairings)
    return hand_over(
        rows,
        players,
        totals,
        ratings,
        pairings.leading(bad),
        notes=_notes(totals, pairings),
        skipped=0 if bad is None else int(bad.sum()),
    )


def _read_totals(rows: GameRows) -> Totals:
    """Return points and games of every row, after recording what is wrong with them."""
    size = len(rows.frame)
    if rows.has("points"):
        games = np.ones(size)
        if rows.has("games"):
            games = rows.numbers("games")
            rows.add("games", *faults_of((games < 0, NOT_NEGATIVE)))
        points = rows.numbers("points")
        rows.add("points", *faults_of(((points < 0) | (points > games), POINTS)))
        return Totals(points, games, read_draws(rows, points, games), np.zeros(size, np.int64))
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
    """Return what a user should know of rows without games, and of pairings told again."""
    notes = []
    empty = int(np.sum(totals.games == 0))
    if empty:
        notes.append(f"{counted(empty, 'row has', 'rows have')} no games")
    if pairings.mirrored and np.all(pairings.opposite >= 0):
        notes.append("every pairing is told from both sides and counts once")
    again = pairings.repeated()
    if again:
        which = counted(again, "pairing has", "pairings have")
        notes.append(f"{which} several rows in one direction, which add up")
    return notes

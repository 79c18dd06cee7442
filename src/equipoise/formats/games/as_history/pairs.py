"""Turns a table of pairs whose rows are single games into a list of games, for a history.

A row of `player`, `opponent` and `points` (or `result`) is a match if it is one game. If every
pairing is listed from both sides, each game has two rows and counts once; then their times and
rounds must agree as well, because otherwise the second row may be another game.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import compress

import numpy as np

from equipoise.formats.games.layout import Layout
from equipoise.formats.games.lists import (
    MIRROR,
    OWN_GAMES,
    SIDES,
    Pairings,
    check_mirrors,
    find_pairings,
    read_totals,
)
from equipoise.formats.games.rows import BYE, GameRows, Totals, choose_rows, read_players
from equipoise.formats.options import Options
from equipoise.formats.table import Table, refuse
from equipoise.formats.tables.columns import text_of
from equipoise.formats.tables.recognised import spelling

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
    kept = replace(table, broken_rows=broken).without(dropped)
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

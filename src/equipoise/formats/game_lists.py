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
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from equipoise.arrays import Flags, Floats, Ints
from equipoise.data.games import DRAWS, POINTS, WEIGHT, GameColumns, Unplayed
from equipoise.formats.history_of_sides import everything_of, history_of_sides
from equipoise.formats.meanings import Layout, check_once
from equipoise.formats.table import HistoryReading, Options, Table, faults_of, refuse, spelling
from equipoise.formats.two_sides import (
    BYE,
    FORFEIT,
    GameRows,
    Players,
    Totals,
    always_won,
    both_sides,
    bye_of,
    choose_rows,
    count_reasons,
    forfeited_as,
    read_neutral,
    read_opponents,
    read_side_scores,
    read_single_results,
)
from equipoise.formats.values import read_truths, text_of
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
        totals = _read_points(rows, WEIGHT) if rows.has("points") else _read_scores(rows)
    players, reason = read_opponents(rows, ("white", "black"), totals.reason)
    totals = _weighted(rows, totals._replace(reason=reason))
    ratings = [rows.ratings(name) for name in ("white_elo", "black_elo")]
    neutral = read_neutral(rows) if layout.coloured else None
    kept = np.flatnonzero(~rows.findings.bad & (totals.reason == 0))
    notes = _sides_notes(rows, neutral, kept)
    on_neutral = neutral is not None and bool(neutral[kept].any())
    coloured = layout.coloured and not on_neutral
    games = to_game_columns(rows, players, totals, ratings, kept, coloured=coloured, notes=notes)
    return replace(games, unplayed=tuple(_unplayed(rows, players, totals)))


def _unplayed(rows: GameRows, players: Players, totals: Totals) -> Iterator[Unplayed]:
    """Give the byes and forfeits of a list with rounds and results."""
    left = (totals.reason == FORFEIT) | (totals.reason == BYE)
    at = np.flatnonzero(left & ~rows.findings.bad)
    rounds = rows.rounds(at)
    if rounds is None or not rows.has("result"):
        return
    results = text_of(rows.column("result").gather(at)).fill_null("")
    sides = players.first[at].tolist(), players.second[at].tolist()
    for one, other, round_, result, reason in zip(
        *sides, rounds, results, totals.reason[at], strict=True
    ):
        if reason == BYE:
            player = max(one, other)
            yield Unplayed(player, -1, round_, bye_of(result, player == one))
        else:
            kinds = forfeited_as(result)
            yield Unplayed(one, other, round_, kinds[0])
            yield Unplayed(other, one, round_, kinds[1])


def _sides_notes(rows: GameRows, neutral: Flags | None, kept: Ints) -> list[str]:
    """Return notes on scores that decide, or do not, and on neutral ground."""
    notes = []
    if rows.has("white_score"):
        scores = f"{rows.columns['white_score']} and {rows.columns['black_score']}"
        other = next((name for name in ("result", "points") if rows.has(name)), None)
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


def find_pairings(players: Players, rows: Ints) -> pl.DataFrame:
    """Return the rows in which two players met, with their pairing.

    Columns: row; pair; ahead (its player is the one who appears first in the table); leads (it has
    the direction in which its pairing comes first); back (the first row of its pairing in the other
    direction, null if the pairing is listed from one side)
    """
    one, other = players.first[rows], players.second[rows]
    pair = np.minimum(one, other) * len(players.ids) + np.maximum(one, other)
    pairings = pl.DataFrame({"row": rows, "pair": pair, "ahead": one < other})
    leads = pl.col("ahead") == pl.col("ahead").first().over("pair")
    pairings = pairings.with_columns(leads=leads)
    return pairings.with_columns(back=pl.col("row").filter(~pl.col("leads")).first().over("pair"))


def check_mirrors(
    rows: GameRows, players: Players, totals: Totals, pairings: pl.DataFrame
) -> pl.Series:
    """Record and return pairings with one side if others have both, and sides that differ."""
    columns = {"points": totals.points, "games": totals.games}
    if totals.draws is not None:
        columns["draws"] = totals.draws
    sums = (
        pairings.with_columns(
            pl.Series(name, column[pairings["row"]]) for name, column in columns.items()
        )
        .group_by("pair", maintain_order=True)
        .agg(
            pl.col("row", "back").first(),
            pl.col(*columns).filter("leads").sum(),
            pl.col(*columns).filter(~pl.col("leads")).sum().name.prefix("other "),
        )
    )
    both = sums["back"].is_not_null()
    few = both if 2 * both.sum() < len(both) else ~both
    if not both.all():
        at = sums.filter(few)["row"].to_numpy()
        sides = "both sides" if 2 * both.sum() < len(both) else "one side only"
        got = [f"{_pair(players, row)} from {sides}" for row in at.tolist()]
        rows.findings.add(at, rows.columns["opponent"], SIDES, got)
    else:
        few = ~both
    # Sides that are given are compared nevertheless.
    near = _TOLERANCE * pl.max_horizontal("games", "other games", 1.0)
    wrong = (pl.col("games") - pl.col("other games")).abs() > near
    wrong |= (pl.col("points") + pl.col("other points") - pl.col("games")).abs() > near
    if totals.draws is not None:
        wrong |= (pl.col("draws") - pl.col("other draws")).abs() > near
    differ = sums.filter(both & ~few).filter(wrong).sort("back")
    one, other = (differ[name].to_numpy() for name in ("row", "back"))
    places = rows.table.places(rows.findings.rows[one])
    got = [
        f"{_as_text(players, totals, back)}, while line {line} has "
        f"{_as_text(players, totals, ahead)}"
        for ahead, back, (_, line) in zip(one.tolist(), other.tolist(), places, strict=True)
    ]
    rows.findings.add(other, rows.columns["opponent"], MIRROR, got)
    return pl.concat([sums.filter(few)["pair"], differ["pair"]])


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
    rows, totals, players = _paired_rows(table, layout, options)
    ratings = [rows.ratings(name) for name in ("player_rating", "opponent_rating")]
    played = ~rows.findings.bad & (totals.reason == 0) & (totals.games > 0)
    pairings = find_pairings(players, np.flatnonzero(played))
    leading, skipped = pairings.filter("leads"), 0
    if pairings["back"].count():
        bad = check_mirrors(rows, players, totals, pairings)
        leading, skipped = leading.filter(~pl.col("pair").is_in(bad.implode())), len(bad)
    return to_game_columns(
        rows,
        players,
        totals,
        ratings,
        leading["row"].to_numpy(),
        notes=_notes(totals, pairings),
        skipped=skipped,
    )


def _paired_rows(
    table: Table, layout: Layout, options: Options
) -> tuple[GameRows, Totals, Players]:
    """Return the rows of a table of pairs with their totals and players."""
    rows = choose_rows(table, layout, options)
    totals = read_totals(rows)
    # The diagonal of a square matrix has no games, which is not a problem.
    players, reason = read_opponents(rows, ("player", "opponent"), totals.reason, totals.games > 0)
    return rows, totals._replace(reason=reason), players


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


def _notes(totals: Totals, pairings: pl.DataFrame) -> list[str]:
    """Return notes on rows without games, and on repeated pairings."""
    notes = []
    empty = int(np.sum(totals.games == 0))
    if empty:
        notes.append(f"{counted(empty, 'row has', 'rows have')} no games")
    if len(pairings) and not pairings["back"].null_count():
        notes.append("every pairing is listed from both sides and counts once")
    sizes = pairings.group_by("pair").agg(rows=pl.len() - pl.col("back").first().count())
    again = int((sizes["rows"] > 1).sum())
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
    rows, totals, players = _paired_rows(table, layout, options)
    played = ~rows.findings.bad & (totals.reason == 0) & (totals.games > 0)
    pairings = find_pairings(players, np.flatnonzero(played))
    rounds = [name for name in table.frame.columns if spelling(name) == "round"]
    dropped = totals.games == 0  # the diagonal of a square matrix
    broken = table.broken_rows
    if pairings["back"].count():
        if not len(check_mirrors(rows, players, totals, pairings)):
            # What says which game a row is.
            marks = [*rounds, *([columns["time"]] if "time" in columns else [])]
            _check_games(rows, marks, totals, pairings)
        dropped[pairings.filter(~pl.col("leads"))["row"]] = True
        mismatched = [
            problem for problem in rows.findings.broken_rows() if problem.rule in _OF_PAIRINGS
        ]
        dropped[[problem.row for problem in mismatched]] = False
        broken = tuple(sorted((*broken, *mismatched)))
    games = {"white": columns["player"], "black": columns["opponent"]}
    games |= {
        meaning: columns[meaning]
        for meaning in ("points", "result", "games", "time")
        if meaning in columns
    }
    if rounds:
        games["round"] = rounds[0]
    kept = replace(table, broken_rows=broken).only(np.flatnonzero(~dropped))
    return kept, Layout("games", games, False, ())


_OF_PAIRINGS = (MIRROR, SIDES, SAME_GAMES)


def _check_games(rows: GameRows, names: list[str], totals: Totals, pairings: pl.DataFrame) -> None:
    """Record the first row whose game the other side does not have, at this time and round."""
    at = pairings["row"].to_numpy()
    points = np.where(pairings["ahead"], totals.points[at], totals.games[at] - totals.points[at])
    marks = {f"mark {name}": text_of(rows.frame[name]).fill_null("").gather(at) for name in names}
    games = pairings.with_columns(points=points, **marks)
    of_one_side = pl.col("ahead").sum().over("pair", "points", *marks)
    for row in (
        games.filter(2 * of_one_side != pl.len().over("pair", "points", *marks))
        .head(1)
        .iter_rows(named=True)
    ):
        said = ", ".join(f"{name} {row[f'mark {name}']}" for name in names)
        side = "player" if row["ahead"] else "opponent"
        got = f"a result that the other side does not have{said and f' at {said}'}"
        rows.findings.add(np.array([row["row"]]), rows.columns[side], SAME_GAMES, [got])


def history_of_pairs(table: Table, pairs: Layout, options: Options) -> HistoryReading:
    """Return the history of a table of pairs whose rows are single games."""
    check_once(pairs, table, options.columns)
    games, sides = games_of_pairs(table, pairs, everything_of(options))
    reading = history_of_sides(games, sides, options)
    reading = replace(reading, kind="pairs", columns=dict(pairs.columns))
    if len(games.frame) == len(table.frame):
        return reading
    less = counted(len(table.frame) - len(games.frame), "row does", "rows do")
    note = (
        f"{less} not count: the game is that of another row from the other side, or there is none"
    )
    return replace(reading, notes=(*reading.notes, note))


def read_draws(rows: GameRows, points: Floats, games: Floats) -> Floats | None:
    """Return the number of draws of every row; None without such a column."""
    if not rows.has("draws"):
        return None
    draws = rows.numbers("draws")
    wins, losses = points - draws / 2, games - points - draws / 2
    rows.add("draws", *faults_of(((draws < 0) | (wins < 0) | (losses < 0), DRAWS)))
    return draws


def _read_scores(rows: GameRows) -> Totals:
    """Return games that were won by the higher score, after recording faults."""
    first, second, reason = read_side_scores(rows)
    points = (1.0 + np.sign(first - second)) / 2
    return Totals(points, np.ones(len(points)), (points == 0.5).astype(np.float64), reason)


def to_game_columns(
    rows: GameRows,
    players: Players,
    totals: Totals,
    ratings: Sequence[Floats | None],
    kept: Ints,
    *,
    coloured: bool = False,
    notes: Sequence[str] = (),
    skipped: int = 0,
) -> GameColumns:
    """Return some rows as games, and the players of the other rows as players.

    ratings : of the first and second player of every row; kept : the rows that are games
    skipped : number of results that break a rule, in addition to the bad rows
    """
    beside = ~rows.findings.bad
    reasons = totals.reason[beside]
    beside[kept] = False
    others, other_rating = _named(players, np.flatnonzero(beside), ratings)
    games = totals.games[kept]
    return GameColumns(
        white=players.first[kept],
        black=players.second[kept],
        points=totals.points[kept],
        weight=None if np.all(games == 1) else games,
        draws=None if totals.draws is None else totals.draws[kept],
        white_rating=None if ratings[0] is None else ratings[0][kept],
        black_rating=None if ratings[1] is None else ratings[1][kept],
        coloured=coloured,
        round=rows.rounds(kept),
        players=players.ids,
        others=others,
        other_rating=other_rating,
        left_out=count_reasons(reasons) + Counter(filtered=rows.filtered),
        problems=rows.findings.problems(),
        notes=(*rows.table.notes, *rows.notes, *notes),
        locate=rows.locate(kept),
        skipped=int(rows.findings.bad.sum()) + skipped,
    )


def _named(players: Players, rows: Ints, ratings: Sequence[Floats | None]) -> tuple[Ints, Floats]:
    """Return the players of some rows and their ratings there, each pair once."""
    who = both_sides(players.first[rows], players.second[rows])
    ratings_given = [
        np.full(len(rows), np.nan) if rating is None else rating[rows] for rating in ratings
    ]
    rating = both_sides(*ratings_given)
    known = who >= 0
    frame = pl.DataFrame({"who": who[known], "rating": rating[known]})
    frame = frame.unique(maintain_order=True)
    return frame["who"].to_numpy(), frame["rating"].to_numpy()

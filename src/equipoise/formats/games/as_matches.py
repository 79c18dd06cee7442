"""Turns a table with a row for each game into the long table of a history, with a row a player.

Such a table has two sides and a result: `white`, `black` and `result` (or `points`), `model_a`,
`model_b` and `winner`; or two sides and their scores: `home`, `away`, `home_score` and
`away_score`. `layout` knows the spellings. Every game is a match, and a row that is no game
(unfinished, a forfeit, a bye) is left out and counted. White and home are said by the column
`side`. The reader of histories does the rest; a problem names the column of the file.

A table that has the columns of a history is one, whatever else it has.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import polars as pl

from equipoise.arrays import Flags, Floats, Ids, Ints
from equipoise.data.reading import HistoryReading
from equipoise.data.tournaments.games import OTHER
from equipoise.errors import Problem
from equipoise.formats.games.columns import (
    both_places,
    both_players,
    both_sides,
    describe_left_out,
    describe_matches,
    players_at,
)
from equipoise.formats.games.layout import (
    MEANINGS,
    Kind,
    Layout,
    check_once,
    instead,
    read_header,
    rule_for_players,
)
from equipoise.formats.games.lists import games_of_pairs
from equipoise.formats.games.rows import (
    BYE,
    REASONS,
    GameRows,
    Players,
    always_won,
    choose_rows,
    read_neutral,
    read_players,
    read_side_scores,
    read_single_results,
)
from equipoise.formats.options import Options
from equipoise.formats.table import Table, columns_in_words, faults_of, refuse
from equipoise.formats.tables.columns import text_of
from equipoise.formats.tables.long_table import LEFT, build_history, in_file
from equipoise.formats.tables.recognised import (
    KNOWN,
    check_renamings,
    describe_passed,
    other_times,
    recognise,
    spelling,
)
from equipoise.formats.times import ORDER_NOTE
from equipoise.wording import counted

FORMS = (
    "must have the columns of a history (match, player, rank) or of games (white, black, result)"
)
_TOTALS = "in a history every row is one game; equipoise performance reads totals of several"
ONE_GAME = f"must be 0, 0.5 or 1: {_TOTALS}"
SINGLE = f"must be 1: {_TOTALS}"

#: Columns that the long table gets from the two sides, so those of the file are left out.
_MADE = ("player", "team", "rank", "winner", "score", "side", "at_home")
#: Rounds give the order if they are numbers that the reader of times takes for an order.
_ROUND = r"^(0|[1-9][0-9]{0,3})$"


@dataclass(frozen=True, slots=True)
class LongTable:
    """A long table, the options for its reader, and what its columns are called in the file.

    named : column of the long table -> column of the file, for problems
    """

    table: Table
    options: Options
    named: dict[str, str]


class _Played(NamedTuple):
    """What happened in every row.

    points : of the first side, None if scores decide; scores : of both sides
    reason : why a row is not a match, a number of `REASONS`
    """

    points: Floats | None
    scores: tuple[Floats, Floats] | None
    reason: Ints


def is_matches(table: Table, options: Options) -> bool:
    """Return whether the columns of a table are those of a history, of games or of pairs."""
    return read_header(table.frame.columns, options.columns).is_complete


def build_matches(table: Table, options: Options, kind: Kind | None = None) -> HistoryReading:
    """Return the history of a table of any kind, and all of its problems.

    kind : of the table; None detects it from the columns
    Raises : InvalidDataError        it is no history, or has no rows
    Raises : InvalidParameterError   the options do not suit the table
    """
    table = table.flat()
    frame = table.frame
    renamed = options.columns
    check_renamings(frame, renamed, (*KNOWN, *MEANINGS))
    if kind == "history":
        return build_history(table, options)
    header = read_header(frame.columns, renamed)
    sides, pairs = header.games, header.pairs
    paired = kind == "pairs" or (bool(sides.missing) and not pairs.missing)
    if kind is None and not header.history.missing:
        reading = build_history(table, options)
        if sides.missing:
            return reading
        others = ", ".join(sides.columns[one] for one in ("white", "black"))
        note = f"read by match and player, as a history; the columns {others} decide nothing"
        return replace(reading, notes=(note, *reading.notes))
    if paired and not pairs.missing and len(frame):
        return _by_pairs(table, pairs, options)
    if sides.missing:
        players = rule_for_players(frame.columns, renamed)
        if players is not None:
            refuse(table.name, players, f"columns {', '.join(frame.columns)}")
        # A table that is nearly a history is told column by column what it lacks.
        found = recognise(frame, options)
        nearly = len(found.missing) < 2 or {"match", "player"} & {*renamed, *frame.columns}
        if not frame.width or not found.missing or (nearly and len(sides.missing) > 1):
            return build_history(table, options)
        has_side = {"white", "black"} & {*sides.columns}
        missing = "no match, no player"
        if has_side and len(sides.missing) < 3:
            missing = ", ".join(f"no {one}" for one in sides.missing)
        got = f"{missing}, but {columns_in_words(frame.columns)}"
        refuse(table.name, FORMS, got + (instead(sides, frame.columns) if has_side else ""))
    if "white_score" in sides.columns:
        # Scores decide, so points are a column like any other.
        meant = {one: name for one, name in sides.columns.items() if one != "points"}
        sides = replace(sides, columns=meant)
    check_once(sides, table, renamed)
    if not len(frame):
        refuse(table.name, "must have at least one row", "none")
    return _by_sides(table, sides, options)


def _by_pairs(table: Table, pairs: Layout, options: Options) -> HistoryReading:
    """Return the history of a table of pairs whose rows are single games."""
    check_once(pairs, table, options.columns)
    games, sides = games_of_pairs(table, pairs, everything_of(options))
    reading = _by_sides(games, sides, options)
    reading = replace(reading, kind="pairs", columns=dict(pairs.columns))
    if len(games.frame) == len(table.frame):
        return reading
    less = counted(len(table.frame) - len(games.frame), "row does", "rows do")
    note = (
        f"{less} not count: the game is that of another row from the other side, or there is none"
    )
    return replace(reading, notes=(*reading.notes, note))


def everything_of(options: Options) -> Options:
    """Return options that select nothing, with the same names of columns."""
    return replace(options, where=(), since=None, until=None, time_format=None)


def _by_sides(table: Table, sides: Layout, options: Options) -> HistoryReading:
    """Return the history of a table with two sides, and all of its problems."""
    # The long table has no columns of sides, results and scores, so these are selected here.
    consumed = _consumed(sides) & {*table.frame.columns}
    wanted = tuple(one for one in options.where if one[0] in consumed)
    rows = choose_rows(table, sides, replace(everything_of(options), columns={}, where=wanted))
    if wanted and not len(rows.frame):
        refuse(table.name, LEFT, "no match is rated and selected")
    left = tuple(one for one in options.where if one not in wanted)
    long = _as_long_table(rows, sides, replace(options, where=left))
    reading = build_history(long.table, long.options, own_names=True)
    return replace(
        reading,
        problems=_in_file(reading.problems, long.named),
        notes=_with_rounds(reading.notes, sides, long.named),
        format=table.format,
        kind="games",
        columns=sides.columns,
        filtered=reading.filtered + rows.filtered,
    )


def _with_rounds(notes: tuple[str, ...], layout: Layout, named: dict[str, str]) -> tuple[str, ...]:
    """Return notes that call the order of rounds by its name, not times."""
    if "time" in layout.columns or "time" not in named:
        return notes
    said = f"{named['time']} is the order of the matches, and no days are counted"
    return tuple(said if note.startswith(ORDER_NOTE) else note for note in notes)


def _in_file(problems: tuple[Problem, ...], named: dict[str, str]) -> tuple[Problem, ...]:
    """Return problems with the columns of the file, each once though a game has two rows."""
    return tuple(dict.fromkeys(in_file(problems, named)))


def _as_long_table(rows: GameRows, layout: Layout, options: Options) -> LongTable:
    """Return the long table of rows with two sides."""
    table, findings = rows.table, rows.findings
    played = _by_scores(rows) if rows.has("white_score") else _by_result(rows, layout)
    players = read_players(rows, ("white", "black"), played.reason == BYE)
    same = (players.first == players.second) & (players.first >= 0)
    rows.add("black", *faults_of((same, OTHER)))
    reason = np.where(players.bye, BYE, played.reason)
    neutral = read_neutral(rows)
    broken = findings.broken_rows()
    # A rule that every row breaks is listed once, so the other rows have nothing to add.
    listed = np.isin(findings.rows, [one.row for one in broken])
    kept = np.flatnonzero(np.where(findings.bad, listed, reason == 0))
    at = findings.rows[kept]
    frame, named = _long_frame(rows, layout, players, played, kept, neutral, options)
    renamed = {
        new: old
        for new, old in options.columns.items()
        if old in frame.columns and new not in frame.columns and old not in _consumed(layout)
    }
    long = Table(
        frame=frame,
        name=table.name,
        untyped=table.untyped,
        locate=lambda found: table.places(at[found // 2]),
        broken_rows=tuple(
            one._replace(row=int(2 * np.searchsorted(at, one.row) + second))
            for one in broken
            for second in (0, 1)
        ),
        files=table.files,
        file_of=None if table.file_of is None else np.repeat(table.file_of[at], 2),
        notes=(
            *table.notes,
            *_notes(rows, layout, reason, kept, neutral, named, options),
            *rows.notes,
        ),
    )
    if not len(kept):
        refuse(table.name, "must hold at least one game", _counts(reason) or "none")
    return LongTable(long, replace(options, columns=renamed), named)


def _by_result(rows: GameRows, layout: Layout) -> _Played:
    """Return who came first, by the column of results or of white's points."""
    if layout.decided:
        totals = always_won(len(rows.frame))
        points, reason = totals.points, totals.reason
    elif rows.has("result"):
        totals = read_single_results(rows, "white", "black")
        points, reason = totals.points, totals.reason
    else:
        points = rows.numbers("points")
        known = np.isin(points, (0.0, 0.5, 1.0)) | np.isnan(points)
        rows.add("points", *faults_of((~known, ONE_GAME)))
        reason = np.zeros(len(points), np.int64)
        if rows.has("games"):
            rows.add("games", *faults_of((rows.numbers("games") != 1, SINGLE)))
    return _Played(points, None, reason)


def _by_scores(rows: GameRows) -> _Played:
    """Return the scores of both sides; without both, a row is not played yet."""
    scores = read_side_scores(rows)
    return _Played(None, (scores.first, scores.second), scores.reason)


def _long_frame(
    rows: GameRows,
    layout: Layout,
    players: Players,
    played: _Played,
    kept: Ints,
    neutral: Flags | None,
    options: Options,
) -> tuple[pl.DataFrame, dict[str, str]]:
    """Return two rows for each of some games, and the columns of the file behind its columns."""
    frame = rows.frame
    named = {"player": rows.columns["black"]}
    pair = np.repeat(kept, 2)
    white, black = (players_at(players.ids, of[kept]) for of in (players.first, players.second))
    columns = {
        "match": _match_ids(frame, options).gather(pair),
        "player": both_players(white, black),
    }
    if played.points is not None:
        columns["rank"] = both_places(played.points[kept])
    if played.scores is not None:
        columns["score"] = pl.Series(_whole(both_sides(*(one[kept] for one in played.scores))))
    words = side_words(layout)
    if words is not None:
        sides = np.array([words[0], words[1], "neutral"])
        ground = np.zeros(len(kept), np.int64) if neutral is None else 2 * neutral[kept]
        code = both_sides(ground, np.maximum(ground, 1))
        columns["side"] = pl.Series(sides[code].tolist(), dtype=pl.String)
    when = _time_column(rows, options)
    if when is not None:
        named["time"] = when
        columns["time"] = frame[when].gather(pair)
    taken = {*_consumed(layout), *columns, *_MADE, *(() if when is None else (when,))}
    if when is not None and when == rows.columns.get("round"):
        taken.discard(when)
    for name in frame.columns:
        if name not in taken:
            columns[name] = frame[name].gather(pair)
    return pl.DataFrame([column.alias(name) for name, column in columns.items()]), named


def _whole(scores: Floats) -> Ids:
    """Return scores as whole numbers if all are, as they are in other histories."""
    fits = np.all((scores == np.floor(scores)) & (np.abs(scores) < 2**53))
    return scores.astype(np.int64) if fits else scores


def _match_ids(frame: pl.DataFrame, options: Options) -> pl.Series:
    """Return the column `match` if every row has one of its own, else the number of the row."""
    name = options.columns.get("match", "match")
    if name in frame.columns and not frame[name].dtype.is_nested():
        column = frame[name]
        if column.null_count() == 0 and column.n_unique() == len(column):
            return column
    return pl.Series(np.arange(1, len(frame) + 1))


def _time_column(rows: GameRows, options: Options) -> str | None:
    """Return the column of times; without one, that of rounds if these are numbers."""
    if rows.has("time"):
        return rows.columns["time"]
    if not rows.has("round") or options.time_format is not None:
        return None
    rounds = text_of(rows.column("round"))
    numbered = rounds.null_count() == 0 and rounds.str.contains(_ROUND).all()
    return rows.columns["round"] if numbered else None


def _consumed(layout: Layout) -> set[str]:
    """Return the columns of the file that the long table has in another form."""
    meanings = ["white", "black", "points", "games", "draws", "white_score", "black_score"]
    meanings += ["neutral"] if side_words(layout) else []
    if "white_score" not in layout.columns:
        meanings.append("result")
    return {layout.columns[one] for one in meanings if one in layout.columns}


def side_words(layout: Layout) -> tuple[str, str] | None:
    """Return what the column `side` says of both sides; None if neither has an advantage."""
    if not layout.coloured:
        return None
    at_home = spelling(layout.columns["white"]).startswith("home")
    return ("home", "away") if at_home else ("white", "black")


def _counts(reason: Ints) -> str:
    found = Counter({REASONS[one]: int(np.sum(reason == one)) for one in set(reason.tolist())})
    del found[""]
    return describe_left_out(found)


def _notes(
    rows: GameRows,
    layout: Layout,
    reason: Ints,
    kept: Ints,
    neutral: Flags | None,
    named: dict[str, str],
    options: Options,
) -> list[str]:
    """Return what was understood, and what was left out."""
    columns = layout.columns
    what = f"{columns['white']} and {columns['black']}"
    good = int(np.sum(~rows.findings.bad[kept]))
    notes = [describe_matches(good, what, side_words(layout))]
    if layout.coloured and neutral is not None and neutral[kept].any():
        notes[0] += f" ({int(neutral[kept].sum()):,} on neutral ground)"
    out = _counts(np.where(rows.findings.bad, 0, reason))
    if out:
        notes.append(f"rows that are no games are left out: {out}")
    if "white_score" in columns and "result" in columns:
        scores = f"{columns['white_score']} and {columns['black_score']}"
        notes.append(f"{scores} decide the places, not {columns['result']}")
    dropped = [one for one in rows.frame.columns if one in _MADE and one not in columns.values()]
    if dropped:
        notes.append(f"left out, because the two sides say it: {', '.join(dropped)}")
    later = () if "time" in named else other_times(rows.frame.columns)
    if later:
        notes.append(describe_passed("time", later[0]))
    own = options.columns.get("match", "match")
    if own in rows.frame.columns and rows.frame[own].n_unique() < len(rows.frame):
        notes.append(f"{own} repeats, so the number of the row is the id of a match")
    return notes

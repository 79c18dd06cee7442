"""Turns tables with a row for each game of two sides into the table of a history.

`history_of_sides` makes a long table of the rows: every game is a match, and the column `side` says
who has white or plays at home. A row that is no game (unfinished, a forfeit, a bye) is left out and
counted. The reader of long tables does the rest; a problem names the column of the file.

Tables of tournaments, the winner first, have the day on which a tournament begins, `tourney_date`,
on all of its matches, and a column `round` with words: R128, R64, ..., QF, SF, F. The words order
the matches of a day, the final last. A match that nobody played is a walkover, and its score says
so; after a retirement or a default the score ends early, but the match was played.
"""

from __future__ import annotations

import math
import re
from dataclasses import replace

import numpy as np
import polars as pl

from equipoise.arrays import Flags, Ids, Ints
from equipoise.formats.column_names import ROUND_WORDS, TOURNAMENT_DAYS
from equipoise.formats.long_table import LEFT, build_history, in_file
from equipoise.formats.meanings import (
    Layout,
    are_clock_times,
    describe_passed,
    other_times,
    without_needless_format,
)
from equipoise.formats.table import HistoryReading, Options, Table, faults_of, refuse, spelling
from equipoise.formats.times import ORDER_NOTE
from equipoise.formats.two_sides import (
    GAME,
    GameRows,
    always_won,
    both_sides,
    choose_rows,
    count_reasons,
    describe_left_out,
    describe_matches,
    places_of,
    players_at,
    read_neutral,
    read_opponents,
    read_side_scores,
    read_single_results,
    whole_if_all,
)
from equipoise.formats.values import text_of
from equipoise.wording import counted

_TOTALS = "in a history every row is one game; equipoise performance reads totals of several"


ONE_GAME = f"must be 0, 0.5 or 1: {_TOTALS}"


SINGLE_ROW = f"must be 1: {_TOTALS}"


#: Columns that the long table gets from the two sides, so those of the file are left out.
_MADE = ("player", "team", "rank", "winner", "score", "side", "at_home")


#: Rounds give the order if they are numbers that the reader of times takes for an order.
_ROUND = r"^(0|[1-9][0-9]{0,3})$"


def everything_of(options: Options) -> Options:
    """Return options that select nothing, with the same names of columns."""
    return replace(options, where=(), since=None, until=None, time_format=None)


def history_of_sides(table: Table, sides: Layout, options: Options) -> HistoryReading:
    """Return the history of a table with two sides, and all of its problems."""
    table, sides = _without_clock_times(table, sides, options)
    if sides.decided:
        table = without_walkovers(table, options)
    if "round" in sides.columns:
        table, sides = in_order_of_rounds(table, sides, options)
    table, options = without_needless_format(table, options, sides.columns.get("time"))
    # The long table has no columns of sides, results and scores, so these are selected here.
    consumed = _consumed(sides)
    wanted = tuple(condition for condition in options.where if condition[0] in consumed)
    rows = choose_rows(table, sides, replace(everything_of(options), columns={}, where=wanted))
    if wanted and not len(rows.frame):
        refuse(table.name, LEFT, "no match is rated and selected")
    left = tuple(condition for condition in options.where if condition not in wanted)
    sided = _Sides(rows, sides, options)
    long = sided.table()
    # What options rename, and the long table still has under its old name.
    renamed = {
        new: old
        for new, old in options.columns.items()
        if old in long.frame.columns and new not in long.frame.columns and old not in consumed
    }
    left_over = replace(options, where=left, columns=renamed)
    reading = build_history(long, left_over, own_names=True)
    return replace(
        reading,
        # A game has two rows, and its problems count once.
        problems=tuple(dict.fromkeys(in_file(reading.problems, sided.named))),
        notes=_with_rounds(reading.notes, sides, sided.named),
        format=table.format,
        kind="games",
        columns=sides.columns,
        filtered=reading.filtered + rows.filtered,
    )


def _without_clock_times(table: Table, sides: Layout, options: Options) -> tuple[Table, Layout]:
    """Return the table without a column of times that has times of day and no dates."""
    name = sides.columns.get("time")
    if name is None or options.time_format is not None or "time" in options.columns:
        return table, sides
    if table.frame[name].dtype != pl.String or not are_clock_times(table.frame[name]):
        return table, sides
    note = f"{name} has times of day without dates, so it is left out"
    columns = {meaning: column for meaning, column in sides.columns.items() if meaning != "time"}
    table = replace(table, frame=table.frame.drop(name), notes=(*table.notes, note))
    return table, replace(sides, columns=columns)


def _with_rounds(notes: tuple[str, ...], layout: Layout, named: dict[str, str]) -> tuple[str, ...]:
    """Return notes that call the order of rounds by its name, not times."""
    if "time" in layout.columns or "time" not in named:
        return notes
    by_round = f"{named['time']} is the order of the matches, and no days are counted"
    return tuple(by_round if note.startswith(ORDER_NOTE) else note for note in notes)


class _Sides:
    """Rows with two sides, and the long table of the games among them.

    reason : why a row is no game, a number of `REASONS`; kept : rows that are games, or problems
    words : what the column `side` says of both sides; when : the column of times
    named : column of the long table -> column of the file behind it, for problems
    """

    def __init__(self, rows: GameRows, layout: Layout, options: Options) -> None:
        self.rows, self.layout, self.options = rows, layout, options
        findings = rows.findings
        self.decides, self.values, reason = _decided(rows, layout)
        self.players, self.reason = read_opponents(rows, ("white", "black"), reason)
        self.neutral = read_neutral(rows)
        self.broken = findings.broken_rows()
        # A rule that every row breaks is listed once, so the other rows have nothing to add.
        listed = np.isin(findings.rows, [row.row for row in self.broken])
        self.kept = np.flatnonzero(np.where(findings.bad, listed, self.reason == 0))
        self.words, self.when = side_words(layout), _time_column(rows, options)
        self.named = {"player": rows.columns["black"]}
        if self.when is not None:
            self.named["time"] = self.when

    def table(self) -> Table:
        """Return the long table. Raises : InvalidDataError   there is no game."""
        table, at = self.rows.table, self.rows.findings.rows[self.kept]
        long = Table(
            frame=self._frame(),
            name=table.name,
            untyped=table.untyped,
            locate=lambda rows: table.places(at[rows // 2]),
            broken_rows=tuple(
                row._replace(row=int(2 * np.searchsorted(at, row.row) + second))
                for row in self.broken
                for second in (0, 1)
            ),
            files=table.files,
            file_of=None if table.file_of is None else np.repeat(table.file_of[at], 2),
            notes=(*table.notes, *self._notes(), *self.rows.notes),
        )
        if not len(self.kept):
            out = describe_left_out(count_reasons(self.reason))
            refuse(table.name, GAME, out or "none")
        return long

    def _frame(self) -> pl.DataFrame:
        """Return two rows for each game."""
        frame, kept, players = self.rows.frame, self.kept, self.players
        pair = np.repeat(kept, 2)
        columns = {
            "match": _match_ids(frame, self.options).gather(pair),
            "player": players_at(
                players.ids, both_sides(players.first[kept], players.second[kept])
            ),
            self.decides: whole_if_all(both_sides(*(column[kept] for column in self.values))),
        }
        if self.words is not None:
            sides = np.array([*self.words, "neutral"])
            ground = np.zeros(len(kept), np.int64)
            if self.neutral is not None:
                ground = 2 * self.neutral[kept]
            code = both_sides(ground, np.maximum(ground, 1))
            columns["side"] = pl.Series(sides[code].tolist(), dtype=pl.String)
        taken = {*_consumed(self.layout), *columns, *_MADE}
        if self.when is not None:
            columns["time"] = frame[self.when].gather(pair)
            taken |= {"time", self.when}
            # Rounds that are the order stay, too.
            taken -= {self.when} & {self.rows.columns.get("round")}
        for name in frame.columns:
            if name not in taken:
                columns[name] = frame[name].gather(pair)
        return pl.DataFrame([column.alias(name) for name, column in columns.items()])

    def _notes(self) -> list[str]:
        """Return what was understood, and what was left out."""
        frame, columns, bad = self.rows.frame, self.layout.columns, self.rows.findings.bad
        what = f"{columns['white']} and {columns['black']}"
        notes = [describe_matches(int(np.sum(~bad[self.kept])), what, self.words)]
        neutral = 0 if self.neutral is None else int(self.neutral[self.kept].sum())
        if self.layout.coloured and neutral:
            notes[0] += f" ({neutral:,} on neutral ground)"
        out = describe_left_out(count_reasons(np.where(bad, 0, self.reason)))
        if out:
            notes.append(f"rows that are no games are left out: {out}")
        if "white_score" in columns and "result" in columns:
            scores = f"{columns['white_score']} and {columns['black_score']}"
            notes.append(f"{scores} decide the places, not {columns['result']}")
        dropped = [
            column for column in frame.columns if column in _MADE and column not in columns.values()
        ]
        if dropped:
            notes.append(f"left out, because the two sides say it: {', '.join(dropped)}")
        later = () if self.when is not None else other_times(frame.columns)
        if later:
            notes.append(describe_passed("time", later[0]))
        own = self.options.columns.get("match", "match")
        if own in frame.columns and frame[own].n_unique() < len(frame):
            notes.append(f"{own} repeats, so the number of the row is the id of a match")
        return notes


def _decided(rows: GameRows, layout: Layout) -> tuple[str, tuple[Ids, Ids], Ints]:
    """Return the column that decides, score or rank, with its values, and why a row is no game.

    The values are those of both sides; the reason is a number of `REASONS`.
    """
    if rows.has("white_score"):
        first, second, reason = read_side_scores(rows)
        return "score", (first, second), reason
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
        if rows.has("games"):
            rows.add("games", *faults_of((rows.numbers("games") != 1, SINGLE_ROW)))
        reason = np.zeros(len(points), np.int64)
    return "rank", places_of(points), reason


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
    return {layout.columns[meaning] for meaning in meanings if meaning in layout.columns}


def side_words(layout: Layout) -> tuple[str, str] | None:
    """Return what the column `side` says of both sides; None if neither has an advantage."""
    if not layout.coloured:
        return None
    at_home = spelling(layout.columns["white"]).startswith("home")
    return ("home", "away") if at_home else ("white", "black")


#: Digits of a date without separators: 20190131.
_DAY = r"^(1[89]|2[01])[0-9]{2}(0[1-9]|1[0-2])(0[1-9]|[12][0-9]|3[01])$"
_LAST_OF = re.compile(r"(?:r|roundof|last)([0-9]{1,3})")
_ORDINAL = re.compile(r"([0-9]{1,2})(?:st|nd|rd|th)round")
#: What the score of a match says that was not played, and of one that ended early.
_WALKOVER = r"(?i)\b(w/?o|walk-?over)\b"
_RETIRED = r"(?i)\b(ret|retd|retired|retirement|def|default|defaulted|abn|abd)\b"


def _place(text: str) -> float:
    """Return where a round is in a tournament; NaN if the word is unknown."""
    word = re.sub(r"[^a-z0-9]", "", text.lower())
    if word in ROUND_WORDS:
        return ROUND_WORDS[word]
    if match := _LAST_OF.fullmatch(word):
        return -math.log2(max(int(match[1]), 1))
    if match := _ORDINAL.fullmatch(word):
        return -50.0 + int(match[1])
    return math.nan


def in_order_of_rounds(table: Table, layout: Layout, options: Options) -> tuple[Table, Layout]:
    """Return a table with rounds in which the matches of a day are in the order of their rounds.

    Without a column of times, the day of a tournament becomes the time, if all have one. A round
    that is a number, or a word that is not known, changes nothing.
    """
    name = layout.columns["round"]
    if table.frame[name].dtype != pl.String:
        return table, layout
    column = text_of(table.frame[name]).fill_null("")
    words = column.unique()
    places = {word: _place(word) for word in words.to_list()}
    if any(math.isnan(place) for place in places.values()):
        return table, layout
    notes = [f"{name} gives the order within a day, the final last"]
    if "time" not in layout.columns:
        day = _tournament_day(table, options)
        if day is None:
            return table, layout
        layout = replace(layout, columns={**layout.columns, "time": day})
        notes.insert(0, f"{day} is the day of the matches")
    # The reader sorts by time, and keeps the order of matches of the same time.
    order = np.argsort([places[word] for word in column.to_list()], kind="stable")
    table = _numbered(table, options).only(order)
    return replace(table, notes=(*table.notes, "; ".join(notes))), layout


def _tournament_day(table: Table, options: Options) -> str | None:
    """Return the column with the day of the tournament on every row, None if there is none."""
    named = [column for column in table.frame.columns if spelling(column) in TOURNAMENT_DAYS]
    if len(named) != 1 or "time" in options.columns or options.time_format is not None:
        return None
    days = text_of(table.frame[named[0]])
    complete = days.null_count() == 0 and days.str.contains(_DAY).all()
    return named[0] if complete else None


def without_walkovers(table: Table, options: Options) -> Table:
    """Return a table of winners and losers with notes on walkovers, or without walkovers."""
    scores = [
        column
        for column in table.frame.columns
        if spelling(column) in ("score", "result", "comment")
    ]
    scores = [column for column in scores if table.frame[column].dtype == pl.String]
    if not scores:
        return table
    walkovers, retired = (_any(table, scores, words) for words in (_WALKOVER, _RETIRED))
    drop = options.walkovers == "drop" and bool(walkovers.any()) and not walkovers.all()
    notes = []
    if walkovers.any():
        walkovers_note = counted(int(walkovers.sum()), "walkover")
        notes.append(
            f"left out: {walkovers_note}"
            if drop
            else f"{walkovers_note} counted as won (--walkovers drop leaves them out)"
        )
    if (retired & ~walkovers).any():
        ends = counted(int((retired & ~walkovers).sum()), "match", "matches")
        notes.append(f"{ends} ended by a retirement or default, and counted as won")
    if drop:
        table = _numbered(table, options).only(np.flatnonzero(~walkovers))
    return replace(table, notes=(*table.notes, *notes))


def _numbered(table: Table, options: Options) -> Table:
    """Return the table with the number of each row as the id of its match, unless it has ids."""
    if "match" in table.frame.columns or "match" in options.columns:
        return table
    number = pl.Series("match", np.arange(1, len(table.frame) + 1))
    return replace(table, frame=table.frame.with_columns(number))


def _any(table: Table, columns: list[str], words: str) -> Flags:
    """Return the rows of which one of these columns has one of these words."""
    matching = np.zeros(len(table.frame), np.bool_)
    for name in columns:
        matching |= table.frame[name].str.contains(words).fill_null(False).to_numpy()
    return matching

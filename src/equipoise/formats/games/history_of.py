"""Turns games into the long table of a history, with a row for each player.

Every game is a match, and the column `side` says who has white or plays at home. The reader of long
tables does the rest; a problem names the column of the file.

`history_of_sides` takes a table with a row for each game: two sides and a result, or two sides and
their scores. A row that is no game (unfinished, a forfeit, a bye) is left out and counted.
`history_of_pairs` takes a table of pairs whose rows are single games.

`history_of_games` takes the games of PGN, of FIDE reports and of cross tables. The time is the date
of the game. If no game has a date, the rounds of one tournament are the order, and else the order
of the source is. If only some games have a date, none is used as long as the source is in order of
time; otherwise nobody knows where the others belong, and they are problems. `select_dates` selects
games by date.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import polars as pl

from equipoise.arrays import Flags, Floats, Ids, Ints
from equipoise.data.games import OTHER, round_numbers
from equipoise.data.reading import HistoryReading
from equipoise.data.times import LAST_ORDER
from equipoise.errors import InvalidDataError, InvalidParameterError, Problem
from equipoise.formats.games.knockouts import in_order_of_rounds, without_walkovers
from equipoise.formats.games.lists import games_of_pairs
from equipoise.formats.games.rows import (
    BYE,
    GameColumns,
    GameRows,
    always_won,
    both_sides,
    choose_rows,
    count_reasons,
    describe_left_out,
    describe_matches,
    in_order,
    places_of,
    players_at,
    read_neutral,
    read_players,
    read_side_scores,
    read_single_results,
    whole_if_all,
)
from equipoise.formats.table import (
    BrokenRow,
    Options,
    Table,
    faults_of,
    no_effect,
    refuse,
    shown,
    spelling,
)
from equipoise.formats.tables.column_names import (
    OF_MATCHES_ONLY,
    PLAYER_RATINGS,
    PLAYER_TOTALS,
    PLAYERS,
)
from equipoise.formats.tables.long_table import LEFT, build_history, in_file
from equipoise.formats.tables.meanings import (
    Layout,
    are_clock_times,
    check_once,
    describe_passed,
    other_times,
    without_needless_format,
)
from equipoise.formats.tables.values import text_of
from equipoise.formats.times import ORDER_NOTE, read_times
from equipoise.wording import counted

_TOTALS = "in a history every row is one game; equipoise performance reads totals of several"
ONE_GAME = f"must be 0, 0.5 or 1: {_TOTALS}"
SINGLE_ROW = f"must be 1: {_TOTALS}"

RATINGS = (
    "must have matches or games, and has ratings of players: equipoise rate HISTORY --initial FILE "
    "begins with them, and equipoise balance FILE makes teams"
)
TOTALS = (
    "must have matches or games, and has totals of players, which do not say who met whom: give "
    "the games (white, black, result), or a cross table"
)
#: Columns that the long table gets from the two sides, so those of the file are left out.
_MADE = ("player", "team", "rank", "winner", "score", "side", "at_home")
#: Rounds give the order if they are numbers that the reader of times takes for an order.
_ROUND = r"^(0|[1-9][0-9]{0,3})$"


def rule_for_players(names: Sequence[str], renamed: Mapping[str, str]) -> str | None:
    """Return the rule that a table of players breaks, None if it is not one.

    names : of the columns; renamed : new name -> name in the source
    """
    spellings = {spelling(name) for name in (*names, *renamed)}
    if not spellings & PLAYERS or spellings & OF_MATCHES_ONLY:
        return None
    if spellings & PLAYER_TOTALS:
        return TOTALS
    return RATINGS if spellings & PLAYER_RATINGS else None


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


def everything_of(options: Options) -> Options:
    """Return options that select nothing, with the same names of columns."""
    return replace(options, where=(), since=None, until=None, time_format=None)


def history_of_sides(table: Table, sides: Layout, options: Options) -> HistoryReading:
    """Return the history of a table with two sides, and all of its problems."""
    table, sides = _without_clock_times(table, sides, options)
    table = without_walkovers(table, sides, options)
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
        self.players = read_players(rows, ("white", "black"), reason == BYE)
        one, other = self.players.first, self.players.second
        rows.add("black", *faults_of(((one == other) & (one >= 0), OTHER)))
        self.reason = np.where(self.players.bye, BYE, reason)
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


class SourceKind(NamedTuple):
    """What a source of games is, and what its parts are called.

    white, black, round, rating : for problems and notes
    """

    name: str
    white: str
    black: str
    round: str
    rating: str


PGN = SourceKind("PGN", "White", "Black", "Round", "WhiteElo and BlackElo")
TRF = SourceKind("a FIDE report", "player", "opponent", "round", "the ratings of the report")
CROSS_TABLE = SourceKind("a cross table", "player", "opponent", "round", "the ratings of the table")

GAME = "must hold at least one game"
SINGLE = (
    "must be a single game to be a match of a history; equipoise performance reads totals of "
    "several games"
)
OWN_ID = "must be different in every game, to be the id of its match"

#: Columns that the games themselves make.
_MADE_OF_GAMES = ("player", "team", "rank", "winner", "score", "side", "at_home", "rating", "round")


def check_tags(options: Options) -> dict[str, str]:
    """Return the columns that tags of PGN become: name of the column -> tag.

    Raises : InvalidParameterError   a column is that of the players or of the result
    """
    for name in options.columns:
        if spelling(name) in (*_MADE_OF_GAMES, "white", "black", "result"):
            raise no_effect(
                f"columns (--column) cannot rename {name} for PGN, which has a tag for it; it can "
                "name a tag for match, time or another fact of a game, such as match=Site",
                "PGN",
                "columns",
            )
    return dict(options.columns)


def wanted_tags(options: Options) -> dict[str, str]:
    """Return the values that tags of PGN must have. Raises : InvalidParameterError."""
    tags = {name: "" if value is None else str(value) for name, value in options.where}
    for name, value in options.where:
        if tags[name] != ("" if value is None else str(value)):
            raise InvalidParameterError(
                f"where (--where) must name a tag of PGN once; got {name!r} twice"
            )
    return tags


def history_of_games(
    columns: GameColumns, kind: SourceKind, name: str, options: Options
) -> HistoryReading:
    """Return the history of the games of a source, and all of its problems.

    name : of the file, "" if there is none
    options : `where` is that of columns of the history; tags of PGN are selected before
    Raises : InvalidParameterError   the options do not suit the source
    """
    problems = [*columns.problems]
    single = _single_games(columns, problems)
    when = _order_of(columns, kind, single, options, problems)
    kept = when.rows
    numbers = np.arange(1, len(columns.points) + 1) if columns.numbers is None else columns.numbers
    lost = [np.setdiff1d(np.arange(len(numbers)), single), np.setdiff1d(single, kept)]
    dropped = [*columns.dropped, *map(str, numbers[np.concatenate(lost)].tolist())]
    reading = HistoryReading(history=None)
    if len(kept):
        table = _long_table(columns, kind, name, when, numbers, options)
        named = {"player": kind.black, "time": when.field}
        try:
            reading = build_history(table, replace(options, columns={}), own_names=True)
        except InvalidDataError as error:
            reading = replace(reading, problems=error.problems)
        problems += in_file(tuple(dict.fromkeys(reading.problems)), named)
    elif not problems or options.skip_bad is not None:
        out = describe_left_out(columns.left_out)
        problems.append(Problem(name, None, "", GAME, f"none, but {out}" if out else "none"))
    refused = columns.refused or bool(problems and options.skip_bad is None)
    return replace(
        reading,
        history=None if refused else reading.history,
        problems=tuple(dict.fromkeys(in_order(problems))),
        dropped_matches=() if refused else (*dropped, *reading.dropped_matches),
        filtered=reading.filtered + columns.left_out.get("filtered", 0),
        format=columns.format,
        kind=columns.kind,
        columns={},
        notes=(
            *_game_notes(columns, kind, name, len(kept)),
            *when.notes,
            *(note for note in reading.notes if not note.startswith(ORDER_NOTE)),
        ),
    )


def _single_games(columns: GameColumns, problems: list[Problem]) -> Ints:
    """Return the rows that are single games; the others become problems."""
    rows = np.arange(len(columns.points))
    single = np.isin(columns.points, (0.0, 0.5, 1.0))
    if columns.weight is not None:
        single &= columns.weight == 1
    for row in rows[~single].tolist():
        games = 1.0 if columns.weight is None else columns.weight[row]
        got = f"{columns.points[row]:g} of {games:g} games"
        problems.append(Problem(*columns.place(row), "", SINGLE, got))
    return rows[single]


class _When(NamedTuple):
    """The order of the games.

    rows : of the games, in the order in which those of the same time are rated
    times : of these rows, None if the order is that of the rows; field : what they come from
    """

    rows: Ints
    times: pl.Series | None
    field: str
    notes: tuple[str, ...]


def _order_of(
    columns: GameColumns, kind: SourceKind, rows: Ints, options: Options, problems: list[Problem]
) -> _When:
    """Return the order of some games; games that have no place in it become problems."""
    tag = options.columns.get("time")
    if tag is not None:
        values = pl.Series(columns.tags[tag][rows].tolist(), dtype=pl.String)
        return _When(rows, values.replace("", None), tag, (f"times come from {tag}",))
    if columns.times is None:
        return _by_round(columns, kind, rows, options)
    times = columns.times.gather(rows)
    undated = times.is_null().to_numpy()
    if undated.any():
        others = times.drop_nulls()
        bounded = options.since is not None or options.until is not None
        if options.skip_bad is None and not bounded and others.is_sorted():
            place = _where(*columns.place(int(rows[undated][0])))
            note = (
                f"{int(undated.sum()):,} of {counted(len(rows), 'game')} have no complete date "
                f"(the first: {place}), so no dates are used and the order of the source "
                "counts; --skip-bad keeps the dates and leaves these games out"
            )
            return _When(rows, None, "", (note,))
        rule = DATED_BOUNDS if bounded and others.is_sorted() else DATED
        problems += undated_problems(columns, rows[undated], rule)
        rows, times = rows[~undated], others
    order, by_round = _within_days(times, columns.round, rows)
    note = f"times come from {columns.time_source}"
    if by_round:
        note += f"; {kind.round} gives the order within a day"
    return _When(rows[order], times.gather(order), columns.time_source, (note,))


def _by_round(columns: GameColumns, kind: SourceKind, rows: Ints, options: Options) -> _When:
    """Return the order of games without dates: that of their rounds, or that of the source."""
    if kind is CROSS_TABLE:
        return _When(rows, None, "", (_NO_ORDER,))
    events = None if columns.events is None else {*columns.events[rows].tolist()}
    numbers = None
    if columns.round is not None and options.time_format is None and len(events or ()) < 2:
        numbers = round_numbers(columns.round[rows].tolist())
    if numbers is None or not len(numbers) or int(numbers.max()) > LAST_ORDER:
        note = "no game has a complete date, so they are rated in the order of the source"
        return _When(rows, None, "", (note,))
    note = f"no game has a complete date: {kind.round} is the order of the matches, and no days "
    return _When(rows, pl.Series(numbers), kind.round, (note + "are counted",))


_NO_ORDER = (
    "a cross table has no order of games: they are rated in the order of its rows, on which "
    "ratings depend, but not performances (`equipoise performance`)"
)


def _within_days(times: pl.Series, rounds: Ids | None, rows: Ints) -> tuple[Ints, bool]:
    """Return the order of games by day and round, and whether rounds matter.

    Rounds count on days on which every game has a number; on others the order of rows stays.
    """
    unchanged = np.arange(len(rows))
    if times.dtype != pl.Date or rounds is None:
        return unchanged, False
    labels = pl.Series(rounds[rows].tolist()).cast(pl.String)
    numbers = {label: round_numbers([label]) for label in labels.unique().to_list()}
    known = {label: -1 if digits is None else int(digits[0]) for label, digits in numbers.items()}
    number = labels.replace_strict(known, return_dtype=pl.Int64).to_numpy()
    day = times.to_physical().to_numpy()
    _, of_day = np.unique(day, return_inverse=True)
    unclear = np.bincount(of_day, number < 0) > 0
    number = np.where(unclear[of_day], 0, number)
    order: Ints = np.lexsort((number, day))
    matters = bool(np.any((np.diff(day[order]) == 0) & (np.diff(number[order]) != 0)))
    return (order, True) if matters else (unchanged, False)


def _long_table(
    columns: GameColumns, kind: SourceKind, name: str, when: _When, numbers: Ints, options: Options
) -> Table:
    """Return two rows for each of some games, white first; numbers : of all games."""
    kept = when.rows
    pair = np.repeat(np.arange(len(kept)), 2)
    white, black = columns.white[kept], columns.black[kept]
    frame = {
        "match": pl.Series(np.repeat(numbers[kept], 2)),
        "player": players_at(columns.players, both_sides(white, black)),
        "rank": pl.Series(both_sides(*places_of(columns.points[kept]))),
    }
    if when.times is not None:
        frame["time"] = when.times.gather(pair)
    if columns.coloured:
        sides = pl.Series(["white", "black"])
        frame["side"] = sides.gather(np.arange(len(pair)) % 2)
    if columns.events is not None:
        frame["event"] = pl.Series(columns.events[kept].tolist(), dtype=pl.String).gather(pair)
    if columns.round is not None:
        rounds = pl.Series(columns.round[kept].tolist())
        if rounds.dtype == pl.String:
            rounds = rounds.replace("", None)
        frame["round"] = rounds.gather(pair)
    ratings = _ratings(columns)
    if ratings is not None:
        frame["rating"] = pl.Series(both_sides(*(column[kept] for column in ratings))).fill_nan(
            None
        )
    names = players_at(columns.players, black)
    broken = [*_broken(white == black, kind.black, OTHER, names)]
    for column, tag in options.columns.items():
        values = pl.Series(columns.tags[tag][kept].tolist(), dtype=pl.String).replace("", None)
        if column == "match":
            again = ~values.is_first_distinct() & values.is_not_null()
            broken += _broken(again.to_numpy(), tag, OWN_ID, values)
        if column != "time":
            frame[column] = values.gather(pair)
    return Table(
        frame=pl.DataFrame([values.alias(key) for key, values in frame.items()]),
        name=name,
        locate=lambda rows: [columns.place(row) for row in kept[rows // 2].tolist()],
        broken_rows=tuple(sorted(broken)),
    )


def _ratings(columns: GameColumns) -> tuple[Floats, Floats] | None:
    """Return the ratings of both sides, None if no player has one."""
    sides = columns.white_rating, columns.black_rating
    known = [column for column in sides if column is not None]
    if not known or all(np.isnan(column).all() for column in known):
        return None
    nothing = np.full(len(columns.points), np.nan)
    white, black = (nothing if column is None else column for column in sides)
    return white, black


def _broken(games: Flags, field: str, rule: str, values: pl.Series) -> Iterator[BrokenRow]:
    """Yield both rows of games that break a rule; values : of every game."""
    for game in np.flatnonzero(games).tolist():
        for row in (2 * game, 2 * game + 1):
            yield BrokenRow(row, field, rule, shown(values[game]))


def _game_notes(columns: GameColumns, kind: SourceKind, name: str, games: int) -> Iterator[str]:
    """Yield what was understood, and what was left out."""
    if games:
        yield describe_matches(games, kind.name, ("white", "black") if columns.coloured else None)
    out = describe_left_out(Counter(columns.left_out) - Counter(filtered=10**18))
    if out:
        yield f"results that are no games are left out: {out}"
    yield from columns.notes
    if games and _ratings(columns) is not None:
        yield (
            f"{kind.rating} are kept in the column rating, and no rating depends on them; "
            f"--initial {name or 'FILE'} begins with those of first games"
        )


def _where(file: str, line: int | None) -> str:
    """Return a place as text."""
    return ", ".join(part for part in (file, "" if line is None else f"line {line}") if part)


DATED = (
    "must have a complete date as other games have, because the games are not in order of time "
    "(--skip-bad leaves those without one out)"
)
DATED_BOUNDS = (
    "must have a complete date as other games have, to select by time (--skip-bad leaves those "
    "without one out)"
)

#: Largest number of games without a date that are listed; more are counted.
_LISTED = 100


def select_dates(columns: GameColumns, options: Options) -> GameColumns:
    """Return the games in [since, until); games without a date become problems.

    Raises : InvalidParameterError   no game has a date
    """
    if options.since is None and options.until is None:
        return columns
    times = None if columns.times is None else read_times(columns.times)
    if columns.times is None or times is None:
        raise InvalidParameterError(
            "since and until (--from, --until) need games with complete dates; these have none"
        )
    undated = columns.times.is_null().to_numpy()
    inside = times.within(options.since, options.until) & ~undated
    rows = np.flatnonzero(undated)
    left_out = Counter(columns.left_out)
    left_out["filtered"] += int(np.sum(~inside & ~undated))
    return replace(
        columns.keep(np.flatnonzero(inside)),
        problems=(*columns.problems, *undated_problems(columns, rows, DATED_BOUNDS)),
        skipped=columns.skipped + len(rows),
        left_out=left_out,
    )


def undated_problems(columns: GameColumns, rows: Ints, rule: str) -> list[Problem]:
    """Return a problem for each of the first games without a date, and one for the others."""
    problems = [
        Problem(*columns.place(row), "Date", rule, "no complete date")
        for row in rows[:_LISTED].tolist()
    ]
    if len(rows) > _LISTED:
        more = f"no complete date, and {len(rows) - _LISTED:,} more without one from here on"
        problems.append(Problem(*columns.place(int(rows[_LISTED])), "Date", rule, more))
    return problems

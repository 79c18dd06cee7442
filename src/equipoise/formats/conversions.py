"""Turns games of PGN, FIDE reports and cross tables into a history, and a history into games.

`history_of_games` makes a match of every game, with a row for each player; the reader of long
tables does the rest. The time is the date of the game. If no game has a date, the rounds of one
tournament are the order, and else the order of the source is. If only some games have a date, none
is used as long as the source is in order of time; otherwise nobody knows where the others belong,
and they are problems. `select_dates` selects games by date.

`read_duels` reads a long table as games: the reader of histories reads it, `rank` decides the
result (equal ranks are a draw), and `weight` is the weight. A kept column `rating` or `elo` has the
players' ratings, or the columns `white_elo` and `black_elo` those of both sides. A column
`at_home`, `home`, `side`, `color` or `colour` shows who has white or plays at home.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import polars as pl

from equipoise.arrays import Flags, Floats, Ids, Ints
from equipoise.data.games import OTHER, GameColumns, round_numbers
from equipoise.data.history import History
from equipoise.data.times import LAST_ORDER
from equipoise.errors import InvalidDataError, InvalidParameterError, Problem
from equipoise.formats.column_names import AT_HOME, RATINGS_OF_ROWS
from equipoise.formats.long_table import build_history, in_file
from equipoise.formats.meanings import side_ratings
from equipoise.formats.table import (
    BrokenRow,
    HistoryReading,
    Options,
    Table,
    in_order,
    no_effect,
    refuse,
    shown,
    spelling,
)
from equipoise.formats.times import ORDER_NOTE, read_times
from equipoise.formats.two_sides import (
    GAME,
    both_sides,
    describe_left_out,
    describe_matches,
    places_of,
    players_at,
    read_ratings,
)
from equipoise.formats.values import text_of
from equipoise.wording import counted


class SourceKind(NamedTuple):
    """What a source of games is, and what its parts are called.

    black, round, rating : for problems and notes
    """

    name: str
    black: str
    round: str
    rating: str


PGN = SourceKind("PGN", "Black", "Round", "WhiteElo and BlackElo")
TRF = SourceKind("a FIDE report", "opponent", "round", "the ratings of the report")
CROSS_TABLE = SourceKind("a cross table", "opponent", "round", "the ratings of the table")

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
    columns: GameColumns,
    kind: SourceKind,
    name: str,
    options: Options,
    notes: tuple[str, ...] = (),
) -> HistoryReading:
    """Return the history of the games of a source, and all of its problems.

    name : of the file, "" if there is none
    options : `where` is that of columns of the history; tags of PGN are selected before
    notes : on the files
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
            *_game_notes(replace(columns, notes=(*notes, *columns.notes)), kind, name, len(kept)),
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


DUEL = "must be a match between two single players"
DUELS = (
    "must have matches between two single players; for larger matches and teams use equipoise "
    "rate, and for rankings of single players equipoise strengths"
)

_FIRST = ("true", "1", "1.0", "yes", "white", "home", "w", "h")


def read_duels(table: Table, options: Options) -> GameColumns:
    """Return the games of a history, and all of its problems.

    Raises : InvalidDataError        required columns, or all rows, are missing
    Raises : InvalidParameterError   the options do not suit the table
    """
    reading = build_history(table, options)
    history = reading.history
    nothing = np.zeros(0, np.int64)
    columns = GameColumns(
        players=np.zeros(0, object), white=nothing, black=nothing, points=np.zeros(0)
    )
    problems, notes, skipped = [*reading.problems], [*reading.notes], len(reading.dropped_matches)
    if history is not None:
        lines = _Lines(table, reading.columns["match"], history)
        duels = (history.sizes() == 2) & (history.teams() == 2)
        if not duels.any():
            sizes = history.sizes()
            got = f"none among {counted(history.matches, 'match', 'matches')}; the largest has "
            refuse(table.name, DUELS, got + counted(int(sizes.max()), "player"))
        ratings = _ratings_of_duels(history, duels, lines, by_commas=table.by_commas)
        problems += [*_not_duels(history, ~duels, lines), *ratings.problems]
        notes += ratings.notes
        good = duels & ~ratings.bad
        skipped += int(np.sum(~good))
        columns = _games_of_duels(history, np.flatnonzero(good), ratings.values, lines)
    return replace(
        columns,
        left_out=+Counter({"unrated": reading.unrated, "filtered": reading.filtered}),
        problems=tuple(problems),
        notes=tuple(notes),
        skipped=skipped,
        format=reading.format,
        kind=reading.kind,
        meanings=reading.columns,
    )


class _Ratings(NamedTuple):
    """The rating of every participation (None if the history has none), and the bad matches."""

    values: Floats | None
    bad: Flags
    problems: list[Problem]
    notes: list[str]


class _Lines:
    """Finds the first line of a match by its id."""

    def __init__(self, table: Table, column: str, history: History) -> None:
        self._table, self._history = table, history
        self._column = column
        self._row_of: dict[str, int] = {}

    def of(self, matches: Ints) -> list[tuple[str, int | None]]:
        """Return the file and line of matches of the history."""
        if not len(matches):
            return []
        if not self._row_of:
            ids = text_of(self._table.frame[self._column])
            first = ids.is_first_distinct().arg_true()
            self._row_of = dict(zip(ids.gather(first).to_list(), first.to_list(), strict=True))
        rows = [self._row_of.get(str(self._history.match_ids[match])) for match in matches.tolist()]
        known = [row for row in rows if row is not None]
        places = iter(self._table.places(np.array(known, dtype=np.int64)))
        return [(self._table.name, None) if row is None else next(places) for row in rows]


def _games_of_duels(
    history: History, matches: Ints, rating: Floats | None, lines: _Lines
) -> GameColumns:
    """Return the games of the matches that are duels."""
    white, black, coloured = _first_sides(history, history.offsets[matches])
    points = (1.0 + np.sign(history.rank[black] - history.rank[white])) / 2
    draws = (points == 0.5).astype(np.float64)
    weight = None if history.weight is None else history.weight[matches]
    return GameColumns(
        white=history.player[white],
        black=history.player[black],
        points=points if weight is None else points * weight,
        weight=weight,
        draws=draws if weight is None else draws * weight,
        white_rating=None if rating is None else rating[white],
        black_rating=None if rating is None else rating[black],
        coloured=coloured,
        players=history.player_ids,
        locate=lambda game: lines.of(matches[[game]])[0],
    )


def _first_sides(history: History, first: Ints) -> tuple[Ints, Ints, bool]:
    """Return the rows of the first and of the second player, and whether the first are at home.

    first : the first row of every duel
    """
    name = next((column for column in AT_HOME if column in history.attributes), None)
    if name is None:
        return first, first + 1, False
    marked = _marked(history.attributes[name])
    swapped = ~marked[first] & marked[first + 1]
    known = marked[first] != marked[first + 1]
    return first + swapped, first + ~swapped, bool(len(first) and known.all())


def _marked(attribute: Ids) -> Flags:
    """Return which rows have white or play at home."""
    if attribute.dtype == bool:
        return attribute
    if attribute.dtype != object:
        flags: Flags = attribute == 1
        return flags
    return np.array([str(value).strip().casefold() in _FIRST for value in attribute.tolist()])


def _of_sides(history: History, duels: Flags) -> list[object] | None:
    """Return the rating of every participation by the columns of both sides; None without any."""
    pair = side_ratings(history.attributes)
    if pair == (None, None):
        return None
    ratings_of_rows = np.full(history.participations, None, dtype=object)
    first, second, _ = _first_sides(history, history.offsets[np.flatnonzero(duels)])
    for name, rows in zip(pair, (first, second), strict=True):
        if name is not None:
            ratings_of_rows[rows] = history.attributes[name][rows]
    ratings: list[object] = ratings_of_rows.tolist()
    return ratings


def _ratings_of_duels(
    history: History, duels: Flags, lines: _Lines, *, by_commas: bool
) -> _Ratings:
    """Return the rating of every participation, and the problems of matches."""
    bad = np.zeros(history.matches, dtype=bool)
    name = next((column for column in RATINGS_OF_ROWS if column in history.attributes), None)
    of_sides = None if name is not None else _of_sides(history, duels)
    if name is None and of_sides is None:
        return _Ratings(None, bad, [], [])
    ratings = of_sides if name is None else history.attributes[name].tolist()
    column = pl.Series(name or "", ratings, strict=False)
    notes: list[str] = []
    values, faults = read_ratings(column, notes, by_commas=by_commas)
    matches = history.match_rows()
    problems = []
    for rows, rule in faults:
        at = np.flatnonzero(rows)
        bad[matches[at]] = True
        for row, (file, line) in zip(at.tolist(), lines.of(matches[at]), strict=True):
            player = history.player_ids[history.player[row]]
            got = f"{shown(column[row])} of {player}"
            problems.append(Problem(file, line, name or "white_elo, black_elo", rule, got))
    return _Ratings(values, bad, problems, notes)


def _not_duels(history: History, others: Flags, lines: _Lines) -> list[Problem]:
    """Return a problem for every match that is not a duel, at its first line."""
    at = np.flatnonzero(others)
    sizes, teams = history.sizes()[at].tolist(), history.teams()[at].tolist()
    problems = []
    for match, size, count, (file, line) in zip(
        history.match_ids[at].tolist(), sizes, teams, lines.of(at), strict=True
    ):
        got = counted(size, "player")
        if count != size:
            got += f" in {counted(count, 'team')}"
        problems.append(Problem(file, line, "match", DUEL, f"{got} in match {shown(match)}"))
    return problems

"""Turns the games of PGN, of FIDE reports and of cross tables into the table of a history.

Every game is a match with a row for each player; the reader of long tables does the rest. The time
is the date of the game. If no game has a date, the rounds of one tournament are the order, and else
the order of the source is. If only some games have a date, none is used as long as the source is in
order of time; otherwise nobody knows where the others belong, and they are problems. `select_dates`
selects games by date.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import polars as pl

from equipoise.arrays import Flags, Floats, Ids, Ints
from equipoise.data.games import OTHER, round_numbers
from equipoise.data.reading import HistoryReading
from equipoise.data.times import LAST_ORDER
from equipoise.errors import InvalidDataError, InvalidParameterError, Problem
from equipoise.formats.games.two_sides import (
    GAME,
    both_sides,
    describe_left_out,
    describe_matches,
    places_of,
    players_at,
)
from equipoise.formats.table import (
    BrokenRow,
    GameColumns,
    Options,
    Table,
    in_order,
    no_effect,
    shown,
    spelling,
)
from equipoise.formats.tables.long_table import build_history, in_file
from equipoise.formats.times import ORDER_NOTE, read_times
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

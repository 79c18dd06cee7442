"""Turns the games of PGN, of FIDE reports and of cross tables into the long table of a history.

Every game is a match, and white is said by the column `side`. The time is the date of the game. If
no game has a date, the rounds of one tournament are the order, and else the order of the source is.
If only some games have a date, none is used as long as the source is in order of time; otherwise
nobody knows where the others belong, and they are problems. `select_dates` selects games by date.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import polars as pl

from equipoise.arrays import Flags, Floats, Ids, Ints
from equipoise.data.reading import HistoryReading
from equipoise.data.times import LAST_ORDER
from equipoise.data.tournaments.games import OTHER
from equipoise.data.tournaments.rounds import round_numbers
from equipoise.errors import InvalidDataError, InvalidParameterError, Problem
from equipoise.formats.games.columns import (
    GameColumns,
    both_places,
    both_players,
    both_sides,
    describe_left_out,
    describe_matches,
    in_order,
    players_at,
)
from equipoise.formats.options import Options
from equipoise.formats.table import BrokenRow, Table, shown
from equipoise.formats.tables.long_table import build_history
from equipoise.formats.tables.recognised import spelling
from equipoise.formats.times import ORDER_NOTE, read_times
from equipoise.wording import counted


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
_MADE = ("player", "team", "rank", "winner", "score", "side", "at_home", "rating", "round")


def check_tags(options: Options) -> dict[str, str]:
    """Return the columns that tags of PGN become: name of the column -> tag.

    Raises : InvalidParameterError   a column is that of the players or of the result
    """
    for name in options.columns:
        if spelling(name) in (*_MADE, "white", "black", "result"):
            raise InvalidParameterError(
                f"columns (--column) cannot rename {name} for PGN, which has a tag for it; it can "
                "name a tag for match, time or another fact of a game, such as match=Site"
            )
    return dict(options.columns)


def matches_of_games(
    columns: GameColumns, kind: SourceKind, name: str, options: Options
) -> HistoryReading:
    """Return the history of the games of a source, and all of its problems.

    name : of the file, "" if there is none
    options : `where` is that of columns of the history; tags of PGN are selected before
    Raises : InvalidParameterError   the options do not suit the source
    """
    problems = [*columns.problems]
    dropped = [*columns.dropped]
    kept = _single_games(columns, problems, dropped)
    when = _When.of(columns, kind, kept, options, problems, dropped)
    kept = when.rows
    reading = HistoryReading(history=None)
    if len(kept):
        table = _long_table(columns, kind, name, kept, when, options)
        named = {"player": kind.black, "time": when.field}
        try:
            reading = build_history(table, replace(options, columns={}), own_names=True)
        except InvalidDataError as error:
            reading = replace(reading, problems=error.problems)
        problems += (
            replace(problem, field=named.get(problem.field, problem.field))
            for problem in dict.fromkeys(reading.problems)
        )
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
            *_notes(columns, kind, name, len(kept)),
            *when.notes,
            *(note for note in reading.notes if not note.startswith(ORDER_NOTE)),
        ),
    )


def _single_games(columns: GameColumns, problems: list[Problem], dropped: list[str]) -> Ints:
    """Return the rows that are single games; the others become problems."""
    rows = np.arange(len(columns.points))
    single = np.isin(columns.points, (0.0, 0.5, 1.0))
    if columns.weight is not None:
        single &= columns.weight == 1
    for row in rows[~single].tolist():
        games = 1.0 if columns.weight is None else columns.weight[row]
        got = f"{columns.points[row]:g} of {games:g} games"
        problems.append(Problem(*columns.place(row), "", SINGLE, got))
        dropped.append(_label(columns, row))
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

    @classmethod
    def of(
        cls,
        columns: GameColumns,
        kind: SourceKind,
        rows: Ints,
        options: Options,
        problems: list[Problem],
        dropped: list[str],
    ) -> _When:
        """Return the order of some games; games that have no place in it become problems."""
        tag = options.columns.get("time")
        if tag is not None:
            values = pl.Series(columns.tags[tag][rows].tolist(), dtype=pl.String)
            return cls(rows, values.replace("", None), tag, (f"times come from {tag}",))
        if columns.times is None:
            return _by_round(columns, kind, rows, options)
        times = columns.times.gather(rows)
        undated = times.is_null().to_numpy()
        if undated.any():
            others = times.drop_nulls()
            bounded = options.since is not None or options.until is not None
            if options.skip_bad is None and not bounded and others.is_sorted():
                place = _where(*columns.place(int(rows[undated][0])))
                said = (
                    f"{int(undated.sum()):,} of {counted(len(rows), 'game')} have no complete date "
                    f"(the first: {place}), so no dates are used and the order of the source "
                    "counts; --skip-bad keeps the dates and leaves these games out"
                )
                return cls(rows, None, "", (said,))
            rule = DATED_BOUNDS if bounded and others.is_sorted() else DATED
            problems += undated_problems(columns, rows[undated], rule)
            dropped += (_label(columns, row) for row in rows[undated].tolist())
            rows, times = rows[~undated], others
        order, by_round = _within_days(times, columns.round, rows)
        said = f"times come from {columns.time_source}"
        if by_round:
            said += f"; {kind.round} gives the order within a day"
        return cls(rows[order], times.gather(order), columns.time_source, (said,))


def _by_round(columns: GameColumns, kind: SourceKind, rows: Ints, options: Options) -> _When:
    """Return the order of games without dates: that of their rounds, or that of the source."""
    if kind is CROSS_TABLE:
        return _When(rows, None, "", (_NO_ORDER,))
    events = None if columns.events is None else {*columns.events[rows].tolist()}
    numbers = None
    if columns.round is not None and options.time_format is None and len(events or ()) < 2:
        numbers = round_numbers(columns.round[rows].tolist())
    if numbers is None or not len(numbers) or int(numbers.max()) > LAST_ORDER:
        said = "no game has a complete date, so they are rated in the order of the source"
        return _When(rows, None, "", (said,))
    said = f"no game has a complete date: {kind.round} is the order of the matches, and no days "
    return _When(rows, pl.Series(numbers), kind.round, (said + "are counted",))


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
    known = {label: -1 if found is None else int(found[0]) for label, found in numbers.items()}
    number = labels.replace_strict(known, return_dtype=pl.Int64).to_numpy()
    day = times.to_physical().to_numpy()
    _, of_day = np.unique(day, return_inverse=True)
    unclear = np.bincount(of_day, number < 0) > 0
    number = np.where(unclear[of_day], 0, number)
    order: Ints = np.lexsort((number, day))
    matters = bool(np.any((np.diff(day[order]) == 0) & (np.diff(number[order]) != 0)))
    return (order, True) if matters else (unchanged, False)


def _long_table(
    columns: GameColumns, kind: SourceKind, name: str, kept: Ints, when: _When, options: Options
) -> Table:
    """Return two rows for each of some games, white first."""
    pair = np.repeat(np.arange(len(kept)), 2)
    white, black = (_ids(columns, side[kept]) for side in (columns.white, columns.black))
    numbers = kept + 1 if columns.numbers is None else columns.numbers[kept]
    frame = {
        "match": pl.Series(np.repeat(numbers, 2)),
        "player": both_players(white, black),
        "rank": both_places(columns.points[kept]),
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
        frame["rating"] = pl.Series(both_sides(*(one[kept] for one in ratings))).fill_nan(None)
    broken = [*_selves(kind, white, black)]
    for column, tag in options.columns.items():
        values = pl.Series(columns.tags[tag][kept].tolist(), dtype=pl.String).replace("", None)
        if column == "match":
            broken += _repeated(tag, values)
        if column != "time":
            frame[column] = values.gather(pair)
    return Table(
        frame=pl.DataFrame([values.alias(key) for key, values in frame.items()]),
        name=name,
        locate=lambda rows: [columns.place(one) for one in kept[rows // 2].tolist()],
        broken_rows=tuple(sorted(broken)),
    )


def _ids(columns: GameColumns, side: Ids) -> pl.Series:
    """Return the ids of the players of one side."""
    if columns.players is None:
        return players_at(side, np.arange(len(side)))
    return players_at(columns.players, side)


def _ratings(columns: GameColumns) -> tuple[Floats, Floats] | None:
    """Return the ratings of both sides, None if no player has one."""
    sides = columns.white_rating, columns.black_rating
    given = [one for one in sides if one is not None]
    if not given or all(np.isnan(one).all() for one in given):
        return None
    nothing = np.full(len(columns.points), np.nan)
    white, black = (nothing if one is None else one for one in sides)
    return white, black


def _selves(kind: SourceKind, white: pl.Series, black: pl.Series) -> Iterator[BrokenRow]:
    """Yield the rows of games of a player against the same player."""
    same: Flags = (white == black).to_numpy()
    for game in np.flatnonzero(same).tolist():
        for row in (2 * game, 2 * game + 1):
            yield BrokenRow(row, kind.black, OTHER, shown(black[game]))


def _repeated(tag: str, values: pl.Series) -> Iterator[BrokenRow]:
    """Yield the rows of games whose id is that of an earlier game."""
    again = (~values.is_first_distinct() & values.is_not_null()).to_numpy()
    for game in np.flatnonzero(again).tolist():
        for row in (2 * game, 2 * game + 1):
            yield BrokenRow(row, tag, OWN_ID, shown(values[game]))


def _notes(columns: GameColumns, kind: SourceKind, name: str, games: int) -> Iterator[str]:
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


def _label(columns: GameColumns, row: int) -> str:
    """Return the id of the match of a game that is left out."""
    return str(row + 1 if columns.numbers is None else columns.numbers[row])


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
    found = [
        Problem(*columns.place(row), "Date", rule, "no complete date")
        for row in rows[:_LISTED].tolist()
    ]
    if len(rows) > _LISTED:
        more = f"no complete date, and {len(rows) - _LISTED:,} more without one from here on"
        found.append(Problem(*columns.place(int(rows[_LISTED])), "Date", rule, more))
    return found

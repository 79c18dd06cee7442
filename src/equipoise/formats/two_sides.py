"""Reads the rows of tables with a row for each game of two sides.

`choose_rows` applies the filters, `read_players` and `read_ratings` read the players, and
`read_single_results` and `read_side_scores` the results: two sides and a result, or two sides and
their scores. `lists` makes games of them, and `history_of_sides` a history.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import polars as pl

from equipoise.arrays import Flags, Floats, Ids, Ints
from equipoise.data.games import LARGEST, OTHER, RATING, RoundKind
from equipoise.formats.meanings import (
    Layout,
    source_column,
)
from equipoise.formats.table import (
    Fault,
    Findings,
    Options,
    Table,
    faults_of,
    faulty_rows,
    no_effect,
    spelling,
)
from equipoise.formats.times import Times, read_times
from equipoise.formats.values import (
    NOT_EMPTY,
    NUMBER,
    equal_rows,
    is_nobody,
    mask,
    number_ids,
    numbers_of,
    read_ids,
    read_numbers,
    read_truths,
    text_objects,
    text_of,
    without_marks,
)
from equipoise.wording import counted


def describe_left_out(left_out: Mapping[str, int]) -> str:
    """Return the counts of results that are not games, as text; "" if there are none."""
    return ", ".join(f"{count:,} {reason}" for reason, count in sorted(left_out.items()) if count)


def describe_matches(games: int, what: str, sides: tuple[str, str] | None) -> str:
    """Return the sentence on what was understood.

    sides : what the column `side` says of both, None if neither has an advantage
    """
    sides_note = ""
    if sides is not None:
        sides_note = "; side says who " + ("is at home" if sides[0] == "home" else "has white")
    return (
        f"read {counted(games, 'game')} of {what} as "
        f"{'a match' if games == 1 else 'matches'}{sides_note}"
    )


def both_sides(white: Ids, black: Ids) -> Ids:
    """Return the values of white and of black for each game in turn."""
    values: Ids = np.stack([white, black], axis=1).ravel()
    return values


def places_of(points: Floats) -> tuple[Ints, Ints]:
    """Return the places of white and of black for each game, by white's points."""
    return np.where(points < 0.5, 2, 1), np.where(points > 0.5, 2, 1)


def whole_if_all(numbers: Ids) -> pl.Series:
    """Return numbers as whole numbers if all are, as they are in other histories."""
    fits = np.all((numbers == np.floor(numbers)) & (np.abs(numbers) < 2**53))
    return pl.Series(numbers.astype(np.int64) if fits else numbers)


def players_at(ids: Ids, rows: Ints) -> pl.Series:
    """Return ids as a column: those at some rows, none at -1."""
    kind = pl.String if ids.dtype == object else pl.Int64
    return pl.Series([*ids.tolist(), None], dtype=kind).gather(np.where(rows < 0, len(ids), rows))


#: Values that mean "no rating", in addition to an empty cell and 0.
_UNRATED = ("-", "--", "?", "unrated", "unr", "n/a", "na", "nan", "none", "null")


#: Length in bytes of the longest name that means "no opponent".
_LONGEST_BYE = 10


class Players(NamedTuple):
    """Rows of the first and of the second player among `ids`; -1 if absent.

    bye : rows on which a player had no opponent
    """

    first: Ints
    second: Ints
    ids: Ids
    bye: Flags


@dataclass(slots=True)
class GameRows:
    """The selected rows of a table.

    frame : these rows, under the names of the source
    columns : meaning -> name in the source
    sides : the names by which the two sides were recognised
    filtered : number of rows left out by filters
    notes : sentences for users on the values read
    """

    table: Table
    frame: pl.DataFrame
    columns: dict[str, str]
    findings: Findings
    filtered: int
    sides: tuple[str, str] = ("white", "black")
    notes: list[str] = field(default_factory=list)

    def has(self, meaning: str) -> bool:
        """Return whether the table has a column with this meaning."""
        return meaning in self.columns

    def column(self, meaning: str) -> pl.Series:
        """Return the column with a meaning, as read."""
        return self.frame[self.columns[meaning]]

    def add(self, meaning: str, *faults: Fault) -> None:
        """Record faults in the column with this meaning."""
        if faults:
            self.findings.add_faults(self.columns[meaning], faults, self.column(meaning))

    def numbers(
        self,
        meaning: str,
        default: float | None = None,
        *,
        column: pl.Series | None = None,
        needed: Flags | None = None,
    ) -> Floats:
        """Return a column of numbers, NaN on faulty rows; without a default, empty is a fault.

        column : what stands for the column; needed : rows that must have a number, None for all
        """
        column = self.column(meaning) if column is None else column
        values, absent, faults = numbers_of(column, self.notes, by_commas=self.table.by_commas)
        values = np.where(faulty_rows(faults, len(values)), np.nan, values)
        if absent is not None:
            if default is None:
                absent = absent if needed is None else absent & needed
                faults = (*faults, *faults_of((absent & ~faulty_rows(faults, len(values)), NUMBER)))
            else:
                values = np.where(absent, default, values)
        self.add(meaning, *faults)
        return values

    def ratings(self, meaning: str) -> Floats | None:
        """Return a column of ratings, NaN if unrated; None if there is no such column."""
        if not self.has(meaning):
            return None
        column = self.column(meaning)
        values, faults = read_ratings(column, self.notes, by_commas=self.table.by_commas)
        self.add(meaning, *faults)
        return values

    def rounds(self, kept: Ints) -> Ids | None:
        """Return the round of some rows, None if there is no such column."""
        if not self.has("round"):
            return None
        return text_objects(text_of(self.column("round").gather(kept)))

    def locate(self, kept: Ints) -> Callable[[int], tuple[str, int | None]]:
        """Return a function from rows of `kept` to files and lines."""
        places: list[tuple[str, int | None]] = []

        def place(row: int) -> tuple[str, int | None]:
            # Lines are counted through the complete file, so this is done only once.
            if not places:
                places.extend(self.table.places(self.findings.rows[kept]))
            return places[row]

        return place


def choose_rows(table: Table, layout: Layout, options: Options) -> GameRows:
    """Return the rows on which every filter holds, and rows that could not be parsed.

    Raises : InvalidParameterError   a filter names no column, or there are no times
    """
    chosen = np.ones(len(table.frame), dtype=bool)
    for name, value in options.where:
        column = source_column(name, table.frame, options.columns, "where (--where)")
        chosen &= equal_rows(table.frame[column], value)
    times = _times(table, layout, options)
    if times is not None:
        chosen &= _in_time(times, options)
    chosen[[broken.row for broken in table.broken_rows]] = True
    kept = np.flatnonzero(chosen)
    frame = table.frame if chosen.all() else table.frame.filter(chosen)
    filtered = len(table.frame) - len(kept)
    findings = Findings(table, kept)
    rows = GameRows(table, frame, dict(layout.columns), findings, filtered, layout.sides)
    if times is not None:
        rows.add("time", *(Fault(fault.rows[kept], fault.rule) for fault in times.faults))
    return rows


def _times(table: Table, layout: Layout, options: Options) -> Times | None:
    """Return the time of every row, if times are needed."""
    if options.since is None and options.until is None and options.time_format is None:
        return None
    times = None
    if "time" in layout.columns:
        times = read_times(table.frame[layout.columns["time"]], options.time_format)
    if times is None:
        raise no_effect(
            "since, until and time_format (--from, --until, --time-format) need a column time; "
            "this table has none",
            "a table without a column time",
            *("since", "until", "time_format"),
        )
    return times


def _in_time(times: Times, options: Options) -> Flags:
    """Return the rows in [since, until); a row without a readable time stays, to be reported."""
    inside = times.within(options.since, options.until)
    for rows, _ in times.faults:
        inside |= rows
    return inside


def read_ratings(
    column: pl.Series, notes: list[str], *, by_commas: bool
) -> tuple[Floats, tuple[Fault, ...]]:
    """Return ratings (NaN if missing or faulty), and the faults.

    Empty, 0 and some words mean unrated, and the mark in 1500? is dropped.

    notes : gets sentences on the values
    by_commas : commas separate the columns of the file
    """
    values, _, faults = read_numbers(column)
    if faults and column.dtype in (pl.String, pl.Categorical, pl.Enum):
        text = column.cast(pl.String).str.strip_chars()
        text = text.set(text.str.to_lowercase().is_in(_UNRATED), None)
        values, _, faults = numbers_of(without_marks(text, notes), notes, by_commas=by_commas)
    values = np.where((values == 0) | faulty_rows(faults, len(values)), np.nan, values)
    faults = (*faults, *faults_of((np.abs(values) > LARGEST, RATING)))
    return np.where(np.abs(values) > LARGEST, np.nan, values), faults


def read_players(rows: GameRows, names: Sequence[str], byes: Flags | None = None) -> Players:
    """Return the players of every row, numbered over both columns in order of appearance.

    names : meanings of the two columns
    byes : rows that are known to have no opponent
    """
    pair = [_tidy(rows.column(name)) for name in names]
    called_bye = [_called_bye(column) for column in pair]
    ids = [
        read_ids(column.set(bye, None) if bye is not None else column, rows.table.untyped)
        for column, bye in zip(pair, called_bye, strict=True)
    ]
    if ids[0][0].dtype != ids[1][0].dtype:
        # If only one side has numbers, they are text too.
        ids = [(column.cast(pl.String), faults) for column, faults in ids]
    empty = [mask(column.is_null()) for column, _ in ids]
    bye = np.zeros(len(rows.frame), dtype=bool) if byes is None else byes.copy()
    for called in called_bye:
        bye |= False if called is None else mask(called)
    lacking = bye & ~(empty[0] & empty[1])
    for name, (_, faults), absent in zip(names, ids, empty, strict=True):
        untold = absent & ~lacking & ~faulty_rows(faults, len(absent))
        rows.add(name, *faults, *faults_of((untold, NOT_EMPTY)))
    return _numbered(ids[0][0], ids[1][0], empty, bye)


def read_opponents(
    rows: GameRows, names: Sequence[str], reason: Ints, played: Flags | bool = True
) -> tuple[Players, Ints]:
    """Return the players of every row, who must differ, and why a row is no game.

    reason : as the results say it; played : rows with games
    """
    players = read_players(rows, names, reason == BYE)
    same = (players.first == players.second) & (players.first >= 0) & played
    rows.add(names[1], *faults_of((same, OTHER)))
    return players, np.where(players.bye, BYE, reason)


def _tidy(column: pl.Series) -> pl.Series:
    """Return text without spaces around it."""
    if column.dtype in (pl.Categorical, pl.Enum):
        column = column.cast(pl.String)
    return column.str.strip_chars() if column.dtype == pl.String else column


def _called_bye(column: pl.Series) -> pl.Series | None:
    """Return the rows with a name that means "no opponent"; None if there are none."""
    if column.dtype != pl.String:
        return None
    short = column.filter(column.str.len_bytes() <= _LONGEST_BYE).unique()
    byes = [name for name in short.to_list() if is_nobody(name)]
    return column.is_in(byes).fill_null(False) if byes else None


def _numbered(first: pl.Series, second: pl.Series, empty: Sequence[Flags], bye: Flags) -> Players:
    codes, ids = number_ids(pl.concat([first.alias("id"), second.alias("id")]))
    codes = np.where(np.concatenate(empty), -1, codes)
    codes, ids = by_appearance(codes[: len(first)], codes[len(first) :], ids)
    return Players(codes[: len(first)], codes[len(first) :], ids, bye)


def by_appearance(first: Ints, second: Ints, ids: Ids) -> tuple[Ints, Ids]:
    """Return codes of both columns in order of first appearance (row by row), and their ids.

    first, second : rows of `ids`; absent players have -1, and keep it
    """
    seen = pl.Series(both_sides(first, second)).unique(maintain_order=True)
    order = seen.filter(seen >= 0).to_numpy()
    number = np.full(len(ids) + 1, -1, np.int64)  # the last one is that of -1
    number[order] = np.arange(len(order))
    return number[np.concatenate([first, second])], ids[order]


RESULT = "must be a result: 1-0, 0-1, 1/2-1/2, 1, 0, 0.5, a forfeit (+/-, 1-0F) or * if unfinished"


SCORE = "must be the scores of both sides, such as 3-2, a forfeit (+/-, w/o) or * if unfinished"


#: Reasons why a result is not a game, by number; 0 is a game.
REASONS = ("", "unfinished", "forfeit", "bye", "adjudged")


UNFINISHED, FORFEIT, BYE, _ADJUDGED = 1, 2, 3, 4


_FAULTY = -1


#: A tie in data sets in which people compare language models: neither answer was any good.
BOTH_BAD = "tie(bothbad)"


_WORDS = {
    "white": 1.0,
    "home": 1.0,
    "win": 1.0,
    "won": 1.0,
    "black": 0.0,
    "away": 0.0,
    "loss": 0.0,
    "lost": 0.0,
    "draw": 0.5,
    "drawn": 0.5,
    "tie": 0.5,
    BOTH_BAD: 0.5,
    "=": 0.5,
    "=-=": 0.5,
}


_SHARES = {"1": 1.0, "0": 0.0, "0.5": 0.5, "1/2": 0.5}


_NOT_PLAYED = {
    "*": UNFINISHED,
    "?": UNFINISHED,
    "*-*": UNFINISHED,
    "na": UNFINISHED,
    "n/a": UNFINISHED,
    "na-na": UNFINISHED,
    "unfinished": UNFINISHED,
    "bye": BYE,
    "+": FORFEIT,
    "-": FORFEIT,
    "forfeit": FORFEIT,
    "0-0": FORFEIT,  # neither player came
    "w/o": FORFEIT,
    "walkover": FORFEIT,
}


#: Plus and minus with any separator or none: +/-, -:+, +--, --.
_SIGNS = re.compile(r"[+-][/-]?[+-]")


#: Scores of both sides; a spreadsheet may have made a time of them, 03:02:00.
_SCORES = r"^(\d+(?:\.5)?)[-:\x{2010}-\x{2015}](\d+(?:\.5)?)(?::00)?$"


_NUMBERS = re.compile(r"([01]|1/2|0\.5)(f*)-([01]|1/2|0\.5)(f*)(forfeit)?")


class Results(NamedTuple):
    """Of every row: points of the first side (NaN if no game), number of the reason, faults.

    draw : whether the game was drawn
    both_bad : number of ties that are called bad
    """

    points: Floats
    reason: Ints
    faulty: Flags
    both_bad: int = 0


def read_results(column: pl.Series, first: str, second: str, called: tuple[str, str]) -> Results:
    """Return the results of a column; each value is parsed once.

    first, second : names of the columns of the two sides, which may also name the winner
    called : other names of the two sides, in the spelling of `spelling`
    """
    text = text_of(column)
    codes = text.cast(pl.Categorical)
    distinct = codes.unique()
    numbers = codes.to_physical()
    highest = int(numbers.fill_null(0).to_numpy().max(initial=0))
    table = np.full((highest + 1, 2), np.nan)
    sides = dict(zip(called, (1.0, 0.0), strict=True))
    sides |= {_squeezed(first): 1.0, _squeezed(second): 0.0}
    if _squeezed(first).startswith("home"):
        sides |= {"h": 1.0, "d": 0.5, "a": 0.0}  # home, draw, away
    both_bad = 0
    for number, value in zip(distinct.to_physical().to_list(), distinct.to_list(), strict=True):
        if value is not None:
            table[number] = _parsed(value, sides)
            if _squeezed(value) == BOTH_BAD:
                both_bad += int((numbers == number).sum())
    taken = table[numbers.fill_null(0).to_numpy()]
    taken[mask(text.is_null())] = np.nan, _FAULTY
    reason = taken[:, 1].astype(np.int64)
    points = np.ascontiguousarray(taken[:, 0])
    return Results(points, np.maximum(reason, 0), reason == _FAULTY, both_bad)


def _by_name(results: Results, first: pl.Series, second: pl.Series, column: pl.Series) -> Results:
    """Return the results with rows that name the winner instead, a player of this row."""
    named = text_of(column).str.strip_chars()
    one, other = (mask(side.str.strip_chars() == named) for side in (first, second))
    won, lost = results.faulty & one & ~other, results.faulty & other & ~one
    points = np.where(won, 1.0, np.where(lost, 0.0, results.points))
    return results._replace(points=points, faulty=results.faulty & ~won & ~lost)


def _by_score(column: pl.Series, results: Results) -> Results | None:
    """Return the results of scores such as 2-1 or 3:0, None if the column has other results.

    All values are scores, or half of the scores are of no game of chess.

    results : of the column read as results of chess, which count where there is no score
    """
    text = text_of(column).str.replace_all(r"\s", "").str.replace_all(",", ".", literal=True)
    scores = mask(text.str.contains(_SCORES).fill_null(False))
    every = int(scores.sum())
    of_no_chess = int((scores & results.faulty).sum())
    if not every or (every < len(text) - text.null_count() and 2 * of_no_chess < every):
        return None
    one, other = (text.str.extract(_SCORES, at).cast(pl.Float64) for at in (1, 2))
    lead = np.sign((one - other).fill_null(0.0).to_numpy())
    return Results(
        np.where(scores, (1.0 + lead) / 2, results.points),
        np.where(scores, 0, results.reason),
        results.faulty & ~scores,
    )


def _parsed(text: str, sides: dict[str, float]) -> tuple[float, int]:
    """Return points of the first side, and the number of the reason."""
    plain = _squeezed(text)
    for known in (_WORDS, _SHARES, sides):
        if plain in known:
            return known[plain], 0
    if spelling(text) in sides:
        return sides[spelling(text)], 0
    if plain in _NOT_PLAYED:
        return np.nan, _NOT_PLAYED[plain]
    if _SIGNS.fullmatch(plain):
        return np.nan, FORFEIT
    numbers = _NUMBERS.fullmatch(plain)
    if numbers is None:
        return np.nan, _FAULTY
    one, forfeited, other, also, extra_mark = numbers.groups()
    if forfeited or also or extra_mark:
        return np.nan, FORFEIT
    points = _SHARES[one]
    together = points + _SHARES[other]
    if together > 1:
        return np.nan, _FAULTY
    # 1/2-0: decided by an arbiter, not by play.
    return (points, 0) if together == 1 else (np.nan, _ADJUDGED)


def forfeited_as(text: str) -> tuple[RoundKind, RoundKind]:
    """Return what a forfeit was for both sides: "unknown" where the text does not say."""
    plain = _squeezed(text)
    if plain in ("+", "-"):
        plain += "-" if plain == "+" else "+"
    words: dict[str, RoundKind] = {"+": "forfeit-win", "-": "forfeit-loss"}
    if _SIGNS.fullmatch(plain):
        return words[plain[0]], words[plain[-1]]
    numbers = _NUMBERS.fullmatch(plain)
    if numbers is None:
        return "unknown", "unknown"
    words = {"1": "forfeit-win", "0": "forfeit-loss"}
    return words.get(numbers[1], "unknown"), words.get(numbers[3], "unknown")


def bye_of(text: str, first: bool) -> RoundKind:
    """Return what a bye was, by its result; first : whether the player is the first of the row."""
    plain = _squeezed(text)
    numbers = _NUMBERS.fullmatch(plain)
    if numbers is not None:
        plain = numbers[1] if first else numbers[3]
    elif _SIGNS.fullmatch(plain):
        plain = plain[0] if first else plain[-1]
    drawn = _WORDS.get(plain) == _SHARES["1/2"]
    points = 0.5 if drawn else {**_SHARES, "-": 0.0, "loss": 0.0, "lost": 0.0}.get(plain, 1.0)
    return "pairing-bye" if points == 1.0 else "half-bye" if points else "zero-bye"


def _squeezed(text: str) -> str:
    """Return text in one spelling: small letters, no spaces, one kind of dash, half and point."""
    plain = re.sub(r"\s", "", text).casefold().replace("\u00bd", "1/2").replace(",", ".")
    plain = re.sub(r"[\u2010-\u2015\u2212:]", "-", plain)
    return re.sub(r"(?<![\d.])(\d*)\.(\d*?)0*(?!\d)", _number, plain)


def _number(number: re.Match[str]) -> str:
    """Return a decimal number without superfluous zeros: 1.0, .5, 0.50."""
    whole, part = number.groups()
    if not whole and not part:
        return number.group()
    return (whole or "0") + (f".{part}" if part else "")


class Totals(NamedTuple):
    """The results of rows; each has shape (rows,).

    points : of the first player; games : number of games; draws : number of drawn games, None if
      unknown; reason : why the row is not a game, a number of `REASONS`
    """

    points: Floats
    games: Floats
    draws: Floats | None
    reason: Ints


def always_won(rows: int) -> Totals:
    """Return the totals of games that the first player has won."""
    return Totals(np.ones(rows), np.ones(rows), np.zeros(rows), np.zeros(rows, np.int64))


def read_single_results(rows: GameRows, first: str, second: str) -> Totals:
    """Return the totals of rows with one game each, after recording faults.

    first, second : meanings of the columns of the two players
    """
    column = rows.column("result")
    if rows.columns["result"] == rows.columns[first]:  # tables of winners and losers
        return always_won(len(column))
    results = read_results(column, rows.columns[first], rows.columns[second], rows.sides)
    # A list of chess has no scores: there 0-0 is a forfeit, and 2-1 is a slip.
    of_chess = spelling(rows.columns[first]).startswith("white")
    rule = RESULT
    by_score = None if of_chess or not results.faulty.any() else _by_score(column, results)
    if by_score is not None:
        results = by_score
        name = rows.columns["result"]
        rows.notes.append(f"{name} has the scores of both sides: the higher one wins")
        rule = SCORE
    elif results.faulty.any():
        results = _by_name(
            results, text_of(rows.column(first)), text_of(rows.column(second)), column
        )
    faulty, empty = results.faulty, mask(text_of(column).is_null())
    if empty.any():  # A bye needs no result.
        for called in (_called_bye(_tidy(rows.column(name))) for name in (first, second)):
            faulty = faulty if called is None else faulty & ~(mask(called) & empty)
    rows.add("result", *faults_of((faulty, rule)))
    if results.both_bad:
        rows.notes.append(f"tie (bothbad) counts as a tie: {counted(results.both_bad, 'row')}")
    draws = (results.points == 0.5).astype(np.float64)
    return Totals(results.points, np.ones(len(draws)), draws, results.reason)


def count_reasons(reasons: Ints) -> Counter[str]:
    """Return the number of rows that are no games, by reason."""
    counts = np.bincount(reasons, minlength=len(REASONS)).tolist()
    # The first reason is that of games, which are not left out.
    return +Counter(dict(zip(REASONS[1:], counts[1:], strict=True)))


#: Words for a value that is not known, such as the score of a match that was not played yet.
_NO_VALUE = ("", "na", "n/a", "nan", "-", "?", "*")


def read_side_scores(rows: GameRows) -> tuple[Floats, Floats, Ints]:
    """Return the scores of both sides, NaN if there is none, and why a row is no game.

    Without both scores, a row is not played yet. The reason is a number of `REASONS`.
    """
    names = ("white_score", "black_score")
    absent = [_without_value(rows.column(name)) for name in names]
    coming = absent[0] & absent[1]
    scores = []
    for name in names:
        column = rows.column(name)
        if coming.any():
            column = column.set(pl.Series(coming), None)
        scores.append(rows.numbers(name, column=column, needed=~coming))
    return scores[0], scores[1], np.where(coming, UNFINISHED, 0)


def _without_value(column: pl.Series) -> Flags:
    text = text_of(column).str.strip_chars().str.to_lowercase()
    return mask(text.is_null() | text.is_in(_NO_VALUE))


def read_neutral(rows: GameRows) -> Flags | None:
    """Return the matches on neutral ground, None if the table does not say."""
    if not rows.has("neutral"):
        return None
    column = rows.column("neutral")
    unknown = _without_value(column)
    truths, faults = read_truths(column.set(pl.Series(unknown), None))
    rows.add("neutral", *faults)
    flags: Flags = truths & ~unknown
    return flags & ~faulty_rows(faults, len(flags))


GAME = "must hold at least one game"

"""Reads games from any source: `read_games` refuses bad input, `scan_games` lists its problems.

The steps are the same for every format. Ids become rows in the order in which they first appear in
the games, white before black, and then in the list of others. Names are merged only by synonyms.
The first rating of a player in the games is the initial rating.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple, get_args

import numpy as np
import polars as pl

from equipoise.arguments import checks_arguments
from equipoise.arrays import Floats, Ids, Ints
from equipoise.data.reading import GamesReading
from equipoise.data.tournaments.games import OTHER, Games, id_array
from equipoise.data.tournaments.rounds import Rounds, round_numbers, rounds_of_games
from equipoise.errors import InvalidDataError, Problem, require
from equipoise.formats.games.columns import (
    GameColumns,
    both_sides,
    describe_repeated,
    describe_strangers,
    in_order,
)
from equipoise.formats.games.rows import by_appearance
from equipoise.formats.games.sources import Holding, read_columns
from equipoise.formats.histories import summarise
from equipoise.formats.likely_doubles import describe_doubles
from equipoise.formats.options import Instant, Where, check_options, check_sheet
from equipoise.formats.sources import Format
from equipoise.formats.synonyms import Synonyms, read_synonyms, strangers
from equipoise.formats.table import shown
from equipoise.formats.tables.columns import number_ids

#: Largest number of players and of ratings in a note; the rest is counted.
_SHOWN = 4


class GameRatings(NamedTuple):
    """Ratings of players and of games; None if there are none, or games have no others.

    initial : the first rating of each player, NaN if there is none
    white, black : the ratings of each game, or the initial rating if the game has none
    """

    initial: Floats | None
    white: Floats | None
    black: Floats | None


def gather_ratings(
    columns: GameColumns, ids: Ids, white: Ints, black: Ints, others: Ints
) -> tuple[GameRatings, tuple[str, ...]]:
    """Return the ratings of players and games, and a note on players with several.

    ids : of the players; white, black, others : rows of the players in the source's columns
    """
    sides = (_given(columns.white_rating, white), _given(columns.black_rating, black))
    given = both_sides(*sides)
    who = np.concatenate([both_sides(white, black), others])
    rating = np.concatenate([given, _given(columns.other_rating, others)])
    known = np.flatnonzero(~np.isnan(rating))
    if not len(known):
        return GameRatings(None, None, None), ()
    initial = np.full(len(ids), np.nan)
    # Assigned from the last to the first, so that the first one stays.
    initial[who[known[::-1]]] = rating[known[::-1]]
    again = known[rating[known] != initial[who[known]]]
    note = _describe(ids, initial, who[again], rating[again])
    if not len(again):
        return GameRatings(initial, None, None), ()
    filled = [
        np.where(np.isnan(given), initial[rows], given)
        for given, rows in zip(sides, (white, black), strict=True)
    ]
    return GameRatings(initial, *filled), note


def _given(rating: Floats | None, rows: Ints) -> Floats:
    return np.full(len(rows), np.nan) if rating is None else rating


def _describe(ids: Ids, initial: Floats, who: Ints, rating: Floats) -> tuple[str, ...]:
    """Return a note on the first few players whose ratings differ."""
    players = np.unique(who).tolist()
    if not players:
        return ()
    listed = []
    for player in players[:_SHOWN]:
        others = np.unique(rating[who == player])
        shown = [f"{one:g}" for one in (initial[player], *others[:_SHOWN])]
        more = [] if len(others) <= _SHOWN else ["..."]
        listed.append(f"{ids[player]} ({', '.join([*shown, *more])})")
    rest = len(players) - _SHOWN
    which = ", ".join(listed) + (f" and {rest:,} more" if rest > 0 else "")
    return (f"ratings differ between games; the first one is the initial rating: {which}",)


GAME = "must hold at least one game"

#: Reasons for leaving results out, in the order of reports; others follow.
ORDER = (
    "unfinished",
    "without moves",
    "forfeit",
    "abandoned",
    "bye",
    "adjudged",
    "lost by both",
    "unrated",
    "filtered",
)


@dataclass(slots=True)
class _Roster:
    """Who plays: rows of `ids` for both sides of every result, and for the other players."""

    white: Ints
    black: Ints
    others: Ints
    ids: Ids


def assemble_games(
    columns: GameColumns,
    name: str = "",
    synonyms: Mapping[str, str] | None = None,
    *,
    skip_bad: bool = False,
) -> GamesReading:
    """Return the games of a source, and all of their problems.

    name : of the file, for problems without a line
    synonyms : name -> name of the player
    skip_bad : leave out results that break a rule
    """
    roster = _roster(columns)
    unknown: tuple[str, ...] = ()
    if synonyms:
        unknown = describe_strangers(strangers(synonyms, _texts(roster.ids)))
        roster = _merged(roster, synonyms)
    selves = np.flatnonzero(roster.white == roster.black)
    problems = in_order([*columns.problems, *_selves(columns, roster, selves)])
    left_out = _ordered(columns.left_out)
    skipped, skipping = 0, skip_bad and bool(problems) and not columns.refused
    if skipping:
        skipped = columns.skipped + len(selves)
        columns, roster = _without(columns, roster, selves)
    if (skipping or not problems) and not len(columns.points):
        reasons = ", ".join(f"{count:,} {reason}" for reason, count in left_out.items())
        missing = Problem(name, None, "", GAME, f"none, but {reasons}" if reasons else "none")
        problems, skipping = (*problems, missing), False
    games, notes = None, (*columns.notes, *unknown)
    if skipping or not problems:
        try:
            games, more = _games(columns, roster)
            notes += more
        except InvalidDataError as error:
            found = tuple(_located(one, columns, name) for one in error.problems)
            problems = (*problems, *found)
    return GamesReading(
        games=games,
        problems=problems,
        skipped=0 if games is None else skipped,
        left_out=left_out,
        notes=notes,
        format=columns.format,
        kind=columns.kind,
        columns=columns.meanings,
    )


def _without(columns: GameColumns, roster: _Roster, dropped: Ints) -> tuple[GameColumns, _Roster]:
    """Return columns and roster without some of the games."""
    if not len(dropped):
        return columns, roster
    kept = np.delete(np.arange(len(columns.points)), dropped)
    white, black = roster.white[kept], roster.black[kept]
    return columns.keep(kept), _appearing(white, black, roster.others, roster.ids)


def _games(columns: GameColumns, roster: _Roster) -> tuple[Games, tuple[str, ...]]:
    """Return the games, and notes on ratings, pairings and names."""
    ratings, differing = gather_ratings(
        columns, roster.ids, roster.white, roster.black, roster.others
    )
    draws = columns.draws
    if draws is None and columns.weight is None:
        # For single games the points show draws, if they are points of chess.
        drawn = columns.points == 0.5
        whole = np.all(drawn | (columns.points == 0) | (columns.points == 1))
        draws = drawn.astype(np.float64) if whole else None
    games = Games(
        player_ids=roster.ids,
        white=roster.white,
        black=roster.black,
        points=columns.points,
        weight=columns.weight,
        rating=ratings.initial,
        white_rating=ratings.white,
        black_rating=ratings.black,
        draws=draws,
        coloured=columns.coloured,
    )
    games = replace(games, rounds=_rounds(columns, roster, games))
    doubles: tuple[str, ...] = ()
    if roster.ids.dtype == object:
        doubles = describe_doubles(roster.ids.tolist())
    return games, (*differing, *describe_repeated(games), *doubles)


def _rounds(columns: GameColumns, roster: _Roster, games: Games) -> Rounds | None:
    """Return the rounds of all players, None if they are not known."""
    if columns.rounds is not None:
        return columns.rounds.of_players(roster.others, games.players)
    numbers = None if columns.round is None else round_numbers(columns.round)
    return None if numbers is None else rounds_of_games(games, numbers)


def _roster(columns: GameColumns) -> _Roster:
    """Return the players of a source in order of appearance."""
    named = np.zeros(0, object) if columns.others is None else columns.others
    if columns.players is None:
        parts: list[Ids] = [columns.white, columns.black, named]
    else:
        parts = [columns.players, named]
    codes, ids = _coded(parts)
    lengths = np.cumsum([len(part) for part in parts])
    split = np.split(codes, lengths[:-1])
    if columns.players is None:
        white, black, others = split
    else:
        white, black, others = split[0][columns.white], split[0][columns.black], split[1]
    return _appearing(white, black, others, ids)


def _coded(parts: list[Ids]) -> tuple[Ints, Ids]:
    """Return a number for every id in several columns, and the id of every number."""
    present = [part for part in parts if len(part)]
    if all(part.dtype != object for part in present):
        values = np.concatenate([np.zeros(0, np.int64), *present])
        return number_ids(pl.Series(values))
    texts = [pl.Series([str(one) for one in part.tolist()], dtype=pl.String) for part in present]
    return number_ids(pl.concat(texts))


def _appearing(white: Ints, black: Ints, others: Ints, ids: Ids) -> _Roster:
    """Return the roster with ids in order of appearance, and without those who do not appear."""
    # The others follow as if each had a row.
    first, second = np.concatenate([white, others]), np.concatenate([black, others])
    both, ids = by_appearance(first, second, ids)
    games, rows = len(white), len(first)
    return _Roster(both[:games], both[rows : rows + games], both[games:rows], ids)


def _texts(ids: Ids) -> dict[str, int]:
    """Return text of an id -> its row."""
    return {str(one): row for row, one in enumerate(ids.tolist())}


def _merged(roster: _Roster, synonyms: Mapping[str, str]) -> _Roster:
    """Return the roster with synonyms replaced by their players."""
    row_of = _texts(roster.ids)
    names: list[str | int] = roster.ids.tolist()
    target = np.arange(len(names))
    for row, text in enumerate(list(row_of)):
        player = synonyms.get(text)
        if player is None:
            continue
        if player not in row_of:
            row_of[player] = len(names)
            names.append(int(player) if _is_whole(roster.ids, player) else player)
        target[row] = row_of[player]
    white, black, others = (target[rows] for rows in (roster.white, roster.black, roster.others))
    return _appearing(white, black, others, id_array(names))


def _is_whole(ids: Ids, text: str) -> bool:
    """Return whether text is a whole number, as the other ids are."""
    return ids.dtype != object and text.isascii() and text.isdecimal() and len(text) <= 18


def _selves(columns: GameColumns, roster: _Roster, selves: Ints) -> list[Problem]:
    """Return a problem for every game of a player against the same player."""
    field = "black" if columns.coloured else "opponent"
    problems = []
    for game in selves.tolist():
        got = shown(roster.ids[roster.white[game]])
        problems.append(Problem(*columns.place(game), field, OTHER, got))
    return problems


def _located(problem: Problem, columns: GameColumns, name: str) -> Problem:
    """Return a problem of a row of games with the file and line of the row."""
    file, line = name, problem.line
    if line is not None and columns.locate is not None:
        file, line = columns.locate(line - 1)
    return Problem(file, line, problem.field, problem.rule, problem.got)


def _ordered(left_out: Mapping[str, int]) -> dict[str, int]:
    """Return the reasons that occur, in a fixed order."""
    known = [*ORDER, *sorted(set(left_out) - set(ORDER))]
    return {reason: left_out[reason] for reason in known if left_out.get(reason)}


@checks_arguments()
def scan_games(
    source: object,
    *,
    format: str | None = None,
    sheet: str | int | None = None,
    columns: Mapping[str, str] | None = None,
    where: Where | None = None,
    since: Instant | None = None,
    until: Instant | None = None,
    time_format: str | None = None,
    synonyms: Synonyms | None = None,
    skip_bad: bool = False,
) -> GamesReading:
    """Return the games of a source, what was left out, and all problems.

    source : as `scan_history` takes it
    format : what the source contains ("pgn", "trf", "games", "pairs", "crosstable", "history") or
      how its table is stored ("csv", "parquet", ...), if neither its name nor its content shows it
    sheet : name or number, from 1, of the sheet of a workbook, if several have a table
    columns : name of a column of games -> name in the source; only for tables
    where : keep games in which a column, or a tag of PGN, has a value
    since, until : keep games with times in [since, until): ISO 8601 text, a date, or in the format
      of a table's times
    time_format : format of these times: "iso", "s", "ms", "us", "excel" or a pattern of strptime;
      None detects it if only one fits
    synonyms : file (.csv with name and same_as, or .json) or mapping from a name to the name of the
      same player
    skip_bad : leave out games, rows and cells that break a rule; they are counted and listed. A
      rating that cannot be read counts as missing. Problems of a complete file are never skipped
    Returns : GamesReading           its `games` is None if problems prevent it
    Raises : InvalidParameterError   wrong usage; bad content does not raise

    Examples
    --------
    >>> reading = eq.scan_games("examples/league.csv")
    >>> reading.skipped, reading.left_out
    (0, {})
    """
    check_sheet(sheet)
    options = check_options(
        columns, (), "matches" if skip_bad else None, since, until, where, time_format
    )
    known = (*get_args(Holding), *get_args(Format))
    require(format is None or format in known, "format", f"one of {', '.join(known)}", format)
    try:
        names = None if synonyms is None else read_synonyms(synonyms)
        found = read_columns(source, format, options, sheet)
    except InvalidDataError as error:
        return GamesReading(games=None, problems=error.problems)
    is_path = isinstance(source, str | os.PathLike) and str(source) != "-"
    return assemble_games(found, str(source) if is_path else "", names, skip_bad=skip_bad)


@checks_arguments()
def read_games(
    source: object,
    *,
    format: str | None = None,
    sheet: str | int | None = None,
    columns: Mapping[str, str] | None = None,
    where: Where | None = None,
    since: Instant | None = None,
    until: Instant | None = None,
    time_format: str | None = None,
    synonyms: Synonyms | None = None,
    skip_bad: bool = False,
) -> Games:
    """Return the games of a source; the parameters are those of `scan_games`.

    Raises : InvalidDataError        there are problems; lists all of them
    Raises : InvalidParameterError   wrong usage

    Examples
    --------
    >>> eq.read_games("examples/league.csv")
    <Games: 1,080 results between 6 players>
    """
    reading = scan_games(
        source,
        format=format,
        sheet=sheet,
        columns=columns,
        where=where,
        since=since,
        until=until,
        time_format=time_format,
        synonyms=synonyms,
        skip_bad=skip_bad,
    )
    if reading.games is None:
        raise InvalidDataError(reading.problems, summarise(reading.problems, source))
    return reading.games

"""Reads games from any source: `read_games` refuses bad input, `scan_games` lists its problems.

The steps are the same for every format. Ids become rows in the order in which they first appear in
the games, white before black, and then in the list of others. Names are merged only by synonyms.
The first rating of a player in the games is the initial rating.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import get_args

import numpy as np
import polars as pl

from equipoise.arguments import checks_arguments
from equipoise.arrays import Floats, Ids, Ints
from equipoise.data.games import OTHER, GameColumns, Games, Rounds, round_numbers, rounds_of_games
from equipoise.errors import InvalidDataError, InvalidParameterError, Problem, require
from equipoise.formats.column_names import KNOWN, MEANINGS
from equipoise.formats.conversions import read_duels, select_dates, wanted_tags
from equipoise.formats.crosstable import may_be_cross_table, read_cross_table
from equipoise.formats.game_lists import read_game_list, read_pair_table
from equipoise.formats.histories import check_options, check_sheet, summarise
from equipoise.formats.meanings import (
    KINDS,
    Kind,
    Layout,
    check_once,
    check_renamings,
    exact_names,
    instead,
    join_clock_times,
    read_header,
    recognise,
    rule_for_players,
    without_needless_format,
)
from equipoise.formats.names import (
    Synonyms,
    describe_doubles,
    describe_strangers,
    merge_ids,
    read_synonyms,
)
from equipoise.formats.pgn import read_pgn
from equipoise.formats.sources import Holding, notes_of, open_games
from equipoise.formats.table import (
    CONTEST_FORMATS,
    Format,
    GamesReading,
    Instant,
    Options,
    Table,
    Where,
    columns_in_words,
    in_order,
    refuse,
    refuse_options,
    shown,
    spelling,
)
from equipoise.formats.trf import read_trf
from equipoise.formats.two_sides import GAME, both_sides, by_appearance, players_at
from equipoise.formats.values import number_ids

GAME_LIST = (
    "must have white, black and result (or points, or home_score and away_score) to be a list of "
    "games"
)
PAIR_TABLE = "must have player, opponent and points (or result, or wins and losses) to be pairs"
LONG_TABLE = "must have match, player and rank (or winner, or score) to be a history of matches"
#: Formats that can only contain a history of matches.
_CONTESTS = tuple(kind for kind in CONTEST_FORMATS if kind != "json")
#: Largest number of players, ratings or pairings in a note; the rest is counted.
_SHOWN = 4


def gather_ratings(
    columns: GameColumns, roster: _Roster
) -> tuple[Floats | None, tuple[Floats, Floats] | None, tuple[str, ...]]:
    """Return the first rating of each player, those of both sides of games, and a note.

    The first rating of a player is NaN if there is none; None: nobody has one. Ratings of games are
    None if no game has another rating than the first one; a game without has the first one.
    """
    sides = (_given(columns.white_rating, roster.white), _given(columns.black_rating, roster.black))
    who = np.concatenate([both_sides(roster.white, roster.black), roster.others])
    rating = np.concatenate([both_sides(*sides), _given(columns.other_rating, roster.others)])
    known = np.flatnonzero(~np.isnan(rating))
    if not len(known):
        return None, None, ()
    initial = np.full(len(roster.ids), np.nan)
    # Assigned from the last to the first, so that the first one stays.
    initial[who[known[::-1]]] = rating[known[::-1]]
    again = known[rating[known] != initial[who[known]]]
    if not len(again):
        return initial, None, ()
    white, black = (
        np.where(np.isnan(own), initial[rows], own)
        for own, rows in zip(sides, (roster.white, roster.black), strict=True)
    )
    return initial, (white, black), _describe(roster.ids, initial, who[again], rating[again])


def _given(rating: Floats | None, rows: Ints) -> Floats:
    return np.full(len(rows), np.nan) if rating is None else rating


def _describe(ids: Ids, initial: Floats, who: Ints, rating: Floats) -> tuple[str, ...]:
    """Return a note on the first few players whose ratings differ."""
    players = np.unique(who).tolist()
    listed = []
    for player in players[:_SHOWN]:
        others = np.unique(rating[who == player])
        shown = [f"{rating:g}" for rating in (initial[player], *others[:_SHOWN])]
        more = [] if len(others) <= _SHOWN else ["..."]
        listed.append(f"{ids[player]} ({', '.join([*shown, *more])})")
    which = ", ".join(listed) + _more(len(players))
    return (f"ratings differ between games; the first one is the initial rating: {which}",)


#: Fewest players of a round robin; three players soon have all met.
_FEWEST = 4
#: Largest share of pairings that may break the rule of a round robin, and a number that always may.
_SHARE, _ALWAYS = 0.1, 2


def describe_repeated(games: Games) -> tuple[str, ...]:
    """Return a note on pairings that occur too often in what is otherwise a round robin.

    In a round robin all players meet equally often; one in ten pairings may differ.
    """
    low, high = np.minimum(games.white, games.black), np.maximum(games.white, games.black)
    players = int(np.count_nonzero(games.played()))
    pairings = players * (players - 1) // 2
    exceptions = max(_ALWAYS, int(_SHARE * pairings))
    if players < _FEWEST or games.rows < pairings - exceptions:
        return ()
    keys, first, counts = np.unique(
        low * games.players + high, return_index=True, return_counts=True
    )
    often = int(np.bincount(counts).argmax())
    again = np.flatnonzero(counts > often)
    regular = int(np.sum(counts == often))
    if not len(again) or pairings - regular > exceptions or len(keys) < pairings - exceptions:
        return ()
    times = {1: "once", 2: "twice"}.get(often, f"{often} times")
    listed = [
        f"{games.player_ids[games.white[row]]} - {games.player_ids[games.black[row]]}"
        for row in np.sort(first[again])[:_SHOWN].tolist()
    ]
    which = "; ".join(listed) + _more(len(again))
    return (
        f"most pairings occur {times}, as in a round robin, but these occur more often: {which}",
    )


def _more(count: int) -> str:
    return f" and {count - _SHOWN:,} more" if count > _SHOWN else ""


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
    roster = _appearing(columns.white, columns.black, columns.others, columns.players)
    unknown: tuple[str, ...] = ()
    if synonyms:
        names = players_at(roster.ids, np.arange(len(roster.ids)))
        unknown = describe_strangers(synonyms, names.cast(pl.String))
        rows, ids = number_ids(merge_ids(names, synonyms))
        roster = _appearing(rows[roster.white], rows[roster.black], rows[roster.others], ids)
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
            located = tuple(_located(problem, columns, name) for problem in error.problems)
            problems = (*problems, *located)
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
    initial, own, differing = gather_ratings(columns, roster)
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
        rating=initial,
        white_rating=None if own is None else own[0],
        black_rating=None if own is None else own[1],
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
    if numbers is None:
        return None
    without = round_numbers(np.array([entry.round for entry in columns.unplayed], dtype=object))
    if without is None:
        return rounds_of_games(games, numbers)
    # The last one is that of no opponent, -1.
    row_of = np.full(len(columns.players) + 1, -1)
    for source, rows in (
        (columns.white, roster.white),
        (columns.black, roster.black),
        (columns.others, roster.others),
    ):
        row_of[source] = rows
    unplayed = [
        (int(row_of[entry.player]), int(row_of[entry.opponent]), number, entry.kind)
        for entry, number in zip(columns.unplayed, without.tolist(), strict=True)
    ]
    return rounds_of_games(games, numbers, unplayed)


def _appearing(white: Ints, black: Ints, others: Ints, ids: Ids) -> _Roster:
    """Return the roster with ids in order of appearance, and without those who do not appear."""
    # The others follow as if each had a row.
    first, second = np.concatenate([white, others]), np.concatenate([black, others])
    both, ids = by_appearance(first, second, ids)
    games, rows = len(white), len(first)
    return _Roster(both[:games], both[rows : rows + games], both[games:rows], ids)


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


def read_columns(
    source: object, format: str | None, options: Options, sheet: str | int | None = None
) -> GameColumns:
    """Return the games of a source as its reader returns them.

    format : one of `Holding` or of `sources.Format`; None detects it
    sheet : name or number, from 1, of the sheet of a workbook
    Raises : InvalidParameterError   the kind of source is unclear, or options do not suit it
    Raises : InvalidDataError        it does not have this format, or cannot be read
    """
    opened = open_games(source, format, sheet)
    if isinstance(opened, Table):
        return _games_of_table(opened, format, options)
    if opened[0].format == "pgn":
        refuse_options(replace(options, since=None, until=None), "PGN", tags=True)
        dated = options.since is not None or options.until is not None
        columns = read_pgn(opened, where=wanted_tags(options), dated=dated)
    else:
        refuse_options(replace(options, since=None, until=None), "a report in TRF")
        columns = read_trf(opened[0].content(), opened[0].name)
    columns = replace(columns, notes=(*notes_of(opened), *columns.notes))
    return select_dates(columns, options)


def _games_of_table(table: Table, format: str | None, options: Options) -> GameColumns:
    """Return the games of a table, with the reader that its columns need.

    format : what it contains ("games", "pairs", "crosstable", "history"), or how it is stored
    Raises : InvalidParameterError   columns fit several kinds, or the options do not suit
    Raises : InvalidDataError        columns fit no kind
    """
    table = join_clock_times(table, options)
    if format == "crosstable":
        return _of_cross_table(table, options)
    if format == "history" or format in _CONTESTS:
        return read_duels(table, options)
    try:
        layout = _find_layout(table, options, KINDS.get(format or ""))
    except InvalidDataError:
        if format not in KINDS and may_be_cross_table(table):
            return _of_cross_table(table, options)
        players = rule_for_players(table.frame.columns, options.columns)
        if players is not None and format not in KINDS:
            refuse(table.name, players, f"columns {', '.join(table.frame.columns)}")
        raise
    if not len(table.frame):
        refuse(table.name, "must have at least one row", "none")
    if layout.kind == "history":
        return read_duels(table, options)
    table, options = without_needless_format(table, options, layout.columns.get("time"))
    read = read_game_list if layout.kind == "games" else read_pair_table
    columns = read(table, layout, options)
    return replace(columns, format=table.format, kind=layout.kind, meanings=layout.columns)


def _find_layout(table: Table, options: Options, kind: Kind | None) -> Layout:
    """Return the one layout that fits a table.

    kind : kind of table; None detects it from the columns
    Raises : InvalidParameterError   several layouts fit, or a named column does not exist
    Raises : InvalidDataError        no layout fits, or columns are ambiguous; the message says what
      each layout needs
    """
    frame, renamed = table.frame, options.columns
    check_renamings(frame, renamed, (*KNOWN, *MEANINGS))
    header = read_header(frame.columns, renamed)
    history = header.history
    present = exact_names(frame.columns, renamed)
    paired = "opponent" in {spelling(name) for name in present}
    if paired and "score" in present and not {"rank", "winner"} & present:
        # With a column opponent, a score belongs to a table of pairs.
        history = replace(history, missing=(*history.missing, "rank"))
    layouts = [
        layout for layout in (header.games, header.pairs, history) if kind in (None, layout.kind)
    ]
    fitting = [layout for layout in layouts if not layout.missing]
    if not fitting and kind in (None, "history") and not recognise(frame, options).missing:
        return Layout("history", {}, False, ())
    if len(fitting) > 1:
        names = " and ".join(layout.kind for layout in fitting)
        raise InvalidParameterError(
            f"format (--format) must be given if columns fit both {names}; "
            f"got {columns_in_words(frame.columns)}"
        )
    if fitting:
        check_once(fitting[0], table, renamed)
        return fitting[0]
    got = f", but {columns_in_words(frame.columns)}"
    rules = {"games": GAME_LIST, "pairs": PAIR_TABLE, "history": LONG_TABLE}
    fewest = min(len(layout.missing) for layout in layouts)
    problems: list[Problem] = []
    for layout in sorted(layouts, key=lambda layout: len(layout.missing)):
        hint = instead(layout, frame.columns) if len(layout.missing) == fewest else ""
        lacking = f"no {', no '.join(layout.missing)}{'' if problems else got}{hint}"
        problems.append(Problem(table.name, None, "", rules[layout.kind], lacking))
    raise InvalidDataError(problems)


def _of_cross_table(table: Table, options: Options) -> GameColumns:
    refuse_options(options, "a cross table")
    return read_cross_table(table)


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
    skipping = {"statistics": (), "skip_bad": "matches" if skip_bad else None}
    options = check_options(locals() | skipping)
    known = (*get_args(Holding), *get_args(Format))
    require(format is None or format in known, "format", f"one of {', '.join(known)}", format)
    try:
        names = None if synonyms is None else read_synonyms(synonyms)
        columns_read = read_columns(source, format, options, sheet)
    except InvalidDataError as error:
        return GamesReading(games=None, problems=error.problems)
    is_path = isinstance(source, str | os.PathLike) and str(source) != "-"
    return assemble_games(columns_read, str(source) if is_path else "", names, skip_bad=skip_bad)


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
    reading = scan_games(**locals())
    if reading.games is None:
        raise InvalidDataError(reading.problems, summarise(reading.problems, source, synonyms))
    return reading.games

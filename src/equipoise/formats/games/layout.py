"""What a table can be by the names of its columns: a history, games, pairs, or only players."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import polars as pl

from equipoise.errors import InvalidDataError, InvalidParameterError, Problem
from equipoise.formats.options import Options
from equipoise.formats.table import Table, columns_in_words, refuse
from equipoise.formats.tables.recognised import (
    DECIDING,
    KNOWN,
    OF_PLAYERS,
    SYNONYMS,
    check_renamings,
    nearest,
    option_for,
    recognise,
    spelling,
    unknown_column,
)

Kind: TypeAlias = Literal["games", "pairs", "history"]

GAME_LIST = (
    "must have white, black and result (or points, or home_score and away_score) to be a list of "
    "games"
)
PAIR_TABLE = "must have player, opponent and points (or result, or wins and losses) to be pairs"
LONG_TABLE = "must have match, player and rank (or winner, or score) to be a history of matches"
ONE_COLUMN = "must be the name of only one column"
ONE_DECIDES = "cannot be combined with result: only one of the two can decide a game"

#: Columns of the two sides, in the spelling of `spelling`, and whether the first has the white
#: pieces or plays at home.
SIDES: tuple[tuple[str, str, bool], ...] = (
    ("white", "black", True),
    ("whiteplayer", "blackplayer", True),
    ("whitename", "blackname", True),
    ("whiteid", "blackid", True),
    ("whiteusername", "blackusername", True),
    ("home", "away", True),
    ("hometeam", "awayteam", True),
    ("home", "visitor", True),
    ("player1", "player2", False),
    ("playera", "playerb", False),
    ("modela", "modelb", False),
    ("left", "right", False),
)
#: More columns of two sides, for tables that are not a history or a table of pairs as well.
MORE_SIDES: tuple[tuple[str, str, bool], ...] = (
    ("hometeamname", "awayteamname", True),
    ("hometeamid", "awayteamid", True),
    ("homename", "awayname", True),
    ("homeplayer", "awayplayer", True),
    ("team1", "team2", False),
    ("teama", "teamb", False),
    ("team1name", "team2name", False),
    ("player1name", "player2name", False),
    ("player1id", "player2id", False),
)
#: Columns of two sides of which the first has won every game.
DECIDED: tuple[tuple[str, str, bool], ...] = (
    ("winner", "loser", False),
    ("winnername", "losername", False),
    ("winnerid", "loserid", False),
    ("winningteam", "losingteam", False),
)
#: Names of a time, the likeliest first: those of games, and those that histories have as well.
_TIMES = tuple(
    dict.fromkeys(
        ("time", "date", "utcdate", "tstamp", *(spelling(one) for one in SYNONYMS["time"]))
    )
)
#: Other columns of a list of games; the first spelling found is used.
OF_GAMES: dict[str, tuple[str, ...]] = {
    "result": ("result", "res", "winner", "outcome", "score"),
    "points": ("points", "whitepoints"),
    "games": ("games",),
    "draws": ("draws",),
    "white_elo": (
        "whiteelo",
        "whiterating",
        "homeelo",
        "homerating",
        "player1rating",
        "playerarating",
        "modelarating",
    ),
    "black_elo": (
        "blackelo",
        "blackrating",
        "awayelo",
        "awayrating",
        "player2rating",
        "playerbrating",
        "modelbrating",
    ),
    "weight": ("weight",),
    "round": ("round", "rd"),
    "time": _TIMES,
}
#: Columns of a table of pairs.
OF_PAIRS: dict[str, tuple[str, ...]] = {
    "player": ("player",),
    "opponent": ("opponent",),
    "points": ("points", "score"),
    "games": ("games", "weight"),
    "draws": ("draws",),
    "wins": ("wins",),
    "losses": ("losses",),
    "result": ("result", "outcome"),
    "player_rating": ("playerrating", "playerelo", "rating", "elo"),
    "opponent_rating": ("opponentrating", "opponentelo"),
    "time": _TIMES,
}
#: Ratings of the two sides, in every spelling.
_SIDE_RATINGS = ("white_elo", "black_elo")
_ALL_SIDES = (*SIDES, *MORE_SIDES, *DECIDED)
#: All names that a renamed column may have.
MEANINGS = (*OF_GAMES, *OF_PAIRS, *(name for one in _ALL_SIDES for name in one[:2]))


@dataclass(frozen=True, slots=True)
class Layout:
    """The meaning of the columns of a table of games.

    columns : meaning -> column of the source
    coloured : whether the first side has the white pieces or plays at home
    missing : required columns that are missing
    decided : whether the first side has won every game
    sides : the names by which the two sides were recognised, such as left and right
    """

    kind: Kind
    columns: Mapping[str, str]
    coloured: bool
    missing: tuple[str, ...]
    decided: bool = False
    sides: tuple[str, str] = ("white", "black")


def find_layout(table: Table, options: Options, kind: Kind | None) -> Layout:
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
    there = _exact(frame.columns, renamed)
    paired = "opponent" in {spelling(name) for name in there}
    if paired and "score" in there and not {"rank", "winner"} & there:
        # With a column opponent, a score belongs to a table of pairs.
        history = replace(history, missing=(*history.missing, "rank"))
    layouts = [one for one in (header.games, header.pairs, history) if kind in (None, one.kind)]
    fitting = [one for one in layouts if not one.missing]
    if not fitting and kind in (None, "history") and not recognise(frame, options).missing:
        return Layout("history", {}, False, ())
    if len(fitting) > 1:
        names = " and ".join(one.kind for one in fitting)
        raise InvalidParameterError(
            f"format (--format) must be given if columns fit both {names}; "
            f"got {columns_in_words(frame.columns)}"
        )
    if fitting:
        check_once(fitting[0], table, renamed)
        return fitting[0]
    got = f", but {columns_in_words(frame.columns)}"
    rules = {"games": GAME_LIST, "pairs": PAIR_TABLE, "history": LONG_TABLE}
    fewest = min(len(one.missing) for one in layouts)
    problems: list[Problem] = []
    for one in sorted(layouts, key=lambda layout: len(layout.missing)):
        hint = instead(one, frame.columns) if len(one.missing) == fewest else ""
        lacking = f"no {', no '.join(one.missing)}{'' if problems else got}{hint}"
        problems.append(Problem(table.name, None, "", rules[one.kind], lacking))
    raise InvalidDataError(problems)


def side_ratings(names: Iterable[str]) -> tuple[str | None, str | None]:
    """Return the columns that have the ratings of the first and of the second side."""
    spelled = {spelling(name): name for name in names}
    found = _found(spelled, {one: OF_GAMES[one] for one in _SIDE_RATINGS})
    return found.get("white_elo"), found.get("black_elo")


def source_column(name: str, frame: pl.DataFrame, renamed: Mapping[str, str], of: str) -> str:
    """Return the column of the source with this name.

    of : the parameter that has the name
    Raises : InvalidParameterError   no such column
    """
    if name in renamed:
        return renamed[name]
    alike = [one for one in frame.columns if spelling(one) == spelling(name)]
    if name in frame.columns or len(alike) == 1:
        return name if name in frame.columns else alike[0]
    raise InvalidParameterError(unknown_column(of, name, frame.columns))


def instead(layout: Layout, names: Sequence[str]) -> str:
    """Return which columns may be those that a layout lacks, as the end of a message."""
    free = [name for name in names if name and name not in layout.columns.values()]
    ways = []
    for lacking in layout.missing:
        others = [
            *OF_GAMES.get(lacking, ()),
            *OF_PAIRS.get(lacking, ()),
            *SYNONYMS.get(lacking, ()),
        ]
        near = nearest((lacking, *others), free)
        if near:
            ways.append(option_for(lacking, near[0]))
    if ways:
        return f"; did you mean {' '.join(ways)}?"
    if len(layout.missing) > 1:
        return ""
    return f"; {option_for(layout.missing[0], 'NAME')} says which column it is"


def _found(there: Mapping[str, str], known: Mapping[str, tuple[str, ...]]) -> dict[str, str]:
    found = {}
    for meaning, spellings in known.items():
        chosen = next((one for one in spellings if one in there), None)
        if chosen is not None:
            found[meaning] = there[chosen]
    return found


def _sides(there: Mapping[str, str]) -> tuple[str, str, bool]:
    """Return the pair of sides with the most columns; white and black if there are none."""
    known = SIDES
    if "opponent" not in there and not {"match", "player"} <= {*there}:
        decided = (one for one in DECIDED if one[0] in there and one[1] in there)
        known = (*SIDES, *MORE_SIDES, *decided)
    return max(known, key=lambda one: (one[0] in there) + (one[1] in there))


def _list_layout(there: Mapping[str, str]) -> Layout:
    columns = _found(there, OF_GAMES)
    first, second, coloured = _sides(there)
    missing = []
    for meaning, name in (("white", first), ("black", second)):
        if name in there:
            columns[meaning] = there[name]
        else:
            missing.append(name)
    decided = (first, second, coloured) in DECIDED
    if decided:
        columns.pop("result", None)
        columns.pop("points", None)
    else:
        single = bool({"result", "points"} & set(columns))
        columns |= _score_columns(there, single)
        if not single and "white_score" not in columns:
            full_time = next((one for one in _FULL_TIME if one in there), None)
            if full_time is None:
                missing.append("result")
            else:
                columns["result"] = there[full_time]
    if "neutral" in there:
        columns["neutral"] = there["neutral"]
    return Layout("games", columns, coloured, tuple(missing), decided, (first, second))


def _pair_layout(there: Mapping[str, str]) -> Layout:
    columns = _found(there, OF_PAIRS)
    missing = [name for name in ("player", "opponent") if name not in columns]
    if not {"points", "result"} & set(columns) and not {"wins", "losses"} <= set(columns):
        missing.append("points")
    return Layout("pairs", columns, False, tuple(missing))


def _exact(names: Sequence[str], renamed: Mapping[str, str]) -> set[str]:
    """Return the names of the columns, by which the reader of histories knows them."""
    return {*renamed, *(name for name in names if name not in renamed.values())}


def _history_layout(names: Sequence[str], renamed: Mapping[str, str]) -> Layout:
    there = _exact(names, renamed)
    missing = [name for name in ("match", "player") if name not in there]
    if not there & {*DECIDING}:
        missing.append("rank")
    return Layout("history", {}, False, tuple(missing))


#: Names of the two sides of a match with scores, without "score": homescore, home_goals.
_SCORE_STEMS = {
    **dict.fromkeys(("hometeam", "hometeamid", "hometeamname"), "home"),
    **dict.fromkeys(("awayteam", "awayteamid", "awayteamname"), "away"),
}
_SCORES = ("score", "goals")
#: More names of scores, for tables without a result: home_points, score1, scoreHome. White's points
#: are a result.
_MORE_SCORES = ("score", "goals", "points", "pts")
#: Scores such as 2-1 at full time, for tables that have no other result.
_FULL_TIME = ("ft", "scoreft")
#: Short names in collections of football results: FTHG are the home goals at full time.
_SHORT_SCORES = {
    "home": ("fthg", "hgoal", "hg", "scorefulltimehome"),
    "away": ("ftag", "agoal", "ag", "scorefulltimeaway"),
    "visitor": ("vgoal", "vg"),
}


def _score_columns(there: Mapping[str, str], single: bool) -> dict[str, str]:
    """Return the columns of the scores of both sides; none if one is missing.

    single : whether the table has results or points of games too
    """
    first, second, _ = _sides(there)
    found = {}
    for meaning, side in (("white_score", first), ("black_score", second)):
        stems = (side, _SCORE_STEMS.get(side, side))
        wanted = [stem + word for word in _SCORES for stem in stems]
        wanted += [short for stem in stems for short in _SHORT_SCORES.get(stem, ())]
        if not single and side not in ("white", "black"):
            wanted += _more_scores(side)
        name = next((one for one in wanted if one in there), None)
        if name is not None:
            found[meaning] = there[name]
    return found if len(found) == 2 else {}


def _more_scores(side: str) -> list[str]:
    """Return other names of the score of a side."""
    stem = re.sub("(team|player)?(name|id)?$", "", side) or side
    short = re.sub("^(team|player|model)", "", stem)
    stems = dict.fromkeys((side, stem, short))
    wanted = [stem + word for word in _MORE_SCORES for stem in stems]
    wanted += [word + stem for word in _MORE_SCORES for stem in stems]
    return wanted


@dataclass(frozen=True, slots=True)
class Header:
    """What a table can be by the names of its columns: each layout has what is missing."""

    games: Layout
    pairs: Layout
    history: Layout

    @property
    def is_complete(self) -> bool:
        """Whether the table has all that a history, games or pairs need."""
        return not (self.history.missing and self.games.missing and self.pairs.missing)


def read_header(names: Sequence[str], renamed: Mapping[str, str]) -> Header:
    """Return what a table can be.

    names : of the columns; renamed : new name -> name in the source
    """
    there = {spelling(new): old for new, old in renamed.items()}
    moved = set(renamed.values())
    # Renamed columns come first, then the leftmost of those that are spelled alike.
    for name in names:
        if name not in moved:
            there.setdefault(spelling(name), name)
    return Header(_list_layout(there), _pair_layout(there), _history_layout(names, renamed))


def names_a_table(names: Sequence[str]) -> bool:
    """Return whether names are those of the columns of a history, games, pairs or ratings."""
    if read_header(names, {}).is_complete:
        return True
    there = {spelling(name) for name in names}
    if all(there & {*OF_PLAYERS[name]} for name in ("player", "rating")):
        return True
    frame = pl.DataFrame({name: [] for name in names if name})
    return not recognise(frame, Options()).missing


def has_long_columns(frame: pl.DataFrame, renamed: Mapping[str, str]) -> bool:
    """Return whether a table has all that a history needs, under the exact names."""
    return not _history_layout(frame.columns, renamed).missing


def check_once(layout: Layout, table: Table, renamed: Mapping[str, str]) -> None:
    """Refuse a table with several columns of the same meaning, or several that could decide."""
    names = table.frame.columns
    for meaning, name in layout.columns.items():
        alike = [one for one in names if spelling(one) == spelling(name)]
        if len(alike) > 1 and name not in renamed.values():
            ways = " or ".join(option_for(meaning, one) for one in alike)
            refuse(table.name, ONE_COLUMN, f"{', '.join(alike)}; choose {ways}", field=name)
    if {"result", "points"} <= set(layout.columns):
        points = layout.columns["points"]
        got = f"{points} and {layout.columns['result']}"
        got += f"; {option_for('unused', points)} makes {points} a column like any other"
        refuse(table.name, ONE_DECIDES, got, field=points)


RATINGS = (
    "must have matches or games, and has ratings of players: equipoise rate HISTORY --initial FILE "
    "begins with them, and equipoise balance FILE makes teams"
)
TOTALS = (
    "must have matches or games, and has totals of players, which do not say who met whom: give "
    "the games (white, black, result), or a cross table"
)

_PLAYERS = {"player", "name", "username", "team"}
_RATINGS = {"rating", "elo"}
_TOTALS = {"points", "pts", "total", "wins"}
_MATCHES = {"match", "opponent", "white", "black", "home", "away", "rank", "winner", "score"}


def rule_for_players(names: Sequence[str], renamed: Mapping[str, str]) -> str | None:
    """Return the rule that a table of players breaks, None if it is not one.

    names : of the columns; renamed : new name -> name in the source
    """
    there = {spelling(name) for name in (*names, *renamed)}
    if not there & _PLAYERS or there & _MATCHES:
        return None
    if there & _TOTALS:
        return TOTALS
    return RATINGS if there & _RATINGS else None

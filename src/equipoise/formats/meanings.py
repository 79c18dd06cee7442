"""Finds what the columns of a table mean, by the names that `column_names` lists.

`read_header` says whether a table is a history, a list of games or a table of pairs, by the names
alone. `recognise` finds the columns of a history. A column is taken only if there is one reading: a
table that has what it needs under the exact names is read by these alone, the exact name wins over
others, and two columns that could be the same one are refused unless their values are equal.
`arrange_columns` renames them.
"""

from __future__ import annotations

import difflib
import re
import shlex
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, TypeAlias, get_args

import polars as pl

from equipoise.errors import InvalidDataError, InvalidParameterError, Problem
from equipoise.formats.column_names import (
    DATES,
    DECIDED,
    DECIDING,
    FULL_TIME,
    KNOWN,
    MORE_SCORES,
    MORE_SIDES,
    OF_GAMES,
    OF_MATCHES_ONLY,
    OF_PAIRS,
    OF_PLAYERS,
    OTHER_TIMES,
    OUTCOMES,
    PLAYER_RATINGS,
    PLAYER_TOTALS,
    PLAYERS,
    SCORE_STEMS,
    SCORES,
    SHORT_SCORES,
    SIDES,
    SYNONYMS,
    UNDECIDED,
)
from equipoise.formats.table import (
    Options,
    Table,
    columns_in_words,
    no_effect,
    refuse,
    some_names,
    spelling,
)
from equipoise.formats.times import NAMED_FORMATS, has_clock
from equipoise.formats.values import holds_outcomes, outcomes_as_places, text_of
from equipoise.wording import addressed

Kind: TypeAlias = Literal["games", "pairs", "history"]
#: The kinds that a format may name.
KINDS: dict[str, Kind] = {kind: kind for kind in get_args(Kind)}
ONE_SPELLING = "must be the name of only one column"
ONE_RESULT = "cannot be combined with result: only one of the two can decide a game"
MISSING = "must be a column of the table"
PLACES = "needs a rank, winner or score column"
ONE_DECIDES = "cannot be combined with rank: only one of the two can decide a match"
ONE_COLUMN = "must be one column, but several could be it: choose one"
#: Least likeness of two names, from 0 to 1, at which one may be a slip of the other.
_ALIKE = 0.75


def option_for(new: str, old: str) -> str:
    """Return the option that reads the column `old` as `new`, as text for a shell."""
    return addressed(f"--column {shlex.quote(f'{new}={old}')}")


def nearest(wanted: Iterable[str], names: Iterable[str]) -> list[str]:
    """Return at most two names that are like one of those wanted, the nearest first."""
    spellings = [spelling(name) for name in wanted]
    likeness: dict[str, float] = {}
    for name in names:
        matcher = difflib.SequenceMatcher(b=spelling(name))
        for near in spellings:
            matcher.set_seq1(near)
            if matcher.real_quick_ratio() >= _ALIKE and matcher.ratio() >= _ALIKE:
                likeness[name] = max(likeness.get(name, 0.0), matcher.ratio())
    return sorted(likeness, key=lambda name: -likeness[name])[:2]


def unknown_column(
    parameter: str, name: str, names: Sequence[str], instead: Sequence[str] = ()
) -> str:
    """Return the message on an option that names no column.

    instead : what may have been meant; if empty, the nearest names of columns
    """
    instead = instead or [repr(near) for near in nearest((name,), names)]
    hint = f"; did you mean {' or '.join(instead)}?" if instead else ""
    return f"{parameter} must name a column of the table ({some_names(names)}); got {name!r}{hint}"


def check_renamings(
    frame: pl.DataFrame, renamed: Mapping[str, str], known: Collection[str] = KNOWN
) -> None:
    """Check that renamed columns exist. Raises : InvalidParameterError.

    known : names that NEW may be; if OLD is one of them, the two are swapped
    """
    names = frame.columns
    for new, old in renamed.items():
        if old in names:
            continue
        if new in names and spelling(old) in {spelling(name) for name in known}:
            raise InvalidParameterError(
                f"columns (--column NEW=OLD) must name a column of the table after the equals sign;"
                f" the table has {new!r} and no {old!r}: {option_for(old, new)}"
            )
        near = [option_for(new, near) for near in nearest((old,), names)]
        raise InvalidParameterError(unknown_column("columns (--column)", old, names, near))


def with_joined_columns(table: Table, renamed: Mapping[str, str]) -> Table:
    """Return a table with a column for each renaming of several, such as context=surface,best_of.

    Its values are the texts of these columns, joined by ", ", and missing where one of them is.
    """
    names = set(table.frame.columns)
    joined = [
        pl.DataFrame([table.frame[part] for part in parts])
        .select(pl.concat_str(pl.all().cast(pl.String), separator=", "))
        .to_series()
        .alias(name)
        for name in dict.fromkeys(renamed.values())
        if name not in names and len(parts := name.split(",")) > 1 and names.issuperset(parts)
    ]
    return replace(table, frame=table.frame.hstack(joined)) if joined else table


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
    names_of = {spelling(new): old for new, old in renamed.items()}
    moved = set(renamed.values())
    # Renamed columns come first, then the leftmost of those that are spelled alike.
    for name in names:
        if name not in moved:
            names_of.setdefault(spelling(name), name)
    return Header(_list_layout(names_of), _pair_layout(names_of), _history_layout(names, renamed))


def names_a_table(names: Sequence[str]) -> bool:
    """Return whether names are those of the columns of a history, games, pairs or ratings."""
    if read_header(names, {}).is_complete:
        return True
    spellings = {spelling(name) for name in names}
    if all(spellings & {*OF_PLAYERS[name]} for name in ("player", "rating")):
        return True
    frame = pl.DataFrame({name: [] for name in names if name})
    return not recognise(frame, Options()).missing


def _found(spelled: Mapping[str, str], known: Mapping[str, tuple[str, ...]]) -> dict[str, str]:
    columns = {}
    for meaning, spellings in known.items():
        chosen = next((name for name in spellings if name in spelled), None)
        if chosen is not None:
            columns[meaning] = spelled[chosen]
    return columns


def _list_layout(spelled: Mapping[str, str]) -> Layout:
    columns = _found(spelled, OF_GAMES)
    first, second, coloured = _sides(spelled)
    missing = []
    for meaning, name in (("white", first), ("black", second)):
        if name in spelled:
            columns[meaning] = spelled[name]
        else:
            missing.append(name)
    decided = (first, second, coloured) in DECIDED
    if decided:
        columns.pop("result", None)
        columns.pop("points", None)
    else:
        single = bool({"result", "points"} & set(columns))
        columns |= _score_columns(spelled, single)
        if not single and "white_score" not in columns:
            full_time = next((name for name in FULL_TIME if name in spelled), None)
            if full_time is None:
                missing.append("result")
            else:
                columns["result"] = spelled[full_time]
    if "neutral" in spelled:
        columns["neutral"] = spelled["neutral"]
    return Layout("games", columns, coloured, tuple(missing), decided, (first, second))


def _sides(spelled: Mapping[str, str]) -> tuple[str, str, bool]:
    """Return the pair of sides with the most columns; white and black if there are none."""
    known = SIDES
    if "opponent" not in spelled and not {"match", "player"} <= {*spelled}:
        decided = (pair for pair in DECIDED if pair[0] in spelled and pair[1] in spelled)
        known = (*SIDES, *MORE_SIDES, *decided)
    return max(known, key=lambda pair: (pair[0] in spelled) + (pair[1] in spelled))


def _score_columns(spelled: Mapping[str, str], single: bool) -> dict[str, str]:
    """Return the columns of the scores of both sides; none if one is missing.

    single : whether the table has results or points of games too
    """
    first, second, _ = _sides(spelled)
    columns = {}
    for meaning, side in (("white_score", first), ("black_score", second)):
        stems = (side, SCORE_STEMS.get(side, side))
        wanted = [stem + word for word in SCORES for stem in stems]
        wanted += [short for stem in stems for short in SHORT_SCORES.get(stem, ())]
        if not single and side not in ("white", "black"):
            wanted += _more_scores(side)
        name = next((name for name in wanted if name in spelled), None)
        if name is not None:
            columns[meaning] = spelled[name]
    return columns if len(columns) == 2 else {}


def _more_scores(side: str) -> list[str]:
    """Return other names of the score of a side."""
    stem = re.sub("(team|player)?(name|id)?$", "", side) or side
    short = re.sub("^(team|player|model)", "", stem)
    stems = dict.fromkeys((side, stem, short))
    wanted = [stem + word for word in MORE_SCORES for stem in stems]
    wanted += [word + stem for word in MORE_SCORES for stem in stems]
    return wanted


def _pair_layout(spelled: Mapping[str, str]) -> Layout:
    columns = _found(spelled, OF_PAIRS)
    missing = [name for name in ("player", "opponent") if name not in columns]
    if not {"points", "result"} & set(columns) and not {"wins", "losses"} <= set(columns):
        missing.append("points")
    return Layout("pairs", columns, False, tuple(missing))


def _history_layout(names: Sequence[str], renamed: Mapping[str, str]) -> Layout:
    present = exact_names(names, renamed)
    missing = [name for name in ("match", "player") if name not in present]
    if not present & {*DECIDING}:
        missing.append("rank")
    return Layout("history", {}, False, tuple(missing))


def exact_names(names: Sequence[str], renamed: Mapping[str, str]) -> set[str]:
    """Return the names of the columns, by which the reader of histories knows them."""
    return {*renamed, *(name for name in names if name not in renamed.values())}


def check_once(layout: Layout, table: Table, renamed: Mapping[str, str]) -> None:
    """Refuse a table with several columns of the same meaning, or several that could decide."""
    names = table.frame.columns
    for meaning, name in layout.columns.items():
        alike = [other for other in names if spelling(other) == spelling(name)]
        if len(alike) > 1 and name not in renamed.values():
            ways = " or ".join(option_for(meaning, column) for column in alike)
            refuse(table.name, ONE_SPELLING, f"{', '.join(alike)}; choose {ways}", field=name)
    if {"result", "points"} <= set(layout.columns):
        points = layout.columns["points"]
        got = f"{points} and {layout.columns['result']}"
        got += f"; {option_for('unused', points)} makes {points} a column like any other"
        refuse(table.name, ONE_RESULT, got, field=points)


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


#: Ratings of the two sides, in every spelling.
_SIDE_RATINGS = ("white_elo", "black_elo")


def side_ratings(names: Iterable[str]) -> tuple[str | None, str | None]:
    """Return the columns that have the ratings of the first and of the second side."""
    spelled = {spelling(name): name for name in names}
    columns = _found(spelled, {side: OF_GAMES[side] for side in _SIDE_RATINGS})
    return columns.get("white_elo"), columns.get("black_elo")


def source_column(name: str, frame: pl.DataFrame, renamed: Mapping[str, str], of: str) -> str:
    """Return the column of the source with this name.

    of : the parameter that has the name
    Raises : InvalidParameterError   no such column
    """
    if name in renamed:
        return renamed[name]
    alike = [column for column in frame.columns if spelling(column) == spelling(name)]
    if name in frame.columns or len(alike) == 1:
        return name if name in frame.columns else alike[0]
    raise InvalidParameterError(unknown_column(of, name, frame.columns))


RATINGS = (
    "must have matches or games, and has ratings of players: equipoise rate HISTORY --initial FILE "
    "begins with them, and equipoise balance FILE makes teams"
)
TOTALS = (
    "must have matches or games, and has totals of players, which do not say who met whom: give "
    "the games (white, black, result), or a cross table"
)


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


@dataclass(frozen=True, slots=True)
class Recognition:
    """Which column of a table is which column of a history.

    columns : column of a history -> its name in the source: given, of the exact name, or recognised
    taken : those of them that were recognised by another name
    doubtful : column of a history -> columns of the source that could be it and differ
    passed : column of a history -> columns that are not taken, because the table has what it needs
        under the exact names
    """

    columns: Mapping[str, str]
    taken: Mapping[str, str]
    doubtful: Mapping[str, tuple[str, ...]]
    passed: Mapping[str, tuple[str, ...]]

    @property
    def missing(self) -> tuple[str, ...]:
        """Required columns that are missing."""
        present = {*self.columns, *self.doubtful}
        missing = [name for name in ("match", "player") if name not in present]
        return (*missing, *(() if present & set(DECIDING) else ("rank",)))

    def describe(self) -> list[str]:
        """Return sentences on the columns that were taken, and on those that were not."""
        notes = []
        if self.taken:
            notes.append("read " + ", ".join(f"{old} as {new}" for new, old in self.taken.items()))
        for new, names in self.passed.items():
            notes.append(describe_passed(new, names[0]))
        return notes


def recognise(frame: pl.DataFrame, options: Options) -> Recognition:
    """Return which column of a table is which column of a history."""
    renamed, names = options.columns, frame.columns
    moved = {*renamed.values()}
    free = [name for name in names if name and name not in moved and name not in KNOWN]
    columns = {
        name: renamed.get(name, name)
        for name in KNOWN
        if name in renamed or (name in names and name not in moved)
    }
    free = [name for name in free if name not in renamed and name not in options.statistics]
    spelled: dict[str, list[str]] = {}
    for name in free:
        spelled.setdefault(spelling(name), []).append(name)
    candidates = {
        new: candidates_found
        for new in KNOWN
        if new not in columns and (candidates_found := _candidates(new, spelled))
    }
    deciding = _deciding({*columns}, options)
    if {"match", "player"} <= {*columns} and deciding:
        # A table that can be read by its exact names is read by them alone.
        passed = {
            new: tuple(columns)
            for new, columns in candidates.items()
            if new not in ("rank", "winner")
        }
        if "time" not in columns and (later := other_times(free)):
            passed.setdefault("time", later)
        return Recognition(columns, {}, {}, passed)
    opposed = "opponent" in {spelling(name) for name in names}
    taken: dict[str, str] = {}
    doubtful: dict[str, tuple[str, ...]] = {}
    for new, columns_meant in candidates.items():
        if new in ("rank", "winner") and deciding:
            continue
        if new == "score" and opposed:
            continue  # a score against an opponent belongs to a table of pairs
        if _equal(frame, columns_meant):
            taken[new] = columns_meant[0]
        else:
            doubtful[new] = tuple(columns_meant)
    if {"rank", "winner"} <= {*taken, *doubtful}:
        both = [taken.pop(new, "") or doubtful[new][0] for new in ("rank", "winner")]
        doubtful.pop("winner", None)
        doubtful["rank"] = tuple(both)
    if not deciding and not {*DECIDING} & {*taken, *doubtful}:
        # Words such as win and loss are places; other results may be scores.
        words = [name for name in free if spelling(name) in OUTCOMES]
        if len(words) == 1 and holds_outcomes(frame[words[0]]):
            taken["rank"] = words[0]
    timed = "time" in {*columns, *taken, *doubtful}
    later = () if timed else other_times(free)
    return Recognition({**columns, **taken}, taken, doubtful, {"time": later} if later else {})


def _deciding(columns: Collection[str], options: Options) -> bool:
    return any(
        name in columns and not (name == "score" and name in options.statistics)
        for name in DECIDING
    )


def _candidates(new: str, spelled: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the columns that could be one of a history; its own name wins over others."""
    own = spelled.get(spelling(new), ())
    if own:
        return list(own)
    return [
        name for synonym in SYNONYMS.get(new, ()) for name in spelled.get(spelling(synonym), ())
    ]


def _equal(frame: pl.DataFrame, names: Sequence[str]) -> bool:
    """Return whether columns have the same values on all rows."""
    first = frame[names[0]]
    return all(
        frame[name].dtype == first.dtype and first.equals(frame[name], null_equal=True)
        for name in names[1:]
    )


def other_times(names: Iterable[str]) -> tuple[str, ...]:
    """Return the columns of a table without times that may be the time; none is taken as such."""
    known = {spelling(name) for name in (*SYNONYMS["time"], *OTHER_TIMES)}
    return tuple(name for name in names if spelling(name) in known)


def describe_passed(new: str, name: str) -> str:
    """Return the sentence on a column that is not taken as one of a history."""
    return f"{name} is kept but not read as {new} ({option_for(new, name)} does it)"


def problems_of_columns(
    recognition: Recognition, frame: pl.DataFrame, name: str, options: Options
) -> list[Problem]:
    """Return a problem for every required column that is missing or in doubt.

    name : of the file
    """
    got = columns_in_words(frame.columns)
    present = {*recognition.columns, *recognition.doubtful}
    used = {
        *recognition.columns.values(),
        *(column for many in recognition.doubtful.values() for column in many),
    }
    free = [column for column in frame.columns if column and column not in used]
    free = [column for column in free if not frame[column].dtype.is_nested()]
    problems = []
    for required in ("match", "player"):
        if required not in present:
            hint = _instead(required, recognition, free)
            problems.append(Problem(name, None, required, MISSING, got + hint))
    if not _deciding(present, options):
        about_score = (
            addressed(", of which score is a statistic (--stat)") if "score" in present else ""
        )
        problems.append(
            Problem(name, None, "rank", PLACES, got + about_score + _ways(free, options))
        )
    problems += [_doubt(new, names, name) for new, names in recognition.doubtful.items()]
    if {"rank", "winner"} <= {*recognition.columns}:
        ignored = option_for("unused", recognition.columns["winner"])
        got = f"both columns; {ignored} makes winner a column like any other"
        problems.append(Problem(name, None, "winner", ONE_DECIDES, got))
    return problems


def _doubt(new: str, names: Sequence[str], file: str) -> Problem:
    """Return the problem of a column that several could be."""
    winners = {spelling(name) for name in ("winner", *SYNONYMS["winner"])}
    ways = [
        option_for("winner" if new == "rank" and spelling(name) in winners else new, name)
        for name in names
    ]
    got = f"{' and '.join(names)}, which differ: {' or '.join(ways)}"
    return Problem(file, None, new, ONE_COLUMN, got)


def _instead(required: str, recognition: Recognition, free: Sequence[str]) -> str:
    """Return what to type if a required column is missing, as the end of a message."""
    near = nearest((required, *SYNONYMS[required]), free)
    if near:
        return f"; did you mean {' or '.join(option_for(required, name) for name in near)}?"
    if required == "player" and "team" in recognition.columns:
        how = option_for("player", recognition.columns["team"])
        return f"; if every team is rated like one player: {how}"
    return f"; {option_for(required, 'NAME')} says which column it is"


def _ways(free: Sequence[str], options: Options) -> str:
    """Return how the places can be read from another column, as the end of a message."""
    for name in free:
        if spelling(name) in UNDECIDED and name not in options.statistics:
            return (
                f"; {option_for('score', name)} if more is better, with "
                f"{addressed('--lower-score-is-better')} if less is; "
                f"{option_for('rank', name)} if it is the place"
            )
    for new in DECIDING:
        near = nearest((new, *SYNONYMS.get(new, ())), free)
        if near:
            return f"; did you mean {option_for(new, near[0])}?"
    return f"; {option_for('rank', 'NAME')} says which column it is"


class Arranged(NamedTuple):
    """A table under the names of a history, and what was understood.

    frame : the columns, renamed; options : with `where` by the new names
    columns : column with a meaning -> its name in the source
    taken : those that were recognised by another name
    notes : sentences for users
    """

    frame: pl.DataFrame
    options: Options
    columns: dict[str, str]
    taken: dict[str, str]
    notes: tuple[str, ...]


def arrange_columns(table: Table, options: Options, *, own_names: bool = False) -> Arranged:
    """Return the table with its columns renamed, and notes.

    own_names : the columns have the exact names, so no other names are looked for
    Raises : InvalidParameterError   a named column does not exist
    Raises : InvalidDataError        required columns or all rows are missing, or one is in doubt
    """
    frame = table.frame
    check_renamings(frame, options.columns)
    recognition = recognise(frame, options)
    renamed = {**options.columns, **recognition.taken}
    moved = set(renamed.values())
    hidden = [name for name in frame.columns if name in renamed and name not in moved]
    kept = [name for name in frame.columns if name not in moved and name not in renamed and name]
    if renamed or len(kept) < len(frame.columns):
        # Column by column, because as an expression a name such as * or ^a.*$ means several
        # columns.
        columns = [frame[old].alias(new) for new, old in renamed.items()]
        frame = pl.DataFrame([*(frame[name] for name in kept), *columns])
    for name in options.statistics:
        if name not in frame.columns:
            raise InvalidParameterError(unknown_column("statistics (--stat)", name, frame.columns))
    problems = problems_of_columns(recognition, table.frame, table.name, options)
    if not len(frame):
        problems.append(Problem(table.name, None, "", "must have at least one row", "none"))
    if problems:
        raise InvalidDataError(problems)
    if "rank" in renamed and holds_outcomes(frame["rank"]):
        frame = outcomes_as_places(frame, table, renamed["rank"])
    by_score = places_from_score(frame.columns, options)
    if options.lower_score_is_better and not by_score:
        decides = "rank" if "rank" in frame.columns else "winner"
        raise no_effect(
            "lower_score_is_better (--lower-score-is-better) needs a score column that decides "
            f"the places; here {decides} decides them",
            f"a history in which {decides} decides the places",
            "lower_score_is_better",
        )
    notes = [] if own_names else recognition.describe()
    notes += [f"column {name!r} of the file is replaced by the renamed one" for name in hidden]
    if "" in table.frame.columns:
        notes.append("a column without a name is left out")
    if by_score:
        first = "lowest" if options.lower_score_is_better else "highest"
        notes.append(f"the column score decides the places: the {first} is first")
    new_of = {old: new for new, old in recognition.taken.items()}
    where = tuple((new_of.get(name, name), value) for name, value in options.where)
    meant = {name: old for name, old in recognition.columns.items() if name != "score" or by_score}
    return Arranged(
        frame, replace(options, where=where), meant, dict(recognition.taken), tuple(notes)
    )


def places_from_score(columns: Sequence[str], options: Options) -> bool:
    """Return whether `score` decides the places: no other column does, and it is no statistic."""
    return (
        "score" in columns
        and "score" not in options.statistics
        and not {"rank", "winner"} & set(columns)
    )


_CLOCK = r"(?i)^\s*([01]?[0-9]|2[0-3])[:.][0-5][0-9](:[0-5][0-9])?(\s?[ap]\.?m\.?)?\s*$"
#: Values looked at before all values are.
_FIRST_VALUES = 100
#: Clock times that may follow a date in ISO 8601.
_PLAIN = r"^\s*([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9])?\s*$"


def without_needless_format(
    table: Table, options: Options, time: str | None
) -> tuple[Table, Options]:
    """Return a table and options that have no format for a column that the file stores as dates.

    time : the column that has the times, None if there is none
    """
    if options.time_format is None or time not in table.dates:
        return table, options
    note = f"{time} has dates, not text, so time_format (--time-format) has no effect"
    return replace(table, notes=(*table.notes, note)), replace(options, time_format=None)


def are_clock_times(times: pl.Series) -> bool:
    """Return whether a column has times of day, and nothing else."""
    # Most columns have dates, which the first rows show.
    for some in (times.head(_FIRST_VALUES), times):
        filled = some.filter(some.str.contains(r"\S").fill_null(False))
        if not filled.str.contains(_CLOCK).all():
            return False
    return len(filled) > 0


def join_clock_times(table: Table, options: Options) -> Table:
    """Return the table with dates and clock times together in the column `time`, if it has both."""
    names = table.frame.columns
    clocks = [name for name in names if spelling(name) == "time"]
    dates = [name for name in names if spelling(name) in DATES]
    if len(clocks) != 1 or len(dates) != 1 or "time" in options.columns:
        return table
    (clock,), (date,) = clocks, dates
    if clock in options.columns.values() or date in options.columns.values():
        return table
    times, days = table.frame[clock], table.frame[date]
    if times.dtype == pl.Time:
        times = times.dt.to_string("%H:%M:%S")
    if times.dtype != pl.String or not are_clock_times(times):
        return table
    filled = times.str.contains(r"\S").fill_null(False)
    pattern = options.time_format
    by_pattern = pattern is not None and pattern not in NAMED_FORMATS
    plain = filled.all() and times.str.contains(_PLAIN).all()
    if pattern is not None and by_pattern != has_clock(pattern):
        plain = False
    elif by_pattern:
        plain = bool(filled.all())
    if plain and days.dtype in (pl.Date, pl.String):
        joined = text_of(days).str.strip_chars() + " " + times.str.strip_chars()
        note = f"{date} and {clock} together are the times"
    else:
        joined = days
        note = f"the times are those of {date}; {clock}, times of day, is left out"
    frame = table.frame.with_columns(joined.alias(clock))
    return replace(table, frame=frame, notes=(*table.notes, note))

"""Finds the columns of a history by the names that other programs use for them.

Capitals, spaces, underscores, hyphens and full stops in a name do not matter, and `SYNONYMS` lists
other names. A column is taken only if there is one reading: a table that has what it needs under
the exact names is read by these alone, the exact name wins over others, and two columns that could
be the same one are refused unless their values are equal.
"""

from __future__ import annotations

import difflib
import re
import shlex
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from equipoise.data.history import OF_MATCHES
from equipoise.errors import InvalidParameterError, Problem
from equipoise.formats.options import CANONICAL, KEPT, Options
from equipoise.formats.table import columns_in_words, some_names
from equipoise.formats.tables.outcomes import NAMES as OUTCOME_NAMES
from equipoise.formats.tables.outcomes import holds_outcomes
from equipoise.option_names import addressed

#: Other names of the columns of a history. The reference page on tables lists them.
SYNONYMS: dict[str, tuple[str, ...]] = {
    "match": (
        "match_id",
        "match_number",
        "match_no",
        "contest",
        "contest_id",
        "game",
        "game_id",
        "race",
        "race_id",
    ),
    "time": (
        "date",
        "datetime",
        "timestamp",
        "played_at",
        "played_on",
        "match_date",
        "game_date",
        "contest_date",
        "race_date",
        "start_time",
        "started_at",
        "utc_date",
    ),
    "player": (
        "player_name",
        "player_id",
        "name",
        "username",
        "user",
        "user_id",
        "handle",
        "nickname",
        "participant",
        "participant_name",
        "participant_id",
        "competitor",
        "contestant",
        "athlete",
        "driver",
    ),
    "team": ("team_name", "team_id"),
    "rank": (
        "ranking",
        "position",
        "pos",
        "place",
        "placement",
        "placing",
        "standing",
        "finish",
        "finishing_position",
        "final_rank",
    ),
    "winner": ("winning_team", "winner_name", "winner_id"),
}
#: Spellings of columns that can have only one meaning in a table of players with ratings.
OF_PLAYERS: dict[str, tuple[str, ...]] = {
    "player": (
        *("player", "name", "playername", "username", "user", "handle", "nickname", "account"),
        *("playerid", "userid", "id", "fullname", "team", "club", "model"),
    ),
    "rating": (
        *("rating", "elo", "elorating", "rtg", "mmr", "glicko", "currentrating", "newrating"),
        *("standard", "standardrating", "srtng", "stdrating", "ratingmean"),
    ),
    "deviation": ("deviation", "rd", "ratingdeviation", "sigma", "standarddeviation"),
}
#: Names of columns that may be the time, but also another one: of a row, or of a whole tournament.
_OTHER_TIMES = (
    "created_at",
    "tourney_date",
    "start_date",
    "end_date",
    "updated_at",
    "submitted_at",
)
#: Columns that are recognised by their own name only, in any spelling.
_SPELLED = ("score", *OF_MATCHES, "rated", "share", "performance", *KEPT)
KNOWN = (*CANONICAL, *(name for name in _SPELLED if name not in CANONICAL))
#: A table needs one of these, beside `match` and `player`.
DECIDING = ("rank", "winner", "score")

#: Columns that may decide the places, but in more than one way.
_UNDECIDED = ("points", "pts", "result", "outcome", "goals", "wins", "total")
#: Least likeness of two names, from 0 to 1, at which one may be a slip of the other.
_ALIKE = 0.75

MISSING = "must be a column of the table"
PLACES = "needs a rank, winner or score column"
ONE_DECIDES = "cannot be combined with rank: only one of the two can decide a match"
ONE_COLUMN = "must be one column, but several could be it: choose one"


def spelling(name: str) -> str:
    """Return the name of a column without capitals and separators: WhiteElo, white_elo."""
    return re.sub(r"[\s_\-./]", "", name).casefold()


def option_for(new: str, old: str) -> str:
    """Return the option that reads the column `old` as `new`, as text for a shell."""
    return addressed(f"--column {shlex.quote(f'{new}={old}')}")


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
        there = {*self.columns, *self.doubtful}
        missing = [name for name in ("match", "player") if name not in there]
        return (*missing, *(() if there & set(DECIDING) else ("rank",)))

    @property
    def exact(self) -> bool:
        """Whether nothing is taken by another name, and nothing is in doubt."""
        return not self.taken and not self.doubtful

    def describe(self) -> list[str]:
        """Return sentences on the columns that were taken, and on those that were not."""
        notes = []
        if self.taken:
            notes.append("read " + ", ".join(f"{old} as {new}" for new, old in self.taken.items()))
        for new, names in self.passed.items():
            notes.append(describe_passed(new, names[0]))
        return notes


def other_times(names: Iterable[str]) -> tuple[str, ...]:
    """Return the columns of a table without times that may be the time; none is taken as such."""
    known = {spelling(one) for one in (*SYNONYMS["time"], *_OTHER_TIMES)}
    return tuple(name for name in names if spelling(name) in known)


def describe_passed(new: str, name: str) -> str:
    """Return the sentence on a column that is not taken as one of a history."""
    return f"{name} is kept but not read as {new} ({option_for(new, name)} does it)"


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
        new: found for new in KNOWN if new not in columns and (found := _candidates(new, spelled))
    }
    deciding = _deciding({*columns}, options)
    if {"match", "player"} <= {*columns} and deciding:
        # A table that can be read by its exact names is read by them alone.
        passed = {
            new: tuple(found) for new, found in candidates.items() if new not in ("rank", "winner")
        }
        if "time" not in columns and (later := other_times(free)):
            passed.setdefault("time", later)
        return Recognition(columns, {}, {}, passed)
    opposed = "opponent" in {spelling(name) for name in names}
    taken: dict[str, str] = {}
    doubtful: dict[str, tuple[str, ...]] = {}
    for new, found in candidates.items():
        if new in ("rank", "winner") and deciding:
            continue
        if new == "score" and opposed:
            continue  # a score against an opponent belongs to a table of pairs
        if _equal(frame, found):
            taken[new] = found[0]
        else:
            doubtful[new] = tuple(found)
    if {"rank", "winner"} <= {*taken, *doubtful}:
        both = [taken.pop(new, "") or doubtful[new][0] for new in ("rank", "winner")]
        doubtful.pop("winner", None)
        doubtful["rank"] = tuple(both)
    if not deciding and not {*DECIDING} & {*taken, *doubtful}:
        # Words such as win and loss are places; other results may be scores.
        words = [one for one in free if spelling(one) in OUTCOME_NAMES]
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
    return [name for one in SYNONYMS.get(new, ()) for name in spelled.get(spelling(one), ())]


def _equal(frame: pl.DataFrame, names: Sequence[str]) -> bool:
    """Return whether columns have the same values on all rows."""
    first = frame[names[0]]
    return all(
        frame[name].dtype == first.dtype and first.equals(frame[name], null_equal=True)
        for name in names[1:]
    )


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
        if new in names and spelling(old) in {spelling(one) for one in known}:
            raise InvalidParameterError(
                f"columns (--column NEW=OLD) must name a column of the table after the equals sign;"
                f" the table has {new!r} and no {old!r}: {option_for(old, new)}"
            )
        near = [option_for(new, one) for one in nearest((old,), names)]
        raise InvalidParameterError(unknown_column("columns (--column)", old, names, near))


def unknown_column(
    parameter: str, name: str, names: Sequence[str], instead: Sequence[str] = ()
) -> str:
    """Return the message on an option that names no column.

    instead : what may have been meant; if empty, the nearest names of columns
    """
    instead = instead or [repr(one) for one in nearest((name,), names)]
    hint = f"; did you mean {' or '.join(instead)}?" if instead else ""
    return f"{parameter} must name a column of the table ({some_names(names)}); got {name!r}{hint}"


def nearest(wanted: Iterable[str], names: Iterable[str]) -> list[str]:
    """Return at most two names that are like one of those wanted, the nearest first."""
    spellings = [spelling(one) for one in wanted]
    likeness: dict[str, float] = {}
    for name in names:
        matcher = difflib.SequenceMatcher(b=spelling(name))
        for one in spellings:
            matcher.set_seq1(one)
            if matcher.real_quick_ratio() >= _ALIKE and matcher.ratio() >= _ALIKE:
                likeness[name] = max(likeness.get(name, 0.0), matcher.ratio())
    return sorted(likeness, key=lambda name: -likeness[name])[:2]


def problems_of_columns(
    found: Recognition, frame: pl.DataFrame, name: str, options: Options
) -> list[Problem]:
    """Return a problem for every required column that is missing or in doubt.

    name : of the file
    """
    got = columns_in_words(frame.columns)
    there = {*found.columns, *found.doubtful}
    used = {*found.columns.values(), *(one for many in found.doubtful.values() for one in many)}
    free = [one for one in frame.columns if one and one not in used]
    free = [one for one in free if not frame[one].dtype.is_nested()]
    problems = []
    for required in ("match", "player"):
        if required not in there:
            hint = _instead(required, found, free)
            problems.append(Problem(name, None, required, MISSING, got + hint))
    if not _deciding(there, options):
        said = addressed(", of which score is a statistic (--stat)") if "score" in there else ""
        problems.append(Problem(name, None, "rank", PLACES, got + said + _ways(free, options)))
    problems += [_doubt(new, names, name) for new, names in found.doubtful.items()]
    if {"rank", "winner"} <= {*found.columns}:
        ignored = option_for("unused", found.columns["winner"])
        got = f"both columns; {ignored} makes winner a column like any other"
        problems.append(Problem(name, None, "winner", ONE_DECIDES, got))
    return problems


def _doubt(new: str, names: Sequence[str], file: str) -> Problem:
    """Return the problem of a column that several could be."""
    winners = {spelling(one) for one in ("winner", *SYNONYMS["winner"])}
    ways = [
        option_for("winner" if new == "rank" and spelling(one) in winners else new, one)
        for one in names
    ]
    got = f"{' and '.join(names)}, which differ: {' or '.join(ways)}"
    return Problem(file, None, new, ONE_COLUMN, got)


def _instead(required: str, found: Recognition, free: Sequence[str]) -> str:
    """Return what to type if a required column is missing, as the end of a message."""
    near = nearest((required, *SYNONYMS[required]), free)
    if near:
        return f"; did you mean {' or '.join(option_for(required, one) for one in near)}?"
    if required == "player" and "team" in found.columns:
        how = option_for("player", found.columns["team"])
        return f"; if every team is rated like one player: {how}"
    return f"; {option_for(required, 'NAME')} says which column it is"


def _ways(free: Sequence[str], options: Options) -> str:
    """Return how the places can be read from another column, as the end of a message."""
    for one in free:
        if spelling(one) in _UNDECIDED and one not in options.statistics:
            return (
                f"; {option_for('score', one)} if more is better, with "
                f"{addressed('--lower-score-is-better')} if less is; "
                f"{option_for('rank', one)} if it is the place"
            )
    for new in DECIDING:
        near = nearest((new, *SYNONYMS.get(new, ())), free)
        if near:
            return f"; did you mean {option_for(new, near[0])}?"
    return f"; {option_for('rank', 'NAME')} says which column it is"

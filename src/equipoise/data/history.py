"""A history: matches in time order, stored as columns.

A reader builds and checks it once, and it never changes. Systems get slices of it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from equipoise.arguments import checks_arguments
from equipoise.arrays import Flags, Floats, Ids, Ints
from equipoise.data.times import (
    LAST_ORDER,
    MICROSECONDS_PER_DAY,
    TimeKind,
    as_written,
    day_in_words,
    table_times,
    utc_column,
)
from equipoise.display import Tabular
from equipoise.errors import (
    InvalidDataError,
    InvalidParameterError,
    NotFoundError,
    Problem,
    require,
)
from equipoise.wording import counted, did_you_mean

if TYPE_CHECKING:
    import polars as pl

__all__ = ["MICROSECONDS_PER_DAY", "History", "TimeKind"]

#: Columns by what has one value in them; every match has a bound of its participations, and there
#: is one more. `statistics` and `attributes` are columns of participations, too.
COLUMNS: dict[str, Literal["match", "player", "bound", "participation"]] = {
    "match_ids": "match",
    "player_ids": "player",
    "offsets": "bound",
    "player": "participation",
    "team": "participation",
    "rank": "participation",
    "time": "match",
    "order": "match",
    "weight": "match",
    "performance_ceiling": "match",
    "beta": "match",
    "gamma": "match",
    "performance": "participation",
    "share": "participation",
    "team_labels": "participation",
}
#: Columns that every history has.
_NEEDED = ("match_ids", "player_ids", "offsets", "player", "team", "rank")

#: Largest weight of a match that readers, posts and replays accept. Every system can rate the
#: matches after it; from about 1e12 on, some equations have no root in float64.
MOST_WEIGHT = 1e9
TOO_HEAVY = "must be at most 1e9, so that later matches can still be rated"

#: A larger `performance_ceiling` would have the same effect.
FARTHEST_CEILING = 1e6
TOO_FAR = "must be from -1e6 to 1e6, so that later matches can still be rated"

#: Columns that have one number for each match. All but `weight` have NaN where a match has none.
OF_MATCHES = ("weight", "performance_ceiling", "beta", "gamma")

LEAST_BETA, MOST_BETA, MOST_GAMMA = 0.01, 1e6, 1e6
#: The deviations that a match may have of its own (docs/equations/elo-mmr.md), rating points: the
#: least and the most, and the rule.
OWN_DEVIATIONS = {
    "beta": (LEAST_BETA, MOST_BETA, "must be from 0.01 to 1e6, in rating points"),
    "gamma": (0.0, MOST_GAMMA, "must be from 0 to 1e6, in rating points"),
}

#: Performances within a match are squared and summed; larger ones would overflow float64.
LARGEST_PERFORMANCE = 1e100
TOO_LARGE = "must be from -1e100 to 1e100"

#: Words of the column `at_home`, in small letters, and of `side` where home is worth something.
AT_HOME = frozenset({"true", "1", "1.0", "yes"})
NOT_AT_HOME = frozenset({"false", "0", "0.0", "no"})
TRUTH = "must be true or false"
#: Larger whole numbers share a float64 with their neighbours, so that scores would tie.
LARGEST_SCORE = 2.0**53
SCORE = "must be a number from -2^53 to 2^53, or empty, where scores change ratings"
HOME_SIDES = ("home", "white")
SIDES = (*HOME_SIDES, "away", "black", "neutral")
SIDE = (
    "must be home, away, white, black, neutral or empty if home_advantage is set; otherwise give "
    "at_home"
)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class History(Tabular):
    """M matches and N participations of P players.

    match_ids : shape (M,), int64 or object (str)
    player_ids : shape (P,), int64 or object (str); row i of a rating table is player_ids[i]
    offsets : shape (M + 1,); the participations of match m are rows offsets[m]:offsets[m + 1]
    player : shape (N,), rows of `player_ids`
    team : shape (N,), numbered within the match from 0 in order of first appearance
    rank : shape (N,), place of the player's team, dense from 0 within the match, lower is
        better, equal is a tie
    time : shape (M,), microseconds since 1970-01-01 UTC, never decreasing; None if the history has
      no dates
    time_kind : format of the times in the input
    order : shape (M,), numbers from 0 to 9999, never decreasing: the order of matches without
      dates, such as rounds; None with dates, and if the order is that of the file
    weight : shape (M,), positive; None is 1 for all
    performance_ceiling : shape (M,), NaN if a match has none; None if no match has one
    beta, gamma : shape (M,), deviations of a performance and of the change of skill in the match
      (Elo-MMR), rating points, NaN if a match has none of its own; None if no match has one
    performance : shape (N,), NaN if absent; None if no player has one
    share : shape (N,), in [0, 1], multiplies the player's change; None is 1 for all
    statistics : name -> shape (N,) float64, NaN if absent
    attributes : name -> shape (N,), any kept column (role, side, at_home, tournament)
    team_labels : shape (N,), names of the teams in the input; None if each player was alone

    Examples
    --------
    >>> duels = eq.read_history({
    ...     "match": [1, 1, 2, 2], "player": ["ann", "ben", "ben", "cid"], "rank": [1, 2, 1, 2],
    ... })
    >>> duels
    <History: 2 matches of 3 players>
    >>> duels.head(2)["player"].to_list()
    ['ann', 'ben']
    >>> duels.slice(0, 1).matches
    1
    """

    match_ids: Ids
    player_ids: Ids
    offsets: Ints
    player: Ints
    team: Ints
    rank: Ints
    time: Ints | None = None
    time_kind: TimeKind = "seconds"
    order: Ints | None = None
    weight: Floats | None = None
    performance_ceiling: Floats | None = None
    beta: Floats | None = None
    gamma: Floats | None = None
    performance: Floats | None = None
    share: Floats | None = None
    statistics: Mapping[str, Floats] = field(default_factory=dict)
    attributes: Mapping[str, Ids] = field(default_factory=dict)
    team_labels: Ids | None = None

    def __post_init__(self) -> None:
        """Freeze the arrays and check the rules that every system relies on, in linear time."""
        arrays = list(self._arrays())
        for name, array, _ in arrays:
            if not isinstance(array, np.ndarray):
                got = type(array).__name__
                raise InvalidParameterError(f"{name} must be a NumPy array; got {got}")
            array.setflags(write=False)
        broken = self._broken_rule(arrays)
        if broken:
            raise InvalidDataError([Problem("", None, *broken)])

    @property
    def matches(self) -> int:
        """Number of matches."""
        return len(self.match_ids)

    @property
    def players(self) -> int:
        """Number of players."""
        return len(self.player_ids)

    @property
    def participations(self) -> int:
        """Number of participations: rows of a player in a match."""
        return len(self.player)

    def days(self, start: int = 0, stop: int | None = None) -> Floats:
        """Return the times of matches start:stop in days since 1970; NaN without times."""
        if self.time is None:
            return np.full(len(self.match_ids[start:stop]), np.nan)
        return self.time[start:stop] / MICROSECONDS_PER_DAY

    def weights(self, start: int = 0, stop: int | None = None) -> Floats:
        """Return a copy of the weights of matches start:stop; 1 without weights."""
        if self.weight is None:
            return np.ones(len(self.match_ids[start:stop]))
        return self.weight[start:stop].copy()

    def sizes(self) -> Ints:
        """Return the number of participations of every match, shape (M,)."""
        sizes: Ints = self.offsets[1:] - self.offsets[:-1]
        return sizes

    def match_rows(self) -> Ints:
        """Return the match of every participation, shape (N,)."""
        return np.arange(self.matches).repeat(self.sizes())

    def teams(self) -> Ints:
        """Return the number of teams of every match, shape (M,)."""
        return self._match_maximum(self.team) + 1

    def distinct_ranks(self) -> Ints:
        """Return the number of distinct ranks of every match, shape (M,)."""
        return self._match_maximum(self.rank) + 1

    def times(self) -> Ids | None:
        """Return the time of every match in the format of the input, shape (M,).

        int64 seconds, datetime64[us] or datetime64[D] according to `time_kind`; without dates the
        numbers of `order`; None without either.
        """
        return self.order if self.time is None else as_written(self.time, self.time_kind)

    def table_times(self) -> Ids | None:
        """Return the time of every match for a table that can be read again, shape (M,).

        These are `times`, or datetime64[us] if a reader would refuse or misread seconds.
        """
        return self.order if self.time is None else table_times(self.time, self.time_kind)

    def at_home(self, low: int = 0, high: int | None = None) -> Flags | None:
        """Return whether participations low:high play at home; None without such a column.

        They play at home if `at_home` is true or, without that column, if `side` is "home" or
        "white".
        """
        if "at_home" in self.attributes:
            values = self.attributes["at_home"][low:high]
            if values.dtype != object:
                return values.astype(np.float64) > 0
            return np.isin(_words(values), tuple(AT_HOME))
        if "side" in self.attributes:
            return np.isin(self.attributes["side"][low:high].astype(str), HOME_SIDES)
        return None

    def scores(self, low: int = 0, high: int | None = None) -> Floats | None:
        """Return the scores of participations low:high, NaN if unknown; None without such a column.

        They are the attribute or, without it, the statistic `score`.
        Raises : InvalidDataError for a value that is no score
        """
        values = self.attributes.get("score", self.statistics.get("score"))
        if values is None:
            return None
        values = values[low:high]
        if values.dtype.kind in "iuf":
            scores = values.astype(np.float64)
            wrong = np.flatnonzero(np.abs(scores) > LARGEST_SCORE)
        else:
            read = [read_score(value) for value in values.tolist()]
            scores = np.array([math.nan if value is None else value for value in read], np.float64)
            wrong = np.array([row for row, value in enumerate(read) if value is None], np.int64)
        if len(wrong):
            row = int(wrong[0])
            match = self.match_ids[int(np.searchsorted(self.offsets, low + row, "right")) - 1]
            got = f"{str(values[row])[:200]!r} in match {match}"
            raise InvalidDataError([Problem("", None, "score", SCORE, got)])
        return scores

    def unknown_home(self, low: int = 0, high: int | None = None) -> tuple[int, str] | None:
        """Return the first participation of low:high with an unknown word for `at_home`.

        Returns : row and the column's name; None if every value is a known word or absent
        """
        name = "at_home" if "at_home" in self.attributes else "side"
        values = self.attributes.get(name)
        if values is None or (name == "at_home" and values.dtype != object):
            return None
        values = values[low:high]
        known = (*AT_HOME, *NOT_AT_HOME) if name == "at_home" else SIDES
        words = _words(values) if name == "at_home" else values.astype(str)
        # Absent values are None, or NaN among numbers.
        rows = np.flatnonzero(~np.isin(words, (*known, "None", "none", "nan", "")))
        return (low + int(rows[0]), name) if len(rows) else None

    def player_row(self, player: object) -> int:
        """Return the row of the player with this id, which may come as text for a number.

        Raises : NotFoundError
        """
        wanted = str(player)
        rows = np.flatnonzero(self.player_ids.astype(str) == wanted)
        if not len(rows):
            raise NotFoundError(
                f"no player {wanted!r} in this history of {counted(self.players, 'player')}"
                f"{did_you_mean([wanted], self.player_ids.tolist())}"
            )
        return int(rows[0])

    def with_players(self, player_ids: Ids, player: Ints) -> History:
        """Return the same matches with players numbered by another list of ids."""
        return replace(self, player_ids=player_ids, player=player)

    @checks_arguments()
    def slice(self, start: int, stop: int) -> History:
        """Return matches start:stop with the same players, as views of the same arrays.

        start, stop : from 0 to the number of matches, in this order
        Raises : InvalidParameterError
        """
        require(0 <= stop <= self.matches, "stop", f"from 0 to {self.matches}", stop)
        require(0 <= start <= stop, "start", f"from 0 to {stop}, the stop", start)
        low, high = int(self.offsets[start]), int(self.offsets[stop])
        ends = {"match": (start, stop), "participation": (low, high)}
        columns: dict[str, Any] = {"offsets": self.offsets[start : stop + 1] - low}
        for name, of in COLUMNS.items():
            column = getattr(self, name)
            if of in ends and column is not None:
                first, last = ends[of]
                columns[name] = column[first:last]
        for name in ("statistics", "attributes"):
            columns[name] = {rows: of_one[low:high] for rows, of_one in getattr(self, name).items()}
        return replace(self, **columns)

    def datetimes(self) -> Ids | None:
        """Return the time of every match as datetime64[us] in UTC, shape (M,).

        Without dates the numbers of `order`; None without either.
        """
        return self.order if self.time is None else self.time.astype("datetime64[us]")

    def to_polars(self) -> pl.DataFrame:
        """Return the history as a long table, one row for each participation; times are in UTC.

        Ranks are dense from 0 within the match. Reading the table again gives the same matches. An
        order without dates has its numbers.
        """
        table, times = self.file_table(), self.datetimes()
        if self.time is None or times is None:
            return table
        return table.with_columns(utc_column(np.repeat(times, self.sizes())).alias("time"))

    def file_table(self) -> pl.DataFrame:
        """Return the same table for a file, with times of the kind that came in.

        Reading the table again gives the same history; seconds that a reader would not recognise
        are written as date-times.
        """
        import polars as pl

        sizes = self.sizes()
        columns: dict[str, pl.Series | Ids] = {"match": _series(np.repeat(self.match_ids, sizes))}
        times = self.table_times()
        if times is not None:
            columns["time"] = pl.Series(np.repeat(times, sizes))
        columns["player"] = _series(self.player_ids[self.player])
        if self.team_labels is not None:
            columns["team"] = _series(self.team_labels)
        elif self._has_teams():
            columns["team"] = self.team
        columns["rank"] = self.rank
        for name in (*OF_MATCHES, "performance", "share"):
            column: Floats | None = getattr(self, name)
            if column is not None:
                of_row = np.repeat(column, sizes) if name in OF_MATCHES else column
                columns[name] = pl.Series(of_row).fill_nan(None)
        for name, statistic in self.statistics.items():
            columns[name] = pl.Series(statistic).fill_nan(None)
        for name, attribute in self.attributes.items():
            columns[name] = _series(attribute)
        return pl.DataFrame(columns)

    def _in_words(self) -> str:
        matches = counted(self.matches, "match", "matches")
        words = f"{matches} of {counted(self.players, 'player')}"
        if self.time is None or not self.matches:
            return words
        first, last = (day_in_words(int(self.time[at])) for at in (0, -1))
        return f"{words}, {first if first == last else f'{first} to {last}'}"

    def _first(self, rows: int) -> pl.DataFrame:
        return self.slice(0, min(rows, self.matches)).to_polars().head(rows)

    def _rows(self) -> int:
        return self.participations

    def _has_teams(self) -> bool:
        """Return whether any team has more than one player."""
        return bool(np.any(self.teams() != self.sizes()))

    def _match_maximum(self, column: Ints) -> Ints:
        """Return the maximum of a column of participations in every match."""
        if not self.matches:
            return np.zeros(0, np.int64)
        return np.maximum.reduceat(column, self.offsets[:-1])

    def _arrays(self) -> Iterator[tuple[str, Ids, str]]:
        """Yield every column with its name, and what has one value in it."""
        for name, of in COLUMNS.items():
            array = getattr(self, name)
            if array is not None or name in _NEEDED:
                yield name, array, of
        for columns in (self.statistics, self.attributes):
            for name, array in columns.items():
                yield name, array, "participation"

    def _broken_rule(self, arrays: Sequence[tuple[str, Ids, str]]) -> tuple[str, str, str] | None:
        """Return (field, rule, value found) of the first rule the arrays break, or None.

        arrays : as `_arrays` gives them
        """
        matches, participations = self.matches, self.participations
        lengths = {
            "match": matches,
            "player": self.players,
            "bound": matches + 1,
            "participation": participations,
        }
        for name, array, of in arrays:
            if array.shape != (lengths[of],):
                return name, f"must have shape ({lengths[of]},)", str(array.shape)
        if self.offsets[0] != 0 or self.offsets[-1] != participations:
            return "offsets", f"must run from 0 to {participations}", str(self.offsets[[0, -1]])
        if (self.offsets[1:] <= self.offsets[:-1]).any():
            return "offsets", "must give every match at least one player", "an empty match"
        if participations and not 0 <= self.player.min() <= self.player.max() < self.players:
            return "player", f"must be from 0 to {self.players - 1}", "a row outside"
        if self.time is not None and (self.time[1:] < self.time[:-1]).any():
            return "time", "must not decrease", "a match before its predecessor"
        broken = self._broken_order()
        if broken is not None:
            return broken
        if self.weight is not None and not (self.weight > 0).all():
            return "weight", "must be positive", str(self.weight.min())
        if participations and (self.team.min() < 0 or self.rank.min() < 0):
            return "team and rank", "must be numbered from 0", "a negative number"
        return None

    def _broken_order(self) -> tuple[str, str, str] | None:
        """Return (field, rule, value found) of the first rule that the order breaks, or None."""
        if self.order is None or not self.matches:
            return None
        if self.time is not None:
            return "order", "must be absent if there are times", "both"
        if np.any(np.diff(self.order) < 0):
            return "order", "must not decrease", "a match before its predecessor"
        low, high = int(self.order[0]), int(self.order[-1])
        if not 0 <= low <= high <= LAST_ORDER:
            return "order", f"must be from 0 to {LAST_ORDER}", f"{low} to {high}"
        return None


def _series(values: Ids) -> pl.Series:
    """Return ids or attributes as a typed Polars column."""
    import polars as pl

    if values.dtype == object:
        present: Flags = np.array([value is not None for value in values], dtype=bool)
        if all(isinstance(value, str) for value in values[present]):
            return pl.Series(values.tolist(), dtype=pl.String)
        return pl.Series(values.tolist(), strict=False)
    return pl.Series(values)


def read_score(value: object) -> float | None:
    """Return a score that may come as text, NaN if it is empty; None for anything else."""
    # NaN is the only value that differs from itself.
    if value is None or value != value or (isinstance(value, str) and not value.strip()):
        return math.nan
    if isinstance(value, bool | np.bool_):
        return None
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return None
    return number if abs(number) <= LARGEST_SCORE else None


def _words(values: Ids) -> Ids:
    """Return values as text in small letters, without surrounding white space."""
    return np.char.lower(np.char.strip(values.astype(str)))


def dense_ranks(offsets: Ints, ranks: Ints) -> Ints:
    """Return dense ranks from 0 within every match; rows are sorted by match."""
    if not len(ranks):
        return ranks
    steps = np.empty(len(ranks), np.int64)
    np.subtract(ranks[1:], ranks[:-1], out=steps[1:])
    steps[offsets[:-1]] = 0
    order = None
    if steps.min() < 0:
        sizes = np.diff(offsets)
        if int(ranks.max()) >= 2**62 // len(sizes):
            ranks = np.unique(ranks, return_inverse=True)[1]
        keys = np.repeat(np.arange(len(sizes)), sizes) * (int(ranks.max()) + 1) + ranks
        order = np.argsort(keys, kind="stable")
        steps = np.diff(keys[order], prepend=0)
        steps[offsets[:-1]] = 0
    np.minimum(steps, 1, out=steps)
    # The first row of a match takes back the steps of the match before it.
    steps[offsets[1:-1]] = -np.add.reduceat(steps, offsets[:-1])[:-1]
    np.cumsum(steps, out=steps)
    if order is None:
        return steps
    dense = np.empty(len(ranks), np.int64)
    dense[order] = steps
    return dense


def matches_played(history: History) -> Ints:
    """Return the number of matches of every player, shape (P,)."""
    return np.bincount(history.player, minlength=history.players)


def with_performance(history: History, weights: Mapping[str, float]) -> History:
    """Return the history with performance = sum of weight x statistic [TG2] (5).

    A player without one of the statistics has no performance.
    """
    if not weights:
        return history
    total = np.zeros(history.participations)
    with np.errstate(over="ignore"):  # what leaves float64 is refused when it is rated
        for name, weight in weights.items():
            total += weight * history.statistics[name]
    return replace(history, performance=total)

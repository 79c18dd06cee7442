"""Compares two tables of ratings: who moved, by how much, and how alike the tables are.

Pairs are counted in n log n steps by Knight's method: rows are sorted by one column, and the
inversions of the other are the pairs in reverse order. Inversions are counted bit by bit, which
needs no compiled code.

Source: W. R. Knight, A computer method for calculating Kendall's tau with ungrouped data, Journal
of the American Statistical Association 61 (1966), 436-439. Tau is the one that is called b, which
is corrected for ties: M. G. Kendall, The treatment of ties in ranking problems, Biometrika 33
(1945), 239-251.

The straight line between two scales is that of linear equating: it gives the old ratings the mean
and the standard deviation of the new ones (M. J. Kolen and R. L. Brennan, Test Equating, Scaling,
and Linking, 3rd ed., Springer 2014, section 2.4).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
import polars as pl

from equipoise.arguments import checks_arguments
from equipoise.arrays import Floats, Ints
from equipoise.data.comparison import ChangeSummary, ComparisonScale, RatingComparison, ScaleLine
from equipoise.display import names_in_words
from equipoise.errors import InvalidDataError, InvalidParameterError, require
from equipoise.evaluate.rated_players import RatedPlayers, rated_players
from equipoise.formats.names import (
    MOST,
    Synonyms,
    likely_doubles,
    read_synonyms,
    same_but_for_form,
    strangers,
)
from equipoise.wording import addressed, counted

#: Fewest players in both tables for correlations and a line.
LEAST = 3

#: Pairs of likely doubles that are listed; the others are counted.
_DOUBLES = 10


class PairOrder(NamedTuple):
    """All pairs of rows, by how two columns order them.

    same, reverse : pairs that differ in both columns, in the same order or in reverse order
    tied_first, tied_second : pairs that are equal in the first, or in the second column only
    tied_both : pairs that are equal in both columns
    """

    same: int
    reverse: int
    tied_first: int
    tied_second: int
    tied_both: int

    @property
    def pairs(self) -> int:
        """Return the number of all pairs."""
        return sum(self)

    @property
    def tau(self) -> float:
        """Return Kendall's tau-b, NaN if a column has only equal numbers."""
        ordered = self.same + self.reverse
        # One root of the product, so that equal orders give exactly 1.
        below = math.sqrt((ordered + self.tied_second) * (ordered + self.tied_first))
        return (self.same - self.reverse) / below if below else math.nan


def pair_order(first: Floats, second: Floats) -> PairOrder:
    """Return how two columns order their pairs of rows; both have shape (n,), without NaN."""
    _, one = np.unique(first, return_inverse=True)
    _, other = np.unique(second, return_inverse=True)
    one, other = one.astype(np.int64), other.astype(np.int64)
    pairs = _pairs(np.array([len(one)]))
    both = _pairs(np.unique(one * (len(one) + 1) + other, return_counts=True)[1])
    tied_first = _pairs(np.bincount(one)) - both
    tied_second = _pairs(np.bincount(other)) - both
    # Rows that are equal in the first column are sorted by the second, so they have no inversion.
    reverse = inversions(other[np.lexsort((other, one))])
    same = pairs - reverse - tied_first - tied_second - both
    return PairOrder(same, reverse, tied_first, tied_second, both)


def inversions(ranks: Ints) -> int:
    """Return the number of pairs i < j with ranks[i] > ranks[j]; ranks are whole numbers from 0.

    Beginning with the highest bit, rows are grouped by the bits seen so far. A pair is counted at
    the first bit in which its ranks differ.
    """
    rows = np.asarray(ranks, dtype=np.int64)
    count = len(rows)
    total = 0
    for bit in range(int(rows.max(initial=0)).bit_length() - 1, -1, -1):
        bits = (rows >> bit) & 1
        group = rows >> (bit + 1)
        starts = np.flatnonzero(np.diff(group, prepend=-1))
        sizes = np.diff(starts, append=count)
        before = np.cumsum(bits) - bits
        before -= np.repeat(before[starts], sizes)
        total += int(before[bits == 0].sum())
        # Within each group, rows without this bit come first; the order stays the same otherwise.
        first = np.repeat(starts, sizes)
        zeros = np.repeat(sizes - np.add.reduceat(bits, starts), sizes)
        place = np.where(bits == 1, first + zeros + before, np.arange(count) - before)
        sorted_rows = np.empty_like(rows)
        sorted_rows[place] = rows
        rows = sorted_rows
    return total


def mean_ranks(values: Floats) -> Floats:
    """Return the rank of every number from 1, the lowest first; equal numbers share their mean."""
    return pl.Series(values).rank("average").to_numpy()


def pearson(first: Floats, second: Floats) -> float:
    """Return the correlation of two columns, NaN if one has only equal numbers."""
    # Compared before the mean is subtracted, which rounds.
    if len(first) < 2 or np.ptp(first) == 0.0 or np.ptp(second) == 0.0:
        return math.nan
    one, other = first - first.mean(), second - second.mean()
    # Scaled, so that no square leaves the range of numbers.
    one, other = one / np.abs(one).max(), other / np.abs(other).max()
    below = math.sqrt(float(one @ one) * float(other @ other))
    return min(max(float(one @ other) / below, -1.0), 1.0)


def spearman(first: Floats, second: Floats) -> float:
    """Return the correlation of the ranks of two columns, NaN if one has only equal numbers."""
    return pearson(mean_ranks(first), mean_ranks(second))


def _pairs(sizes: Ints) -> int:
    """Return the number of pairs within groups of these sizes."""
    return int((sizes * (sizes - 1) // 2).sum())


#: Which changes count; "auto" decides by the scales.
ScaleChoice: TypeAlias = Literal["auto", "same", "line"]

#: Two scales count as the same if the standard deviations of the ratings of the players in both
#: tables differ at most by this factor, and their means at most by this share of the larger one.
_SAME_SPREAD, _SAME_MEAN = 1.25, 0.5


@checks_arguments()
def compare_ratings(
    old: object,
    new: object,
    *,
    scale: ScaleChoice = "auto",
    min_matches: int = 0,
    synonyms: Synonyms | None = None,
    columns: Mapping[str, str] | None = None,
    format: str | None = None,
    names: tuple[str, str] = ("old", "new"),
) -> RatingComparison:
    """Return who moved between two tables of ratings, and how alike the tables are.

    Players are matched by their names, which must be equal.

    old, new : `Ratings`, `InitialRatings`, `Replay`, `PoolState`, the path of a saved state (.npz),
        or a table with the columns player and rating and perhaps deviation: a path, "-" or a stream
        (with `format`), a Polars, pandas or Arrow table, or a mapping of column name to array
    scale : which changes count: "same", differences of the ratings as they are; "line", after the
        straight line between the scales; "auto", "same" if the scales seem to be the same
    min_matches : leave out players with fewer rated matches in a table that has their number; of
        new players, ratings of systems differ by how fast they move
    synonyms : names of the same player: a mapping of names, or the path of a table with the columns
        name and same_as
    columns : new name -> name in the tables, such as {"player": "Name", "rating": "Elo"}
    format : of tables, if their names do not show it
    names : of the tables that are no files
    Raises : InvalidDataError        bad tables, or no player is in both
    Raises : InvalidParameterError   wrong usage, or no line can be drawn

    Examples
    --------
    >>> league = eq.read_history("examples/league.csv")
    >>> found = eq.compare_ratings(
    ...     eq.replay(eq.Elo(), league), eq.replay(eq.Glicko2(), league), names=("elo", "glicko2"),
    ... )
    >>> found
    <RatingComparison: 6 players in elo and glicko2; 100.0 % of pairs in the same order>
    >>> found.scale
    'line'
    """
    require(min_matches >= 0, "min_matches", "at least 0", min_matches)
    merged = {} if synonyms is None else read_synonyms(synonyms)
    extra, counts = dict(columns or {}), min_matches > 0
    before, after = (
        rated_players(source, name, format=format, columns=extra, synonyms=merged, matches=counts)
        for source, name in zip((old, new), names, strict=True)
    )
    _check_columns(extra, before, after)
    if min_matches > 0:
        before, after = _experienced(before, after, min_matches)
    return compare_players(before, after, scale=scale, synonyms=merged)


def compare_players(
    before: RatedPlayers,
    after: RatedPlayers,
    *,
    scale: ScaleChoice = "auto",
    synonyms: Mapping[str, str] | None = None,
) -> RatingComparison:
    """Return the comparison of two sources that have been read.

    synonyms : that were applied, for a note on those that occur in neither
    Raises : InvalidDataError        no player is in both
    Raises : InvalidParameterError   no line can be drawn, and scale is "line"
    """
    joined = _joined(before, after)
    columns = {name: joined[name].to_numpy() for name in joined.columns if name != "player"}
    one, other = columns["old_rating"], columns["new_rating"]
    both = ~np.isnan(one) & ~np.isnan(other)
    if not both.any():
        raise InvalidDataError([], _nobody(before, after))
    x, y = one[both], other[both]
    enough = len(x) >= LEAST
    correlation = pearson(x, y) if enough else math.nan
    order = pair_order(x, y)
    line, why_not = _line(x, y, correlation)
    chosen, reason = _scale(scale, before, after, (x, y), line, why_not)
    old_place, new_place = np.zeros((2, len(both)), np.int64)
    old_place[both], new_place[both] = _places(x), _places(y)
    return RatingComparison(
        old=before.name,
        new=after.name,
        player_ids=np.array(joined["player"].to_list(), dtype=object),
        **columns,
        old_place=old_place,
        new_place=new_place,
        scale=chosen,
        reason=reason,
        line=line,
        as_they_are=_summary(y - x),
        on_line=None if line is None else _summary(y - (line.intercept + line.slope * x)),
        pearson=correlation,
        spearman=spearman(x, y) if enough else math.nan,
        kendall=order.tau if enough else math.nan,
        same_order=order.same,
        reverse_order=order.reverse,
        tied=order.tied_first + order.tied_second + order.tied_both,
        notes=(
            *before.notes,
            *after.notes,
            *_synonym_notes(synonyms or {}, joined["player"]),
            *_doubles(joined),
            *_few(len(x), enough, correlation, why_not),
        ),
    )


def _experienced(
    before: RatedPlayers, after: RatedPlayers, least: int
) -> tuple[RatedPlayers, RatedPlayers]:
    """Return both sources without players who have fewer matches in one of them.

    Raises : InvalidParameterError   neither has numbers of matches
    Raises : InvalidDataError        nobody is left
    """
    few = [
        players.ids.filter(players.matches < least)
        for players in (before, after)
        if players.matches is not None
    ]
    if not few:
        raise InvalidParameterError(
            f"min_matches (--min-matches) needs numbers of matches, and neither {before.name} nor "
            f"{after.name} has them; tables of `equipoise rate` have the column matches"
        )
    out, needed = pl.concat(few).unique(), counted(least, "match", "matches")
    one, other = (_without(players, out) for players in (before, after))
    if not len(one.ids) or not len(other.ids):
        raise InvalidDataError([], f"no player of a table has at least {needed}")
    note = f"{counted(len(out), 'player')} with fewer than {needed} left out"
    return one, replace(other, notes=(*other.notes, note))


def _without(source: RatedPlayers, out: pl.Series) -> RatedPlayers:
    """Return a source without some players."""
    kept = ~source.ids.is_in(out.implode()).to_numpy()
    return replace(
        source,
        ids=source.ids.filter(kept),
        rating=source.rating[kept],
        deviation=source.deviation[kept],
        matches=None,
    )


def _joined(before: RatedPlayers, after: RatedPlayers) -> pl.DataFrame:
    """Return all players of both sources, those of the old one first; NaN is unknown."""
    frames = [
        pl.DataFrame(
            {
                "player": players.ids,
                f"{name}_rating": players.rating,
                f"{name}_deviation": players.deviation,
            }
        )
        for name, players in (("old", before), ("new", after))
    ]
    joined = frames[0].join(
        frames[1], on="player", how="full", coalesce=True, maintain_order="left_right"
    )
    return joined.with_columns(pl.exclude("player").fill_null(math.nan))


def _line(x: Floats, y: Floats, correlation: float) -> tuple[ScaleLine | None, str]:
    """Return the line between the scales, or None and why there is none."""
    if len(x) < LEAST:
        return None, f"{counted(len(x), 'player')} in both tables are too few for a line"
    if math.isnan(correlation):
        return None, "there is no line between the scales, because all ratings of a table are equal"
    if correlation <= 0:
        return None, (
            "there is no rising line between the scales: who is better in one table is worse in "
            "the other"
        )
    slope = float(y.std()) / float(x.std())
    intercept = float(y.mean()) - slope * float(x.mean())
    residual = float((y - slope * x).std())
    return ScaleLine(slope=slope, intercept=intercept, residual=residual), ""


def _scale(
    wanted: ScaleChoice,
    before: RatedPlayers,
    after: RatedPlayers,
    ratings: tuple[Floats, Floats],
    line: ScaleLine | None,
    why_not: str,
) -> tuple[ComparisonScale, str]:
    """Return which changes count, and why; ratings : of the players in both sources."""
    if wanted == "line" and line is None:
        raise InvalidParameterError(
            f"scale (--scale) cannot be line: {why_not}; same compares the ratings as they are"
        )
    if wanted != "auto":
        return wanted, "as requested"
    if line is None:
        return "same", why_not
    if before.system is not None and after.system is not None:
        from equipoise.rating.pool_state import scale_difference

        differs = scale_difference(before.system, after.system)
        if differs is None:
            return "same", f"both tables have ratings of {after.system.name}"
        return "line", f"{before.name} has {differs}"
    x, y = ratings
    spread = max(line.slope, 1.0 / line.slope)
    away = abs(float(y.mean() - x.mean()))
    if spread <= _SAME_SPREAD and away <= _SAME_MEAN * max(float(x.std()), float(y.std())):
        return "same", "means and standard deviations are nearly the same"
    what = "standard deviations" if spread > _SAME_SPREAD else "means"
    return "line", f"the {what} differ much"


def _places(ratings: Floats) -> Ints:
    """Return places from 1, the highest rating first; equals share the better place."""
    ordered = np.sort(ratings)
    return np.asarray(len(ratings) - np.searchsorted(ordered, ratings, side="right") + 1)


def _summary(change: Floats) -> ChangeSummary:
    return ChangeSummary(
        mean=float(change.mean()),
        median=float(np.median(change)),
        standard_deviation=float(change.std()),
        mean_absolute=float(np.abs(change).mean()),
    )


def _check_columns(names: Mapping[str, str], *sources: RatedPlayers) -> None:
    """Refuse columns that no table has. Raises : InvalidParameterError."""
    known = frozenset[str]().union(*(players.columns for players in sources))
    for new, old in names.items():
        if old not in known:
            raise InvalidParameterError(
                f"columns (--column) must name columns of a table; got {new}={old}, and neither "
                f"{sources[0].name} nor {sources[1].name} is a table with a column {old}"
            )


def _nobody(before: RatedPlayers, after: RatedPlayers) -> str:
    """Return a sentence on two tables without a common player."""
    listed = (
        f"{players.name} has {names_in_words(players.ids.to_list())}" for players in (before, after)
    )
    return (
        f"no player is in both tables: {', and '.join(listed)}. Names must be equal; "
        "--column player=COLUMN says which is the column of names, and --synonyms FILE which names "
        "mean the same player"
    )


def _synonym_notes(synonyms: Mapping[str, str], players: pl.Series) -> list[str]:
    """Return a note on players named by synonyms who are in neither table."""
    unknown = strangers(synonyms.values(), players.to_list()) if synonyms else []
    if not unknown:
        return []
    return [f"of the synonyms, these are in neither table: {names_in_words(unknown)}"]


def _doubles(joined: pl.DataFrame) -> list[str]:
    """Return notes on names of one table that may be a player of the other."""
    only_old, only_new = (
        joined.filter(pl.col(f"{name}_rating").is_nan())["player"].to_list()
        for name in ("new", "old")
    )
    if not only_old or not only_new:
        return []
    names, first = [*only_old, *only_new], set(only_old)
    search = same_but_for_form if len(names) > MOST else likely_doubles
    notes = [
        f"{one!r} (old) and {other!r} (new) may be one player"
        for one, other in search(names)
        if one in first and other not in first
    ]
    if len(notes) > _DOUBLES:
        more = counted(len(notes) - _DOUBLES, "more pair")
        notes = [*notes[:_DOUBLES], f"{more} of names may be one player"]
    if notes:
        says = "--synonyms FILE, with the columns name and same_as, says who is the same"
        notes.append(addressed(f"names are matched exactly; {says}"))
    return notes


def _few(players: int, enough: bool, correlation: float, why_not: str) -> Sequence[str]:
    """Return notes on numbers that are not defined."""
    if not enough:
        who = "one player is" if players == 1 else f"{players} players are"
        return (f"only {who} in both tables, too few for correlations and a line",)
    if math.isnan(correlation):
        return ("all ratings of a table are equal, so correlations are not defined",)
    return (why_not,) if why_not else ()

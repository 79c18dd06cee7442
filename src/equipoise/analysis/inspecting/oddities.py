"""What is odd in a history: nothing that a reader refuses, but what is often a mistake.

Every check takes linear time, or that of one sort of the matches, so a history of millions of rows
is checked in about a second. A limit below which a check keeps silent is a constant beside it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import polars as pl

from equipoise.arrays import Floats, Ids, Ints
from equipoise.data.history import History
from equipoise.data.times import MICROSECONDS_PER_DAY, day_in_words
from equipoise.errors import InvalidDataError
from equipoise.formats.likely_doubles import MERGING, MOST, likely_doubles, same_but_for_form
from equipoise.formats.tables.recognised import option_for
from equipoise.numeric.graph import components
from equipoise.wording import counted

#: Number of names, matches or groups in a sentence; the others are counted.
_NAMED = 3
#: Matches from which shares of matches, and correlations, mean something.
_ENOUGH, _FEW = 20, 5
#: A gap is this many times as long as the mean time between matches, and this share of all time.
_GAP_TIMES, _GAP_SHARE = 10.0, 0.1
#: Share of the decided games that one side wins, and of matches in which all tie.
_ALWAYS, _MOSTLY_TIED = 0.98, 0.8
#: Share of matches that are repeated on the same day, or in the same round, where that is usual.
_USUAL = 0.02
#: Correlation of rank and score from which ranks look reversed.
_REVERSED = 0.5
#: Names of columns that may be times: played_at, tourney_date, createdAt; and values that are one.
_TIMELY = re.compile(r"date|time|day|stamp|_at$|At$", re.IGNORECASE)
_TIME_OR_DATE = re.compile(
    r"(\d{4}-\d\d-\d\d|\d{1,2}[./-]\d{1,2}[./-]\d{2,4}|(1[89]|2[01])\d{6}$|1\d{9}(\d{3})?(\.\d+)?$)"
)
#: Columns of which more is better wherever they occur.
_SCORES = ("score", "points", "goals")
#: Placeholders instead of names, in small letters.
_NOBODY = (
    *("?", "-", "--", "n/a", "na", "nan", "none", "null", "nil", "unknown", "anonymous", "anon"),
    *(
        "bye",
        "(bye)",
        "tbd",
        "tba",
        "empty",
        "guest",
        "deleted",
        "[deleted]",
        "player",
        "nn",
        "n.n.",
    ),
)


@dataclass(frozen=True, slots=True)
class Oddity:
    """Something unusual: how often, a sentence, and what to do; see `OddityMessage`."""

    kind: str
    count: int
    text: str
    advice: str = ""


class Sizes(NamedTuple):
    """Of every match: rows, teams and distinct ranks, each shape (M,)."""

    rows: Ints
    teams: Ints
    ranks: Ints


def find_oddities(
    history: History, *, two_sides: bool, ranked: bool, columns: Mapping[str, str] | None = None
) -> list[Oddity]:
    """Return what is odd in a history, the most important first.

    two_sides : whether the file names two sides of each match, so that their order has a meaning
    ranked : whether the file has places, which were not computed from scores
    columns : meaning -> name in the file, where it has another name
    """
    named = columns or {}
    if not history.matches:
        return []
    sizes = Sizes(history.sizes(), history.teams(), history.distinct_ranks())
    checks: tuple[Callable[[], Iterator[Oddity]], ...] = (
        lambda: _reversed_ranks(history, named.get("rank", "rank")) if ranked else iter(()),
        lambda: _one_sided(history, sizes) if two_sides else iter(()),
        lambda: _ties(sizes, _decides(named)),
        lambda: _repeated(history, sizes),
        lambda: _groups(history),
        lambda: _alone(history, sizes),
        lambda: _unread_times(history) if "time" not in named else iter(()),
        lambda: _times(history),
        lambda: _names(history),
        lambda: _newcomers(history),
    )
    return [found for check in checks for found in check()]


def _decides(named: Mapping[str, str]) -> str:
    """Return what the column that decides the places is called in `--column`."""
    return next((one for one in ("result", "score", "winner") if one in named), "rank")


def _reversed_ranks(history: History, ranks: str) -> Iterator[Oddity]:
    """Find ranks that rise with a score of which more is better.

    ranks : name of their column in the file
    """
    for name in _SCORES:
        score = _numbers(history, name)
        if score is None:
            continue
        correlation, matches = _within_matches(history, history.rank.astype(np.float64), score)
        if matches >= _FEW and correlation > _REVERSED:
            more = "a higher score" if name == "score" else f"more {name}"
            how = option_for("score", ranks)
            less = "a lower score is" if name == "score" else f"fewer {name} are"
            yield Oddity(
                "reversed-ranks",
                matches,
                f"players with {more} have a worse rank (correlation {correlation:.2f} within "
                "matches), because the lowest rank is the best",
                f"if the highest rank is the best, read it as a score: {how}. If {less} "
                "better, all is well",
            )


def _numbers(history: History, name: str) -> Floats | None:
    """Return a column as numbers, NaN where there is none; None if it is absent or no numbers."""
    values = history.statistics.get(name, history.attributes.get(name))
    if values is None:
        return None
    if name == "score":
        try:
            return history.scores()
        except InvalidDataError:
            return None
    if values.dtype != object:
        return values.astype(np.float64)
    texts = pl.Series(values.tolist(), strict=False).cast(pl.String, strict=False)
    numbers = texts.cast(pl.Float64, strict=False)
    if numbers.null_count() > texts.null_count():
        return None
    return numbers.to_numpy().astype(np.float64)


def _within_matches(history: History, one: Floats, other: Floats) -> tuple[float, int]:
    """Return the correlation of two columns within matches, and how many matches it rests on."""
    known = ~np.isnan(other)
    match = history.match_rows()[known]
    count = np.maximum(np.bincount(match, minlength=history.matches), 1)
    deviations = []
    for column in (one[known], other[known]):
        mean = np.bincount(match, column, history.matches) / count
        deviations.append(column - mean[match])
    first, second = deviations
    varying = np.bincount(match, np.abs(first * second), history.matches) > 0
    scale = np.sqrt(np.sum(first**2) * np.sum(second**2))
    if not scale > 0:
        return 0.0, 0
    return float(np.sum(first * second) / scale), int(np.sum(varying))


def _one_sided(history: History, sizes: Sizes) -> Iterator[Oddity]:
    """Find that the side named first, or the other, wins every game that is decided."""
    duels = (sizes.teams == 2) & (sizes.ranks == 2)
    decided = int(np.sum(duels))
    if decided < _ENOUGH:
        return
    won = history.rank[history.offsets[:-1][duels]] == 0
    wins = int(np.sum(won))
    for side, often in (("first", wins), ("second", decided - wins)):
        if often >= _ALWAYS * decided:
            yield Oddity(
                "one-sided",
                often,
                f"the {side} of the two players or teams won {often:,} of the {decided:,} games "
                "that are not drawn",
                "if the table lists the winner first, no home or colour advantage may be learned "
                "from it; otherwise look at the column of results",
            )


def _ties(sizes: Sizes, decides: str) -> Iterator[Oddity]:
    contested = sizes.teams > 1
    tied = int(np.sum(contested & (sizes.ranks == 1)))
    many = int(np.sum(contested))
    if many >= _ENOUGH and tied >= _MOSTLY_TIED * many:
        yield Oddity(
            "ties-everywhere",
            tied,
            f"all players or teams tie in {tied:,} of {counted(many, 'match', 'matches')}",
            f"look at the column that decides the places (--column {decides}=NAME names another)",
        )


def _repeated(history: History, sizes: Sizes) -> Iterator[Oddity]:
    """Find matches with the time, the players and the result of another match."""
    times = history.time if history.time is not None else history.order
    if times is None or history.matches < 2:
        return
    keys = pl.DataFrame({"time": times, "rows": sizes.rows, "content": _digests(history)})
    rows = keys.is_duplicated().arg_true()
    if not len(rows):
        return
    found = keys[rows].with_columns(row=rows)
    groups = found.group_by("time", "rows", "content", maintain_order=True).agg("row")["row"]
    extra = len(rows) - len(groups)
    if extra > _USUAL * history.matches and not np.any(times % MICROSECONDS_PER_DAY):
        return  # on one day the same players often meet again, with the same result
    shown = [
        " and ".join(str(history.match_ids[row]) for row in group[:2])
        for group in groups.head(_NAMED).to_list()
    ]
    yield Oddity(
        "repeated-match",
        extra,
        f"{counted(extra, 'match has', 'matches have')} the time, the players and the result of "
        f"another one: {_listed(shown, len(groups))}",
        "if they are the same match twice, remove the copies: each of them is rated",
    )


def _digests(history: History) -> Ids:
    """Return a number for the players and the result of each match, shape (M,), order apart.

    Rows are mixed to 64 bits and summed, so the order of the rows of a match does not matter.
    """
    with np.errstate(over="ignore"):
        mixed = _mixed(history.player.astype(np.uint64))
        mixed = _mixed(mixed + history.rank.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15))
        for name in _SCORES:
            score = history.attributes.get(name, history.statistics.get(name))
            if score is not None and score.dtype != object:
                bits = score.astype(np.float64).view(np.uint64)
                mixed = _mixed(mixed ^ bits)
        digests: Ids = np.add.reduceat(mixed, history.offsets[:-1])
    return digests


def _mixed(numbers: Ids) -> Ids:
    """Return numbers whose bits all depend on all bits: the finaliser of splitmix64."""
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(numbers ^ (numbers >> np.uint64(31)))


def _groups(history: History) -> Iterator[Oddity]:
    """Find groups of players who never met, even through others."""
    later = np.ones(history.participations, dtype=bool)
    later[history.offsets[:-1]] = False
    rows = np.flatnonzero(later)
    component = components(history.player[rows - 1], history.player[rows], history.players)
    sizes = np.bincount(component)
    if len(sizes) == 1:
        return
    largest = np.argsort(-sizes, kind="stable")[:_NAMED]
    shown = [
        f"{counted(int(sizes[one]), 'player')} with "
        f"{history.player_ids[int(np.argmax(component == one))]}"
        for one in largest.tolist()
    ]
    yield Oddity(
        "unconnected-groups",
        len(sizes),
        f"the players are {len(sizes):,} groups that never met, even through others: "
        f"{_listed(shown, len(sizes))}",
        "ratings within a group can be compared, ratings of different groups cannot",
    )


def _alone(history: History, sizes: Sizes) -> Iterator[Oddity]:
    single = np.flatnonzero(sizes.teams == 1)
    if not len(single):
        return
    shown = [str(history.match_ids[row]) for row in single[:_NAMED].tolist()]
    yield Oddity(
        "single",
        len(single),
        f"{counted(len(single), 'match has', 'matches have')} a single player or team: "
        f"{_listed(shown, len(single))}",
        "nothing can be learned from them, and they change no rating"
        + ("; is match the right column?" if len(single) > history.matches / 2 else ""),
    )


def _unread_times(history: History) -> Iterator[Oddity]:
    """Find columns that look like times, in a history that has none."""
    if history.time is not None:
        return
    found = [
        name
        for name, values in history.attributes.items()
        if _TIMELY.search(name) and _look_like_times(values)
    ]
    if not found:
        return
    instead = " or ".join(option_for("time", name) for name in found[:_NAMED])
    yield Oddity(
        "unread-times",
        len(found),
        f"{_listed(found[:_NAMED], len(found))} may be the times of the matches, but "
        f"{'is' if len(found) == 1 else 'are'} not read as such",
        f"if so, name the column: {instead}",
    )


def _look_like_times(values: Ids) -> bool:
    """Return whether the first values of a column are times or dates, as numbers or as text."""
    some = [one for one in values[:_ENOUGH].tolist() if one is not None]
    if values.dtype.kind == "M":
        return bool(some)
    return bool(some) and all(_TIME_OR_DATE.match(str(one)) for one in some)


def _times(history: History) -> Iterator[Oddity]:
    """Find times that say no order, and long gaps between them."""
    time = history.time
    if time is None or history.matches < 2:
        return
    span = int(time[-1] - time[0])
    if span == 0:
        yield Oddity(
            "one-time",
            history.matches,
            f"all {history.matches:,} matches have the same time",
            "their order in the file decides in which order they are rated",
        )
        return
    between = np.diff(time)
    least = max(_GAP_SHARE * span, _GAP_TIMES * span / len(between))
    gaps = np.flatnonzero(between > least)
    if not len(gaps):
        return
    longest = gaps[np.argsort(-between[gaps], kind="stable")][:_NAMED]
    shown = [
        f"{between[row] / MICROSECONDS_PER_DAY:,.0f} days after {day_in_words(int(time[row]))}"
        for row in longest.tolist()
    ]
    yield Oddity(
        "gaps",
        len(gaps),
        f"{counted(len(gaps), 'gap')} in time: {_listed(shown, len(gaps))}",
        "if matches are missing there, ratings before and after it are less comparable",
    )


def _names(history: History) -> Iterator[Oddity]:
    """Find names that may be one player, and placeholders instead of names."""
    if history.player_ids.dtype != object:
        return
    names: list[str] = history.player_ids.tolist()
    pairs = likely_doubles(names) if len(names) <= MOST else same_but_for_form(names)
    if pairs:
        shown = [f"{one!r} and {other!r}" for one, other in pairs[:_NAMED]]
        yield Oddity(
            "likely-doubles",
            len(pairs),
            f"{counted(len(pairs), 'pair')} of names may be one player: "
            f"{_listed(shown, len(pairs))}",
            MERGING,
        )
    small = pl.Series(names, dtype=pl.String).str.strip_chars().str.to_lowercase()
    nobody = small.is_in(list(_NOBODY)).arg_true().to_list()
    if nobody:
        played = np.bincount(history.player, minlength=history.players)
        shown = [
            f"{names[row]!r} in {counted(int(played[row]), 'match', 'matches')}"
            for row in nobody[:_NAMED]
        ]
        yield Oddity(
            "nobody",
            len(nobody),
            f"{counted(len(nobody), 'name is a placeholder', 'names are placeholders')} but read "
            f"as {'a player' if len(nobody) == 1 else 'players'}: {_listed(shown, len(nobody))}",
            "all of their matches count as those of one player: remove the rows, if they are not",
        )


def _newcomers(history: History) -> Iterator[Oddity]:
    once = int(np.sum(np.bincount(history.player, minlength=history.players) == 1))
    if once:
        yield Oddity(
            "one-match",
            once,
            f"{once:,} of {counted(history.players, 'player')} played only once",
            "their ratings say little yet: the column deviation shows how little",
        )


def _listed(shown: Sequence[str], many: int) -> str:
    """Return the first few of many, and how many more there are."""
    more = many - len(shown)
    return "; ".join(shown) + (f"; and {more:,} more" if more > 0 else "")

"""The columns of a file as they are understood, and what is odd though it can be read."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import polars as pl

from equipoise.analysis.inspect.answers import ColumnMessage, OddityMessage
from equipoise.arrays import Ids
from equipoise.data.history import History, matches_played
from equipoise.data.times import MICROSECONDS_PER_DAY
from equipoise.formats.meanings import option_for
from equipoise.formats.names import doubles_of_history
from equipoise.formats.table import HistoryReading, Table, shown
from equipoise.numeric.graph import components
from equipoise.rating.registry import SYSTEMS, make_system
from equipoise.rating.system import USABLE
from equipoise.wording import counted

#: What a column decides, by its meaning, in the order of lists. The columns that only some systems
#: use are not here.
_USES = {
    "match": "which match a row belongs to",
    "player": "who played",
    "time": "when: matches are rated in this order",
    "round": "the order, where there is no time",
    "team": "who played together",
    "white": "who played on the first side",
    "black": "who played on the second side",
    "opponent": "who played on the second side",
    "rank": "the places, the lowest first",
    "winner": "who won",
    "rated": "matches where it is false are left out",
    "result": "the result",
    "white_score": "the scores, which decide",
    "black_score": "the scores, which decide",
    "neutral": "whether nobody is at home",
    "points": "the points of the first side",
    "games": "the number of games",
    "draws": "the number of drawn games",
}
_NO_RATING = "kept; no rating depends on it"
#: Values of a column that is not read, and systems that are named for one.
_VALUES, _NAMED = 3, 3


def columns_of(reading: HistoryReading, history: History) -> list[ColumnMessage]:
    """Return the columns with a meaning, and then those that were kept without one."""
    columns = reading.columns
    listed = [
        ColumnMessage(column, meaning, _ordered(meaning, history) or _use(meaning, columns))
        for meaning, column in sorted(columns.items(), key=_place)
    ]
    listed += [
        ColumnMessage(name, "statistic", "adds to the performance, with the weight of --stat")
        for name in history.statistics
    ]
    known = {*columns, *columns.values()}
    known |= {"side", "score"} if reading.kind == "games" else set()
    # The numbers of rounds in PGN and in reports are the order, if there are no dates.
    by_round = history.order is not None and not {"time", "round"} & {*columns}
    for name in history.attributes:
        if name not in known:
            use = _USES["round"] if name == "round" and by_round else _system_use(name)
            listed.append(ColumnMessage(name, "", use))
    return listed


def columns_of_games(columns: Mapping[str, str]) -> list[ColumnMessage]:
    """Return the columns of games; columns : meaning -> name in the file."""
    return [
        ColumnMessage(column, meaning, _USES.get(meaning, ""))
        for meaning, column in sorted(columns.items(), key=_place)
    ]


def columns_with_values(table: Table, columns: Mapping[str, str]) -> list[ColumnMessage]:
    """Return the columns of a table that cannot be read, with their first values."""
    meanings = {column: meaning for meaning, column in columns.items()}
    listed = []
    for column in table.frame:
        values = ", ".join(shown(value) for value in column.head(_VALUES).to_list())
        nested = column.name in table.nested or column.dtype.is_nested()
        use = "is not read, because its values are nested: " if nested else "has "
        meaning = meanings.get(column.name, "")
        listed.append(ColumnMessage(column.name, meaning, use + (values or "no values")))
    return listed


def _place(named: tuple[str, str]) -> int:
    """Return the place of a (meaning, column) in lists: as in `_USES`, and then the others."""
    return list(_USES).index(named[0]) if named[0] in _USES else len(_USES)


def _ordered(meaning: str, history: History) -> str:
    """Return what times or rounds do if they are not the order; "" if they are, and for others."""
    if meaning == "time" and history.time is None and history.order is None:
        return "has no values, so the order of the file counts"
    if meaning == "round" and history.order is None:
        return _NO_RATING
    return ""


def _use(meaning: str, columns: Mapping[str, str]) -> str:
    """Return what a column with a meaning decides."""
    decided = not {"rank", "winner", "result"}.isdisjoint(columns)
    if meaning == "score" and not decided:
        return "the places"
    if meaning == "points" and not decided:
        return "the result: points of the first side"
    return _USES.get(meaning) or _system_use(meaning)


def _system_use(column: str) -> str:
    """Return which systems use a column that is not needed, by default or with a parameter."""
    using: dict[str, list[str]] = {}
    for name in SYSTEMS if column in USABLE else ():
        able = make_system(name).capabilities
        if column in able.uses:
            using.setdefault("counts", []).append(name)
        elif column in able.needed:
            using.setdefault(f"counts with {able.needed[column]}", []).append(name)
    return "; ".join(f"{how} in {_few(names)}" for how, names in using.items()) or _NO_RATING


def _few(names: list[str]) -> str:
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more} more" if more > 0 else "")


#: Number of names, matches or groups in a sentence; the others are counted.
_MOST_NAMED = 3
#: Matches from which shares of matches, and correlations, mean something.
_ENOUGH, _FEW = 20, 5
#: Share of the decided games that one side wins, and of matches in which all tie.
_ALWAYS, _MOSTLY_TIED = 0.98, 0.8
#: Share of matches that are repeated on the same day, or in the same round, where that is usual.
_USUAL = 0.02
#: Repeated matches that are never usual; rows from which a repeated part of a file is a copy.
_A_PAIR, _COPIED = 2, 3
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
_NOBODY = re.compile(
    r"[?]|--?|n/?a|nan|none|null|nil|unknown|anon(ymous)?|bye|\(bye\)|tbd|tba|empty|guest|deleted"
    r"|\[deleted\]|player|nn|n\.n\."
)


def find_oddities(history: History, reading: HistoryReading) -> list[OddityMessage]:
    """Return what is odd in a history, the most important first; reading : how it was read."""
    checks = _CHECKS if history.matches else ()
    return [oddity for check in checks for oddity in check(history, reading)]


def _reversed_ranks(history: History, reading: HistoryReading) -> Iterator[OddityMessage]:
    """Find places, not computed from scores, that rise with a score of which more is better."""
    for name in _SCORES if "rank" in reading.columns else ():
        scores = _numbers(history, name)
        if scores is None:
            continue
        correlation, matches = _within_matches(history, scores)
        if matches >= _FEW and correlation > _REVERSED:
            more = "a higher score" if name == "score" else f"more {name}"
            less = "a lower score is" if name == "score" else f"fewer {name} are"
            yield OddityMessage(
                "reversed-ranks",
                matches,
                f"players with {more} have a worse rank (correlation {correlation:.2f} within "
                "matches), because the lowest rank is the best",
                "if the highest rank is the best, read it as a score: "
                f"{option_for('score', reading.columns['rank'])}. If {less} better, all is well",
            )


def _numbers(history: History, name: str) -> pl.Series | None:
    """Return a column as numbers, null where there is none; None if it is absent or no numbers."""
    values = history.statistics.get(name, history.attributes.get(name))
    if values is None:
        return None
    if values.dtype != object:
        return pl.Series(values.astype(np.float64)).fill_nan(None)
    texts = pl.Series(values.tolist(), strict=False).cast(pl.String, strict=False)
    numbers = texts.cast(pl.Float64, strict=False)
    return numbers if numbers.null_count() == texts.null_count() else None


def _within_matches(history: History, scores: pl.Series) -> tuple[float, int]:
    """Return the correlation of ranks and scores within matches, and how many matches vary."""
    columns = {"match": history.match_rows(), "rank": history.rank, "score": scores}
    one, other = (pl.col(name) - pl.col(name).mean().over("match") for name in ("rank", "score"))
    rows = pl.DataFrame(columns).drop_nulls().select("match", one, other)
    varying = rows.filter(pl.col("rank") * pl.col("score") != 0)["match"].n_unique()
    correlation = rows.select(pl.corr("rank", "score")).item()
    return (0.0 if correlation is None else correlation), varying


def _one_sided(history: History, reading: HistoryReading) -> Iterator[OddityMessage]:
    """Find that the side named first, or the other, wins every game that is decided."""
    if reading.kind != "games":
        return
    duels = (history.teams() == 2) & (history.distinct_ranks() == 2)
    decided = int(np.sum(duels))
    wins = int(np.sum(history.rank[history.offsets[:-1][duels]] == 0))
    for side, often in (("first", wins), ("second", decided - wins)):
        if decided >= _ENOUGH and often >= _ALWAYS * decided:
            yield OddityMessage(
                "one-sided",
                often,
                f"the {side} of the two players or teams won {often:,} of the {decided:,} games "
                "that are not drawn",
                "if the table lists the winner first, no home or colour advantage may be learned "
                "from it; otherwise look at the column of results",
            )


def _ties(history: History, reading: HistoryReading) -> Iterator[OddityMessage]:
    """Find that all tie in most matches."""
    contested = history.teams() > 1
    tied = int(np.sum(contested & (history.distinct_ranks() == 1)))
    many = int(np.sum(contested))
    if many >= _ENOUGH and tied >= _MOSTLY_TIED * many:
        named = (name for name in ("result", "score", "winner") if name in reading.columns)
        decides = next(named, "rank")
        yield OddityMessage(
            "ties-everywhere",
            tied,
            f"all players or teams tie in {tied:,} of {counted(many, 'match', 'matches')}",
            f"look at the column that decides the places (--column {decides}=NAME names another)",
        )


def _repeated(history: History, _: HistoryReading) -> Iterator[OddityMessage]:
    """Find matches with the time, the players and the result of another match."""
    times = history.time if history.time is not None else history.order
    if times is None:
        return
    keys = pl.DataFrame({"time": times, "rows": history.sizes(), "content": _digests(history)})
    again = keys.with_row_index("row").filter(keys.is_duplicated())
    groups = again.group_by(keys.columns, maintain_order=True).agg("row")["row"]
    extra = len(again) - len(groups)
    usual = extra > max(_USUAL * history.matches, _A_PAIR)
    if not extra or (
        # On one day the same players often meet again, with the same result.
        usual and not np.any(times % MICROSECONDS_PER_DAY) and not _copied(history, keys)
    ):
        return
    shown = [
        " and ".join(str(history.match_ids[row]) for row in group[:2])
        for group in groups.head(_MOST_NAMED).to_list()
    ]
    yield OddityMessage(
        "repeated-match",
        extra,
        f"{counted(extra, 'match has', 'matches have')} the time, the players and the result of "
        f"another one: {_listed(shown, len(groups))}",
        "if they are the same match twice, remove the copies: each of them is rated",
    )


def _copied(history: History, keys: pl.DataFrame) -> bool:
    """Return whether most repeated matches are so in their order, as rows pasted twice are.

    keys : what is equal of repeated matches, a row for each match
    """
    # Matches without ids are numbered as in the file; the history has them in the order of time.
    ordered = keys.select(pl.struct(keys.columns).alias("key"))[np.argsort(history.match_ids)]
    ordered = ordered.with_columns(at=pl.int_range(pl.len()))
    far = ordered.with_columns(far=pl.col("at").diff().over("key"))["far"].fill_null(0)
    runs = far.rle().struct.unnest()
    copies = runs.filter((pl.col("value") >= _COPIED) & (pl.col("len") >= _COPIED))["len"].sum()
    return bool(2 * copies > (far > 0).sum())


def _digests(history: History) -> Ids:
    """Return a number for the players and the result of each match, shape (M,), order apart."""
    columns: dict[str, Ids] = {"player": history.player, "rank": history.rank}
    for name in _SCORES:
        score = history.attributes.get(name, history.statistics.get(name))
        if score is not None and score.dtype != object:
            columns[name] = score
    rows = pl.DataFrame(columns).hash_rows().to_numpy()
    with np.errstate(over="ignore"):
        digests: Ids = np.add.reduceat(rows, history.offsets[:-1])
    return digests


def _groups(history: History, _: HistoryReading) -> Iterator[OddityMessage]:
    """Find groups of players who never met, even through others."""
    later = np.ones(history.participations, dtype=bool)
    later[history.offsets[:-1]] = False
    rows = np.flatnonzero(later)
    component = components(history.player[rows - 1], history.player[rows], history.players)
    sizes = np.bincount(component)
    if len(sizes) == 1:
        return
    largest = np.argsort(-sizes, kind="stable")[:_MOST_NAMED]
    shown = [
        f"{counted(int(sizes[group]), 'player')} with "
        f"{history.player_ids[int(np.argmax(component == group))]}"
        for group in largest.tolist()
    ]
    yield OddityMessage(
        "unconnected-groups",
        len(sizes),
        f"the players are {len(sizes):,} groups that never met, even through others: "
        f"{_listed(shown, len(sizes))}",
        "ratings within a group can be compared, ratings of different groups cannot",
    )


def _alone(history: History, _: HistoryReading) -> Iterator[OddityMessage]:
    single = np.flatnonzero(history.teams() == 1)
    if not len(single):
        return
    shown = [str(history.match_ids[row]) for row in single[:_MOST_NAMED].tolist()]
    yield OddityMessage(
        "single",
        len(single),
        f"{counted(len(single), 'match has', 'matches have')} a single player or team: "
        f"{_listed(shown, len(single))}",
        "nothing can be learned from them, and they change no rating"
        + ("; is match the right column?" if len(single) > history.matches / 2 else ""),
    )


def _unread_times(history: History, reading: HistoryReading) -> Iterator[OddityMessage]:
    """Find columns that look like times, in a history that has none."""
    if "time" in reading.columns or history.time is not None:
        return
    columns = [
        name
        for name, values in history.attributes.items()
        if _TIMELY.search(name) and _look_like_times(values)
    ]
    if not columns:
        return
    instead = " or ".join(option_for("time", name) for name in columns[:_MOST_NAMED])
    yield OddityMessage(
        "unread-times",
        len(columns),
        f"{_listed(columns[:_NAMED], len(columns))} may be the times of the matches, but "
        f"{'is' if len(columns) == 1 else 'are'} not read as such",
        f"if so, name the column: {instead}",
    )


def _look_like_times(values: Ids) -> bool:
    """Return whether the first values of a column are times or dates, as numbers or as text."""
    some = [value for value in values[:_ENOUGH].tolist() if value is not None]
    if values.dtype.kind == "M":
        return bool(some)
    return bool(some) and all(_TIME_OR_DATE.match(str(value)) for value in some)


def _names(history: History, _: HistoryReading) -> Iterator[OddityMessage]:
    """Find names that may be one player, and placeholders instead of names."""
    if history.player_ids.dtype != object:
        return
    names: list[str] = history.player_ids.tolist()
    played = matches_played(history)
    pairs = doubles_of_history(history.player_ids, played)
    if pairs:
        shown = [f"{one!r} and {other!r}" for one, other in pairs[:_MOST_NAMED]]
        yield OddityMessage(
            "likely-doubles",
            len(pairs),
            f"{counted(len(pairs), 'pair')} of names may be one player: "
            f"{_listed(shown, len(pairs))}",
            "if so, --synonyms FILE merges them: a table with the columns name and same_as",
        )
    nobody = [row for row, name in enumerate(names) if _NOBODY.fullmatch(name.strip().lower())]
    if nobody:
        shown = [
            f"{names[row]!r} in {counted(int(played[row]), 'match', 'matches')}"
            for row in nobody[:_MOST_NAMED]
        ]
        yield OddityMessage(
            "nobody",
            len(nobody),
            f"{counted(len(nobody), 'name is a placeholder', 'names are placeholders')} but read "
            f"as {'a player' if len(nobody) == 1 else 'players'}: {_listed(shown, len(nobody))}",
            "all of their matches count as those of one player: remove the rows, if they are not",
        )


#: In the order of their importance.
_CHECKS = (
    _reversed_ranks,
    _one_sided,
    _ties,
    _repeated,
    _groups,
    _alone,
    _unread_times,
    _names,
)


def _listed(shown: Sequence[str], many: int) -> str:
    """Return the first few of many, and how many more there are."""
    more = many - len(shown)
    return "; ".join(shown) + (f"; and {more:,} more" if more > 0 else "")

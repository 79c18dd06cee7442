"""Writes tables, histories and games; a file appears completely or not at all.

`write_table` and `write_history` write a table in memory. `write_pieces` writes a table piece by
piece without having all of it in memory. `trf_text` writes the games of a tournament as a FIDE
report (Handbook, C.04 Annex 2), with byes and forfeits as far as they are known, in the columns
that `trf.py` reads. `game_table` writes a history as a table of games, one match a row, that our
readers read again. White, or the side at home, comes first if the history says who it is; else the
player listed first.
"""

from __future__ import annotations

import gzip
import io
import itertools
import math
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any, Literal, NamedTuple, TypeAlias, cast, get_args

import numpy as np
import polars as pl
import polars.selectors as cs
from polars.io.plugins import register_io_source

from equipoise.arguments import checks_arguments
from equipoise.arrays import Flags, Floats, Ids, Ints
from equipoise.data.files import check_place, whole_file
from equipoise.data.games import KIND, ROUND_KINDS, Games, Rounds
from equipoise.data.history import HOME_SIDES, OF_MATCHES, History
from equipoise.display import Tabular
from equipoise.errors import InvalidDataError, InvalidParameterError, require
from equipoise.formats.delimited import escaped
from equipoise.formats.meanings import side_ratings
from equipoise.formats.two_sides import whole_if_all
from equipoise.wording import counted

TableFormat: TypeAlias = Literal["csv", "csv.gz", "tsv", "parquet", "arrow", "json", "jsonl"]
_DELIMITED = ("csv", "csv.gz", "tsv")
HISTORY_FORMATS = ("csv", "csv.gz", "tsv", "parquet", "jsonl")
#: Slightly smaller files than with zlib's default, in half the time.
GZIP_LEVEL = 5


@checks_arguments()
def write_history(history: History, path: str | os.PathLike[str], *, raw: bool = False) -> None:
    """Write a history as a long table in the format of the suffix of `path`.

    Reading the file gives the same history, if columns of statistics are declared and the format
    distinguishes text from numbers (in CSV and TSV a text id that looks like a number becomes a
    number).

    path : ends in .csv, .csv.gz, .tsv, .parquet or .jsonl
    raw : whether CSV and TSV have text that spreadsheets run as it is. Otherwise it is escaped, and
        read back as it was
    Raises : InvalidParameterError   another suffix, or no such directory

    Examples
    --------
    >>> club = eq.read_history("examples/contests.csv")
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     eq.write_history(club, f"{folder}/club.parquet")
    ...     again = eq.read_history(f"{folder}/club.parquet")
    >>> again.matches == club.matches
    True
    """
    require(isinstance(history, History), "history", "a History", type(history).__name__)
    _write_to(Path(path), history.file_table(), format_of(Path(path), HISTORY_FORMATS), raw)


@checks_arguments()
def write_table(
    frame: pl.DataFrame | Tabular,
    target: str | os.PathLike[str] | IO[Any],
    *,
    format: TableFormat | None = None,
    raw: bool = False,
) -> None:
    """Write a table of results; NaN becomes null, and floats keep their full precision.

    A file appears completely or not at all: it is written under a temporary name and then moved.

    frame : a Polars data frame, or a result that is a table, such as `Ratings`; the times of a
        result are written in the kind that came in
    target : path that ends in .csv, .csv.gz, .tsv, .parquet, .json, .jsonl or .arrow, or a text or
        binary stream
    format : needed for a stream; for a path its suffix decides
    raw : whether CSV and TSV have text that spreadsheets run as it is. Otherwise it is escaped, and
        our readers read it back as it was
    Raises : InvalidParameterError   another suffix, or no such directory

    Examples
    --------
    >>> duels = eq.read_history({
    ...     "match": [1, 1, 2, 2], "player": ["ann", "ben", "ben", "cid"], "rank": [1, 2, 1, 2],
    ... })
    >>> import io
    >>> stream = io.StringIO()
    >>> eq.write_table(eq.replay(eq.Elo(), duels).ratings, stream, format="csv")
    >>> print(stream.getvalue().splitlines()[0][:23])
    player,rating,deviation
    """
    frame = frame.file_table() if isinstance(frame, Tabular) else frame
    require(isinstance(frame, pl.DataFrame), "frame", "a Polars DataFrame", type(frame).__name__)
    allowed = get_args(TableFormat)
    if isinstance(target, str | os.PathLike):
        path = Path(target)
        _write_to(path, frame, format or format_of(path, allowed), raw)
        return
    require(hasattr(target, "write"), "target", "a path or a stream", type(target).__name__)
    require(format is not None, "format", f"one of {', '.join(allowed)} for a stream", format)
    _write_stream(target, frame, str(format), raw)


def check_target(path: str | os.PathLike[str]) -> None:
    """Refuse a path that `write_table` would refuse, before the work is done.

    Raises : InvalidParameterError   another suffix, or no such directory
    """
    format_of(Path(path), get_args(TableFormat))
    check_place(path)


#: Endings of spreadsheets, which are read but not written.
_SHEETS = (".xlsx", ".xls", ".ods")


def format_of(path: Path, allowed: tuple[str, ...]) -> str:
    """Return the format of these that a suffix means. Raises : InvalidParameterError."""
    for ending in allowed:
        if path.name.lower().endswith(f".{ending}"):
            return ending
    endings = ", ".join(f".{ending}" for ending in allowed)
    hint = "; spreadsheet programs open .csv" if path.suffix.lower() in _SHEETS else ""
    raise InvalidParameterError(
        f"the name of a file must end in {endings}; got {str(path)!r}{hint}"
    )


def _write_to(path: Path, frame: pl.DataFrame, format: str, raw: bool) -> None:
    with whole_file(path) as file:
        _encode(frame, file, format, raw)


def _write_stream(stream: IO[Any], frame: pl.DataFrame, format: str, raw: bool) -> None:
    buffer = io.BytesIO()
    _encode(frame, buffer, format, raw)
    if isinstance(stream, io.TextIOBase):
        require(
            format not in ("parquet", "csv.gz", "arrow"), "format", "text for a text stream", format
        )
        stream.write(buffer.getvalue().decode())
    else:
        stream.write(buffer.getvalue())


def _encode(frame: pl.DataFrame, file: IO[bytes], format: str, raw: bool) -> None:
    frame = frame.with_columns(cs.float().fill_nan(None))
    if format in _DELIMITED and not raw:
        frame = escaped(frame)
    if format == "parquet":
        frame.write_parquet(file, compression="zstd", compression_level=1)
    elif format == "arrow":
        frame.write_ipc(file)
    elif format == "json":
        file.write(frame.write_json().encode())
    else:
        _write_text([frame], file, format)


#: Rows written together: enough for good compression in Parquet, and a few megabytes in memory.
ROWS = 250_000


def write_pieces(
    pieces: Iterable[pl.DataFrame],
    target: str | os.PathLike[str] | IO[bytes],
    *,
    rows: int = ROWS,
    raw: bool = False,
) -> int:
    """Write tables with the same columns one below the other; return the number of rows.

    A file appears completely or not at all, and has the same bytes as the table in one piece;
    compressed files (.csv.gz, .parquet) have the same content.

    target : path that ends in .csv, .csv.gz, .tsv, .parquet or .jsonl; a binary stream gets CSV
    rows : written together
    raw : as in `write_table`
    Raises : InvalidParameterError   another suffix, no such directory, or no piece at all
    """
    if not isinstance(target, str | os.PathLike):
        return _write(pieces if raw else map(escaped, pieces), target, "csv", rows)
    kind = format_of(Path(target), HISTORY_FORMATS)
    if kind in _DELIMITED and not raw:
        pieces = map(escaped, pieces)
    with whole_file(target) as file:
        return _write(pieces, file, kind, rows)


def check_pieces_target(path: str | os.PathLike[str]) -> None:
    """Refuse a path that `write_pieces` would refuse. Raises : InvalidParameterError."""
    format_of(Path(path), HISTORY_FORMATS)
    check_place(path)


def _write(pieces: Iterable[pl.DataFrame], file: IO[bytes], kind: str, rows: int) -> int:
    gathered = _gathered(pieces, rows)
    first = next(gathered, None)
    require(first is not None, "pieces", "at least one", "none")
    tables = itertools.chain([cast(pl.DataFrame, first)], gathered)
    if kind == "parquet":
        return _write_parquet(tables, cast(pl.DataFrame, first).schema, file, rows)
    return _write_text(tables, file, kind)


def _gathered(pieces: Iterable[pl.DataFrame], least: int) -> Iterator[pl.DataFrame]:
    """Yield pieces joined to tables of at least `rows` rows, except the last."""
    waiting: list[pl.DataFrame] = []
    rows = 0
    for piece in pieces:
        waiting.append(piece)
        rows += len(piece)
        if rows >= least:
            yield pl.concat(waiting)
            waiting, rows = [], 0
    if waiting:
        yield pl.concat(waiting)


def _write_text(tables: Iterable[pl.DataFrame], file: IO[bytes], kind: str) -> int:
    if kind == "csv.gz":
        # There is no name or time inside, so the same table gives the same bytes.
        with gzip.GzipFile("", "wb", GZIP_LEVEL, file, mtime=0) as compressed:
            return _write_text(tables, cast(IO[bytes], compressed), "csv")
    rows = 0
    for table in tables:
        # Not directly into the file, because Polars would hide the error of a closed pipe.
        buffer = io.BytesIO()
        if kind == "jsonl":
            table.write_ndjson(buffer)
        else:
            separator = "\t" if kind == "tsv" else ","
            table.write_csv(buffer, include_header=rows == 0, separator=separator)
        file.write(buffer.getbuffer())
        rows += len(table)
    return rows


def _write_parquet(
    tables: Iterator[pl.DataFrame], schema: pl.Schema, file: IO[bytes], group: int
) -> int:
    """Pass tables to the streaming writer of Polars, which requests one after the other."""
    rows = 0
    failed: list[BaseException] = []

    def source(*_: object) -> Iterator[pl.DataFrame]:
        nonlocal rows
        try:
            for table in tables:
                rows += len(table)
                yield table
        except BaseException as error:
            failed.append(error)
            raise

    try:
        register_io_source(source, schema=schema).sink_parquet(
            file, compression="zstd", compression_level=1, row_group_size=group
        )
    except pl.exceptions.PolarsError:
        # The error of the source is the cause; Polars only reports its own.
        if failed:
            raise failed[0] from None
        raise
    return rows


#: Letters of a name, digits of a number of a player.
_NAME, _MOST = 33, 9_999
#: Characters of the points of a player.
_POINTS = 4
#: What a round without a game is, as its letter. A forfeit has an opponent.
_LETTERS = {
    "pairing-bye": "U",
    "full-bye": "F",
    "half-bye": "H",
    "zero-bye": "Z",
    "forfeit-win": "+",
    "forfeit-loss": "-",
}
_SPACES = re.compile(r"[\s\x00-\x1f\x7f]+")


def trf_text(games: Games, name: str) -> tuple[str, list[str]]:
    """Return the report of a tournament, and what it lacks.

    name : of the tournament
    Raises : InvalidDataError   rounds are not known, or there are too many players
    """
    rounds = games.rounds
    if rounds is None:
        raise InvalidDataError(
            [],
            "a FIDE report needs the round of every game: a column round with numbers, in which "
            "no player has two games",
        )
    if games.players > _MOST:
        raise InvalidDataError(
            [], f"a FIDE report has at most {_MOST:,} players; got {games.players:,}"
        )
    names, shortened = _names(games)
    scored = rounds.scored()
    place = np.empty(games.players, np.int64)
    place[np.argsort(-scored, kind="stable")] = np.arange(1, games.players + 1)
    lines = [f"012 {_SPACES.sub(' ', name)}", f"062 {games.players}"]
    for row in range(games.players):
        entries = "".join(_entry(rounds, row, at) for at in range(rounds.rounds))
        lines.append(
            f"001 {row + 1:>4}      {names[row]:<{_NAME}} {_rating(games, row):>4} {'':3} {'':11} "
            f"{'':10} {_points(scored[row]):>4} {place[row]:>4}{entries}".rstrip()
        )
    return "\n".join(lines) + "\n", [*_lost(games, rounds, shortened)]


def _names(games: Games) -> tuple[list[str], int]:
    """Return names that fit and are all different, and how many were shortened."""
    taken: set[str] = set()
    names, shortened = [], 0
    for player in games.player_ids.tolist():
        full = _SPACES.sub(" ", str(player)).strip()
        name, number = full[:_NAME].strip(), 1
        while name in taken:
            number += 1
            end = f" ({number})"
            name = full[: _NAME - len(end)].strip() + end
        shortened += name != full
        taken.add(name)
        names.append(name)
    return names, shortened


def _points(points: float) -> str:
    """Return points in at most four characters, "" if they do not fit."""
    text = f"{points:.1f}"
    text = text if len(text) <= _POINTS else text.removesuffix(".0")
    return text if len(text) <= _POINTS else ""


def _rating(games: Games, row: int) -> str:
    rating = float(games.initial[row])
    fits = math.isfinite(rating) and 0 < round(rating) <= _MOST
    return str(round(rating)) if fits else ""


def _entry(rounds: Rounds, row: int, at: int) -> str:
    """Return the ten characters of a round."""
    kind = ROUND_KINDS[rounds.kind[row, at]]
    opponent = int(rounds.opponent[row, at]) + 1
    if kind == "played":
        points = float(rounds.points[row, at])
        result = "=" if points == 0.5 else "1" if points else "0"
        colour = {1: "w", -1: "b"}.get(int(rounds.colour[row, at]), "-")
        return f"  {opponent:>4} {colour} {result}"
    if kind == "unknown":
        return " " * 10
    number = f"{opponent:>4}" if opponent else "0000"
    return f"  {number} - {_LETTERS[kind]}"


def _lost(games: Games, rounds: Rounds, shortened: int) -> Iterator[str]:
    if shortened:
        cut = counted(shortened, "name is", "names are")
        yield f"{cut} cut, because a name has at most {_NAME} letters"
    unknown = int(np.sum(rounds.kind == KIND["unknown"]))
    if unknown:
        yield (
            f"{counted(unknown, 'round')} of players without a game are empty, which means "
            "absence: the source does not say what they were"
        )
    if games.white_rating is not None:
        yield "ratings differ between games of one player: the first one is written"
    initial = games.initial[~np.isnan(games.initial)]
    if np.any(initial != np.rint(initial)):
        yield "ratings are rounded to whole numbers"


#: Results by the points of the first side.
_RESULTS = {1.0: "1-0", 0.5: "1/2-1/2", 0.0: "0-1"}
#: Columns of the two sides, by what the first side is.
_SIDE_COLUMNS = {
    "white": ("white", "black"),
    "home": ("home", "away"),
    "first": ("player_1", "player_2"),
}
#: Columns that the two sides themselves say.
_SAID = ("side", "at_home")
#: Columns of the table, which no kept column may replace.
_OWN = ("match", "time", "round", "result", "neutral", "winner", "points")


def game_table(history: History) -> tuple[pl.DataFrame, list[str]]:
    """Return a table with a row for each match of two single players, and what it lacks.

    Raises : InvalidDataError   no match is between two single players
    """
    sides = _two_sides(history)
    names = _SIDE_COLUMNS[sides.words]
    columns: dict[str, pl.Series] = {"match": _series(history.match_ids[sides.matches])}
    times = history.table_times()
    if times is not None:
        columns["round" if history.time is None else "time"] = pl.Series(times[sides.matches])
    for name, rows in zip(names, (sides.first, sides.second), strict=True):
        columns[name] = _series(history.player_ids[history.player[rows]])
    kept = {*_SAID}
    scores = _scores_of_sides(sides)
    if scores is None:
        columns["result"] = pl.Series([_RESULTS[points] for points in sides.points.tolist()])
    else:
        kept.add("score")
        for name, of_side in zip(names, scores, strict=True):
            columns[f"{name}_score"] = whole_if_all(of_side)
    if sides.words == "home" and sides.neutral.any():
        columns["neutral"] = pl.Series(sides.neutral)
    for name in OF_MATCHES:
        of_match: Floats | None = getattr(history, name)
        if of_match is not None:
            columns[name] = pl.Series(of_match[sides.matches]).fill_nan(None)
            kept.add(name)
    kept |= _keep_attributes(sides, columns)
    return pl.DataFrame(columns), [*_lost_of_history(sides, kept)]


def _keep_attributes(sides: _TwoSides, columns: dict[str, pl.Series]) -> set[str]:
    """Add the columns that have one value for each match, and ratings; return their names."""
    kept = set()
    attributes = sides.history.attributes
    for name in attributes:
        if name in _SAID or (name == "score" and "result" not in columns):
            continue
        values, other = (attributes[name][rows] for rows in (sides.first, sides.second))
        same = np.array_equal(values, other, equal_nan=values.dtype.kind == "f")
        if same and (name == "round" or name not in {*_OWN, *columns}):
            columns.setdefault(name, _series(values))
            kept.add(name)
    without = side_ratings(columns) == (None, None)
    if "rating" in attributes and "rating" not in kept and without:
        for name, rows in (("white_elo", sides.first), ("black_elo", sides.second)):
            columns[name] = _series(attributes["rating"][rows])
        kept.add("rating")
    return kept


def _scores_of_sides(sides: _TwoSides) -> tuple[Floats, Floats] | None:
    """Return the scores of both sides, if every match has both and the higher one won."""
    try:
        scores = sides.history.scores()
    except InvalidDataError:
        return None
    if scores is None:
        return None
    one, other = scores[sides.first], scores[sides.second]
    if not np.array_equal(np.sign(one - other), np.sign(sides.points - 0.5)):
        return None  # also where one is unknown, because NaN equals nothing
    return one, other


def _lost_of_history(sides: _TwoSides, kept: set[str]) -> Iterator[str]:
    """Yield what the table does not have of a history; kept : names of columns that it has."""
    history = sides.history
    left_out = history.matches - len(sides.matches)
    if left_out:
        yield (
            f"{counted(left_out, 'match', 'matches')} that are not between two single players were "
            "left out"
        )
    if sides.words == "first" and {*_SAID} & set(history.attributes):
        yield "who is at home is left out: in some matches both sides are, or in all neither is"
    if sides.words == "white" and sides.neutral.any():
        yield "matches on neutral ground are no longer marked"
    unsaved = ("performance_ceiling", "performance", "share", "weight", "beta", "gamma")
    names = [name for name in unsaved if getattr(history, name) is not None]
    lost = [
        column
        for column in (*names, *history.statistics, *history.attributes)
        if column not in kept
    ]
    if lost:
        yield f"left out, because this format has no such columns: {', '.join(lost)}"
    if history.team_labels is not None:
        yield "the names of teams are left out"


def _series(values: Ids) -> pl.Series:
    if values.dtype == object:
        return pl.Series(values.tolist(), strict=False)
    return pl.Series(values)


class _TwoSides(NamedTuple):
    """G matches between two single players.

    matches : shape (G,), rows of matches; first, second : shape (G,), rows of participations
    points : shape (G,), of the first side
    words : what the first side is: "white", "home", or "first" if nobody knows
    neutral : shape (G,), matches on neutral ground
    """

    history: History
    matches: Ints
    first: Ints
    second: Ints
    points: Floats
    words: Literal["white", "home", "first"]
    neutral: Flags


def _two_sides(history: History) -> _TwoSides:
    """Return the matches between two single players.

    Raises : InvalidDataError   there is none
    """
    matches = np.flatnonzero((history.sizes() == 2) & (history.teams() == 2))
    if not len(matches):
        raise InvalidDataError(
            [],
            "no match of this history is between two single players; leave out --as to write its "
            "table",
        )
    first = history.offsets[matches]
    second = first + 1
    home = history.at_home()
    words: Literal["white", "home", "first"] = "first"
    neutral = np.zeros(len(matches), dtype=bool)
    if home is not None:
        swapped = ~home[first] & home[second]
        first, second = first + swapped, second - swapped
        neutral = ~home[first] & ~home[second]
        both = home[first] & home[second]
        if not both.any() and not neutral.all():
            words = _words(history, first[~neutral])
    points = (1.0 + np.sign(history.rank[second] - history.rank[first])) / 2
    return _TwoSides(history, matches, first, second, points, words, neutral)


def _words(history: History, first: Ints) -> Literal["white", "home"]:
    """Return whether the side at home is called white."""
    side = history.attributes.get("side")
    if "at_home" in history.attributes or side is None:
        return "home"
    return "white" if np.all(side[first].astype(str) == HOME_SIDES[1]) else "home"

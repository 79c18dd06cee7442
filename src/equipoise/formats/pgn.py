"""Reads games from PGN: the players and the result of each, or why it does not count.

`read_entry` reads one game, and `PgnGames` collects those of one or more files. `Notes` and
`Identities` collect notes for users: observations, counted by kind, and names or FIDE ids that may
be mixed up.
"""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import compress

import numpy as np
import polars as pl

from equipoise.arrays import Ids
from equipoise.data.games import GameColumns
from equipoise.errors import InvalidDataError, Problem
from equipoise.formats.pgn_scan import (
    BLOCK,
    TAG,
    UNCLOSED,
    RawGame,
    blocks_of,
    documents_in,
    scan,
)
from equipoise.formats.pgn_values import (
    BYE,
    FILTERED,
    LONGEST,
    STANDARD,
    UNFINISHED,
    WITHOUT_MOVES,
    Moments,
    Outcome,
    Values,
    is_nothing,
    is_unknown,
    not_played,
    outcome_of,
)
from equipoise.formats.table import Content, listed, refuse, shown
from equipoise.formats.values import is_nobody, number_ids
from equipoise.wording import counted

#: Largest number of doubtful names kept; more are only counted.
_KEPT = 1000
_NO_ID = frozenset(["", "0", "?", "-"])
#: FIDE ids have at most ten digits.
_LONGEST_ID = 20

ENDLESS = "a result in the tag Result but none after the moves; the tag is used"
STAR_AFTER = "a result in the tag Result but * after the moves; the tag is used"
STAR_BEFORE = "* in the tag Result but a result after the moves; the result after the moves is used"
ONLY_AFTER = "no tag Result but a result after the moves, which is used"
LOOSE = "quotation marks within a tag that are not escaped; the value is the rest of the line"


@dataclass(slots=True)
class Notes:
    """Observations, counted by kind, with the place of the first of each."""

    _count: Counter[str] = field(default_factory=Counter)
    _first: dict[str, tuple[str, int]] = field(default_factory=dict)

    def add(self, what: str, file: str, line: int) -> None:
        """Count an observation about a game."""
        self._count[what] += 1
        self._first.setdefault(what, (file, line))

    def sentences(self) -> list[str]:
        """Return a sentence for every kind, in the order of first appearance."""
        sentences = []
        for what, (file, line) in self._first.items():
            count = self._count[what]
            games = counted(count, "game has", "games have")
            sentences.append(f"{games} {what} (the first: {file or 'input'}, line {line}).")
        return sentences


@dataclass(slots=True)
class Identities:
    """Names with their FIDE ids. Names identify players; ids only raise doubts."""

    _id_of: dict[str, str] = field(default_factory=dict)
    _name_of: dict[str, str] = field(default_factory=dict)
    _ids: dict[str, dict[str, None]] = field(default_factory=dict)
    _names: dict[str, dict[str, None]] = field(default_factory=dict)

    def add(self, name: str, fide_id: str) -> None:
        """Record that a player has a FIDE id."""
        if fide_id in _NO_ID or len(fide_id) > _LONGEST_ID:
            return
        first = self._id_of.setdefault(name, fide_id)
        if first != fide_id and (name in self._ids or len(self._ids) < _KEPT):
            self._ids.setdefault(name, {first: None})[fide_id] = None
        first = self._name_of.setdefault(fide_id, name)
        if first != name and (fide_id in self._names or len(self._names) < _KEPT):
            self._names.setdefault(fide_id, {first: None})[name] = None

    def sentences(self) -> list[str]:
        """Return doubts: one name for two people, two names for one."""
        sentences = []
        if self._ids:
            names = listed([f"{name!r} ({', '.join(ids)})" for name, ids in self._ids.items()])
            sentences.append(
                f"One name with several FIDE ids: {names}. They count as one player; if they are "
                "several people, give them different names."
            )
        if self._names:
            ids = [f"{name} ({', '.join(map(repr, of))})" for name, of in self._names.items()]
            sentences.append(
                f"One FIDE id with several names: {listed(ids)}. They count as several "
                "players; a file of synonyms makes them one."
            )
        return sentences


TAGS = "must have its tags White, Black and Result before the moves"
NAME = "must be the name of a player"
LONG = "must be at most 1000 characters"
RESULT = "must be a result: 1-0, 1/2-1/2, 0-1 or *"
AGREE = "must agree with the result after the moves"
RATING = "must be a rating from 1 to 5000, or one of 0, - and ? for unrated"
ONCE = "must be given once in a game"

_NEEDED = {b"white": b"White", b"black": b"Black", b"result": b"Result"}
USED = frozenset(
    [b"White", b"Black", b"Result", b"WhiteElo", b"BlackElo", b"Round", b"Termination"]
)


@dataclass(slots=True)
class Entry:
    """The content of a game.

    points : of white, if it is a game; white_rating, black_rating : NaN if unrated
    reason : why it is not a game, None if it is one
    problems : line, field, rule and value found; if there are any, the rest does not count
    notes : kinds of observations
    """

    white: str = ""
    black: str = ""
    points: float = 0.0
    white_rating: float = 0.0
    black_rating: float = 0.0
    round: str = ""
    reason: str | None = None
    problems: list[tuple[int, str, str, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def read_entry(game: RawGame, values: Values, used: frozenset[bytes] = USED) -> Entry:
    """Return the content of a game.

    used : tags that matter; problems of other tags are ignored
    """
    entry = Entry()
    if game.again or game.broken or game.loose or game.ending.fault or not game.tags:
        _check_shape(game, entry, used)
        if not game.tags:
            return entry
    tags = game.tags
    white, black = tags.get(b"White"), tags.get(b"Black")
    entry.white, entry.black = values.name(white), values.name(black)
    named = white in values.persons and black in values.persons
    entry.reason = _reason(tags, entry, values, named)
    outcome = None if entry.reason else _outcome(game, entry, values)
    if isinstance(outcome, str):
        entry.reason = outcome
    elif outcome is not None:
        entry.points = outcome
    _read_ratings(game, entry, values)
    if entry.reason is None:
        if not named:
            _check_players(game, entry)
        _read_round(game, entry, values)
    return entry


def with_needed_tags(tags: dict[bytes, bytes]) -> dict[bytes, bytes]:
    """Return tags with White, Black and Result found in any case of letters."""
    if b"White" in tags and b"Black" in tags and b"Result" in tags:
        return tags
    needed = dict(tags)
    for tag, value in tags.items():
        needed.setdefault(_NEEDED.get(tag.lower(), tag), value)
    return needed


def _check_shape(game: RawGame, entry: Entry, used: frozenset[bytes]) -> None:
    """Record tags that cannot be read or contradict each other, and moves without an end."""
    for tag, (line, text) in game.broken.items():
        if tag in used:
            got = shown(text[: LONGEST * 4].decode("utf-8", "replace").strip())
            entry.problems.append((line, tag.decode(), TAG, got))
    for tag, value, line in game.again:
        if tag in used and value != game.tags.get(tag):
            first = game.tags.get(tag, b"").decode("utf-8", "replace")
            got = f"{shown(value.decode('utf-8', 'replace'))} after {shown(first)}"
            entry.problems.append((line, tag.decode(), ONCE, got))
    if not game.tags and not game.broken:
        entry.problems.append((game.line, "", TAGS, "a game without tags"))
    if game.ending.fault is not None:
        entry.problems.append((game.fault_line, "", game.ending.fault.rule, game.ending.fault.got))
    if game.loose:
        entry.notes.append(LOOSE)


def _reason(tags: dict[bytes, bytes], entry: Entry, values: Values, named: bool) -> str | None:
    """Return the reason, from names or the tag Termination, why this is not a game."""
    if not named and (is_nobody(entry.white) or is_nobody(entry.black)):
        return BYE
    termination = tags.get(b"Termination")
    if termination is None or termination == b"Normal":
        return None
    return not_played(values.text(termination))


def _outcome(game: RawGame, entry: Entry, values: Values) -> Outcome | None:
    """Return the result from the tag Result and the moves; None if there is a problem."""
    value = game.tags.get(b"Result")
    after = game.ending.outcome
    outcome = None if value is None else STANDARD.get(value)
    if outcome is not None and outcome == after:
        return outcome
    if outcome is None:
        text = values.text(value)
        if is_nothing(text):
            return _without_tag(game, entry, after)
        outcome = outcome_of(text)
        if outcome is None:
            entry.problems.append((game.line_of("Result"), "Result", RESULT, shown(text)))
            return None
    return _agreed(game, entry, outcome, after)


def _without_tag(game: RawGame, entry: Entry, after: Outcome | None) -> Outcome | None:
    """Return the result after the moves, if there is no tag for it."""
    if after is None and b"Result" not in game.broken:
        entry.problems.append((game.line_of("Result"), "Result", RESULT, "nothing"))
    elif isinstance(after, float):
        entry.notes.append(ONLY_AFTER)
    return after


def _agreed(game: RawGame, entry: Entry, outcome: Outcome, after: Outcome | None) -> Outcome | None:
    """Return the result that counts: that of the tag Result or that after the moves."""
    if isinstance(outcome, str):
        if outcome == UNFINISHED and isinstance(after, float):
            entry.notes.append(STAR_BEFORE)
            return after
        return outcome
    if after is None:
        if game.ending.moved:
            entry.notes.append(ENDLESS)
    elif after == UNFINISHED:
        entry.notes.append(STAR_AFTER)
    elif after != outcome:
        ends = {1.0: "1-0", 0.5: "1/2-1/2", 0.0: "0-1"}[float(after)]
        got = f"{game.tags[b'Result'].decode('utf-8', 'replace')} before and {ends} after them"
        entry.problems.append((game.line_of("Result"), "Result", AGREE, got))
    return outcome


def _check_players(game: RawGame, entry: Entry) -> None:
    """Record players without a name, and invalid names."""
    for side, name in (("White", entry.white), ("Black", entry.black)):
        if is_unknown(name):
            if side.encode() not in game.broken:
                entry.problems.append((game.line_of(side), side, NAME, shown(name)))
        elif len(name) > LONGEST:
            entry.problems.append((game.line_of(side), side, LONG, f"{len(name):,}"))


def _read_ratings(game: RawGame, entry: Entry, values: Values) -> None:
    """Read both players' ratings; a bad one matters only in a game that counts."""
    white = values.rating(game.tags.get(b"WhiteElo"))
    black = values.rating(game.tags.get(b"BlackElo"))
    entry.white_rating = math.nan if white is None else white
    entry.black_rating = math.nan if black is None else black
    if entry.reason is None and (white is None or black is None):
        for side, rating in (("WhiteElo", white), ("BlackElo", black)):
            if rating is None:
                got = shown(values.text(game.tags[side.encode()]))
                entry.problems.append((game.line_of(side), side, RATING, got))


def _read_round(game: RawGame, entry: Entry, values: Values) -> None:
    """Read the round; "" if unknown."""
    value = game.tags.get(b"Round")
    if value is None or value in (b"-", b"?"):
        return
    text = values.text(value)
    if len(text) > LONGEST:
        entry.problems.append((game.line_of("Round"), "Round", LONG, f"{len(text):,}"))
    elif not is_nothing(text) and text != "-":
        entry.round = text


@dataclass(slots=True)
class Rows:
    """Rows of results. Names are shared, so a row takes about seventy bytes.

    moved : 1 if the game has moves; file : number of the row's file; line : where the game begins
    number : of the game among all games, from 1
    """

    white: list[str] = field(default_factory=list)
    black: list[str] = field(default_factory=list)
    round: list[str] = field(default_factory=list)
    points: array[float] = field(default_factory=lambda: array("d"))
    white_rating: array[float] = field(default_factory=lambda: array("d"))
    black_rating: array[float] = field(default_factory=lambda: array("d"))
    moved: bytearray = field(default_factory=bytearray)
    file: array[int] = field(default_factory=lambda: array("q"))
    line: array[int] = field(default_factory=lambda: array("q"))
    number: array[int] = field(default_factory=lambda: array("q"))

    def add(self, entry: Entry, moved: bool, place: tuple[int, int, int]) -> None:
        """Add a row for a game; `place` is its file, line and number among all games."""
        self.white.append(entry.white)
        self.black.append(entry.black)
        self.round.append(entry.round)
        self.points.append(entry.points)
        self.white_rating.append(entry.white_rating)
        self.black_rating.append(entry.black_rating)
        self.moved.append(moved)
        file, line, number = place
        self.file.append(file)
        self.line.append(line)
        self.number.append(number)


def texts(values: list[str]) -> Ids:
    """Return text as an array of objects, shape (n,)."""
    texts: Ids = np.empty(len(values), dtype=object)
    texts[:] = values
    return texts


#: Largest number of problems kept; more are only counted.
MOST_PROBLEMS = 10_000

MORE = "must follow the rules in all games"
HEADERS_ONLY = (
    "No game has moves, so only the tags show what was played. Forfeits that are not marked count "
    "as games."
)


class PgnGames:
    """Collects the games of one or more files.

    where : tag -> value; games with a different value are left out
    dated : whether dates and events are read too; tags : further tags to keep
    """

    def __init__(
        self,
        where: Mapping[str, str] | None = None,
        *,
        dated: bool = False,
        tags: Collection[str] = (),
    ) -> None:
        self._where = {
            tag.encode(): " ".join(value.split()) for tag, value in (where or {}).items()
        }
        self._used = USED | self._where.keys()
        self._never_seen = set(self._where)
        self._values = Values()
        self._rows = Rows()
        self._files: list[str] = []
        self._others: dict[str, float] = {}
        self._any_moved = False
        self._left_out: Counter[str] = Counter()
        self._problems: list[Problem] = []
        self._more_problems = 0
        self._dropped: list[str] = []
        self._count = 0
        self._moments = Moments() if dated else None
        self._tags: dict[str, list[str]] = {tag: [] for tag in tags}
        self._notes = Notes()
        self._identities = Identities()

    def add_file(self, games: Iterable[RawGame], file: str) -> int:
        """Add the games of a file, and return their number."""
        self._files.append(file)
        count = 0
        for game in games:
            self._add(game, file)
            count += 1
        return count

    def problems(self) -> list[Problem]:
        """Return the problems so far, and the number of those that were not kept."""
        if not self._more_problems:
            return self._problems
        more = counted(self._more_problems, "more problem, which is", "more problems, which are")
        got = f"{more} not listed"
        return [*self._problems, Problem("", None, "", MORE, got)]

    def columns(self) -> GameColumns:
        """Return all games as columns."""
        rows, notes = self._rows, []
        kept = np.ones(len(rows.white), dtype=bool)
        if self._any_moved:
            kept = np.frombuffer(rows.moved, dtype=np.bool_)
            self._leave_out_rows(np.flatnonzero(~kept).tolist())
        elif rows.white:
            notes.append(HEADERS_ONLY)
        notes += [f"No game has the tag {tag.decode()}." for tag in sorted(self._never_seen)]
        notes += self._notes.sentences() + self._values.notes() + self._identities.sentences()
        times, source, dates = (Moments() if self._moments is None else self._moments).times(kept)
        points, files, lines, numbers = (
            np.array(column)[kept] for column in (rows.points, rows.file, rows.line, rows.number)
        )
        ratings = [np.array(side)[kept] for side in (rows.white_rating, rows.black_rating)]
        rated = not all(np.isnan(rating).all() for rating in ratings)
        white, black, rounds = (
            list(compress(column, kept)) for column in (rows.white, rows.black, rows.round)
        )
        players, ids = number_ids(pl.Series([*white, *black, *self._others], dtype=pl.String))
        others = np.array(list(self._others.values()), dtype=np.float64)
        return GameColumns(
            players=ids,
            white=players[: len(white)],
            black=players[len(white) : 2 * len(white)],
            points=points,
            white_rating=ratings[0] if rated else None,
            black_rating=ratings[1] if rated else None,
            draws=(points == 0.5).astype(np.float64),
            coloured=True,
            round=texts(rounds) if any(rounds) else None,
            others=players[2 * len(white) :],
            other_rating=None if np.isnan(others).all() else others,
            left_out=self._left_out,
            problems=tuple(self.problems()),
            notes=(*notes, *dates),
            locate=lambda row: (self._files[int(files[row])], int(lines[row])),
            skipped=len(self._dropped),
            format="pgn",
            kind="games",
            dropped=tuple(self._dropped),
            numbers=numbers,
            times=times,
            time_source=source,
            events=None if self._moments is None else self._moments.events(kept, self._values),
            tags={tag: texts(values)[kept] for tag, values in self._tags.items()},
        )

    def _add(self, game: RawGame, file: str) -> None:
        """Add a game: it becomes a row, is left out, or has problems."""
        self._any_moved |= game.ending.moved
        self._count += 1
        game.tags = with_needed_tags(game.tags)
        if self._where and not self._is_wanted(game):
            self._left_out[FILTERED] += 1
            return
        entry = read_entry(game, self._values, self._used)
        for line, value, rule, got in entry.problems:
            if len(self._problems) < MOST_PROBLEMS:
                self._problems.append(Problem(file, line, value, rule, got))
            else:
                self._more_problems += 1
        if entry.problems:
            self._dropped.append(str(self._count))
            return
        for what in entry.notes:
            self._notes.add(what, file, game.line)
        if entry.reason is not None:
            self._leave_out(entry, entry.reason)
            return
        self._rows.add(entry, game.ending.moved, (len(self._files) - 1, game.line, self._count))
        if self._moments is not None:
            self._moments.add(game.tags)
        for name_of_tag, values in self._tags.items():
            values.append(self._values.text(game.tags.get(name_of_tag.encode())))
        for name, tag in ((entry.white, b"WhiteFideId"), (entry.black, b"BlackFideId")):
            if tag in game.tags:
                self._identities.add(name, self._values.text(game.tags[tag]))

    def _is_wanted(self, game: RawGame) -> bool:
        """Return whether a game has the wanted values, or lacks the tags."""
        self._never_seen -= game.tags.keys()
        if game.ending.fault is not None and game.ending.fault.rule == UNCLOSED:
            return True  # its comment may contain other games
        return all(
            tag in game.broken or self._values.text(game.tags.get(tag)) == value
            for tag, value in self._where.items()
        )

    def _leave_out(self, entry: Entry, reason: str) -> None:
        """Count an entry that is not a game, and keep its players as named."""
        self._left_out[reason] += 1
        self._name(entry.white, entry.white_rating)
        self._name(entry.black, entry.black_rating)

    def _leave_out_rows(self, dropped: list[int]) -> None:
        """Count rows that are not games after all, and keep their players as named."""
        rows = self._rows
        if dropped:
            self._left_out[WITHOUT_MOVES] += len(dropped)
        for row in dropped:
            self._name(rows.white[row], rows.white_rating[row])
            self._name(rows.black[row], rows.black_rating[row])

    def _name(self, name: str, rating: float) -> None:
        """Keep a player who is named without a game; the first rating counts."""
        if is_unknown(name) or is_nobody(name) or len(name) > LONGEST:
            return
        if math.isnan(self._others.get(name, math.nan)):
            self._others[name] = rating


def read_pgn(
    sources: Sequence[Content],
    *,
    where: Mapping[str, str] | None = None,
    dated: bool = False,
    tags: Collection[str] = (),
    block: int = BLOCK,
) -> GameColumns:
    """Return the games of files, plain, compressed or in archives, and of folders of PGN files.

    Files are read block by block, so memory grows with the number of games and not with the size of
    files. Problems of complete files are raised together.

    where : tag -> value; games with another value are left out as "filtered"
    dated : whether dates and events are read too; tags : further tags to keep
    block : number of bytes read at once
    Raises : InvalidDataError   there are no games, or a file cannot be read
    """
    documents = [opened for part in sources for opened in documents_in(part)]
    games = PgnGames(where, dated=dated, tags=tags)
    unreadable: list[Problem] = []
    for opened in documents:
        try:
            for name, stream in opened():
                if not games.add_file(scan(blocks_of(stream, name, block), name), name):
                    refuse(name, "must hold at least one game", "text without tags")
        except InvalidDataError as error:
            unreadable.extend(error.problems)
    if unreadable:
        raise InvalidDataError([*unreadable, *games.problems()])
    return games.columns()

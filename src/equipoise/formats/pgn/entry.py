"""Reads one PGN game: the players and the result, or why it does not count, or its problems.

`Notes` and `Identities` collect notes for users: observations, counted by kind, and names or FIDE
ids that may be mixed up.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field

from equipoise.formats.pgn.scan import TAG, RawGame
from equipoise.formats.pgn.values import (
    BYE,
    LONGEST,
    STANDARD,
    UNFINISHED,
    Outcome,
    Values,
    is_nobody,
    is_nothing,
    is_unknown,
    not_played,
    outcome_of,
)
from equipoise.formats.table import shown
from equipoise.wording import counted

#: Largest number of names in one sentence; the rest is only counted.
_LISTED_NAMES = 5
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
        found = []
        for what, (file, line) in self._first.items():
            count = self._count[what]
            games = counted(count, "game has", "games have")
            found.append(f"{games} {what} (the first: {file or 'input'}, line {line}).")
        return found


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
        found = []
        if self._ids:
            names = _listed([f"{name!r} ({', '.join(ids)})" for name, ids in self._ids.items()])
            found.append(
                f"One name with several FIDE ids: {names}. They count as one player; if they are "
                "several people, give them different names."
            )
        if self._names:
            listed = [f"{one} ({', '.join(map(repr, of))})" for one, of in self._names.items()]
            found.append(
                f"One FIDE id with several names: {_listed(listed)}. They count as several "
                "players; a file of synonyms makes them one."
            )
        return found


def _listed(items: list[str]) -> str:
    """Return items as text, with the number of others."""
    more = f" and {len(items) - _LISTED_NAMES} more" if len(items) > _LISTED_NAMES else ""
    return ", ".join(items[:_LISTED_NAMES]) + more


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
    found = dict(tags)
    for tag, value in tags.items():
        found.setdefault(_NEEDED.get(tag.lower(), tag), value)
    return found


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

"""Read FIDE tournament reports (TRF16) into games between the players they list.

Source: FIDE Handbook, C.04 Annex 2, "Format of Tournament Report File" (TRF16), and its version of
2026, which adds codes but leaves the lines of players as they are. The file is read in three
steps: bytes to the lines of players (`read_report`), lines to players and their rounds
(`read_players`), and rounds to games (`read_trf`), where both sides of a pairing must agree.

Departures: any line end is accepted, not only a carriage return. Columns are counted in characters.
But some programs write UTF-8 and count bytes, which shifts the columns after a name with an accent,
so a line that fits only in bytes is read in bytes. Byes, forfeits and pairings without a result are
not games (READINGS C6). A game that both players lost (0 and 0), as arbiters may decide, has no
points to share and is left out too. W, D and L, which are games of less than one move, count here,
although FIDE does not rate them.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import polars as pl

from equipoise.arrays import Ids
from equipoise.data.games import KIND, POINTS_OF, GameColumns, RoundKind, Rounds, id_array
from equipoise.errors import Problem
from equipoise.formats.contents import FILLING
from equipoise.formats.crosstable import points_of
from equipoise.formats.delimited import decoded
from equipoise.formats.table import refuse, shown
from equipoise.wording import counted

#: Columns before those of the first round, and columns of a round.
BEFORE_ROUNDS = 91
ROUND = 10
#: First column of the name from 0, and its width.
_NAME, _NAME_WIDTH = 14, 33

TEXT = "must be text in UTF-8, UTF-16 or a single-byte encoding"
PLAYERS = "must hold at least one player, on a line that begins with 001"
NO_TABS = "must separate its columns with spaces, not tabs"

_LINE_END = re.compile(rb"\r\n|\r|\n")
_CODE = re.compile(r"([0-9A-Za-z#]{3})(?:\s|$)")
_RULER = re.compile(r"[\d\s]*\Z")
_COLUMNS = re.compile(
    r"001 [ \d]{4} .{4} .{33} [ \d]{4} .{3} .{11} .{10} [ \d.,]{4} [ \d]{4}  "
    r"(?:[ \d]{4} [ wWbB-] [ 10=+wdlhfuzWDLHFUZ-]  )*"
)
#: Codes of TRF16 and TRF26 whose lines say nothing about games; neither do codes that end in 2.
_KNOWN = frozenset(("013", "240", "250", "260", "299", "300", "310", "320", "330", "801"))
#: Codes that define how points are counted, or that they are not the sum of the results.
_SCORING = frozenset(("162", "240", "250", "299", "XXA", "XXS"))
_SCORING_PREFIX = "BB"


class PlayerLine(NamedTuple):
    """A line of a player, padded so that it ends with a whole round; `line` counts from 1."""

    line: int
    text: str


class RoundDates(NamedTuple):
    """The date of each round, None if it is not known, and the first day of the tournament."""

    rounds: tuple[date | None, ...] = ()
    start: date | None = None

    def of(self, rounds: Sequence[int]) -> tuple[list[date] | None, str]:
        """Return the date of each of some rounds, from 0 and in order, and where it comes from.

        Without a date for every round, or if dates run backwards, all have that of the first day.
        """
        dates = [self.rounds[number] if number < len(self.rounds) else None for number in rounds]
        known = [day for day in dates if day is not None]
        if known and len(known) == len(dates) and known == sorted(known):
            return known, "the dates of the rounds (line 132)"
        if self.start is None:
            return None, ""
        return [self.start] * len(dates), "the first day of the tournament (line 042)"


class Report(NamedTuple):
    """The lines of the players of a report.

    standard : whether points are counted as 1, 1/2 and 0, as far as the report says
    notes : sentences
    tournament : its name, "" if the report does not say it
    dates : when it was played
    """

    lines: list[PlayerLine]
    standard: bool
    notes: list[str]
    tournament: str
    dates: RoundDates


def read_report(data: bytes, name: str) -> Report:
    """Return the lines of the players of a report.

    Raises : InvalidDataError   it is not text, has tabs in its columns, or has no players
    """
    data = decoded(data, name)[0].rstrip(FILLING)
    if b"\0" in data:
        refuse(name, TEXT, "a binary file")
    encoding = _encoding(data)
    lines = [(at, line) for at, line in enumerate(_LINE_END.split(data), 1) if line.strip()]
    players = [(at, line.rstrip()) for at, line in lines if line.startswith(b"001")]
    if not players:
        got = f"{counted(len(lines), 'line')} of other kinds"
        refuse(name, PLAYERS, got if lines else "an empty file")
    tabs = [at for at, line in players if b"\t" in line]
    if tabs:
        refuse(
            name, NO_TABS, f"tabs on {len(tabs):,} of {counted(len(players), 'line')}", line=tabs[0]
        )
    others = [(at, line.decode(encoding)) for at, line in lines if not line.startswith(b"001")]
    codes = [(at, text, _code(text)) for at, text in others]
    players_found, notes = _laid_out(players, encoding)
    if encoding != "utf-8":
        notes.insert(0, "names are not in UTF-8; they are read as Windows-1252 (Western European)")
    standard = not any(code in _SCORING or code.startswith(_SCORING_PREFIX) for _, _, code in codes)
    header = {code: text[3:].strip() for _, text, code in reversed(codes)}
    return Report(
        players_found,
        standard,
        [*notes, *_skipped(codes)],
        " ".join(header.get("012", "").split()),
        read_dates(header.get("042", ""), [text for _, text, code in codes if code == "132"]),
    )


_DATE = re.compile(r"([0-9]{4}|[0-9]{2})[/.-]([0-9]{1,2})[/.-]([0-9]{1,2})")


def read_dates(start: str, lines: Sequence[str]) -> RoundDates:
    """Return the dates of a tournament.

    start : of the first day (042), a year of four digits first; lines : with the dates of rounds
      (132), in the columns of the rounds. A year of two digits is in the century of the first day
    """
    date_match = _DATE.fullmatch(start.split()[0]) if start else None
    first = _day(date_match, None) if date_match is not None and len(date_match[1]) == 4 else None
    century = 2000 if first is None else first.year // 100 * 100
    rounds: tuple[date | None, ...] = ()
    for text in lines[:1]:
        blocks = [text[at : at + ROUND] for at in range(BEFORE_ROUNDS, len(text), ROUND)]
        rounds = tuple(_day(_DATE.fullmatch(block.strip()), century) for block in blocks)
    return RoundDates(rounds, first)


def _day(date_match: re.Match[str] | None, century: int | None) -> date | None:
    """Return the date in a text, None if there is none."""
    if date_match is None:
        return None
    year, month, day = map(int, date_match.groups())
    try:
        return date(year + (century or 0) if len(date_match[1]) == 2 else year, month, day)
    except ValueError:
        return None


def _encoding(data: bytes) -> str:
    """Return the name of an encoding in which all of the data is text."""
    for encoding in ("utf-8", "cp1252"):
        try:
            data.decode(encoding)
        except UnicodeDecodeError:
            continue
        return encoding
    return "latin-1"


def _code(text: str) -> str:
    """Return the code of a line, "" if it has none."""
    code_match = _CODE.match(text)
    return code_match[1] if code_match else ""


def _skipped(codes: list[tuple[int, str, str]]) -> Iterator[str]:
    """Yield notes on lines that were skipped."""
    unknown = Counter(
        code for _, _, code in codes if code.isdigit() and code[2] != "2" and code not in _KNOWN
    )
    if unknown:
        listed = ", ".join(sorted(unknown))
        yield f"lines with codes that TRF16 does not have were skipped: {listed}"
    bare = [(at, text) for at, text, code in codes if not code and not _RULER.match(text)]
    if bare:
        at, text = bare[0]
        many = counted(len(bare), "line without a code was", "lines without a code were")
        yield f"{many} skipped (the first is line {at}: {shown(text)})"


def _laid_out(
    players: list[tuple[int, bytes]], encoding: str
) -> tuple[list[PlayerLine], list[str]]:
    """Return the lines of players in columns of characters, and notes on them.

    If columns may be counted in characters or in bytes, every line is read in the way that fits. A
    line that fits both ways or neither is read like the other lines of its file.
    """
    texts = [line.decode(encoding) for _, line in players]
    in_bytes: dict[int, str] = {}
    if encoding == "utf-8":
        shifted = {
            row: _by_bytes(players[row][1])
            for row in range(len(texts))
            if not players[row][1].isascii()
        }
        fits = {row: (_fits(texts[row]), _fits(text)) for row, text in shifted.items()}
        only_bytes = [row for row, fit in fits.items() if fit == (False, True)]
        if only_bytes and (True, False) not in fits.values():
            only_bytes = list(shifted)
        in_bytes = {row: shifted[row] for row in only_bytes}
    lines = [
        PlayerLine(at, _padded(in_bytes.get(row, text)))
        for row, ((at, _), text) in enumerate(zip(players, texts, strict=True))
    ]
    if not in_bytes:
        return lines, []
    return lines, [
        f"columns are counted in bytes, not in characters, on {counted(len(in_bytes), 'line')} "
        f"(the first is line {lines[min(in_bytes)].line})"
    ]


def _by_bytes(line: bytes) -> str:
    """Return a line that has columns of bytes with columns of characters."""
    name = line[_NAME : _NAME + _NAME_WIDTH].decode(errors="replace").ljust(_NAME_WIDTH)
    before, after = line[:_NAME], line[_NAME + _NAME_WIDTH :]
    return before.decode(errors="replace") + name + after.decode(errors="replace")


def _fits(text: str) -> bool:
    """Return whether the blanks, digits and letters of a line fit the columns."""
    return _COLUMNS.fullmatch(_padded(text)) is not None


def _padded(text: str) -> str:
    """Return a line up to the last column of its last round."""
    rounds = -(-max(0, len(text) - BEFORE_ROUNDS) // ROUND)
    return text.ljust(BEFORE_ROUNDS + rounds * ROUND)


START = "must be a start number from 1, in columns 5 to 8"
ONCE = "must be the start number of only one player"
RATING = "must be a whole number, 0 or blank, in columns 49 to 52"
OPPONENT = "must be a start number, 0000 or blank"
COLOUR = "must be w, b, - or blank"
RESULT = "must be one of 1 = 0 + - W D L H F U Z, or blank"
APART = "must be an opponent, a colour and a result, with blanks between their columns"
NOT_ALONE = "must have an opponent if there is a colour and the result of a game"
ALONE = "must have no opponent if the result is a bye"
OTHER = "must be another player"

#: Results of played games, of unrated games, and of games that did not take place.
GAMES = frozenset("10=WDL")
UNRATED = frozenset("WDL")
FORFEITS = frozenset("+-")
BYES = frozenset("HFUZ")
#: The points of a result by default. Reports of 2006 wrote +, = and - without an opponent for byes
#: of one point, half a point and none.
_POINTS = {"1": 1.0, "W": 1.0, "+": 1.0, "F": 1.0, "U": 1.0, "=": 0.5, "D": 0.5, "H": 0.5}

_RESULTS = GAMES | FORFEITS | BYES | {" "}
_BLANK = " " * ROUND
#: Largest number of players with equal names that are listed; the rest is only counted.
_LISTED = 6


class Entry(NamedTuple):
    """A round of a player: opponent (0: none), colour (w, b or -), result (" ": none)."""

    opponent: int
    colour: str
    result: str


#: An empty round, and a round whose entry breaks a rule.
NOTHING = Entry(0, "-", "")
BROKEN = Entry(0, "-", "?")


@dataclass(frozen=True, slots=True)
class Player:
    """A player of the report; `rating` is NaN if unrated.

    points : in the standings, NaN if not given; scored : sum of the results with default points
    """

    line: int
    number: int
    name: str
    fide: str
    rating: float
    points: float
    scored: float
    entries: tuple[Entry, ...]

    def entry(self, at: int) -> Entry:
        """Return the entry of a round, counted from 0."""
        return self.entries[at] if at < len(self.entries) else NOTHING

    def block(self, at: int) -> str:
        """Return the entry of a round as written in the report."""
        entry = self.entry(at)
        if entry is NOTHING:
            return "nothing"
        return repr(f"{entry.opponent or '0000'} {entry.colour} {entry.result}".rstrip())


@dataclass(slots=True)
class Players:
    """The players of a report by start number, and the problems of their lines.

    doubtful : numbers of more than one line; entries that name them are not checked
    complete : whether every line has a start number
    """

    by_number: dict[int, Player] = field(default_factory=dict)
    doubtful: set[int] = field(default_factory=set)
    complete: bool = True
    problems: list[Problem] = field(default_factory=list)


def read_players(lines: list[PlayerLine], name: str) -> Players:
    """Return the players of a report."""
    players = Players()
    for line, text in lines:
        number = _whole(text[4:8])
        if not number or text[3] != " " or text[8].isdigit():
            players.complete = False
            players.problems.append(Problem(name, line, "start number", START, shown(text[3:9])))
            continue
        player = _player(line, number, text, name, players.problems)
        first = players.by_number.setdefault(number, player)
        if first is not player:
            players.doubtful.add(number)
            got = f"{number}, which line {first.line} has for {shown(first.name)}"
            players.problems.append(Problem(name, line, "start number", ONCE, got))
    return players


def ids_of(players: list[Player]) -> tuple[list[str], list[str]]:
    """Return an id for every player, and notes on players who share a name.

    The id is the name. Players with the same name get their FIDE number in brackets, or the start
    number if that does not distinguish them.
    """
    names = [player.name or f"no. {player.number}" for player in players]
    sharing = Counter(names)
    known = Counter((player.name, player.fide) for player in players)
    taken = set(sharing)
    ids = []
    for player, name in zip(players, names, strict=True):
        own = name
        if sharing[name] > 1:
            number = (
                player.fide
                if player.fide and known[player.name, player.fide] == 1
                else f"no. {player.number}"
            )
            own = f"{name} ({number})"
            while own in taken:  # A player has this name.
                own += "'"
            taken.add(own)
        ids.append(own)
    twice = [player_id for player_id, name in zip(ids, names, strict=True) if sharing[name] > 1]
    listed = "; ".join(twice[:_LISTED])
    if len(twice) > _LISTED:
        listed += f"; and {len(twice) - _LISTED:,} more"
    return ids, [f"players with equal names are distinguished: {listed}"] if twice else []


def _player(line: int, number: int, text: str, name: str, problems: list[Problem]) -> Player:
    """Return the player of a line, and record the problems of the line."""
    rating = _whole(text[48:52])
    # A digit next to its columns means a shifted rating; a letter means a name that is too long.
    if rating is None or text[47].isdigit() or text[52].isdigit():
        problems.append(Problem(name, line, "rating", RATING, shown(text[47:53])))
    entries = []
    scored = 0.0
    for at, start in enumerate(range(BEFORE_ROUNDS, len(text), ROUND)):
        block = text[start : start + ROUND]
        if block == _BLANK:
            entries.append(NOTHING)
            continue
        entry = _entry(block, number)
        if isinstance(entry, str):
            problems.append(Problem(name, line, f"round {at + 1}", entry, shown(block)))
            entry = BROKEN
        entries.append(entry)
        scored += _POINTS.get(entry.result, 0.0)
    fide = text[57:68].strip().lstrip("0")
    return Player(
        line=line,
        number=number,
        name=" ".join(text[14:47].split()),
        fide=fide,
        rating=float(rating) if rating else math.nan,
        points=points_of(text[80:84]),
        scored=scored,
        entries=tuple(entries),
    )


def _entry(block: str, number: int) -> Entry | str:
    """Return the entry in the ten characters of a round, or the rule that they break."""
    parsed = _colour_and_result(block[4:])
    if isinstance(parsed, str):
        return parsed
    opponent = _whole(block[:4])
    if opponent is None:
        return OPPONENT
    if opponent == number:
        return OTHER
    colour, result = parsed
    if opponent:
        return ALONE if result in BYES else Entry(opponent, colour, result)
    return NOT_ALONE if result in GAMES and colour != "-" else Entry(0, colour, result)


@lru_cache(maxsize=512)
def _colour_and_result(text: str) -> tuple[str, str] | str:
    """Return the colour and the result after an opponent, or the broken rule."""
    if text[0] != " " or text[2] != " " or text[4:] != "  ":
        return APART
    colour, result = text[1].lower(), text[3].upper()
    if colour not in "wb- ":
        return COLOUR
    if result not in _RESULTS:
        return RESULT
    return "-" if colour == " " else colour, result


@lru_cache(maxsize=32768)
def _whole(text: str) -> int | None:
    """Return a whole number surrounded by blanks, 0 for blanks, None for anything else."""
    text = text.strip(" ")
    if not text:
        return 0
    return int(text) if text.isascii() and text.isdigit() else None


KNOWN = "must be the start number of a player in the report"
BACK = "must be an opponent who names this player in the same round"
OPPOSITE = "must be the opposite of the opponent's colour"
COLOURED = "must be w or b because other games of the report have colours"
FITTING = "must match the opponent's result: 1 and 0, = and =, W and L, D and D, + and -"

#: From the results of both players to the points of the first.
_GAMES = {
    ("1", "0"): 1.0,
    ("0", "1"): 0.0,
    ("=", "="): 0.5,
    ("W", "L"): 1.0,
    ("L", "W"): 0.0,
    ("D", "D"): 0.5,
}
#: From the results of both players to the reason why this is not a game.
_LEFT_OUT = {
    ("+", "-"): "forfeit",
    ("-", "+"): "forfeit",
    ("-", "-"): "forfeit",
    ("0", "0"): "lost by both",
    ("L", "L"): "lost by both",
    (" ", " "): "no result",
}
#: Results without an opponent.
_NO_GAME = GAMES | FORFEITS | BYES
#: Points have one decimal.
_SAME_POINTS = 0.05


class _Game(NamedTuple):
    """A game: round from 0, rows of both players, with white first if there are colours."""

    round: int
    white: int
    black: int
    points: float
    coloured: bool


class _Pairings:
    """Pairs the entries of the players of a report: each game once, and what else they say.

    order : the players; skipped : round from 0 and start number of entries that break a rule or are
    not reciprocated
    """

    def __init__(self, players: Players, name: str) -> None:
        self.players, self.name = players, name
        self.order = list(players.by_number.values())
        self.games: list[_Game] = []
        self.unrated = 0
        self.left_out: Counter[str] = Counter()
        self.problems: list[Problem] = []
        self.skipped: set[tuple[int, int]] = set()
        self._row_of = {player.number: row for row, player in enumerate(self.order)}
        for player in self.order:
            for at, entry in enumerate(player.entries):
                if entry.opponent:
                    self._add(player, at, entry.opponent)
                elif entry is BROKEN:
                    self.skipped.add((at, player.number))
                elif entry.result in _NO_GAME:
                    self.left_out["bye"] += 1

    def refuse(self, player: Player, at: int, rule: str, got: str) -> None:
        """Record an entry that breaks a rule."""
        self.skipped.add((at, player.number))
        self.problems.append(Problem(self.name, player.line, f"round {at + 1}", rule, got))

    def _add(self, player: Player, at: int, opponent: int) -> None:
        """Record a round with an opponent."""
        other = self.players.by_number.get(opponent)
        if other is None:
            self.skipped.add((at, player.number))
            if self.players.complete:
                self.refuse(player, at, KNOWN, player.block(at))
        elif other.entry(at).opponent != player.number:
            self._add_one_sided(player, other, at)
        elif self._row_of[player.number] < self._row_of[opponent]:
            self._add_pair(player, other, at)

    def _add_one_sided(self, player: Player, other: Player, at: int) -> None:
        """Record an opponent whose entry does not name this player."""
        mine, theirs = player.entry(at), other.entry(at)
        if theirs is BROKEN or {player.number, other.number} & self.players.doubtful:
            self.skipped.add((at, other.number if theirs is BROKEN else player.number))
        elif mine.result in FORFEITS and not theirs.opponent and theirs.result not in GAMES:
            # Players of a team that did not come may have no entry.
            self.left_out["forfeit"] += 1
        else:
            self.refuse(player, at, BACK, _against(player, other, at))

    def _add_pair(self, one: Player, other: Player, at: int) -> None:
        """Record a pairing whose players name each other."""
        mine, theirs = one.entry(at), other.entry(at)
        results = (mine.result, theirs.result)
        if results in _LEFT_OUT:
            self.left_out[_LEFT_OUT[results]] += 1
        elif results not in _GAMES:
            self.refuse(one, at, FITTING, _against(one, other, at))
        elif mine.colour + theirs.colour not in ("wb", "bw", "--"):
            self.refuse(one, at, OPPOSITE, _against(one, other, at))
        else:
            white, black, points = one, other, _GAMES[results]
            if mine.colour == "b":
                white, black, points = other, one, 1.0 - points
            rows = self._row_of[white.number], self._row_of[black.number]
            self.games.append(_Game(at, rows[0], rows[1], points, mine.colour != "-"))
            self.unrated += mine.result in UNRATED

    def notes(self, report: Report, *, coloured: bool) -> Iterator[str]:
        """Yield notes for users on a report."""
        if not coloured:
            yield "the report has no colours"
        if self.unrated:
            yield (
                f"{counted(self.unrated, 'game')} of less than one move (W, D, L) "
                "counted, although FIDE does not rate them"
            )
        both = self.left_out["lost by both"]
        if both:
            yield f"{counted(both, 'game')} lost by both left out"
        differing = [
            player
            for player in self.order
            if not math.isnan(player.points) and abs(player.points - player.scored) > _SAME_POINTS
        ]
        if differing and report.standard and not self.problems and not self.players.problems:
            first = differing[0]
            yield (
                f"points of {len(differing):,} of {counted(len(self.order), 'player')} differ from "
                f"the sum of their results (the first on line {first.line}: {first.points:g} "
                f"instead of {first.scored:g}); results count, not points"
            )


def read_trf(data: bytes, name: str) -> GameColumns:
    """Return the games of a FIDE tournament report, round by round.

    Ids are the names of players; players with the same name are distinguished by FIDE number or
    start number. `others` are all players in the order of the report.

    data : the report, in UTF-8 or in a single-byte encoding, with any line ends
    name : of the file, for problems
    Raises : InvalidDataError   it is not a report; other problems are in the result
    """
    report = read_report(data, name)
    players = read_players(report.lines, name)
    pairings = _Pairings(players, name)
    order, games = pairings.order, sorted(pairings.games)
    coloured = not games or any(game.coloured for game in games)
    if coloured:
        for game in games:
            if not game.coloured:
                player = order[game.white]
                pairings.refuse(player, game.round, COLOURED, player.block(game.round))
        games = [game for game in games if game.coloured]
    ids, twice = ids_of(order)
    rating = np.array([player.rating for player in order], dtype=np.float64)
    white = np.array([game.white for game in games], dtype=np.int64)
    black = np.array([game.black for game in games], dtype=np.int64)
    points = np.array([game.points for game in games], dtype=np.float64)
    problems = sorted(
        [*players.problems, *pairings.problems], key=lambda problem: problem.line or 0
    )
    dates, source = report.dates.of([game.round for game in games])
    events: Ids | None = None
    if report.tournament:
        events = np.full(len(games), report.tournament, dtype=object)
    return GameColumns(
        players=id_array(ids),
        white=white,
        black=black,
        points=points,
        white_rating=rating[white],
        black_rating=rating[black],
        draws=(points == 0.5).astype(np.float64),
        coloured=coloured,
        round=np.array([game.round + 1 for game in games], dtype=object),
        others=np.arange(len(order)),
        other_rating=rating,
        rounds=None if pairings.skipped or players.doubtful else _rounds(order, coloured),
        left_out=pairings.left_out,
        problems=tuple(problems),
        notes=(*report.notes, *twice, *pairings.notes(report, coloured=coloured)),
        locate=lambda row: (name, order[games[row].white].line),
        skipped=len(pairings.skipped),
        dropped=tuple(f"round {at + 1} of no. {number}" for at, number in sorted(pairings.skipped)),
        times=None if dates is None else pl.Series(dates, dtype=pl.Date),
        time_source=source,
        events=events,
        format="trf",
        kind="games",
    )


#: What a round without an opponent is, by its result.
_BYE_OF: dict[str, RoundKind] = {
    "U": "pairing-bye",
    **dict.fromkeys("F+1W", "full-bye"),
    **dict.fromkeys("H=D", "half-bye"),
}


#: What a pairing is, if it is not a game.
_PAIRED_AS: dict[str, RoundKind] = {"+": "forfeit-win", "-": "forfeit-loss", " ": "unknown"}


def _rounds(order: list[Player], coloured: bool) -> Rounds | None:
    """Return the rounds of all players up to the last one in which anybody was paired.

    A pairing without a result is unknown. A blank entry is a bye of no points.
    """
    row_of = {player.number: row for row, player in enumerate(order)}
    paired = [
        at
        for player in order
        for at, entry in enumerate(player.entries)
        if entry.opponent and entry.result != " "
    ]
    if not paired:
        return None
    shape = (len(order), max(paired) + 1)
    opponent, colour = np.full(shape, -1), np.zeros(shape, np.int64)
    kind, points = np.full(shape, KIND["zero-bye"]), np.zeros(shape)
    for row, player in enumerate(order):
        for at in range(shape[1]):
            entry = player.entry(at)
            name: RoundKind = _BYE_OF.get(entry.result, "zero-bye")
            if entry.opponent:
                opponent[row, at] = row_of[entry.opponent]
                colour[row, at] = {"w": 1, "b": -1}.get(entry.colour, 0) if coloured else 0
                name = _PAIRED_AS.get(entry.result, "played")
            kind[row, at] = KIND[name]
            points[row, at] = POINTS_OF.get(name, _POINTS.get(entry.result, 0.0))
    return Rounds(opponent=opponent, points=points, kind=kind, colour=colour)


def _against(player: Player, other: Player, at: int) -> str:
    """Return the entries of both players for a round, with the line of the opponent."""
    return f"{player.block(at)}, while line {other.line} has {other.block(at)}"

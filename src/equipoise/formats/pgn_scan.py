"""Splits PGN text, block by block, into games with tags, the end of the moves, and line numbers.

A game is a section of tags and what follows it, up to the next tag outside comments. A section
without moves continues after a blank line unless it repeats a tag; so files of tags without moves
are split correctly. Only the end of the moves matters: comments in braces, the rest of a line after
";", lines that begin with "%" and variations in parentheses are ignored, and a move is recognised
by the square it names.

Memory has room for one block and at most one game. Patterns never backtrack (possessive repeats).
If a block ends inside a game, the text that is read again at least doubles in size. So time grows
linearly with the length of the text.
"""

from __future__ import annotations

import codecs
import io
import os
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from equipoise.formats.contents import (
    ARCHIVE,
    BAD_ARCHIVE,
    FILLING,
    PACKED_START,
    READABLE,
    GuardedStream,
    archive_of,
    members_of,
    reason_of,
    unpacking,
)
from equipoise.formats.delimited import UTF_8_MARK, utf_16_of
from equipoise.formats.pgn_values import STANDARD, Outcome, outcome_of
from equipoise.formats.sources import packing_of
from equipoise.formats.table import Content, refuse

_COMMENT = rb"\{[^}]*+\}|;[^\n]*+|(?<=\n)%[^\n]*+"
_MOVE = rb"[a-h][1-8]|O-O"
_NOISE = re.compile(_COMMENT)
_STARTS_WITH_A_MOVE = re.compile(
    rb"(?:" + _COMMENT + rb"|(?!" + _MOVE + rb")[^{])*+(?:" + _MOVE + rb")"
)
#: Typographic characters, in UTF-8 and in Latin-1.
_HALF, _DASH = rb"(?:1/2|\xc2?\xbd)", rb"(?:-|\xe2\x80\x93)"
_RESULT = rb"1" + _DASH + rb"0|0" + _DASH + rb"1|" + _HALF + rb"(?:" + _DASH + _HALF + rb")?|\*"
_TOKEN = re.compile(
    rb"(?P<parenthesis>[()])|(?P<move>" + _MOVE + rb")"
    rb"|(?<![\w/.:+=\x80-\xff-])(?P<result>" + _RESULT + rb")(?![\w/.:+\x80-\xff-])"
)
#: A line of tags inside a comment.
NEXT_GAME = re.compile(rb'\n\[(?:Event|White|Black|Result)[ \t]*+"')

UNCLOSED = "must close its comment with } before the next game"
AFTER_RESULT = "must end with its result: the next game begins with tags"
ONE_RESULT = "must end with one result"


class Fault(NamedTuple):
    """A rule that the moves break; `at` is its position in them, in bytes."""

    at: int
    rule: str
    got: str


class Ending(NamedTuple):
    """The end of the moves.

    outcome : the result after the last move, None if there is none
    moved : whether there is a move
    """

    outcome: Outcome | None
    moved: bool
    fault: Fault | None = None


_NOTHING = Ending(None, False)


def ending(moves: bytes) -> Ending:
    """Return the end of the text between the tags of one game and those of the next."""
    text = moves.strip()
    if not text:
        return _NOTHING
    # The most common first, because every game is searched: one byte is found faster than two.
    lines = b"\n" in text
    fault = _swallowed(moves) if lines and b"[" in text and b"\n[" in text else None
    escaped = b";" in text or (b"%" in moves and (moves[0] == 37 or b"\n%" in moves))
    if fault is None and not escaped:
        last = text.rsplit(None, 1)[-1]
        outcome = STANDARD.get(last)
        if outcome is not None and not _hints(text, len(text) - len(last)):
            return Ending(outcome, _STARTS_WITH_A_MOVE.match(text) is not None)
    walked = _walked(_NOISE.sub(_blank, moves))
    return walked if fault is None else walked._replace(fault=fault)


def _hints(text: bytes, end: int) -> bool:
    """Return whether there may be a result before the end."""
    return (
        text.find(b"*", 0, end) >= 0
        or (text.find(b"/", 0, end) >= 0 and text.find(b"/2", 0, end) >= 0)
        or text.find(b"1-0", 0, end) >= 0
        or text.find(b"0-1", 0, end) >= 0
    )


def _blank(comment: re.Match[bytes]) -> bytes:
    """Return spaces as long as a comment, so that positions do not change."""
    return b" " * (comment.end() - comment.start())


def _walked(text: bytes) -> Ending:
    """Return the end of moves without comments, token by token."""
    depth = 0
    moved = False
    outcome: Outcome | None = None
    inside: Outcome | None = None
    fault: Fault | None = None
    for token in _TOKEN.finditer(text):
        kind, word = token.lastgroup, token.group()
        if kind == "parenthesis":
            depth = depth + 1 if word == b"(" else max(depth - 1, 0)
        elif kind == "move":
            moved, inside = True, None
            if depth == 0 and outcome is not None and fault is None:
                fault = Fault(token.start(), AFTER_RESULT, "moves after a result")
        elif depth > 0:
            inside = _outcome_of(word)
        elif outcome is None:
            outcome = _outcome_of(word)
        elif outcome != _outcome_of(word) and fault is None:
            fault = Fault(token.start(), ONE_RESULT, f"another result, {word.decode('latin-1')}")
    # A variation that is never closed contains the result of its game.
    return Ending(inside if outcome is None and depth > 0 else outcome, moved, fault)


def _outcome_of(word: bytes) -> Outcome | None:
    """Return the outcome of a result after the moves."""
    outcome = STANDARD.get(word)
    if outcome is not None:
        return outcome
    return outcome_of(word.replace(b"\xe2\x80\x93", b"-").replace(b"\xc2", b"").decode("latin-1"))


def _swallowed(moves: bytes) -> Fault | None:
    """Return the comment that continues into the next game, up to the end of a comment there."""
    for comment in _NOISE.finditer(moves):
        text = comment.group()
        if text.startswith(b"{") and text.count(b"{") > 1 and NEXT_GAME.search(text):
            got = "a comment that runs into the tags of another game"
            return Fault(comment.start(), UNCLOSED, got)
    return None


#: Bytes read at a time.
BLOCK = 1 << 20
#: Largest size of a game with tags, comments and variations, in bytes; the largest annotated games
#: have a hundredth of it.
LARGEST_GAME = 1 << 24
#: Largest number of tags of a game; the standard names about forty.
MOST_TAGS = 500
#: Number of tags matched at once; a longer section continues in the next piece.
_TAGS_AT_ONCE = 64

LARGEST = "must be at most 16777216 bytes for a game, with its comments"
TAG = 'must be a tag such as [White "Carlsen, Magnus"]'

_NAME = rb"[A-Za-z0-9_+#=:-]++"
_VALUE = rb'[^"\\\n]*+(?:\\.[^"\\\n]*+)*+'
_WHOLE = rb"\[\s*+" + _NAME + rb'\s*+"' + _VALUE + rb'"\s*+\]'
#: Tags with at most a line end between them. Event always begins a game.
_SECTION = re.compile(
    _WHOLE + rb"(?:[ \t]*+\n?[ \t]*+(?!\[\s*+Event\b)" + _WHOLE + rb"){0,%d}+" % (_TAGS_AT_ONCE - 1)
)
_PAIR = re.compile(rb"\[\s*+(" + _NAME + rb')\s*+"(' + _VALUE + rb')"\s*+\]')
_OPENING = re.compile(rb"\[\s*+(" + _NAME + rb")\s*+")
#: The next tag after text and comments in braces: a bracket with a name and a quotation mark, or
#: with a name and a space at the beginning of a line.
_BESIDES = (
    rb"|;[^\n]*+|%(?:(?<=\n%)[^\n]*+)?"
    rb"|\[(?!\s*+" + _NAME + rb'\s*+")(?!(?<=\n\[)' + _NAME + rb"[ \t]))*+"
)
#: Everything up to the next tag. Brackets in comments are not tags.
_MOVES = re.compile(rb"(?:[^{;\[%]++|\{[^}]*+\}" + _BESIDES)
#: The same, but a comment ends at the next game. It is used after a comment that is never closed.
#: Others may not be closed either, and each would be searched to the end of the text.
_MOVES_BEHIND = re.compile(
    rb"(?:[^{;\[%]++|\{(?:[^}\n]++|(?!" + NEXT_GAME.pattern + rb")\n)*+\}" + _BESIDES
)
#: A possible tag that is cut off by the end of the block.
_CUT = re.compile(
    rb"\[\s*+(?:" + _NAME + rb'\s*+(?:"' + _VALUE + rb'(?:\\|"\s*+)?)?)?\Z',
)
_ENDS_VALUE = re.compile(rb'"\s*+\]')


@dataclass(slots=True)
class RawGame:
    """A game as written in the text, without any checks.

    line : where it begins, from 1
    tags : name -> value between its quotation marks, with its escapes
    sections : line and text of the tags, to find a tag's line
    moves_line : line where the moves begin
    ending : how the moves end
    again : name, value and line of tags that occurred before
    broken : name -> line and text of tags that cannot be read
    loose : tags with quotation marks inside that should be escaped
    """

    line: int
    tags: dict[bytes, bytes]
    sections: list[tuple[int, bytes]]
    moves_line: int
    ending: Ending
    fault_line: int = 0
    again: list[tuple[bytes, bytes, int]] = field(default_factory=list)
    broken: dict[bytes, tuple[int, bytes]] = field(default_factory=dict)
    loose: int = 0

    def line_of(self, tag: str) -> int:
        """Return the line of a tag, or the line of the game if it has no such tag."""
        opening = re.compile(rb"\[\s*+" + re.escape(tag.encode()) + rb'\s*+"', re.IGNORECASE)
        for line, text in self.sections:
            opening_match = opening.search(text)
            if opening_match:
                return line + text.count(b"\n", 0, opening_match.start())
        return self.line

    @property
    def empty(self) -> bool:
        """Whether there is neither a move nor a result after the tags."""
        outcome, moved, fault = self.ending
        return outcome is None and not moved and fault is None

    def goes_on_in(self, other: RawGame) -> bool:
        """Return whether the tags of `other` belong to this game."""
        if not self.empty or not self.tags.keys().isdisjoint(other.tags):
            return False
        if self.broken or other.broken:
            mine, more = {*self.tags, *self.broken}, {*other.tags, *other.broken}
            if not mine.isdisjoint(more):
                return False
        size = sum(len(text) for _, text in self.sections)
        many = len(self.sections) > MOST_TAGS or size > LARGEST_GAME
        return bool(self.tags or self.broken) and not many

    def joined(self, other: RawGame) -> RawGame:
        """Return one game made of this one's tags and all of another."""
        return RawGame(
            self.line,
            self.tags | other.tags,
            self.sections + other.sections,
            other.moves_line,
            other.ending,
            other.fault_line,
            self.again + other.again,
            self.broken | other.broken,
            self.loose + other.loose,
        )


def scan(blocks: Iterator[bytes], name: str) -> Iterator[RawGame]:
    """Yield the games of a text.

    blocks : pieces of the text, with line feeds as line ends; name : of the file
    Raises : InvalidDataError   a game is too large
    """
    last: RawGame | None = None
    for game in _pieces(blocks, name):
        if last is None:
            last = game
        elif last.goes_on_in(game):
            last = last.joined(game)
        else:
            yield last
            last = game
    if last is not None:
        yield last


def _pieces(blocks: Iterator[bytes], name: str) -> Iterator[RawGame]:
    """Yield sections of tags with the text after them; first, text without tags."""
    buffer, at, line, final = b"\n", 0, 0, False
    behind = False
    while True:
        taken = _taken(buffer, at, line, final, behind)
        if taken is not None:
            game, end = taken
            behind |= _never_closes(game)
            if end - at > LARGEST_GAME:
                refuse(name, LARGEST, f"{end - at} bytes", line=line)
            # Before the first tag there may be the header of an e-mail or a comment.
            if game.sections or not game.empty:
                yield game
            line += buffer.count(b"\n", at, end)
            at = end
            continue
        if final:
            return
        rest = len(buffer) - at
        if rest > LARGEST_GAME:
            refuse(name, LARGEST, "more; perhaps a comment is never closed", line=line)
        parts, more = [buffer[at:]], 0
        while more < max(rest, 1) and not final:
            part = next(blocks, b"")
            final = not part
            parts.append(part)
            more += len(part)
        buffer, at = b"".join(parts), 0


def _never_closes(game: RawGame) -> bool:
    """Return whether a comment of a game is not closed before the next one."""
    return game.ending.fault is not None and game.ending.fault.rule == UNCLOSED


def _taken(
    buffer: bytes, at: int, line: int, final: bool, behind: bool
) -> tuple[RawGame, int] | None:
    """Return the piece that begins at a position, and its end; None if it needs more text.

    behind : whether an earlier comment is never closed
    """
    section = _SECTION.match(buffer, at)
    head_end = section.end() if section else _line_end(buffer, at, final)
    if head_end < 0 or at == len(buffer):
        return None
    tags: dict[bytes, bytes] = {}
    again: list[tuple[bytes, bytes, int]] = []
    if section:
        pairs = _PAIR.findall(buffer, at, head_end)
        tags = dict(pairs)
        if len(tags) != len(pairs):
            tags, again, head_end = _once(buffer, at, head_end, line)
    matched = (_MOVES_BEHIND if behind else _MOVES).match(buffer, head_end)
    end = matched.end() if matched else head_end
    unclosed = buffer.startswith(b"{", end)
    swallowed = NEXT_GAME.search(buffer, end) if unclosed and behind else None
    # A comment that is longer than any game is never closed.
    endless = swallowed is not None or (unclosed and len(buffer) - at > LARGEST_GAME)
    if not (final or endless) and (unclosed or end == len(buffer) or _CUT.match(buffer, end)):
        return None
    game = _game(buffer[at:head_end], tags, buffer[head_end:end], line)
    game.again = again
    if not section:
        _read_broken(game, buffer[at:head_end])
    if unclosed:
        fault = Fault(end - head_end, UNCLOSED, "a comment that is never closed")
        game.ending = game.ending._replace(fault=fault)
        game.fault_line = line + buffer.count(b"\n", at, end)
    if _never_closes(game):
        # The games after the comment are not lost.
        swallowed = swallowed or NEXT_GAME.search(buffer, head_end if not unclosed else end)
        if swallowed is None and not final:
            return None
        end = len(buffer) if swallowed is None else swallowed.start() + 1
    return game, end


def _line_end(buffer: bytes, at: int, final: bool) -> int:
    """Return where the line of a broken tag ends, -1 if that is not in the buffer yet.

    If no tag begins there, the result is the position itself.
    """
    if not buffer.startswith(b"[", at):
        return at
    end = buffer.find(b"\n", at)
    return len(buffer) if end < 0 and final else end


def _game(head: bytes, tags: dict[bytes, bytes], moves: bytes, line: int) -> RawGame:
    """Return a game from its parts, with lines."""
    if not head:
        blank = len(moves) - len(moves.lstrip())
        line, moves = line + moves.count(b"\n", 0, blank), b"\n" + moves[blank:]
    moves_line = line + head.count(b"\n") - (not head)
    end = ending(moves)
    fault_line = 0
    if end.fault is not None:
        fault_line = moves_line + moves.count(b"\n", 0, end.fault.at)
    return RawGame(line, tags, [(line, head)] if head else [], moves_line, end, fault_line)


def _once(
    buffer: bytes, at: int, end: int, line: int
) -> tuple[dict[bytes, bytes], list[tuple[bytes, bytes, int]], int]:
    """Return the tags of one game, repeated tags, and where it ends.

    Games of tags without moves may follow each other directly. Once the players are known, the next
    game begins where the first tag is repeated.
    """
    tags: dict[bytes, bytes] = {}
    again: list[tuple[bytes, bytes, int]] = []
    first = b""
    for pair in _PAIR.finditer(buffer, at, end):
        tag, value = pair.groups()
        first = first or tag
        if tag not in tags:
            tags[tag] = value
        elif tag == first and b"White" in tags and b"Black" in tags:
            return tags, again, pair.start()
        else:
            again.append((tag, value, line + buffer.count(b"\n", at, pair.start())))
    return tags, again, end


def _read_broken(game: RawGame, text: bytes) -> None:
    """Read a line that begins like a tag but is not one.

    A value with unescaped quotation marks inside is clear if the line has nothing else. Anything
    more is not guessed.
    """
    opening = _OPENING.match(text)
    if opening is None:
        return
    tag = opening.group(1)
    value = text[opening.end() :].rstrip().removesuffix(b"]").rstrip()
    whole = text.rstrip().endswith(b"]") and len(value) > 1
    whole = whole and value.startswith(b'"') and value.endswith(b'"')
    if whole and not _ENDS_VALUE.search(value[1:-1]):
        game.tags[tag] = value[1:-1]
        game.loose += 1
    else:
        game.broken[tag] = (game.line, text)


#: Suffixes of the files that are read below a directory.
ENDINGS = (".pgn", ".pgn.gz", ".pgn.bz2", ".pgn.xz", ".pgn.zst", ".pgn.zip")


class Document(NamedTuple):
    """A text to read. name : for problems; stream : its bytes, decompressed when read."""

    name: str
    stream: GuardedStream


Open: TypeAlias = Callable[[], Iterator[Document]]


def documents_in(content: Content) -> list[Open]:
    """Return functions that open a file, or each PGN file below a directory, by name.

    Hidden files and links to directories are skipped.

    Raises : InvalidDataError   there is nothing to open
    """
    name = content.name
    source = content.data if isinstance(content.data, Path) else content.content()
    if isinstance(source, bytes) or not source.is_dir():
        return [partial(documents_of, source, name)]
    try:
        files = sorted(_below(source), key=lambda file: file.parts)
    except OSError as error:
        refuse(name, READABLE, reason_of(error))
    if not files:
        refuse(name, "must be a directory with .pgn files", "none")
    return [partial(documents_of, file, str(file)) for file in files]


def documents_of(source: Path | bytes, name: str) -> Iterator[Document]:
    """Yield the text of a file, or the texts of an archive.

    Raises : InvalidDataError   it cannot be read or decompressed
    Raises : EquipoiseError     a library for it is missing
    """
    with ExitStack() as stack:
        try:
            opened = io.BytesIO(source) if isinstance(source, bytes) else source.open("rb")
            file = io.BufferedReader(stack.enter_context(opened))
            packing = packing_of(file.peek(PACKED_START)[:PACKED_START])
        except OSError as error:
            refuse(name, READABLE, reason_of(error))
        if packing == "zip":
            yield from _members(file, name)
        else:
            yield Document(name, stack.enter_context(unpacking(file, name, packing)))


def _below(path: Path) -> Iterator[Path]:
    """Yield the PGN files below a directory, in any order."""

    def fail(error: OSError) -> None:
        raise error

    for folder, _, files in os.walk(path, onerror=fail):
        for file in files:
            if file.lower().endswith(ENDINGS) and not file.startswith("."):
                yield Path(folder, file)


def _members(file: io.BufferedReader[Any], name: str) -> Iterator[Document]:
    """Yield the .pgn members of an archive in the order of their names."""
    with archive_of(file, name) as archive:
        members = sorted(
            member for member in members_of(archive) if member.lower().endswith(".pgn")
        )
        if not members:
            refuse(name, "must be an archive with .pgn files", "none")
        for member_name in members:
            place = f"{name}/{member_name}"
            try:
                member = archive.open(member_name)
            except BAD_ARCHIVE as error:
                refuse(place, ARCHIVE, reason_of(error))
            with member:
                yield Document(place, GuardedStream(member, place, "zip"))


TEXT = "must be PGN text"


def blocks_of(stream: GuardedStream, name: str, size: int = BLOCK) -> Iterator[bytes]:
    """Yield the text of a stream, block by block.

    size : number of bytes read at once
    Raises : InvalidDataError   it is not text, or is empty
    """
    first = stream.read(size)
    if not first:
        refuse(name, "must hold at least one game", "an empty file")
    raw = _raw(first, stream, size)
    codec = utf_16_of(first)
    if codec is not None:
        raw = _from_utf_16(raw, codec, name)
    elif b"\0" in first.rstrip(FILLING)[:1024]:
        refuse(name, TEXT, "a binary file")
    yield from _with_line_feeds(raw)


def _raw(first: bytes, stream: GuardedStream, size: int) -> Iterator[bytes]:
    """Yield a first block without its byte order mark, then the rest of the stream."""
    block = first.removeprefix(UTF_8_MARK)
    while block:
        yield block
        block = stream.read(size)


def _from_utf_16(blocks: Iterator[bytes], codec: str, name: str) -> Iterator[bytes]:
    """Yield UTF-16 text as UTF-8."""
    decoder = codecs.getincrementaldecoder(codec)()
    try:
        for block in blocks:
            yield decoder.decode(block).encode("utf-8")
        decoder.decode(b"", final=True)
    except UnicodeError:
        refuse(name, TEXT, "invalid UTF-16")


def _with_line_feeds(blocks: Iterator[bytes]) -> Iterator[bytes]:
    """Yield text with line feeds as line ends."""
    held = b""
    for block in blocks:
        text = held + block
        # The next block decides whether a carriage return is half of a line end.
        held = b"\r" if text.endswith(b"\r") else b""
        text = text.removesuffix(b"\r")
        if b"\r" in text:
            text = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        if text:
            yield text
    if held:
        yield b"\n"

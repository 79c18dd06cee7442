"""How the moves of a PGN game end, and whether there are any; they are not played through.

Comments in braces, the rest of a line after ";" and lines that begin with "%" say nothing here,
nor do variations in parentheses. A move is seen by the square it names. Patterns never go back
(possessive repeats), so time grows with the length of the text, whatever it holds.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from equipoise.formats.pgn_results import STANDARD, Outcome, outcome_of

_COMMENT = rb"\{[^}]*+\}|;[^\n]*+|(?<=\n)%[^\n]*+"
_MOVE = rb"[a-h][1-8]|O-O"
_NOISE = re.compile(_COMMENT)
_STARTS_WITH_A_MOVE = re.compile(
    rb"(?:" + _COMMENT + rb"|(?!" + _MOVE + rb")[^{])*+(?:" + _MOVE + rb")"
)
#: As typographers write them, in UTF-8 and in Latin-1.
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
    """A rule that the moves break; `at` is the place of it in them, in bytes."""

    at: int
    rule: str
    got: str


class Ending(NamedTuple):
    """How moves end.

    outcome : what stands after the last move, None where no result does
    moved : whether there is a move
    """

    outcome: Outcome | None
    moved: bool
    fault: Fault | None = None


_NOTHING = Ending(None, False)


def ending(moves: bytes) -> Ending:
    """Return how the text between the tags of one game and those of the next ends."""
    text = moves.strip()
    if not text:
        return _NOTHING
    # The commonest first, as they are looked for in every game: a byte is found faster than two.
    lines = b"\n" in text
    fault = _swallowed(moves) if lines and b"[" in text and b"\n[" in text else None
    escaped = b";" in text or (b"%" in moves and (moves[0] == 37 or b"\n%" in moves))
    if fault is None and not escaped:
        last = text.rsplit(None, 1)[-1]
        outcome = STANDARD.get(last)
        if outcome is not None and not _hints(text, len(text) - len(last)):
            return Ending(outcome, _STARTS_WITH_A_MOVE.match(text) is not None)
    found = _walked(_NOISE.sub(_blank, moves))
    return found if fault is None else found._replace(fault=fault)


def _hints(text: bytes, end: int) -> bool:
    """Return whether something like a result may stand before the end."""
    return (
        text.find(b"*", 0, end) >= 0
        or (text.find(b"/", 0, end) >= 0 and text.find(b"/2", 0, end) >= 0)
        or text.find(b"1-0", 0, end) >= 0
        or text.find(b"0-1", 0, end) >= 0
    )


def _blank(comment: re.Match[bytes]) -> bytes:
    """Return spaces as long as a comment, so that places stay what they were."""
    return b" " * (comment.end() - comment.start())


def _walked(text: bytes) -> Ending:
    """Return how moves without comments end, token by token."""
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
            inside = _told(word)
        elif outcome is None:
            outcome = _told(word)
        elif outcome != _told(word) and fault is None:
            fault = Fault(token.start(), ONE_RESULT, f"another one, {word.decode('latin-1')}")
    # A variation that is never closed takes the result of its game with it.
    return Ending(inside if outcome is None and depth > 0 else outcome, moved, fault)


def _told(word: bytes) -> Outcome | None:
    """Return what a result after the moves tells."""
    found = STANDARD.get(word)
    if found is not None:
        return found
    return outcome_of(word.replace(b"\xe2\x80\x93", b"-").replace(b"\xc2", b"").decode("latin-1"))


def _swallowed(moves: bytes) -> Fault | None:
    """Return the comment that runs into the next game, up to the end of a comment there."""
    for comment in _NOISE.finditer(moves):
        text = comment.group()
        if text.startswith(b"{") and text.count(b"{") > 1 and NEXT_GAME.search(text):
            return Fault(comment.start(), UNCLOSED, "one that runs into the tags of another game")
    return None

"""Text for users: counts with their nouns, and text that is safe to print.

Names, file names and values come from users and may hold characters that control a terminal: ESC
starts a command, a newline forges a line, U+202E reverses the rest of the line, and zero-width
characters are invisible. On screen such characters are escapes; files and JSON keep the exact text.
"""

from __future__ import annotations

import re

#: Control and invisible characters: C0 and C1 controls, DEL, soft hyphen, direction marks and
#: overrides, zero-width characters, line separators, invisible operators, tags, interlinear
#: annotations. Lone surrogates, which no encoding can write, are added below.
_HIDDEN = (
    "\x00-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    "\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\U000e0000-\U000e0fff"
)
_UNSAFE = re.compile(f"[{_HIDDEN}\ud800-\udfff]")
#: The same characters (without surrogates) as a regular expression of Polars.
HIDDEN_CHARACTERS = f"[{_HIDDEN}]"


def printable(text: str) -> str:
    r"""Return text in which control and invisible characters are escaped.

    They are written as Python escapes: \n, \x1b, \u202e. The result is always a single line.
    """
    if text.isascii() and text.isprintable():
        return text  # true of nearly every text, and several times faster to check
    return _UNSAFE.sub(_escape, text)


def printable_json(text: str) -> str:
    r"""Return JSON in which the same characters are JSON escapes, so the text stays exact."""
    if text.isascii() and text.isprintable():
        return text
    return _UNSAFE.sub(_json_escape, text)


def counted(count: int, one: str, many: str | None = None) -> str:
    """Return a count with its noun: "1 match", "1,234 matches".

    one, many : the noun, or noun and verb, in both numbers; many is `one` with an s by default
    """
    return f"{count:,} {one if count == 1 else many or f'{one}s'}"


#: What to do instead of one service that has several processes, or reads from a standby.
SEVERAL_SERVICES = "run several services behind HAProxy, as docs/guides/several-services.md says"
#: Why a service has no standby.
NO_STANDBY = (
    "the service no longer reads from a standby, because reads are not what limits it: "
    f"{SEVERAL_SERVICES}"
)


def how_to_install(extra: str) -> str:
    """Return the commands that install an extra, to end a sentence about what is missing.

    They name no index: the package is installed from a clone or from a wheel (decision 5).
    """
    return (
        f"pip install '.[{extra}]' in a clone of Equipoise, or pip install 'WHEEL[{extra}]' with "
        "the path of a wheel"
    )


def _escape(found: re.Match[str]) -> str:
    letter = found.group()
    escaped = repr(letter)[1:-1]
    if escaped != letter:
        return escaped
    # Python treats fillers and variation selectors as printable.
    return f"\\u{ord(letter):04x}" if ord(letter) < 0x10000 else f"\\U{ord(letter):08x}"


def _json_escape(found: re.Match[str]) -> str:
    units = found.group().encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))

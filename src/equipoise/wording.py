"""Text for users: counts with their nouns, names of options, and text that is safe to print.

Names, file names and values come from users and may hold characters that control a terminal: ESC
starts a command, a newline forges a line, U+202E reverses the rest of the line, and zero-width
characters are invisible. On screen such characters are escapes; files and JSON keep the exact text.

Readers write a rule once, with the options of the command line: `--time-format s`. Programs and
pages have no such options, so errors, problems and notes say `time_format="s"`, unless the command
line runs (`options_named`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

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


def did_you_mean(unknown: Iterable[object], known: Iterable[object]) -> str:
    """Return the end of a sentence that suggests the ids most similar to the first unknown one.

    It is about the first that has similar ids, and empty if none has.
    """
    import difflib

    by_lower = {str(name).casefold(): str(name) for name in known}
    for wanted in unknown:
        if near := difflib.get_close_matches(str(wanted).casefold(), by_lower, n=3):
            *others, last = (by_lower[name] for name in near)
            return f"; did you mean {', '.join(others)}{' or ' if others else ''}{last}?"
    return ""


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


def _escape(match: re.Match[str]) -> str:
    letter = match.group()
    escaped = repr(letter)[1:-1]
    if escaped != letter:
        return escaped
    # Python treats fillers and variation selectors as printable.
    return f"\\u{ord(letter):04x}" if ord(letter) < 0x10000 else f"\\U{ord(letter):08x}"


def _json_escape(match: re.Match[str]) -> str:
    units = match.group().encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))


#: Option -> parameter, where the two have different names.
_PARAMETERS = {
    "column": "columns",
    "stat": "statistics",
    "from": "since",
}
#: Other options that messages of the library name; the parameter has underscores.
_OTHERS = (
    "format|initial|lower-score-is-better|min-matches|restart|save|scale|sheet|skip-bad|state"
    "|synonyms|time-format|unplaced|unplayed|until|walkovers|where"
)
_OPTION = rf"(?<![\w'\"/.-])--({'|'.join(_PARAMETERS)}|{_OTHERS})(?![\w/.-])"
#: Options without a value, and what they mean.
_FLAGS = {"skip-bad": '"matches"', "lower-score-is-better": "True", "restart": "True"}
_PAIRS = ("column", "where", "stat")
#: A name in a message, and the option after it: where (--where).
_BESIDE = re.compile(rf" \((?:{_OPTION}(?: NEW=OLD)?(?:, | and )?)+\)")
_IN_PYTHON = re.compile(rf"{_OPTION} \(in Python ([^)]*)\)")
_PAIR = r"'[^'=]+=[^']*'|[^\s'=]+=[^\s,;:()]+"
_VALUE = (
    r"'[^'=]*'|%[^\s,;)]+|[A-Z]{3,}|(?:absent|drop|excel|games|history|ignore|last|pairs|rows|s)\b"
)
_TYPED = re.compile(rf"{_OPTION}(?:[= ]({_PAIR}|{_VALUE}))?")


class _Speech:
    """Whether messages name options: in the whole process, because threads read files too."""

    named = False


@contextmanager
def options_named(named: bool = True) -> Iterator[None]:
    """Let messages name options while the command line runs."""
    before, _Speech.named = _Speech.named, named
    try:
        yield
    finally:
        _Speech.named = before


def are_options_named() -> bool:
    """Return whether messages name options."""
    return _Speech.named


def addressed(message: str) -> str:
    """Return a message with parameters instead of options, unless the command line runs.

    Commands between backticks stay as they are typed.
    """
    if _Speech.named or "--" not in message:
        return message
    parts = message.split("`")
    return "`".join(
        part if at % 2 and part.startswith("equipoise ") else _in_python(part)
        for at, part in enumerate(parts)
    )


def _in_python(text: str) -> str:
    text = _IN_PYTHON.sub(lambda match: match[2], text)
    return _TYPED.sub(_parameter, _BESIDE.sub("", text))


def _parameter(match: re.Match[str]) -> str:
    """Return an option, and its value if there is one, as an argument of a function."""
    option, value = match[1], match[2]
    name = _PARAMETERS.get(option, option.replace("-", "_"))
    if value is None:
        return f"{name}={_FLAGS[option]}" if option in _FLAGS else name
    value = value.strip("'")
    if option in _PAIRS:
        new, pair, old = value.partition("=")
        if not pair:
            return f"{name}={value}"
        return f'{name}={{"{new}": {old if option == "stat" else _quoted(old)}}}'
    return f"{name}={value if value.isupper() else _quoted(value)}"


def _quoted(text: str) -> str:
    return f'"{text}"'

"""Options in messages: as they are typed on the command line, and as parameters everywhere else.

Readers write a rule once, with the options of the command line: `--time-format s`. Programs and
pages have no such options, so errors, problems and notes say `time_format="s"`, unless the command
line runs (`options_named`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

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
    text = _IN_PYTHON.sub(lambda found: found[2], text)
    return _TYPED.sub(_parameter, _BESIDE.sub("", text))


def _parameter(found: re.Match[str]) -> str:
    """Return an option, and its value if there is one, as an argument of a function."""
    option, value = found[1], found[2]
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

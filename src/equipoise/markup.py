"""HTML and SVG as text: elements that escape their content.

`Markup` is text that is already markup, for these elements and for the templates of pages. The
output is also well-formed XML, so that any parser can check it.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from typing import TypeAlias

from markupsafe import Markup

#: Elements without content, of HTML and SVG; all others get an end tag.
_EMPTY = frozenset({"br", "circle", "hr", "line", "meta", "path", "polyline", "rect"})
#: Characters that HTML and XML do not allow, and lone surrogates, which UTF-8 cannot encode.
_FORBIDDEN = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


Content: TypeAlias = "str | Iterable[str] | None"


def element(tag: str, *content: Content, **attributes: str | float | None) -> Markup:
    """Return an element; text in it is escaped, `Markup` is not.

    content : text, markup, several of them, or None for nothing
    attributes : underscores in names become hyphens, and one at the end is dropped (`class_`);
      numbers have at most two decimals; None omits the attribute
    """
    written = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{escaped(_value(value))}"'
        for name, value in attributes.items()
        if value is not None
    )
    if tag in _EMPTY:
        return _marked(f"<{tag}{written} />")
    return _marked(f"<{tag}{written}>{joined(*content)}</{tag}>")


def joined(*content: Content, by: str = "") -> Markup:
    """Return all content joined as markup."""
    parts: list[str] = []
    for part in content:
        if part is None:
            continue
        parts += [part] if isinstance(part, str) else part
    # Markup.join would escape each part again, which changes nothing and takes time.
    return _marked(str.join(escaped(by), map(escaped, parts)))


def lines(*content: Content) -> Markup:
    """Return all content as markup, each on a separate line."""
    return joined(*content, by="\n")


def escaped(text: str) -> Markup:
    """Return text as markup; text that is already markup stays unchanged."""
    if isinstance(text, Markup):
        return text
    return _marked(html.escape(allowed(text)))


def allowed(text: str) -> str:
    """Return text with a replacement for every character that HTML or XML does not allow."""
    return _FORBIDDEN.sub(_REPLACEMENT, text)


def _marked(text: str) -> Markup:
    """Return text as `Markup`, without the check for `__html__` that `Markup(...)` makes."""
    return str.__new__(Markup, text)


def decimals(value: float, most: int = 2) -> str:
    """Return a number with at most `most` decimals, without trailing zeros and never as -0."""
    text = f"{value:.{most}f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text == "-0" else text


def _value(value: str | float) -> str:
    return value if isinstance(value, str) else decimals(value)

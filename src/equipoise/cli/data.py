"""equipoise data: where public histories of matches can be had, and how to read them."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from equipoise.cli import completion, options
from equipoise.cli.declaring import argument
from equipoise.cli.report import print_json, print_lines, say

if TYPE_CHECKING:
    from equipoise.messages.histories import PublicHistory

EXAMPLE = """\b
Example:
  equipoise data
  equipoise data football-internationals"""

#: Width of the names of facts, and of the text beside them.
_NAMES, _WIDTH = 10, 88


def data(
    *,
    name: str | None = argument(
        "The history to show.", "NAME", default=None, autocompletion=completion.public_histories
    ),
    as_json: options.Json,
) -> None:
    """List public histories of matches, and the commands that read them.

    Nothing is downloaded: take the file from its address, under its licence, then type the command.
    """
    from equipoise.analysis.public_histories import public_histories

    found = public_histories(name)
    if as_json:
        print_json(found)
        return
    for number, one in enumerate(found):
        if number:
            print_lines("")
        print_lines(*_lines(one))
    if name is None:
        say("", "No file yet? `equipoise demo --keep sample` writes an invented season.")


def _lines(one: PublicHistory) -> list[str]:
    """Return a history: its name, what it is, the facts, and the commands to copy."""
    facts = {
        "from": one.address,
        "file": one.file,
        "size": one.size,
        "format": one.format,
        "licence": one.licence,
        "as of": one.as_of + (f"; commands tried {one.checked}" if one.checked else ""),
    }
    lines = [one.name, *_wrapped("", one.what)]
    for label, text in facts.items():
        lines += _wrapped(label, text)
    # Commands are not wrapped: they are copied.
    return [*lines, *(f"  $ {command}" for command in one.commands)]


def _wrapped(label: str, text: str) -> list[str]:
    first, *others = textwrap.wrap(text, _WIDTH, break_long_words=False, break_on_hyphens=False)
    if not label:
        return [f"  {line}" for line in (first, *others)]
    return [f"  {label:<{_NAMES}}{first}", *(f"  {'':<{_NAMES}}{line}" for line in others)]

"""Docstrings as the code writes them -> reStructuredText.

`name : what it is` becomes a parameter, `Returns : ...` and `Raises : ...` become fields, `[EM]_`
becomes a citation, and a reading of the documents (`READINGS B4`) a link to where it is stated.
"""

from __future__ import annotations

import re
from typing import Any

from sphinx.application import Sphinx

import equipoise

_PARAMETER = re.compile(r"^(?P<names>[a-z_]\w*(?:, [a-z_]\w*)*)(?: :|; (?=\w+ :)) (?P<text>.+)$")
_FIELD = re.compile(r"^(?P<field>Returns|Raises) : (?P<text>.*)$")
_RAISES_WITHIN = re.compile(r"^(?P<before>.+\.) (?P<after>Raises : .+)$")
_CITATION = re.compile(
    r"\[(EM|G1|G2|TG2|PRE|CPR|RP|FIDE|MR|Elo|CF|TC|TS|NS|WL|DWZ|EGF|Steph|USCF|LI)\]_?"
)
_READING = re.compile(r"\bREADINGS? ([A-D]\d+)(?:-([A-D]\d+))?")
_TABLE = re.compile(r"\bthe table of INTERFACES\b")
_BARE_READING = re.compile(r"\(([A-D]\d+)\)")
_ALIAS = (
    r"equipoise\.(?:arrays|rating\.system)\.(?:Flags|Floats|Ids|Ints|RatingColumns|TraceColumns)"
)
_ARRAY = re.compile(rf"TypeAliasForwardRef\('({_ALIAS})'\)|(?<![\w.~])({_ALIAS})")
_RAISED = re.compile(r"^(?P<error>\w+Error)\s\s+(?P<text>.+)$")
_ERROR = re.compile(
    rf"\b({'|'.join(name for name in equipoise.__all__ if name.endswith('Error'))})\b(?!`)"
)


def to_rest(lines: list[str]) -> list[str]:
    """Return the lines of a docstring as reStructuredText."""
    out: list[str] = []
    lines, examples = _without_examples(lines)
    for line in _separated(lines):
        parameter, field = _PARAMETER.match(line), _FIELD.match(line)
        if field:
            out.append(_field(field["field"], field["text"]))
        elif parameter:
            names = parameter["names"].split(", ")
            out.extend(f":param {name}: {_linked(parameter['text'])}" for name in names)
        else:
            out.append(_linked(line))
    return [*_with_blank_lines(out), *examples]


def _without_examples(lines: list[str]) -> tuple[list[str], list[str]]:
    """Return a docstring without its examples, and the examples as they are, with a heading."""
    for at, line in enumerate(lines[:-1]):
        if line == "Examples" and lines[at + 1].startswith("---"):
            return lines[:at], [".. rubric:: Examples", "", *lines[at + 2 :], ""]
    return lines, []


def _field(name: str, text: str) -> str:
    """Return a field; an error that stands apart from its text is listed by name."""
    raised = _RAISED.match(text)
    if name == "Raises" and raised:
        return f":raises ~equipoise.{raised['error']}: {_linked(raised['text'])}"
    return f":{name}: " + " ".join(_linked(text).split())


def _separated(lines: list[str]) -> list[str]:
    """Return lines with what is raised on a line of its own, and continued lines joined."""
    split: list[str] = []
    for line in lines:
        within = _RAISES_WITHIN.match(line)
        split.extend([within["before"], "", within["after"]] if within else [line])
    joined: list[str] = []
    for line in split:
        opens = joined and (_PARAMETER.match(joined[-1]) or _FIELD.match(joined[-1]))
        if (
            opens
            and line.strip()
            and not _FIELD.match(line)
            and (line.startswith(" ") or _FIELD.match(joined[-1]))
        ):
            joined[-1] += " " + line.strip()
        else:
            joined.append(line)
    return joined


def _linked(text: str) -> str:
    text = _CITATION.sub(r":cite:p:`\1`", text)
    text = _READING.sub(lambda found: _reading(*found.groups()), text)
    text = _TABLE.sub(":doc:`the table </reference/tables>`", text)
    text = _BARE_READING.sub(lambda found: f"({_reading(found[1], None)})", text)
    return _ERROR.sub(r":class:`~equipoise.\1`", text)


def _reading(first: str, last: str | None) -> str:
    """Return "reading B4" or "readings B3 to B8", as links to the page of readings."""
    links = [f":ref:`{one} <reading-{one.lower()}>`" for one in (first, last) if one]
    return ("readings " if last else "reading ") + " to ".join(links)


def _with_blank_lines(lines: list[str]) -> list[str]:
    """Return lines with an empty one where a list of fields begins or ends."""
    out: list[str] = []
    for line in lines:
        if out and out[-1] and line and line.startswith(":") != out[-1].startswith(":"):
            out.append("")
        out.append(line)
    return [*out, ""]


def _short_arrays(text: str | None) -> str | None:
    """Return a signature in which arrays go by their last name, as links."""
    if text is None:
        return None
    # A default made by a factory is an empty mapping everywhere here.
    return _ARRAY.sub(lambda found: f"~{found[1] or found[2]}", text).replace("<factory>", "{}")


def _process(app: Sphinx, what: str, name: str, item: Any, options: Any, lines: list[str]) -> None:
    lines[:] = to_rest(lines)


def _process_signature(
    app: Sphinx,
    what: str,
    name: str,
    item: Any,
    options: Any,
    signature: str | None,
    returns: str | None,
) -> tuple[str | None, str | None]:
    return _short_arrays(signature), _short_arrays(returns)


def setup(app: Sphinx) -> dict[str, bool]:
    """Rewrite every docstring and signature that autodoc shows."""
    app.connect("autodoc-process-docstring", _process)
    app.connect("autodoc-process-signature", _process_signature)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

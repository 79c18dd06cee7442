"""Write what `papers.reproduce` finds into docs/papers, a file for each document.

Run: python -m papers.pages [DOCUMENT ...]
The pages include these files. A slow test holds them against this script.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from papers.comparing import Comparison, Statement, compare
from papers.documents import DOCUMENTS
from papers.items import Facts

FOLDER = Path(__file__).parents[1] / "docs" / "papers"

#: Headings of the kinds of statements.
TITLES = {
    "table": "Tables",
    "figure": "Figures",
    "equation": "Equations",
    "definition": "Definitions and constants",
    "assumption": "Assumptions and remarks",
    "remark": "Assumptions and remarks",
    "example": "Examples",
    "theorem": "Theorems and lemmas",
    "lemma": "Theorems and lemmas",
    "proposition": "Theorems and lemmas",
    "algorithm": "Algorithms",
    "ruleset": "Rulesets",
    "section": "Sections",
    "option": "Options",
    "claim": "Claims",
    "future-work": "Future work",
}
COLUMNS = ("statement", "what", "printed", "ours", "outcome")


def included(name: str) -> str:
    """Return the text that the page of a document includes."""
    (document,) = compare([(DOCUMENTS[name], DOCUMENTS[name].items)], Facts())
    return "\n".join(_lines(document))


def _lines(document: Comparison) -> Iterator[str]:
    """Yield the lines of a document: a table for each kind, then the reasons."""
    counts = ", ".join(f"{count} {outcome}" for outcome, count in document.outcomes.items())
    command = f"python -m papers.reproduce {document.name}"
    yield f"<!-- Written by papers/pages.py from `{command}`. -->\n"
    lines = sum(document.outcomes.values())
    yield f"{len(document.statements)} statements, {lines} lines: {counts}.\n"
    reasons: dict[str, int] = {}
    for title in dict.fromkeys(TITLES.values()):
        chosen = [one for one in document.statements if TITLES[one.kind] == title]
        if chosen:
            yield f"### {title}\n"
            yield _row(COLUMNS)
            yield _row("---" for _ in COLUMNS)
            for one in chosen:
                yield from _rows(one, reasons)
            yield ""
    yield "### Reasons\n"
    for reason, number in reasons.items():
        yield f"{number}. {escaped(reason)}"
    yield ""


def _where(where: str) -> str:
    """Return a link to a page, or the name of a function as code."""
    page = where.removeprefix("docs/").removesuffix(".md")
    if (FOLDER.parent / f"{page}.md").is_file():
        return f"[{page}](../{page}.md)"
    return f"`{where}`"


def _rows(statement: Statement, reasons: dict[str, int]) -> Iterator[str]:
    """Yield a row for each line; the first names the statement and where it is carried out."""
    name = statement.name.replace("-", " ", 1)
    head = f"**{escaped(name)}**: {escaped(statement.says)} ({_where(statement.where)})"
    for line in statement.lines:
        outcome: str = line.outcome
        if line.reason:
            outcome += f" [{reasons.setdefault(line.reason, len(reasons) + 1)}]"
        yield _row([head, *map(escaped, (line.what, line.printed, line.ours, outcome))])
        head = ""


def _row(cells: Iterator[str] | list[str] | tuple[str, ...]) -> str:
    return f"| {' | '.join(cells)} |"


def escaped(text: str) -> str:
    """Return text without the characters that Markdown reads; code in backquotes stays."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(
        part if part.startswith("`") else re.sub(r"([\\*_\[\]<>|$~#])", r"\\\1", part)
        for part in parts
    )


def main() -> None:
    """Write the files of the documents that are named, or of all, each in a process of its own."""
    names = sys.argv[1:] or list(DOCUMENTS)
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as processes:
        for name, text in zip(names, processes.map(included, names), strict=True):
            (FOLDER / f"{name}.inc").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()

"""What documents print beside what is computed: statements with their lines, and a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass

import polars as pl

from papers.items import Document, Facts, Item
from papers.lines import Line

#: A document, and its items that were asked for.
Chosen = tuple[Document, tuple[Item, ...]]


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement of a document. where : the public name or page that carries it out."""

    name: str
    kind: str
    number: str
    says: str
    where: str
    lines: list[Line]


@dataclass(frozen=True, slots=True)
class Comparison:
    """A document. outcomes : number of lines of each outcome."""

    name: str
    title: str
    page: str
    outcomes: dict[str, int]
    statements: list[Statement]


def compare(
    chosen: list[Chosen], facts: Facts, progress: Callable[[int, int], None] | None = None
) -> list[Comparison]:
    """Return every statement that was asked for, with its lines."""
    total, done = sum(len(items) for _, items in chosen), 0
    found = []
    for document, items in chosen:
        statements = []
        for item in items:
            lines = list(item.check(facts))
            statements.append(
                Statement(item.name, item.kind, item.number, item.says, item.where, lines)
            )
            done += 1
            if progress is not None:
                progress(done, total)
        outcomes = Counter(line.outcome for one in statements for line in one.lines)
        found.append(
            Comparison(
                document.name,
                document.title,
                document.page,
                dict(sorted(outcomes.items())),
                statements,
            )
        )
    return found


def table_of(found: list[Comparison]) -> pl.DataFrame:
    """Return one row for each line."""
    rows = [
        {
            "document": document.name,
            "statement": one.name,
            **{name: getattr(one, name) for name in ("kind", "number", "says", "where")},
            **asdict(line),
        }
        for document in found
        for one in document.statements
        for line in one.lines
    ]
    return pl.DataFrame(rows, infer_schema_length=None)

"""Messages on the documents: what they print beside what is computed."""

from __future__ import annotations

import msgspec


class LineMessage(msgspec.Struct, frozen=True):
    """One printed number, formula or count, and ours.

    outcome : reproduced, differs, beyond (the document says nothing of it), stated (nothing is
        computed by it alone) or not done
    reason : of a difference, or why it is not done
    """

    what: str
    printed: str
    ours: str
    difference: float | None
    outcome: str
    reason: str


class StatementMessage(msgspec.Struct, frozen=True):
    """One statement of a document. where : the public name or page that carries it out."""

    name: str
    kind: str
    number: str
    says: str
    where: str
    lines: list[LineMessage]


class DocumentMessage(msgspec.Struct, frozen=True):
    """A document. outcomes : number of lines of each outcome."""

    name: str
    title: str
    page: str
    outcomes: dict[str, int]
    statements: list[StatementMessage]


class ReproductionMessage(msgspec.Struct, frozen=True):
    """The documents that were asked for. cases, seed : of random cases; charts : files drawn."""

    cases: int
    seed: int
    documents: list[DocumentMessage]
    charts: list[str]

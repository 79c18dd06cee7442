"""What the documents print beside what is computed: a message, a table and charts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from equipoise.charts import theme
from equipoise.errors import InvalidParameterError, require
from equipoise.formats import write_table
from equipoise.formats.writing import check_target
from equipoise.messages.conversion import to_message
from equipoise.messages.papers import (
    DocumentMessage,
    LineMessage,
    ReproductionMessage,
    StatementMessage,
)
from equipoise.papers.documents import documents
from equipoise.papers.items import Document, Facts, Item


@dataclass(frozen=True, slots=True, kw_only=True)
class ReproduceRequest:
    """What to reproduce.

    document, table : names, None for all
    data : folder of data that is not bundled
    output, charts : a file for the table, and a folder for the figures
    """

    document: str | None = None
    table: str | None = None
    data: str | None = None
    cases: int = 1000
    seed: int = 0
    output: str | None = None
    charts: str | None = None


def reproduce(
    request: ReproduceRequest, progress: Callable[[int, int], None] | None = None
) -> ReproductionMessage:
    """Return every statement that was asked for, with its lines; write what was asked for.

    Raises : InvalidParameterError   no such document, statement, folder or kind of file
    """
    require(
        request.data is None or Path(request.data).is_dir(),
        "--data",
        "an existing folder",
        request.data,
    )
    facts = Facts(
        data=None if request.data is None else Path(request.data),
        cases=request.cases,
        seed=request.seed,
    )
    chosen = _chosen(request)
    if request.output is not None:
        check_target(request.output)
    drawn = _drawn(chosen, request)
    total, done = sum(len(items) for _, items in chosen), 0
    found = []
    for document, items in chosen:
        statements = []
        for item in items:
            lines = [to_message(LineMessage, line) for line in item.check(facts)]
            statements.append(to_message(StatementMessage, item, lines=lines))
            done += 1
            if progress is not None:
                progress(done, total)
        outcomes = Counter(line.outcome for one in statements for line in one.lines)
        found.append(
            to_message(
                DocumentMessage,
                document,
                statements=statements,
                outcomes=dict(sorted(outcomes.items())),
            )
        )
    for path, item in drawn.items():
        assert item.draw is not None
        with theme.style():
            theme.write(item.draw(facts), path)
    answer = ReproductionMessage(request.cases, request.seed, found, list(drawn))
    if request.output is not None:
        write_table(table_of(answer), request.output)
    return answer


def _chosen(request: ReproduceRequest) -> list[tuple[Document, tuple[Item, ...]]]:
    """Return the documents, each with its items that were asked for."""
    return [(one, one.chosen(request.table)) for one in documents(request.document)]


def _drawn(
    chosen: list[tuple[Document, tuple[Item, ...]]], request: ReproduceRequest
) -> dict[str, Item]:
    """Return the figures to draw, by file; the folder is made."""
    if request.charts is None:
        return {}
    folder = Path(request.charts)
    if folder.exists() and not folder.is_dir():
        raise InvalidParameterError(f"--charts must name a folder; got the file {folder}")
    theme.check_available()
    folder.mkdir(parents=True, exist_ok=True)
    return {
        str(folder / f"{document.name}-{item.name}.svg"): item
        for document, items in chosen
        for item in items
        if item.draw is not None
    }


def table_of(answer: ReproductionMessage) -> pl.DataFrame:
    """Return one row for each line."""
    names = ("name", "kind", "number", "says", "where")
    rows = [
        {
            "document": document.name,
            **{("statement" if name == "name" else name): getattr(one, name) for name in names},
            **{name: getattr(line, name) for name in LineMessage.__struct_fields__},
        }
        for document in answer.documents
        for one in document.statements
        for line in one.lines
    ]
    return pl.DataFrame(rows, infer_schema_length=None)

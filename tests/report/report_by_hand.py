"""Reports made by hand, and a reader of pages that is strict about how they are built."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any
from xml.etree import ElementTree

from equipoise.analysis.backtest.report import BacktestReport
from equipoise.messages.conversion import ProblemMessage
from equipoise.messages.histories import HistoryMessage
from evaluate.backtest_by_hand import backtest_by_hand

GOOD = {
    "pair_inversion": 83.0,
    "rank_deviation": 12.0,
    "ndcg": 0.96,
    "log_loss": 0.4,
    "brier": 0.12,
}
FAIR = {
    "pair_inversion": 82.0,
    "rank_deviation": 12.5,
    "ndcg": 0.95,
    "log_loss": 0.5,
    "brier": 0.15,
}
#: Elements that HTML closes by itself.
_VOID = {"br", "hr", "img", "meta"}


def history(**changes: Any) -> HistoryMessage:
    given = {
        "matches": 34,
        "participations": 2189,
        "players": 120,
        "unrated": 0,
        "filtered": 0,
        "dropped_matches": [],
        "dropped_rows": 0,
        "problems": [],
        "notes": [],
    }
    return HistoryMessage(**{**given, **changes})


def problem(rule: str, got: str = "zero") -> ProblemMessage:
    return ProblemMessage("season.csv", 7, "rank", rule, got)


def report(*labels: str, **changes: Any) -> BacktestReport:
    """Return a report on systems, the first of them good and the others fair."""
    labels = labels or ("one", "other")
    values = {label: FAIR if number else GOOD for number, label in enumerate(labels)}
    made = BacktestReport(
        found=backtest_by_hand(values),
        parameters={label: {"k": 32.0, "scale": 400.0} for label in labels},
        chosen={labels[0]: {"k"}},
        history=history(),
        source="season.csv",
        period=("2020-01-01", "2020-09-30"),
        seed=3,
        command="equipoise backtest season.csv --report found.html",
        version="1.2.3",
    )
    return replace(made, **changes)


class Balanced(HTMLParser):
    """Reads a page as HTML and fails where a tag is left open or closed twice."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self._open: list[str] = []
        self.feed(page)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(set(names)) == len(names), (tag, names)
        self.tags.append((tag, dict(attrs)))
        if tag not in _VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self._open:
            self.text.append(data)


def tree(page: str) -> ElementTree.Element:
    """Return a page as a tree; it is well formed as XML too."""
    return ElementTree.fromstring(page.removeprefix("<!DOCTYPE html>\n"))


def words(element: ElementTree.Element) -> str:
    """Return the text in an element, in one line."""
    return " ".join("".join(element.itertext()).split())


def part(page: str, name: str) -> ElementTree.Element:
    """Return the element with an id."""
    return next(one for one in tree(page).iter() if one.get("id") == name)


def rows(page: str, name: str) -> Iterator[list[str]]:
    """Yield the rows of a table, the texts below numbers behind a bar."""
    for one in tree(page).iter("div"):
        if one.get("aria-labelledby") == f"{name}-caption":
            for row in one.iter("tr"):
                yield [_cell(cell) for cell in row]


def _cell(cell: ElementTree.Element) -> str:
    below = cell.find("small")
    if below is None:
        return words(cell)
    return f"{words(cell).removesuffix(words(below)).strip()} | {words(below)}"

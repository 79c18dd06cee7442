"""Builds an HTML page: its frame, sections, tables, figures and lists."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib.resources import files
from typing import NamedTuple, TypeAlias

from markupsafe import Markup

from equipoise.charts.svg import style_sheet
from equipoise.markup import Content, element, lines

#: A browser that follows this policy loads and runs nothing, whatever text is in the page.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"

_PAGE = files("equipoise.report").joinpath("page.css")


class Section(NamedTuple):
    """A part of a page under a heading.

    name : unique on the page, for links to it
    """

    name: str
    heading: str
    content: Sequence[Markup]


class Cell(NamedTuple):
    """A cell of a table.

    below : small text under the text; best : highlight the cell
    """

    text: str
    below: str = ""
    best: bool = False


#: Text, or a cell.
Filling: TypeAlias = str | Cell


def document(title: str, generator: str, head: Content, sections: Sequence[Section]) -> str:
    """Return a page that needs no other files.

    title : of the window; generator : the program and its version
    head : content before the sections
    """
    parts = (_head(title, generator), _body(head, sections, generator))
    page = element("html", "\n", lines(parts), "\n", lang="en")
    return f"<!DOCTYPE html>\n{page}\n"


def _head(title: str, generator: str) -> Markup:
    style = Markup(style_sheet() + _PAGE.read_text("utf-8"))
    marks = (
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("meta", name="generator", content=generator),
        element("title", title),
        element("style", "\n", style),
    )
    return element("head", "\n", lines(marks), "\n")


def _body(head: Content, sections: Sequence[Section], generator: str) -> Markup:
    links = [
        element("li", element("a", section.heading, href=f"#{section.name}"))
        for section in sections
    ]
    marks = (
        element("header", "\n", lines(head), "\n"),
        element("nav", element("ul", *links), aria_label="Contents"),
        element("main", "\n", lines(map(_section, sections)), "\n"),
        element("footer", f"Made by {generator}."),
    )
    return element("body", "\n", lines(marks), "\n")


def _section(section: Section) -> Markup:
    heading = element("h2", section.heading, id=f"{section.name}-heading")
    return element(
        "section",
        "\n",
        lines(heading, section.content),
        "\n",
        id=section.name,
        aria_labelledby=f"{section.name}-heading",
    )


class Group(NamedTuple):
    """Rows of a table under a heading of their own; "" for none."""

    heading: str
    rows: Sequence[Sequence[Filling]]


def table(
    name: str,
    caption: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[Filling]],
    numbers: frozenset[int] = frozenset(),
) -> Markup:
    """Return a table whose first column names its rows.

    name : unique on the page
    numbers : columns that have numbers, counted from 0
    """
    return grouped_table(name, caption, columns, [Group("", rows)], numbers)


def grouped_table(
    name: str,
    caption: str,
    columns: Sequence[str],
    groups: Iterable[Group],
    numbers: frozenset[int] = frozenset(),
) -> Markup:
    """Return a table with its rows in groups."""
    heads = (
        element("th", text, scope="col", class_=_kind(number, numbers))
        for number, text in enumerate(columns)
    )
    marks = (
        element("caption", caption, id=f"{name}-caption"),
        element("thead", _row(heads)),
        *(_group(group, len(columns), numbers) for group in groups),
    )
    # With a label and a tab stop, users can reach and scroll it with the keyboard.
    return element(
        "div",
        element("table", "\n", lines(marks), "\n"),
        class_="scroll",
        role="region",
        tabindex="0",
        aria_labelledby=f"{name}-caption",
    )


def _group(group: Group, columns: int, numbers: frozenset[int]) -> Markup:
    rows = [_row(_cells(row, numbers)) for row in group.rows]
    if group.heading:
        over = element("th", group.heading, scope="rowgroup", colspan=columns, class_="over")
        rows.insert(0, _row([over]))
    return element("tbody", "\n", lines(rows), "\n")


def _row(cells: Iterable[Markup]) -> Markup:
    return element("tr", "\n", lines(cells), "\n")


def _kind(column: int, numbers: frozenset[int], best: bool = False) -> str | None:
    kinds = [*(["number"] if column in numbers else []), *(["best"] if best else [])]
    return " ".join(kinds) or None


def _cells(row: Sequence[Filling], numbers: frozenset[int]) -> list[Markup]:
    """Return the cells of a row, the first as its heading."""
    marks = []
    for number, filling in enumerate(row):
        cell = filling if isinstance(filling, Cell) else Cell(filling)
        below = [" ", element("small", cell.below)] if cell.below else None
        if number == 0:
            head = element("th", cell.text, below, scope="row", class_=_kind(0, numbers))
            marks.append(head)
        else:
            class_ = _kind(number, numbers, cell.best)
            marks.append(element("td", cell.text, below, class_=class_))
    return marks


def figure(chart: Markup, heading: str, below: str) -> Markup:
    """Return a chart with its heading."""
    return element(
        "figure",
        element("figcaption", element("b", heading), element("span", below) if below else None),
        chart,
    )


def charts(figures: Iterable[Markup], class_: str = "charts") -> Markup:
    """Return figures side by side, if there is room."""
    return element("div", "\n", lines(figures), "\n", class_=class_)


def listed(items: Iterable[str]) -> Markup:
    """Return a list of sentences."""
    return element("ul", "\n", lines(element("li", item) for item in items), "\n")


def paragraph(*content: Content, class_: str | None = None) -> Markup:
    """Return a paragraph."""
    return element("p", *content, class_=class_)


def given(text: str) -> Markup:
    """Return text of a user for use in a sentence, isolated from its direction of writing."""
    return element("bdi", text)

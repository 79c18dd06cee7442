"""The rating table as a page to print: one HTML file without scripts, with the style of reports."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from importlib.resources import files

from markupsafe import Markup

from equipoise.data.files import check_place, whole_file
from equipoise.errors import require
from equipoise.markup import element, joined

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def check_page(path: str) -> None:
    """Refuse a path to which no page can be written. Raises : InvalidParameterError."""
    require(path.lower().endswith(".html"), "--report", "a file that ends in .html", path)
    check_place(path)


def write_page(
    path: str,
    title: str,
    about: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    numbers: set[str],
) -> None:
    """Write a table as a page, completely or not at all; the same table gives the same page.

    about : a sentence below the title
    columns, rows : headings and cells as text; numbers : columns that are aligned to the right
    """
    forms = ["number" if name in numbers else None for name in columns]
    heads = [
        element("th", name, scope="col", class_=form)
        for name, form in zip(columns, forms, strict=True)
    ]
    body = [
        element(
            "tr", [element("td", one, class_=form) for one, form in zip(row, forms, strict=True)]
        )
        for row in rows
    ]
    style = files("equipoise.analysis.backtest").joinpath("page.css").read_text("utf-8")
    head = joined(
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", title),
        element("style", Markup(style)),
    )
    content = joined(
        element("h1", title),
        element("p", about, class_="about"),
        element(
            "div",
            element("table", element("thead", element("tr", heads)), element("tbody", body)),
            class_="scroll",
        ),
        element("footer", f"Made by Equipoise {version('equipoise')}."),
    )
    page = element("html", element("head", head), element("body", content), lang="en")
    with whole_file(path) as file:
        file.write(f"<!DOCTYPE html>\n{page}\n".encode())

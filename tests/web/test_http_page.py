"""The page on HTTP in the documentation lists what there is."""

from __future__ import annotations

from pathlib import Path

import pytest

from equipoise.web.errors import HTTP_STATUS
from web.http_page import endpoint_rows, setting_rows

PAGE = Path(__file__).parents[2].joinpath("docs/reference/http.md").read_text("utf-8").splitlines()


@pytest.mark.parametrize("row", endpoint_rows())
def test_every_endpoint_is_listed(row: str) -> None:
    assert row in PAGE


@pytest.mark.parametrize("row", setting_rows())
def test_every_setting_is_listed_with_what_it_means(row: str) -> None:
    assert not row.endswith("|  |")
    assert row in PAGE


def test_nothing_else_is_listed() -> None:
    listed = [
        line for line in PAGE if line.startswith(("| `GET", "| `PUT", "| `POST", "| `DELETE"))
    ]
    assert listed == endpoint_rows()


def test_every_error_is_listed_with_its_status() -> None:
    for kind, status in HTTP_STATUS.items():
        if kind.code != "error":
            assert any(
                line.startswith(f"| {status} |") and f"`{kind.code}`" in line for line in PAGE
            )

"""The page on HTTP in the documentation lists what there is."""

from __future__ import annotations

from equipoise.web.http.errors import HTTP_STATUS
from web.http_page import PAGE, endpoint_rows, with_table

TEXT = PAGE.read_text("utf-8")


def test_its_table_of_endpoints_is_what_the_code_says() -> None:
    """If not: python tests/web/http_page.py."""
    assert with_table(TEXT) == TEXT
    assert all(row in TEXT for row in endpoint_rows())


def test_every_error_is_listed_with_its_status() -> None:
    for kind, status in HTTP_STATUS.items():
        if kind.code != "error":
            assert any(
                line.startswith(f"| {status} |") and f"`{kind.code}`" in line
                for line in TEXT.splitlines()
            )

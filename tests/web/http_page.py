"""The table of endpoints on the page on HTTP in the documentation, as it must be.

`python tests/web/http_page.py` writes it anew.
"""

from __future__ import annotations

import re
from pathlib import Path

from equipoise.web.api import ENDPOINTS
from equipoise.web.http.endpoints import Endpoint

PAGE = Path(__file__).parents[2] / "docs/reference/http.md"


def with_table(page: str) -> str:
    """Return the page with its table of endpoints as it must be."""
    head = "| method and path | does | needs |"
    table = "\n".join([head, "|---|---|---|", *endpoint_rows()])
    return re.sub(rf"^{re.escape(head)}\n(\|.*\n)+", table + "\n", page, flags=re.M)


def endpoint_rows() -> list[str]:
    """Return the table of endpoints."""
    return [f"| `{one.method} {one.path}` | {one.summary} | {_needs(one)} |" for one in ENDPOINTS]


def _needs(endpoint: Endpoint) -> str:
    if endpoint.right is None:
        return "nothing"
    if endpoint.group == "Calculations":
        return "any key"
    return f"{endpoint.right}{' of all pools' if endpoint.all_pools else ''}"


if __name__ == "__main__":
    PAGE.write_text(with_table(PAGE.read_text("utf-8")), "utf-8")

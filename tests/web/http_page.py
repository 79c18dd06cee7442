"""The tables of the page on HTTP in the documentation, as they must be.

`python tests/web/http_page.py` writes them anew.
"""

from __future__ import annotations

import re
from pathlib import Path

import msgspec

from equipoise.web.api import ENDPOINTS
from equipoise.web.http.endpoints import Endpoint
from equipoise.web.settings import ServiceSettings

PAGE = Path(__file__).parents[2] / "docs/reference/http.md"


def with_tables(page: str) -> str:
    """Return the page with its tables as they must be."""
    for head, rows in (
        ("| method and path | does | needs |", endpoint_rows()),
        ("| setting | default | means |", setting_rows()),
    ):
        table = "\n".join([head, "|---|---|---|", *rows])
        page = re.sub(
            rf"^{re.escape(head)}\n(\|.*\n)+", table.replace("\\", r"\\") + "\n", page, flags=re.M
        )
    return page


def endpoint_rows() -> list[str]:
    """Return the table of endpoints."""
    return [f"| `{one.method} {one.path}` | {one.summary} | {_needs(one)} |" for one in ENDPOINTS]


def setting_rows() -> list[str]:
    """Return the table of settings, with what their class says of them."""
    told = _told(ServiceSettings.__doc__ or "")
    return [
        f"| `{field.name}` | {_shown(field.default)} | {told.get(field.name, '')} |"
        for field in msgspec.structs.fields(ServiceSettings)
    ]


def _needs(endpoint: Endpoint) -> str:
    if endpoint.right is None:
        return "nothing"
    if endpoint.group == "Calculations":
        return "any key"
    return f"{endpoint.right}{' of all pools' if endpoint.all_pools else ''}"


def _told(words: str) -> dict[str, str]:
    """Return what a docstring says of each name: "a : this; b, c : that"."""
    found = {}
    entries = re.split(r"(?:^|; |\n)\s*(?=[a-z_]+(?:, [a-z_]+)* : )", words)
    for entry in entries:
        names, colon, meaning = entry.partition(" : ")
        if colon:
            for name in names.split(","):
                found[name.strip()] = " ".join(meaning.split())
    return found


def _shown(value: object) -> str:
    if value in ((), ""):
        return "none"
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


if __name__ == "__main__":
    PAGE.write_text(with_tables(PAGE.read_text("utf-8")), "utf-8")

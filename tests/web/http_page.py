"""The tables of the page on HTTP in the documentation, as they must be."""

from __future__ import annotations

import re

import msgspec

from equipoise.web.api import ENDPOINTS
from equipoise.web.endpoints import Endpoint
from equipoise.web.settings import ServiceSettings


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
    if value == ():
        return "none"
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"

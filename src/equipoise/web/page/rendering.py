"""Rendering: templates with their filters, headers of pages, and static files.

Templates escape everything. The headers forbid scripts and styles from anywhere but this site.
Static files are served from memory under a path that changes with their content.
"""

from __future__ import annotations

import functools
import hashlib
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response

from equipoise.data.intervals import half_width
from equipoise.web.page import wording

_KINDS = {
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}


@functools.cache
def _files() -> dict[str, bytes]:
    folder = files("equipoise.web.page").joinpath("static")
    return {
        one.name: one.read_bytes()
        for one in sorted(folder.iterdir(), key=lambda one: one.name)
        if one.name.rpartition(".")[2] in _KINDS
    }


@functools.cache
def _version() -> str:
    """Return a hash of all files. They import one another, so they share a version."""
    found = hashlib.sha256()
    for name, content in _files().items():
        found.update(f"{name}\0{len(content)}\0".encode())
        found.update(content)
    return found.hexdigest()[:12]


def static_path(name: str) -> str:
    """Return the path of a static file. Raises : KeyError if there is none."""
    _files()[name]
    return f"/static/{_version()}/{name}"


async def static_file(request: Request) -> Response:
    """Return a static file, which browsers may cache for ever under the path of its version."""
    name = request.path_params["name"]
    content = _files().get(name)
    if content is None:
        return PlainTextResponse("not found", 404)
    lasting = request.path_params["version"] == _version()
    return Response(
        content,
        media_type=_KINDS[name.rpartition(".")[2]],
        headers={
            "Cache-Control": "public, max-age=31536000, immutable" if lasting else "no-cache",
            "X-Content-Type-Options": "nosniff",
            "Cross-Origin-Resource-Policy": "same-origin",
        },
    )


#: Nothing is loaded from other sites, no inline script runs, no site may frame the page.
POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)

HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # With "no-referrer" forms would have the origin "null".
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "private, no-store",
}


@functools.cache
def environment() -> Environment:
    """Return the templates with their filters."""
    found = Environment(
        loader=PackageLoader("equipoise.web.page"),
        autoescape=True,
        undefined=StrictUndefined,
    )
    found.filters |= {
        "number": wording.number,
        "half_width": half_width,
        "signed": wording.signed,
        "percent": wording.percent,
        "ordinal": wording.ordinal,
        "direction": wording.direction,
        "minute": wording.minute,
        "day": wording.day,
    }
    found.globals |= {"path": wording.path, "plural": wording.plural, "static": static_path}
    return found


def rendered(template: str, status: int, context: dict[str, Any]) -> HTMLResponse:
    """Return a page from a template."""
    text = environment().get_template(template).render(context)
    # A lone half of a surrogate pair cannot be written as UTF-8.
    return HTMLResponse(
        text.encode("utf-8", "replace").decode("utf-8"), status, headers=dict(HEADERS)
    )

"""Styles and scripts, served from memory under a name that changes with their content."""

from __future__ import annotations

import functools
import hashlib
from importlib.resources import files

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

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
    """Return a hash of all files: they import one another, so they change together."""
    found = hashlib.sha256()
    for name, content in _files().items():
        found.update(f"{name}\0{len(content)}\0".encode())
        found.update(content)
    return found.hexdigest()[:12]


def static_path(name: str) -> str:
    """Return where a file is served. Raises : KeyError where there is none."""
    _files()[name]
    return f"/static/{_version()}/{name}"


async def static_file(request: Request) -> Response:
    """Return a file; the name of its version lets browsers keep it for good."""
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

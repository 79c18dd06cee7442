"""Templates: escaped always, sent with headers that let nothing else run."""

from __future__ import annotations

import functools
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.responses import HTMLResponse

from equipoise.web.page import wording
from equipoise.web.page.static_files import static_path

#: Nothing is loaded from elsewhere, nothing in a page itself is run, nobody frames it.
POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)

HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # Not "no-referrer": forms would then come from the origin "null".
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "private, no-store",
}


@functools.cache
def environment() -> Environment:
    """Return the templates, with the filters they use."""
    found = Environment(
        loader=PackageLoader("equipoise.web.page"),
        autoescape=True,
        undefined=StrictUndefined,
    )
    found.filters |= {
        "number": wording.number,
        "signed": wording.signed,
        "percent": wording.percent,
        "ordinal": wording.ordinal,
        "direction": wording.direction,
        "moment": wording.moment,
        "day": wording.day,
    }
    found.globals |= {"path": wording.path, "plural": wording.plural, "static": static_path}
    return found


def rendered(template: str, status: int, context: dict[str, Any]) -> HTMLResponse:
    """Return a page as an answer."""
    text = environment().get_template(template).render(context)
    # A lone half of a surrogate pair cannot be written as UTF-8.
    return HTMLResponse(
        text.encode("utf-8", "replace").decode("utf-8"), status, headers=dict(HEADERS)
    )

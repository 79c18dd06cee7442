"""Amendments: the list, and the changes of one."""

from __future__ import annotations

from starlette.responses import Response

from equipoise.errors import NotFoundError
from equipoise.web.page.visit import PageContext
from equipoise.web.page.wording import path
from equipoise.workflows import amending

PAGE_SIZE = 50
#: Seconds after which a browser without scripts reloads the page of a pending amendment.
_AGAIN = 2

#: Kinds of amendments in words.
KINDS = {
    "void": "voided",
    "restore": "restored",
    "correct": "corrected",
    "disqualify": "disqualified",
    "reinstate": "reinstated",
    "settings": "changed",
}


async def amendments_page(context: PageContext) -> Response:
    """Return amendments, newest first."""
    pool = await context.pool()
    found = await context.read(
        amending.amendments, cursor=context.query("cursor") or None, limit=PAGE_SIZE
    )
    here = ("pools", pool.pool, "amendments")
    return context.render(
        "amendments.html",
        amendments=found.amendments,
        kinds=KINDS,
        next=None if found.next is None else path(*here, cursor=found.next),
        first=path(*here) if context.query("cursor") else None,
    )


async def amendment_page(context: PageContext) -> Response:
    """Return an amendment and its changes; the page of a pending one reloads itself."""
    await context.pool()
    text = str(context.request.path_params["seq"])
    if not text.isascii() or not text.isdecimal() or len(text) > 18:
        raise NotFoundError(f"no amendment {text[:50]}")
    found = await context.read(amending.amendment, int(text))
    answer = context.render(
        "amendment.html",
        amendment=found,
        kinds=KINDS,
        difference=found.difference,
        pending=found.status == "pending",
    )
    if found.status == "pending":
        answer.headers["Refresh"] = str(_AGAIN)
    return answer

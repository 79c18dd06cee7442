"""Posting a match by hand: what it would do is shown before it is done."""

from __future__ import annotations

from starlette.responses import Response

from equipoise.errors import EquipoiseError
from equipoise.web.errors import ForbiddenError, http_status
from equipoise.web.page.amending import digest
from equipoise.web.page.forms import Form
from equipoise.web.page.match_form import TeamEntry, blanks, match_of_form, match_of_json
from equipoise.web.page.problems import problems_of
from equipoise.web.page.visit import Visit
from equipoise.web.page.wording import path


async def post_page(visit: Visit) -> Response:
    """Return the form for a match."""
    await visit.need("writer")
    return _shown(visit, Form())


async def admin_page(visit: Visit) -> Response:
    """Return what an organiser of a pool can do."""
    await visit.need("admin")
    found = await visit.ask(visit.backend.amendments, cursor=None, limit=10)
    return visit.page("admin.html", amendments=found.amendments)


async def post_match(visit: Visit) -> Response:
    """Show what a match would do; or record it, once that was seen."""
    pool = await visit.need("writer")
    form = await visit.form()
    try:
        match = match_of_json(form.text("json")) if form.text("json") else match_of_form(form)
        seen = digest(match)
        if form.text("do") == seen and visit.holder is not None:
            done = await visit.tell(visit.backend.post_match, match, key=visit.holder.key)
            return visit.go(path("pools", pool.pool, "matches", done.match))
        preview = await visit.ask(visit.backend.preview_match, match)
    except ForbiddenError:
        raise
    except EquipoiseError as error:
        return _shown(visit, form, http_status(error), problems=problems_of(error))
    return _shown(visit, form, preview=preview, seen=seen)


def _shown(visit: Visit, form: Form, status: int = 200, **more: object) -> Response:
    pairs = zip(form.texts("rank"), form.texts("players"), strict=False)
    entries = [TeamEntry(rank, players) for rank, players in pairs]
    given: dict[str, object] = {"preview": None, "seen": "", "problems": [], **more}
    return visit.page(
        "post.html",
        status,
        entries=blanks(entries),
        match_id=form.text("match"),
        time=form.text("time"),
        json=form.text("json"),
        **given,
    )

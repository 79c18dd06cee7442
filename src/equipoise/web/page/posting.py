"""Posting a match with a form; a preview comes first."""

from __future__ import annotations

from starlette.responses import Response

from equipoise.errors import EquipoiseError
from equipoise.web.errors import http_status
from equipoise.web.page.amending import digest
from equipoise.web.page.forms import Form
from equipoise.web.page.match_form import TeamEntry, blanks, match_of_form, match_of_json
from equipoise.web.page.problems import problems_of
from equipoise.web.page.visit import PageContext
from equipoise.web.page.wording import path
from equipoise.workflows import amending
from equipoise.workflows.clock import now
from equipoise.workflows.match_preview import preview_match


async def post_page(context: PageContext) -> Response:
    """Return the form for a match."""
    await context.need("writer")
    return _shown(context, Form())


async def admin_page(context: PageContext) -> Response:
    """Return the page with the tasks of an administrator."""
    await context.need("admin")
    found = await context.read(amending.amendments, limit=10)
    return context.render("admin.html", amendments=found.amendments)


async def post_match(context: PageContext) -> Response:
    """Preview a match; record it if the form is of a preview."""
    pool = await context.need("writer")
    form = await context.form()
    try:
        match = match_of_json(form.text("json")) if form.text("json") else match_of_form(form)
        seen = digest(match)
        if form.text("do") == seen:
            writer = context.service.writer
            done = await writer.submit_match(pool.pool, match, context.key_number)
            return context.redirect(path("pools", pool.pool, "matches", done.match))
        preview = await context.calculate(preview_match, match, now())
    except EquipoiseError as error:
        return _shown(context, form, http_status(error), problems=problems_of(error))
    return _shown(context, form, preview=preview, seen=seen)


def _shown(context: PageContext, form: Form, status: int = 200, **more: object) -> Response:
    pairs = zip(form.texts("rank"), form.texts("players"), strict=False)
    entries = [TeamEntry(rank, players) for rank, players in pairs]
    given: dict[str, object] = {"preview": None, "seen": "", "problems": [], **more}
    return context.render(
        "post.html",
        status,
        entries=blanks(entries),
        match_id=form.text("match"),
        time=form.text("time"),
        json=form.text("json"),
        **given,
    )

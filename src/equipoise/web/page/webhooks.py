"""Webhooks of a pool: how they do; made, tried, disabled."""

from __future__ import annotations

from typing import get_args

from starlette.responses import Response

from equipoise.errors import EquipoiseError, InvalidDataError, Problem
from equipoise.messages.webhooks import EventKind, WebhookRequest
from equipoise.web.errors import ForbiddenError, http_status
from equipoise.web.page.forms import Form
from equipoise.web.page.problems import problems_of
from equipoise.web.page.visit import Visit
from equipoise.web.page.wording import path

_LONGEST = 2000
#: Kinds of events, as words.
KINDS = {
    "match.rated": "a match was rated",
    "ratings.corrected": "ratings were corrected",
    "season.ended": "a season ended",
}


async def webhooks_page(visit: Visit) -> Response:
    """Return the webhooks of a pool and the form for another."""
    return await _shown(visit)


async def make_webhook(visit: Visit) -> Response:
    """Make a webhook and tell its secret, this once."""
    await visit.need("admin")
    form = await visit.form()
    try:
        request, key = webhook_of(form), None if visit.holder is None else visit.holder.key
        made = await visit.tell(visit.backend.create_webhook, request, key=key)
    except ForbiddenError:
        raise
    except EquipoiseError as error:
        status, told = http_status(error), problems_of(error)
        return await _shown(visit, status, problems=told, typed=form)
    return await _shown(visit, made=made)


async def end_webhook(visit: Visit) -> Response:
    """Disable a webhook."""
    pool = await visit.need("admin")
    number = (await visit.form()).whole("webhook")
    key = None if visit.holder is None else visit.holder.key
    await visit.tell(visit.backend.disable_webhook, number, key=key)
    return visit.go(path("pools", pool.pool, "webhooks"))


async def try_webhook(visit: Visit) -> Response:
    """Send a webhook a test message and tell what came of it."""
    pool = await visit.need("admin")
    number = (await visit.form()).whole("webhook")
    found = await visit.settings.try_webhook(pool.pool, number)
    return await _shown(visit, tried=found, number=number)


def webhook_of(form: Form) -> WebhookRequest:
    """Return what a form asks for. Raises : InvalidDataError."""
    url, events = form.text("url"), form.texts("event")
    if not 0 < len(url) <= _LONGEST:
        rule = f"must have 1 to {_LONGEST} characters"
        raise InvalidDataError([Problem("", None, "address", rule, url[:50] or "nothing")])
    kinds = [kind for kind in get_args(EventKind) if kind in events]
    if not kinds or len(kinds) < len(set(events)):
        rule = f"must be some of {', '.join(get_args(EventKind))}"
        got = ", ".join(events)[:100] or "nothing"
        raise InvalidDataError([Problem("", None, "events", rule, got)])
    return WebhookRequest(url=url, events=kinds)


async def _shown(visit: Visit, status: int = 200, **more: object) -> Response:
    await visit.need("admin")
    hooks = await visit.ask(visit.backend.webhooks)
    typed = Form({"event": list(KINDS)})
    given: dict[str, object] = {"made": None, "tried": None, "number": 0, "problems": [], **more}
    return visit.page(
        "webhooks.html", status, **{"hooks": hooks, "kinds": KINDS, "typed": typed, **given}
    )

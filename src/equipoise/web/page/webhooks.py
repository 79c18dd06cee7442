"""Webhooks of a pool: list, create, test, disable."""

from __future__ import annotations

from typing import get_args

from starlette.responses import Response

from equipoise.errors import EquipoiseError
from equipoise.messages.webhooks import EventKind, WebhookRequest
from equipoise.web import webhook_trial
from equipoise.web.errors import http_status
from equipoise.web.page.forms import Form, wrong
from equipoise.web.page.problems import problems_of
from equipoise.web.page.visit import PageContext
from equipoise.web.page.wording import path
from equipoise.workflows import webhooks
from equipoise.workflows.clock import now

_LONGEST = 2000
#: Kinds of events, as words.
KINDS = {
    "match.rated": "a match was rated",
    "ratings.corrected": "ratings were corrected",
    "season.ended": "a season ended",
}


async def webhooks_page(context: PageContext) -> Response:
    """Return the webhooks of a pool and the form for another."""
    return await _shown(context)


async def make_webhook(context: PageContext) -> Response:
    """Create a webhook and show its secret once."""
    await context.need("admin")
    form = await context.form()
    try:
        made = await context.write(
            webhooks.create_webhook,
            webhook_of(form),
            key=context.key_number,
            now=now(),
            private=context.service.settings.private_webhooks,
        )
    except EquipoiseError as error:
        status, told = http_status(error), problems_of(error)
        return await _shown(context, status, problems=told, typed=form)
    return await _shown(context, made=made)


async def end_webhook(context: PageContext) -> Response:
    """Disable a webhook."""
    pool = await context.need("admin")
    number = (await context.form()).whole("webhook")
    await context.write(webhooks.disable_webhook, number, key=context.key_number, now=now())
    return context.redirect(path("pools", pool.pool, "webhooks"))


async def try_webhook(context: PageContext) -> Response:
    """Send a webhook a test message and show the result."""
    pool = await context.need("admin")
    number = (await context.form()).whole("webhook")
    found = await webhook_trial.try_webhook(context.service, pool.pool, number)
    return await _shown(context, tried=found, number=number)


def webhook_of(form: Form) -> WebhookRequest:
    """Return what a form asks for. Raises : InvalidDataError."""
    url, events = form.text("url"), form.texts("event")
    if not 0 < len(url) <= _LONGEST:
        raise wrong("address", f"must have 1 to {_LONGEST} characters", url[:50] or "nothing")
    kinds = [kind for kind in get_args(EventKind) if kind in events]
    if not kinds or len(kinds) < len(set(events)):
        rule = f"must be some of {', '.join(get_args(EventKind))}"
        got = ", ".join(events)[:100] or "nothing"
        raise wrong("events", rule, got)
    return WebhookRequest(url=url, events=kinds)


async def _shown(context: PageContext, status: int = 200, **more: object) -> Response:
    await context.need("admin")
    hooks = (await context.read(webhooks.list_webhooks)).webhooks
    typed = Form({"event": list(KINDS)})
    given: dict[str, object] = {"made": None, "tried": None, "number": 0, "problems": [], **more}
    return context.render(
        "webhooks.html", status, **{"hooks": hooks, "kinds": KINDS, "typed": typed, **given}
    )

"""Signing in with a key, signing out, and the choice between light and dark.

Keys of the service, for those who may make them.

The audit log: administrator actions, newest first.

Webhooks of a pool: list, create, test, disable.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import get_args

from starlette.responses import Response

from equipoise.analysis.clock import now
from equipoise.errors import EquipoiseError
from equipoise.messages.access import AuditEntry, AuditPage, KeyMessage, KeyRequest, Role
from equipoise.messages.pools import PoolMessage
from equipoise.messages.webhooks import EventKind, WebhookRequest
from equipoise.pools import webhooks
from equipoise.pools.pool import access
from equipoise.pools.pool.access import all_keys
from equipoise.pools.pool.pools import pool_messages
from equipoise.store.connection import Store
from equipoise.store.keys import KeyRecord
from equipoise.web import webhook_trial
from equipoise.web.http.access import audited_pool, rules_all_pools, valid_key
from equipoise.web.http.errors import http_status
from equipoise.web.page.forms import Form, problems_of, wrong
from equipoise.web.page.matches import KINDS
from equipoise.web.page.visit import (
    KEY_COOKIE,
    LONGEST_SECRET,
    THEME_COOKIE,
    PageContext,
    safe_target,
)
from equipoise.web.page.wording import path

_YEAR = 365 * 86_400


async def sign_in_page(context: PageContext) -> Response:
    """Return the form for a key."""
    return context.render("sign_in.html", next=safe_target(context.query("next", "/")))


async def sign_in(context: PageContext) -> Response:
    """Keep a key in a cookie that no script can read, if it is good."""
    form = await context.form()
    secret, target = form.text("key"), safe_target(form.text("next", "/"))
    key = None
    if secret.isascii() and secret.isprintable() and 0 < len(secret) <= LONGEST_SECRET:
        key = await context.service.read(valid_key, secret)
    if key is None:
        told = ["invalid key: unknown, expired or revoked"]
        return context.render("sign_in.html", 401, next=target, problems=told)
    answer = context.redirect(target)
    answer.set_cookie(
        KEY_COOKIE,
        secret,
        httponly=True,
        samesite="strict",
        secure=context.request.url.scheme == "https",
    )
    return answer


async def sign_out(context: PageContext) -> Response:
    """Forget the key."""
    await context.form()
    answer = context.redirect("/")
    answer.delete_cookie(KEY_COOKIE, httponly=True, samesite="strict")
    return answer


async def choose_theme(context: PageContext) -> Response:
    """Remember light or dark, for browsers without scripts."""
    form = await context.form()
    answer = context.redirect(safe_target(form.text("back", "/")))
    theme = form.text("theme")
    if theme in ("light", "dark"):
        answer.set_cookie(THEME_COOKIE, theme, max_age=_YEAR, samesite="lax")
    return answer


async def keys_page(context: PageContext) -> Response:
    """Return all keys and the form for another."""
    return await _shown(context)


async def make_key(context: PageContext) -> Response:
    """Create a key and show its secret once."""
    key = context.need_all_pools()
    form = await context.form()
    try:
        request = KeyRequest(
            name=_name(form.text("name")),
            role=form.choice("role", get_args(Role)),
            pool=form.text("pool") or None,
            expires=form.text("expires") or None,
        )
        made = await context.service.change(access.make_key, request, now(), by=key.id)
    except EquipoiseError as error:
        return await _shown(context, http_status(error), problems=problems_of(error))
    return await _shown(context, made=made)


async def end_key(context: PageContext) -> Response:
    """Revoke a key."""
    key = context.need_all_pools()
    form = await context.form()
    await context.service.change(access.end_key, form.whole("key"), now(), by=key.id)
    return context.redirect("/keys")


def _name(text: str) -> str:
    if not text or len(text) > 200:
        raise wrong("name", "must have 1 to 200 characters", text[:50])
    return text


async def _shown(context: PageContext, status: int = 200, **more: object) -> Response:
    context.need_all_pools()

    def read(store: Store) -> tuple[list[KeyMessage], list[PoolMessage]]:
        with store.moment() as moment:
            return access.all_keys(moment).keys, pool_messages(moment)

    listed, pools = await context.service.read(read)
    given: dict[str, object] = {"made": None, "problems": [], **more}
    return context.render(
        "keys.html", status, keys=listed, pools=pools, roles=get_args(Role), **given
    )


PAGE_SIZE = 50


@dataclass(frozen=True, slots=True)
class AuditLine:
    """A line of the audit log.

    by : name of the key that did it, if the sender may know it
    place : the pool in which it is found now, None where that is gone: when a season ends, its log
        goes with the archive
    """

    entry: AuditEntry
    by: str | None
    place: PoolMessage | None


async def audit_page(context: PageContext) -> Response:
    """Return the actions in one pool or in all; the key of a pool sees its own."""
    key = context.need_admin()
    wanted = context.query("pool") or None
    pool = audited_pool(key, wanted)
    cursor = context.query("cursor") or None
    found, pools = await context.service.read(_page_and_pools, pool, cursor)
    names = await _names(context, key)
    shown = None if key.pool else wanted
    return context.render(
        "audit.html",
        lines=[AuditLine(one, names.get(one.key), place_of(one, pools)) for one in found.entries],
        names=names,
        kinds=KINDS,
        wanted=pool,
        choices=[] if key.pool else [one.pool for one in pools if one.closed is None],
        next=None if found.next is None else path("audit", pool=shown, cursor=found.next),
        first=path("audit", pool=shown) if cursor else None,
    )


def _page_and_pools(
    store: Store, pool: str | None, cursor: str | None
) -> tuple[AuditPage, list[PoolMessage]]:
    """Return a page of the log and all pools, read in one transaction."""
    with store.moment() as moment:
        page = access.audit_page(moment, pool=pool, cursor=cursor, limit=PAGE_SIZE)
        return page, pool_messages(moment)


async def _names(context: PageContext, key: KeyRecord) -> dict[int | None, str]:
    """Return names of keys by number, as far as the sender may know them."""
    if not rules_all_pools(key):
        return {key.id: key.name}
    return {one.key: one.name for one in (await context.service.read(all_keys)).keys}


def place_of(entry: AuditEntry, pools: list[PoolMessage]) -> PoolMessage | None:
    """Return the pool that had the name of an entry's pool when it was written."""
    at = _moment(entry.time)
    held = [one for one in pools if entry.pool in (one.pool, one.archive_of)]
    # A season ends, and the next begins, at the same time: what happened then is of the next.
    held = [one for one in held if one.closed is None or at < _moment(one.closed)]
    # One that was deleted may have had the name before.
    held = [one for one in held if at >= _moment(one.created)]
    return min(held, key=lambda one: _moment(one.created), default=None)


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


_LONGEST = 2000
#: Kinds of events, as words.
EVENT_KINDS = {
    "match.rated": "a match was rated",
    "ratings.corrected": "ratings were corrected",
    "season.ended": "a season ended",
}


async def webhooks_page(context: PageContext) -> Response:
    """Return the webhooks of a pool and the form for another."""
    return await _webhook_form(context)


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
        return await _webhook_form(context, status, problems=told, typed=form)
    return await _webhook_form(context, made=made)


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
    return await _webhook_form(context, tried=found, number=number)


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


async def _webhook_form(context: PageContext, status: int = 200, **more: object) -> Response:
    await context.need("admin")
    hooks = (await context.read(webhooks.list_webhooks)).webhooks
    typed = Form({"event": list(EVENT_KINDS)})
    given: dict[str, object] = {"made": None, "tried": None, "number": 0, "problems": [], **more}
    return context.render(
        "webhooks.html", status, **{"hooks": hooks, "kinds": EVENT_KINDS, "typed": typed, **given}
    )

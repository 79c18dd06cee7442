"""Access: signing in with a key, keys of the service, the audit log; and the choice of theme."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import get_args

from starlette.responses import Response

from equipoise.analysis.clock import now
from equipoise.errors import EquipoiseError
from equipoise.messages.access import (
    AuditEntry,
    AuditPage,
    KeyMessage,
    KeyRequest,
    NewKeyMessage,
    Role,
    RotationRequest,
)
from equipoise.messages.pools import PoolMessage
from equipoise.pools.pool import access
from equipoise.pools.pool.pools import pool_messages
from equipoise.store.connection import Store
from equipoise.store.keys import KeyRecord, end_session, end_sessions, open_session
from equipoise.web.http.access import audited_pool, rules_all_pools
from equipoise.web.page.amendments import KINDS
from equipoise.web.page.context import SESSION_COOKIE, THEME_COOKIE, PageContext, safe_target
from equipoise.web.page.forms import SIGN_IN, wrong
from equipoise.web.page.wording import path

_YEAR = 365 * 86_400  # seconds
#: Actions on a page of the audit log.
PAGE_SIZE = 50


async def sign_in_page(context: PageContext) -> Response:
    """Return the form that signs in, or how a browser that is signed in signs out."""
    return context.render("sign_in.html", next=safe_target(context.query("next", "/")))


async def sign_in(context: PageContext) -> Response:
    """Begin a session; its cookie cannot be read by scripts and does not contain the key."""
    form = await context.form(SIGN_IN)
    secret, target = form.text("key"), safe_target(form.text("next", "/"))
    settings, service = context.service.settings, context.service
    opened = None
    # A wrong key must not cause a write.
    if await service.access.of_secret(secret, context.request.scope) is not None:
        lifetime = round(settings.session_seconds * 1_000_000)
        opened = await service.change_session(open_session, secret, now(), lifetime)
    if opened is None:
        return context.render("sign_in.html", service.access.invalid_key(), next=target)
    if context.key is not None:
        await service.change_session(end_session, context.request.cookies[SESSION_COOKIE])
    answer = context.redirect(target)
    encrypted = context.request.url.scheme == "https"
    answer.set_cookie(
        SESSION_COOKIE,
        opened[1],
        httponly=True,
        samesite="strict",
        secure={"auto": encrypted, "always": True, "never": False}[settings.secure_cookies],
    )
    return answer


async def sign_out(context: PageContext) -> Response:
    """End the session."""
    await context.form()
    if context.key is not None:
        await context.service.change_session(end_session, context.request.cookies[SESSION_COOKIE])
    return _signed_out(context)


async def sign_out_everywhere(context: PageContext) -> Response:
    """End all sessions of the key."""
    await context.form()
    if context.key is not None:
        await context.service.change_session(end_sessions, context.key.id)
    return _signed_out(context)


def _signed_out(context: PageContext) -> Response:
    answer = context.redirect("/")
    context.delete_session_cookie(answer)
    return answer


async def choose_theme(context: PageContext) -> Response:
    """Store the theme in a cookie, for browsers without scripts."""
    form = await context.form()
    answer = context.redirect(safe_target(form.text("back", "/")))
    theme = form.text("theme")
    if theme in ("light", "dark"):
        answer.set_cookie(THEME_COOKIE, theme, max_age=_YEAR, samesite="lax")
    return answer


async def keys_page(context: PageContext) -> Response:
    """Return all keys, and the form that creates one."""
    return await _keys_form(context)


async def create_key(context: PageContext) -> Response:
    """Create a key and show its secret, which is not shown again."""
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
        return await _keys_form(context, error)
    return await _keys_form(context, made=made)


async def rotate_key(context: PageContext) -> Response:
    """Give a key a new secret and show it; the secret before remains valid for a day."""
    key = context.need_all_pools()
    form = await context.form()
    number = form.whole("key")
    try:
        made = await context.service.change(
            access.rotate_key, number, RotationRequest(), now(), by=key.id
        )
    except EquipoiseError as error:
        return await _keys_form(context, error)
    return await _keys_form(context, made=made)


async def revoke_key(context: PageContext) -> Response:
    """Revoke a key."""
    key = context.need_all_pools()
    form = await context.form()
    await context.service.change(access.end_key, form.whole("key"), now(), by=key.id)
    return context.redirect("/keys")


def _name(text: str) -> str:
    if not text or len(text) > 200:
        raise wrong("name", "must have 1 to 200 characters", text[:50])
    return text


async def _keys_form(
    context: PageContext, error: EquipoiseError | None = None, made: NewKeyMessage | None = None
) -> Response:
    context.need_all_pools()

    def read(store: Store) -> tuple[list[KeyMessage], list[PoolMessage]]:
        with store.moment() as moment:
            return access.all_keys(moment).keys, pool_messages(moment)

    listed, pools = await context.service.read(read)
    return context.render(
        "keys.html", error, keys=listed, pools=pools, roles=get_args(Role), made=made
    )


@dataclass(frozen=True, slots=True)
class AuditLine:
    """A line of the audit log.

    by : name of the key that was used, if the sender may know it
    place : the pool that has its log now, None if that was deleted. When a season ends, the log
        goes to the archive
    """

    entry: AuditEntry
    by: str | None
    place: PoolMessage | None


async def audit_page(context: PageContext) -> Response:
    """Return the actions in one pool or in all. A key for one pool sees that pool only."""
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
        days=context.service.settings.audit_days,
        choices=[] if key.pool else [one.pool for one in pools if one.closed is None],
        next=None if found.next is None else path("audit", pool=shown, cursor=found.next),
        first=path("audit", pool=shown) if cursor else None,
    )


def _page_and_pools(
    store: Store, pool: str | None, cursor: str | None
) -> tuple[AuditPage, list[PoolMessage]]:
    """Return a page of the audit log and all pools, read in one transaction."""
    with store.moment() as moment:
        page = access.audit_page(moment, pool=pool, cursor=cursor, limit=PAGE_SIZE)
        return page, pool_messages(moment)


async def _names(context: PageContext, key: KeyRecord) -> dict[int | None, str]:
    """Return names of keys by number, those that the sender may know."""
    if not rules_all_pools(key):
        return {key.id: key.name}
    return {one.key: one.name for one in (await context.service.read(access.all_keys)).keys}


def place_of(entry: AuditEntry, pools: list[PoolMessage]) -> PoolMessage | None:
    """Return the pool in which an action took place: its name may have another pool now."""
    at = datetime.fromisoformat(entry.time)
    named = [one for one in pools if entry.pool in (one.pool, one.archive_of)]
    # A season ends at the time at which the next begins. That instant belongs to the next.
    named = [one for one in named if one.closed is None or at < datetime.fromisoformat(one.closed)]
    # A deleted pool may have had the name before.
    named = [one for one in named if at >= datetime.fromisoformat(one.created)]
    return min(named, key=lambda one: datetime.fromisoformat(one.created), default=None)

"""Keys of the service, for those who may make them."""

from __future__ import annotations

from typing import get_args

from starlette.responses import Response

from equipoise.errors import EquipoiseError
from equipoise.messages.keys import KeyMessage, KeyRequest, Role
from equipoise.messages.pools import PoolMessage
from equipoise.store.connection import Store
from equipoise.web.errors import http_status
from equipoise.web.page.forms import wrong
from equipoise.web.page.problems import problems_of
from equipoise.web.page.visit import PageContext
from equipoise.workflows import keys
from equipoise.workflows.clock import now
from equipoise.workflows.pools import pool_messages


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
        made = await context.service.change(keys.make_key, request, now(), by=key.id)
    except EquipoiseError as error:
        return await _shown(context, http_status(error), problems=problems_of(error))
    return await _shown(context, made=made)


async def end_key(context: PageContext) -> Response:
    """Revoke a key."""
    key = context.need_all_pools()
    form = await context.form()
    await context.service.change(keys.end_key, form.whole("key"), now(), by=key.id)
    return context.redirect("/keys")


def _name(text: str) -> str:
    if not text or len(text) > 200:
        raise wrong("name", "must have 1 to 200 characters", text[:50])
    return text


async def _shown(context: PageContext, status: int = 200, **more: object) -> Response:
    context.need_all_pools()

    def read(store: Store) -> tuple[list[KeyMessage], list[PoolMessage]]:
        with store.moment() as moment:
            return keys.all_keys(moment).keys, pool_messages(moment)

    listed, pools = await context.service.read(read)
    given: dict[str, object] = {"made": None, "problems": [], **more}
    return context.render(
        "keys.html", status, keys=listed, pools=pools, roles=get_args(Role), **given
    )

"""Keys of the service, for those who may make them."""

from __future__ import annotations

from typing import get_args

from starlette.responses import Response

from equipoise.errors import EquipoiseError, InvalidDataError, Problem
from equipoise.messages.keys import Role
from equipoise.web.errors import http_status
from equipoise.web.page.problems import problems_of
from equipoise.web.page.settings import bound
from equipoise.web.page.visit import Visit


async def keys_page(visit: Visit) -> Response:
    """Return all keys and the form for another."""
    return await _shown(visit)


async def make_key(visit: Visit) -> Response:
    """Make a key and tell its secret, this once."""
    holder = visit.need_all()
    form = await visit.form()
    pool = form.text("pool") or None
    try:
        made = await visit.settings.write(
            bound(
                visit.backend.create_key,
                _name(form.text("name")),
                _role(form.text("role")),
                pool,
                form.text("expires") or None,
                by=holder.key,
            )
        )
    except EquipoiseError as error:
        return await _shown(visit, http_status(error), problems=problems_of(error))
    return await _shown(visit, made=made)


async def end_key(visit: Visit) -> Response:
    """Revoke a key."""
    holder = visit.need_all()
    form = await visit.form()
    number = form.whole("key")
    await visit.settings.write(bound(visit.backend.revoke_key, number, by=holder.key))
    return visit.go("/keys")


def _name(text: str) -> str:
    if not text or len(text) > 200:
        raise InvalidDataError([Problem("", None, "name", "must have 1 to 200 letters", text[:50])])
    return text


def _role(text: str) -> Role:
    for role in get_args(Role):
        if role == text:
            found: Role = role
            return found
    rule = f"must be one of {', '.join(get_args(Role))}"
    raise InvalidDataError([Problem("", None, "role", rule, text[:50])])


async def _shown(visit: Visit, status: int = 200, **more: object) -> Response:
    visit.need_all()
    keys, pools = await visit.settings.read(
        bound(visit.backend.together, lambda backend: (backend.keys(), backend.pools()))
    )
    given: dict[str, object] = {"made": None, "problems": [], **more}
    return visit.page("keys.html", status, keys=keys, pools=pools, roles=get_args(Role), **given)

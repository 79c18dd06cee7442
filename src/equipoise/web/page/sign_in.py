"""Signing in with a key, signing out, and the choice between light and dark."""

from __future__ import annotations

from starlette.responses import Response

from equipoise.web.page.settings import bound
from equipoise.web.page.visit import KEY_COOKIE, LONGEST_SECRET, THEME_COOKIE, Visit, safe_target

_YEAR = 365 * 86_400


async def sign_in_page(visit: Visit) -> Response:
    """Return the form for a key."""
    return visit.page("sign_in.html", next=safe_target(visit.query("next", "/")))


async def sign_in(visit: Visit) -> Response:
    """Keep a key in a cookie that no script can read, if it is good."""
    form = await visit.form()
    secret, target = form.text("key"), safe_target(form.text("next", "/"))
    holder = None
    if secret.isascii() and secret.isprintable() and 0 < len(secret) <= LONGEST_SECRET:
        holder = await visit.settings.read(bound(visit.backend.key_holder, secret))
    if holder is None:
        told = ["this is no key, or it has expired or was revoked"]
        return visit.page("sign_in.html", 401, next=target, problems=told)
    answer = visit.go(target)
    answer.set_cookie(
        KEY_COOKIE,
        secret,
        httponly=True,
        samesite="strict",
        secure=visit.request.url.scheme == "https",
    )
    return answer


async def sign_out(visit: Visit) -> Response:
    """Forget the key."""
    await visit.form()
    answer = visit.go("/")
    answer.delete_cookie(KEY_COOKIE, httponly=True, samesite="strict")
    return answer


async def choose_theme(visit: Visit) -> Response:
    """Remember light or dark, for browsers without scripts."""
    form = await visit.form()
    answer = visit.go(safe_target(form.text("back", "/")))
    theme = form.text("theme")
    if theme in ("light", "dark"):
        answer.set_cookie(THEME_COOKIE, theme, max_age=_YEAR, samesite="lax")
    return answer

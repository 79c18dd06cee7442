"""Signing in with a key, signing out, and the choice between light and dark."""

from __future__ import annotations

from starlette.responses import Response

from equipoise.web.access import valid_key
from equipoise.web.page.visit import (
    KEY_COOKIE,
    LONGEST_SECRET,
    THEME_COOKIE,
    PageContext,
    safe_target,
)

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

"""Settings of a pool on the page: changed in a form, and the pool deleted."""

from __future__ import annotations

from typing import get_args

from msgspec import UNSET
from starlette.responses import Response

from equipoise.errors import EquipoiseError
from equipoise.messages.pools import LatePolicy, PoolChange, PoolMessage, PoolTimes
from equipoise.web.errors import http_status
from equipoise.web.page.forms import Form, wrong
from equipoise.web.page.problems import problems_of
from equipoise.web.page.visit import PageContext
from equipoise.web.page.wording import path
from equipoise.workflows import deleting
from equipoise.workflows.clock import now
from equipoise.workflows.pool_settings import change_settings

#: What each way with late matches does, as words.
LATE = {
    "reject": "reject",
    "append": "rate as if played last",
    "replay": "replay in order",
}
_TIMES = {"seconds": "seconds since 1970", "datetime": "ISO 8601"}
_NUMBERS = (
    "placement_matches",
    "inactive_days",
    "display_deviations",
    "display_floor",
    "display_decay_per_day",
    "display_decay_after_days",
)
#: Settings that may be nothing.
_NULLABLE = frozenset({"inactive_days", "display_floor"})
_MOST = 1e9


async def settings_page(context: PageContext) -> Response:
    """Return the form with the settings of a pool."""
    pool = await context.need("admin")
    return _shown(context, _typed(pool), saved=context.query("saved") == "1")


async def save_settings(context: PageContext) -> Response:
    """Change the settings of a pool."""
    pool = await context.need("admin")
    form = await context.form()
    try:
        request = change_of(form, pool)
        await context.write(change_settings, request, now(), key=context.key_number)
    except EquipoiseError as error:
        typed = {name: form.text(name) for name in (*_NUMBERS, "late", "times", "reason")}
        typed["public"] = form.text("public")
        return _shown(context, typed, http_status(error), problems=problems_of(error))
    return context.redirect(path("pools", pool.pool, "settings", saved=1))


async def delete_pool(context: PageContext) -> Response:
    """Delete a pool, once its name was typed."""
    key = context.need_all_pools()
    pool = await context.pool()
    form = await context.form()
    try:
        await context.write(deleting.delete_pool, form.text("confirm"), key=key.id, now=now())
    except EquipoiseError as error:
        return _shown(context, _typed(pool), http_status(error), problems=problems_of(error))
    return context.redirect("/")


def change_of(form: Form, pool: PoolMessage) -> PoolChange:
    """Return the settings that a form asks for. Raises : InvalidDataError."""
    late = form.choice("late", get_args(LatePolicy), pool.late)
    times = form.choice("times", get_args(PoolTimes), pool.times)
    numbers = {}
    for name in _NUMBERS:
        value = form.number(name, -_MOST, _MOST)
        if value is not None or name in _NULLABLE:
            numbers[name] = value
    placing = numbers.pop("placement_matches", None)
    if placing is not None and placing != int(placing):
        got = form.text("placement_matches")[:50]
        raise wrong("placement_matches", "must be a whole number", got)
    return PoolChange(
        late=late,
        times=times,
        public=form.text("public") == "1",
        placement_matches=UNSET if placing is None else int(placing),
        reason=form.text("reason"),
        **numbers,  # type: ignore[arg-type]
    )


def _typed(pool: PoolMessage) -> dict[str, str]:
    """Return the settings of a pool as fields of the form."""
    typed = {"late": pool.late, "times": pool.times, "public": "1" if pool.public else ""}
    for name in _NUMBERS:
        value = getattr(pool, name)
        typed[name] = "" if value is None else f"{value:.12g}"
    return {**typed, "reason": ""}


def _shown(
    context: PageContext, typed: dict[str, str], status: int = 200, **more: object
) -> Response:
    given: dict[str, object] = {"problems": [], "saved": False, **more}
    return context.render(
        "pool_settings.html", status, typed=typed, choices=LATE, forms=_TIMES, **given
    )

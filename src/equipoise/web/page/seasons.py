"""Seasons of a pool: the list of past ones, and the end of one after a preview."""

from __future__ import annotations

import re
from typing import get_args

from starlette.responses import Response

from equipoise.errors import EquipoiseError
from equipoise.messages.seasons import Centre, Disqualified, Reset, SeasonRequest
from equipoise.web.errors import http_status
from equipoise.web.page.amending import digest
from equipoise.web.page.forms import Form, wrong
from equipoise.web.page.problems import problems_of
from equipoise.web.page.visit import PageContext
from equipoise.web.page.wording import path
from equipoise.workflows import seasons
from equipoise.workflows.clock import now
from equipoise.workflows.pools import pool_messages
from equipoise.workflows.season_preview import preview_season

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")
_NAME_RULE = (
    "must have at most 40 lower-case letters, digits, '-' and '_', starting with a letter or digit"
)
#: What the form begins with.
_DEFAULTS = {"reset": "soft", "keep": "50", "towards": "mean", "disqualified": "stay"}
_FIELDS = ("season", "reset", "keep", "widen", "towards", "disqualified")
_MOST_WIDENING = 1e9


async def seasons_page(context: PageContext) -> Response:
    """Return the seasons that have ended, with their leaderboards where those may be read."""
    ended, every = await context.snapshot(
        lambda store, pool: (seasons.seasons(store, pool.pool).seasons, pool_messages(store))
    )
    pool = await context.pool()
    archives = [one for one in every if one.archive_of == pool.pool]
    return context.render(
        "seasons.html",
        seasons=ended,
        readable={one.pool for one in archives if context.may_read(one)},
        just=context.query("ended"),
    )


async def end_page(context: PageContext) -> Response:
    """Return the form with which a season is ended."""
    await context.need("admin")
    return _shown(context, Form({name: [value] for name, value in _DEFAULTS.items()}))


async def end_season(context: PageContext) -> Response:
    """Preview the end of a season; end it if the form is of a preview."""
    pool = await context.need("admin")
    form = await context.form()
    try:
        request = season_of(form)
        seen = digest("season", pool.pool, request)
        if form.text("do") == seen:
            key = context.key_number
            done = await context.write(seasons.end_season, request, key=key, now=now())
            return context.redirect(path("pools", pool.pool, "seasons", ended=done.season))
        preview = await context.calculate(preview_season, request)
    except EquipoiseError as error:
        return _shown(context, form, http_status(error), problems=problems_of(error))
    return _shown(context, form, preview=preview, seen=seen)


def season_of(form: Form) -> SeasonRequest:
    """Return what a form asks for. Raises : InvalidDataError."""
    name = form.text("season")
    if not _NAME.fullmatch(name):
        raise wrong("name of the season", _NAME_RULE, name[:50] or "nothing")
    reset = form.choice("reset", get_args(Reset), _DEFAULTS["reset"])
    barred = form.choice("disqualified", get_args(Disqualified), _DEFAULTS["disqualified"])
    if reset == "hard":
        # What is only of a soft reset is left as it is by default.
        return SeasonRequest(season=name, reset=reset, disqualified=barred)
    keep = form.number("keep", 0, 100)
    return SeasonRequest(
        season=name,
        reset=reset,
        keep=0.5 if keep is None else keep / 100,
        widen=form.number("widen", 0, _MOST_WIDENING),
        towards=form.choice("towards", get_args(Centre), _DEFAULTS["towards"]),
        disqualified=barred,
    )


def _shown(context: PageContext, form: Form, status: int = 200, **more: object) -> Response:
    given: dict[str, object] = {"preview": None, "seen": "", "problems": [], **more}
    typed = {name: form.text(name) for name in _FIELDS}
    return context.render("season_end.html", status, typed=typed, **given)

"""The list of pools, and the overview of one: activity, ratings, drift, latest matches.

Settings of a pool on the page: changed in a form, and the pool deleted.

Seasons of a pool: the list of past ones, and the end of one after a preview.
"""

from __future__ import annotations

import re
from typing import get_args

from markupsafe import Markup
from msgspec import UNSET
from starlette.responses import Response

from equipoise.analysis.clock import now
from equipoise.errors import EquipoiseError
from equipoise.messages.players import OverviewMessage
from equipoise.messages.pools import LatePolicy, PoolChange, PoolMessage, PoolTimes
from equipoise.messages.seasons import Centre, Disqualified, Reset, SeasonRequest
from equipoise.pools import amending, seasons
from equipoise.pools.pool import deleting
from equipoise.pools.pool.pools import pool_messages
from equipoise.pools.pool.settings import change_settings
from equipoise.pools.reading import leaderboard, matches
from equipoise.pools.seasons import preview_season
from equipoise.web.http.errors import http_status
from equipoise.web.page.figures import Column, Mark, columns_chart, drift_chart, moments
from equipoise.web.page.forms import Form, problems_of, wrong
from equipoise.web.page.matches import digest
from equipoise.web.page.visit import PageContext
from equipoise.web.page.wording import number, path, plural, utc

LATEST, AMENDED, BEST = 8, 5, 5


async def pools_page(context: PageContext) -> Response:
    """Return the pools that the sender may read."""
    every = await context.service.read(pool_messages)
    shown = [one for one in every if context.may_read(one)]
    ended = [one for one in shown if one.closed is not None]
    ended.sort(key=lambda one: one.closed or "", reverse=True)
    return context.render(
        "pools.html", pools=[one for one in shown if one.closed is None], archives=ended
    )


async def pool_page(context: PageContext) -> Response:
    """Return the overview of a pool."""
    await context.pool()
    overviews = context.state.overviews
    board, overview, latest, amendments = await context.snapshot(
        lambda store, pool: (
            leaderboard.leaderboard(store, pool.pool, limit=BEST),
            overviews.get(store, pool.pool),
            matches.matches(store, pool.pool, limit=LATEST),
            amending.amendments(store, pool.pool, limit=AMENDED),
        )
    )
    pool = await context.pool()
    return context.render(
        "pool.html",
        overview=overview,
        activity=_activity(overview),
        ratings=_ratings(overview),
        drift=drift_chart("Mean rating of active players over time", overview.drift)
        if len(overview.drift) > 1
        else None,
        best=board.players,
        matches=latest.matches,
        amendments=amendments.amendments,
        settings=[
            (name.replace("_", " "), value if isinstance(value, str) else f"{value:g}")
            for name, value in pool.parameters.items()
            if isinstance(value, str | int | float)
        ],
    )


def _activity(found: OverviewMessage) -> Markup | None:
    if not found.activity:
        return None
    bins = found.activity
    length = bins[1].start - bins[0].start if len(bins) > 1 else 86_400
    columns = [
        Column(
            one.matches,
            f"{utc(one.start):%Y-%m-%d}: {plural(one.matches, 'match', 'matches')}",
        )
        for one in bins
    ]
    below = moments(bins[0].start, bins[-1].start + length)
    return columns_chart(f"Matches per {found.unit}", columns, below)


def _ratings(found: OverviewMessage) -> Markup | None:
    bins = found.ratings
    if not bins:
        return None
    digits = 0 if bins[0].high - bins[0].low >= 1 else 2
    columns = [
        Column(
            one.players,
            f"{number(one.low, digits)} to {number(one.high, digits)}: "
            f"{plural(one.players, 'player')}",
        )
        for one in bins
    ]
    low, high = bins[0].low, bins[-1].high
    step = max(1, len(bins) // 5)
    below = [((one.low - low) / (high - low), number(one.low, digits)) for one in bins[::step]]
    mark = None
    if found.median is not None:
        mark = Mark((found.median - low) / (high - low), f"median {number(found.median, digits)}")
    return columns_chart("Players by rating", columns, below, mark)


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
    return _season_form(context, Form({name: [value] for name, value in _DEFAULTS.items()}))


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
        return _season_form(context, form, http_status(error), problems=problems_of(error))
    return _season_form(context, form, preview=preview, seen=seen)


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


def _season_form(context: PageContext, form: Form, status: int = 200, **more: object) -> Response:
    given: dict[str, object] = {"preview": None, "seen": "", "problems": [], **more}
    typed = {name: form.text(name) for name in _FIELDS}
    return context.render("season_end.html", status, typed=typed, **given)

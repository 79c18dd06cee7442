"""Administration of a pool: its settings, its deletion, the end of a season, webhooks."""

from __future__ import annotations

import re
from typing import Any, get_args

from msgspec import UNSET
from starlette.responses import Response

from equipoise.analysis.clock import now
from equipoise.errors import ConflictError, EquipoiseError
from equipoise.messages.matches import AmendmentMessage
from equipoise.messages.pools import LatePolicy, PoolChange, PoolMessage, PoolTimes
from equipoise.messages.seasons import Centre, Disqualified, Reset, SeasonPreview, SeasonRequest
from equipoise.messages.webhooks import (
    EventKind,
    NewWebhookMessage,
    WebhookRequest,
    WebhookTestMessage,
)
from equipoise.pools import amending, seasons, webhooks
from equipoise.pools.pool import deleting
from equipoise.pools.pool.settings import change_settings, pool_as_wanted
from equipoise.rating.entry.entering import ENTRY_PARAMETERS, EntryParameters
from equipoise.web.http.reading import while_connected
from equipoise.web.page.context import PageContext
from equipoise.web.page.forms import Form, digest, wrong
from equipoise.web.page.wording import path

#: What happens to late matches, in words.
LATE = {
    "reject": "reject",
    "append": "rate as if played last",
    "replay": "replay in order",
}
TIMES = {"seconds": "seconds since 1970", "datetime": "ISO 8601"}
#: Settings that are numbers.
_NUMBERS = (
    "placement_matches",
    "inactive_days",
    "display_deviations",
    "display_floor",
    "display_decay_per_day",
    "display_decay_after_days",
)
#: Numbers that may be left empty.
_NULLABLE = frozenset({"inactive_days", "display_floor"})
_MOST_NUMBER = 1e9

#: Where newcomers enter, in words.
ENTRIES = {"fixed": "at the initial rating", "learned": "at a learned rating"}
#: The other parameters of the entry and level: their names in the form, and a note.
ENTRY_WORDS = {
    "hold_level": (
        "Share of the gap to the target added per match",
        "0: not held; 0.05 for contests",
    ),
    "entry_half_life": ("Newcomers after which a first match counts half", ""),
    "entry_weight": (
        "Minimum weight of the entry",
        "With a small weight the entry moves quickly",
    ),
    "entry_clip": ("Largest first change that counts in full (standard deviations)", ""),
    "hold_level_matches": ("Young players have fewer matches than", ""),
    "level_experienced": ("Experienced players have at least as many matches", ""),
    "level_memory": ("Participations until the level has moved halfway", ""),
    "level_step": ("Most points added per match (initial deviations)", ""),
}
_ENTRY_NUMBERS = tuple(ENTRY_WORDS)

_SEASON_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")
_SEASON_RULE = (
    "must have at most 40 lower-case letters, digits, '-' and '_', starting with a letter or digit"
)
#: Values with which the form begins.
_SEASON_DEFAULTS = {"reset": "soft", "keep": "50", "towards": "mean", "disqualified": "stay"}
_SEASON_FIELDS = ("season", "reset", "keep", "widen", "towards", "disqualified")
_MOST_WIDENING = 1e9

#: Maximum length of the address of a webhook.
_LONGEST_URL = 2000
#: Kinds of events, in words.
EVENT_KINDS = {
    "match.rated": "a match was rated",
    "ratings.corrected": "ratings were corrected",
    "season.ended": "a season ended",
}


async def admin_page(context: PageContext) -> Response:
    """Return the page that links to all tasks of an administrator."""
    await context.need("admin")
    found = await context.read(amending.amendments, limit=10)
    return context.render("admin.html", amendments=found.amendments)


async def settings_page(context: PageContext) -> Response:
    """Return the form with the settings of a pool."""
    pool = await context.need("admin")
    return _settings_form(context, _fields_of(pool), saved=context.query("saved") == "1")


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
        return _settings_form(context, typed, error)
    return context.redirect(path("pools", pool.pool, "settings", saved=1))


async def entry_page(context: PageContext) -> Response:
    """Return the form with the parameters of the entry and level of a pool."""
    pool = await context.need("admin")
    wanted = await context.service.read(pool_as_wanted, pool.pool)
    return _entry_form(context, Form({name: [one] for name, one in _entry_of(wanted).items()}))


async def change_entry(context: PageContext) -> Response:
    """Return a preview of a changed entry or level. Change it if the form comes from there."""
    pool = await context.need("admin")
    form = await context.form()
    try:
        request = entry_of(form)
        seen = digest("entry", pool.pool, request)
        if form.text("do") == seen:
            key = context.key_number
            await context.service.change_settings(pool.pool, request, key)
            return context.redirect(path("pools", pool.pool, "amendments"))
        work = context.service.preview_settings(pool.pool, request)
        preview = await while_connected(context.request.receive, work)
    except EquipoiseError as error:
        return _entry_form(context, form, error)
    return _entry_form(context, form, preview=preview, seen=seen)


def entry_of(form: Form) -> PoolChange:
    """Return the parameters of the entry and level in a form. Raises : InvalidDataError."""
    usual = EntryParameters()
    parameters: dict[str, Any] = {"entry": form.choice("entry", tuple(ENTRIES), usual.entry)}
    for name in _ENTRY_NUMBERS:
        value, otherwise = form.number(name, 0.0, _MOST_NUMBER), getattr(usual, name)
        if value is None:
            value = otherwise
        if isinstance(otherwise, int):
            if value != int(value):
                raise wrong(name, "must be a whole number", form.text(name)[:50])
            value = int(value)
        parameters[name] = value
    return PoolChange(parameters=parameters, reason=form.text("reason"))


def _entry_of(pool: PoolMessage) -> dict[str, str]:
    """Return the fields of the form with the parameters of a pool, or else their defaults."""
    usual = EntryParameters()
    values = {name: pool.parameters.get(name, getattr(usual, name)) for name in ENTRY_PARAMETERS}
    return {name: one if isinstance(one, str) else f"{one:.12g}" for name, one in values.items()}


def _entry_form(
    context: PageContext,
    form: Form,
    error: EquipoiseError | None = None,
    *,
    preview: AmendmentMessage | None = None,
    seen: str = "",
) -> Response:
    typed = {name: form.text(name) for name in (*ENTRY_PARAMETERS, "reason")}
    return context.render(
        "pool_entry.html",
        error,
        typed=typed,
        choices=ENTRIES,
        numbers=ENTRY_WORDS,
        preview=preview,
        difference=None if preview is None else preview.difference,
        seen=seen,
    )


async def delete_pool(context: PageContext) -> Response:
    """Delete a pool, if its name was typed to confirm this."""
    key = context.need_all_pools()
    pool = await context.pool()
    form = await context.form()
    try:
        await context.write(deleting.delete_pool, form.text("confirm"), key=key.id, now=now())
    except EquipoiseError as error:
        return _settings_form(context, _fields_of(pool), error)
    return context.redirect("/")


def change_of(form: Form, pool: PoolMessage) -> PoolChange:
    """Return the change of settings in a form. Raises : InvalidDataError."""
    late = form.choice("late", get_args(LatePolicy), pool.late)
    times = form.choice("times", get_args(PoolTimes), pool.times)
    numbers = {}
    for name in _NUMBERS:
        value = form.number(name, -_MOST_NUMBER, _MOST_NUMBER)
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


def _fields_of(pool: PoolMessage) -> dict[str, str]:
    """Return the fields of the form with the settings of a pool."""
    fields = {"late": pool.late, "times": pool.times, "public": "1" if pool.public else ""}
    for name in _NUMBERS:
        value = getattr(pool, name)
        fields[name] = "" if value is None else f"{value:.12g}"
    return {**fields, "reason": ""}


def _settings_form(
    context: PageContext,
    typed: dict[str, str],
    error: EquipoiseError | None = None,
    *,
    saved: bool = False,
) -> Response:
    return context.render(
        "pool_settings.html", error, typed=typed, choices=LATE, forms=TIMES, saved=saved
    )


async def season_end_page(context: PageContext) -> Response:
    """Return the form that ends a season."""
    await context.need("admin")
    return _season_form(context, Form({name: [value] for name, value in _SEASON_DEFAULTS.items()}))


async def end_season(context: PageContext) -> Response:
    """Return a preview of the end of a season. End it if the form comes from its preview."""
    pool = await context.need("admin")
    form = await context.form()
    try:
        request = season_of(form)
        seen = digest("season", pool.pool, request)
        if form.text("do") == seen:
            key = context.key_number
            done = await context.write(seasons.end_season, request, key=key, now=now())
            return context.redirect(path("pools", pool.pool, "seasons", ended=done.season))
        preview = await context.calculate(seasons.preview_season, request)
    except EquipoiseError as error:
        return _season_form(context, form, error)
    return _season_form(context, form, preview=preview, seen=seen)


def season_of(form: Form) -> SeasonRequest:
    """Return the end of a season in a form. Raises : InvalidDataError."""
    name = form.text("season")
    if not _SEASON_NAME.fullmatch(name):
        raise wrong("name of the season", _SEASON_RULE, name[:50] or "nothing")
    reset = form.choice("reset", get_args(Reset), _SEASON_DEFAULTS["reset"])
    stay = form.choice("disqualified", get_args(Disqualified), _SEASON_DEFAULTS["disqualified"])
    if reset == "hard":
        # The other fields are for soft resets.
        return SeasonRequest(season=name, reset=reset, disqualified=stay)
    keep = form.number("keep", 0, 100)
    return SeasonRequest(
        season=name,
        reset=reset,
        keep=0.5 if keep is None else keep / 100,
        widen=form.number("widen", 0, _MOST_WIDENING),
        towards=form.choice("towards", get_args(Centre), _SEASON_DEFAULTS["towards"]),
        disqualified=stay,
    )


def _season_form(
    context: PageContext,
    form: Form,
    error: EquipoiseError | None = None,
    *,
    preview: SeasonPreview | None = None,
    seen: str = "",
) -> Response:
    typed = {name: form.text(name) for name in _SEASON_FIELDS}
    return context.render("season_end.html", error, typed=typed, preview=preview, seen=seen)


async def webhooks_page(context: PageContext) -> Response:
    """Return the webhooks of a pool, and the form that creates one."""
    return await _webhook_form(context)


async def create_webhook(context: PageContext) -> Response:
    """Create a webhook and show its secret, which is not shown again."""
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
        return await _webhook_form(context, error, typed=form)
    return await _webhook_form(context, made=made)


async def disable_webhook(context: PageContext) -> Response:
    """Disable a webhook."""
    pool = await context.need("admin")
    number = (await context.form()).whole("webhook")
    await context.write(webhooks.disable_webhook, number, key=context.key_number, now=now())
    return context.redirect(path("pools", pool.pool, "webhooks"))


async def enable_webhook(context: PageContext) -> Response:
    """Enable a webhook."""
    pool = await context.need("admin")
    number = (await context.form()).whole("webhook")
    try:
        await context.write(webhooks.enable_webhook, number, key=context.key_number, now=now())
    except ConflictError as error:
        return await _webhook_form(context, error)
    return context.redirect(path("pools", pool.pool, "webhooks"))


async def delete_webhook(context: PageContext) -> Response:
    """Delete a webhook for good."""
    pool = await context.need("admin")
    number = (await context.form()).whole("webhook")
    await context.write(webhooks.delete_webhook, number, key=context.key_number, now=now())
    return context.redirect(path("pools", pool.pool, "webhooks"))


async def test_webhook(context: PageContext) -> Response:
    """Send a webhook a test message and show the result."""
    pool = await context.need("admin")
    number = (await context.form()).whole("webhook")
    found = await context.service.test_webhook(pool.pool, number)
    return await _webhook_form(context, tried=found, number=number)


def webhook_of(form: Form) -> WebhookRequest:
    """Return the webhook in a form. Raises : InvalidDataError."""
    url, events = form.text("url"), form.texts("event")
    if not 0 < len(url) <= _LONGEST_URL:
        raise wrong("address", f"must have 1 to {_LONGEST_URL} characters", url[:50] or "nothing")
    kinds = [kind for kind in get_args(EventKind) if kind in events]
    if not kinds or len(kinds) < len(set(events)):
        rule = f"must be some of {', '.join(get_args(EventKind))}"
        got = ", ".join(events)[:100] or "nothing"
        raise wrong("events", rule, got)
    return WebhookRequest(url=url, events=kinds)


async def _webhook_form(
    context: PageContext,
    error: EquipoiseError | None = None,
    *,
    made: NewWebhookMessage | None = None,
    tried: WebhookTestMessage | None = None,
    number: int = 0,
    typed: Form | None = None,
) -> Response:
    await context.need("admin")
    return context.render(
        "webhooks.html",
        error,
        hooks=(await context.read(webhooks.list_webhooks)).webhooks,
        kinds=EVENT_KINDS,
        days=context.service.settings.webhook_days,
        made=made,
        tried=tried,
        number=number,
        typed=typed or Form({"event": list(EVENT_KINDS)}),
    )
